"""Money end to end: what the stub billed, what `usage` says and what the counters hold are one number; caps hold."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.store.spending import COST, TOKENS
from hermes_cron.testing import StubServer
from tests.conftest import RunCli, clean_env
from tests.serving import Serving, until, write_job

CONFIG = """\
timezone = "UTC"
[model]
name = "main"
max_tokens = 200
[prices.main]
input = 1.0
output = 10.0
cached = 0.1
[prices.spare]
input = 2.0
output = 20.0
"""


def model_env(stub: StubServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k"}


def configure(home: Home, more: str = "") -> None:
    home.config.write_text(CONFIG + more)


def job(home: Home, name: str, *lines: str) -> None:
    (home.jobs / f"{name}.md").write_text(
        "\n".join(["---", "schedule: every day 9am", "timezone: UTC", "tools: [now]", *lines, "---", "look", ""])
    )


def used(prompt: int, completion: int, cached: int = 0) -> dict[str, Any]:
    return {
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    }


LOOK = {"tool_calls": [{"name": "now", "arguments": {}}]}


def billed(stub: StubServer, *, cut: bool = False) -> dict[str, tuple[int, int]]:
    """Tokens by model that the provider would bill, without the calls whose answer never came whole (or those)."""
    sums: dict[str, Counter[str]] = {}
    for call in stub.usages:
        if call.prompt_tokens is not None and call.cut == cut:
            of = sums.setdefault(call.model, Counter())
            of.update({"in": call.prompt_tokens, "out": call.completion_tokens or 0})
    return {model: (of["in"], of["out"]) for model, of in sums.items()}


def counted(store: Path, name: str = TOKENS) -> dict[tuple[str, str], float]:
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT labels, value FROM counters WHERE name = ?", (name,)).fetchall()
    found = [(json.loads(labels), value) for labels, value in rows]
    return {(labels["model"], labels.get("type", "")): value for labels, value in found}


def by_model(told: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {line["model"]: (line["tokens"]["input"], line["tokens"]["output"]) for line in told["lines"]}


def test_usage_counters_and_the_stubs_log_agree_to_the_token(home: Home, run_cli: RunCli) -> None:
    """A run with a tool call, a reply that was empty and asked for again, and a model that was down and replaced."""
    configure(home)
    job(home, "plain")
    job(home, "spared", "fallback_models: [spare]")
    script = {
        "conversations": [
            {"model": "spare", "replies": [{"text": "from the spare", **used(310, 7)}]},
        ],
        "replies": [
            {**LOOK, **used(1001, 21, 600)},
            {"text": "", **used(1103, 2)},
            {"text": "done", **used(1103, 13, 1000)},
            {"repeat": True, "status": 503, "body": {"error": {"message": "down"}}},
        ],
    }
    with StubServer(script) as stub:
        first = json.loads(run_cli("run", "plain", "--json", env=model_env(stub)).out)
        second = json.loads(run_cli("run", "spared", "--json", env=model_env(stub)).out)
        bill = billed(stub)
    assert (first["state"], second["state"]) == ("ok", "ok")
    assert bill == {"main": (1001 + 1103 + 1103, 21 + 2 + 13), "spare": (310, 7)}
    told = json.loads(run_cli("usage", "--by", "model", "--json").out)
    assert by_model(told) == bill
    assert told["total"]["calls"] == 4
    cost = {
        "main": ((3207 - 1600) * 1.0 + 1600 * 0.1 + 36 * 10.0) / 1e6,
        "spare": (310 * 2.0 + 7 * 20.0) / 1e6,
    }
    assert {line["model"]: line["cost_usd"] for line in told["lines"]} == pytest.approx(cost)
    assert counted(home.store) == {
        ("main", "input"): 3207 - 1600, ("main", "cache_read"): 1600, ("main", "output"): 36,
        ("spare", "input"): 310, ("spare", "output"): 7,
    }  # fmt: skip
    assert {model: value for (model, _), value in counted(home.store, COST).items()} == pytest.approx(cost)
    assert first["tokens"] == {"input": 3207, "output": 36, "cached": 1600}
    assert told["lost"]["calls"] == 0
    with closing(sqlite3.connect(home.store)) as connection:
        assert connection.execute("SELECT count(*) FROM spend").fetchone() == (0,), "no cap, so nothing extra is kept"


def test_a_call_whose_answer_never_came_is_lost_and_stays_reserved(home: Home) -> None:
    """The process is killed while the provider works. Whoever goes on finishes; the paid, lost call is said apart."""
    configure(home, "[budget]\ntokens_per_day = 1000000\n")
    job(home, "plain")
    script = [
        {**LOOK, **used(1001, 21)},
        {"text": "never seen", "delay_ms": 60_000, **used(1103, 13)},
        {"text": "done", **used(1103, 13)},
    ]
    with StubServer(script) as stub:
        serving = Serving(home, env=model_env(stub))
        clock = {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(serving.clock)}
        running = subprocess.Popen(
            [sys.executable, "-m", "hermes_cron", "run", "plain"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root), **clock, **model_env(stub)}),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until(lambda: len(stub.requests) == 2, "the second call is made")
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        with serving:
            until(lambda: [run["state"] for run in serving.runs()] == ["ok"], serving.runs)
        bill = billed(stub)
    told = serving.ask("usage", "--by", "model")
    assert by_model(told) == {"main": (1001 + 1103, 21 + 13)}
    assert bill["main"][0] - by_model(told)["main"][0] in (0, 1103), "the stub may bill the call it could not answer"
    assert told["lost"]["calls"] == 1
    assert told["lost"]["tokens"] >= 1103 + 13, "at its worst case"
    text = serving.cli("usage").out
    assert "reserved by runs that died or got no answer: up to " in text
    assert counted(home.store) == {("main", "input"): 2104, ("main", "output"): 34}, "the lost call is in no counter"


CALL = 1050
"""Tokens of each call of the race."""


def test_eight_parallel_runs_never_pass_a_daily_cap_by_one_call(home: Home) -> None:
    cap = 60_000
    configure(home, f"[budget]\ntokens_per_day = {cap}\n")
    again = {"tool_calls": [{"name": "now", "arguments": {"n": "{{n}}"}}], **used(CALL - 50, 50), "repeat": True}
    script = {"by": "turn", "replies": [again]}
    with StubServer(script) as stub:
        env = clean_env({"HERMES_CRON_HOME": str(home.root), **model_env(stub)})
        racing = [
            subprocess.Popen(
                [sys.executable, "-m", "hermes_cron", "run", "--prompt", f"look {number}", "--json"],
                env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for number in range(8)
        ]  # fmt: skip
        told = [(each, *each.communicate(timeout=120)) for each in racing]
        calls = len(stub.requests)
        total = sum((call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in stub.usages)
    ended = [json.loads(out) for _, out, _ in told]
    assert {(run["state"], run["reason"]) for run in ended} == {("budget_exhausted", "budget.tokens_per_day")}
    assert total == calls * CALL
    assert total <= cap
    assert total > cap - 10_000, "the cap is used, up to what one more call could have taken"
    spent = json.loads(
        subprocess.run(
            [sys.executable, "-m", "hermes_cron", "usage", "--json"], env=env, capture_output=True, check=True
        ).stdout
    )
    assert spent["total"]["tokens"]["input"] + spent["total"]["tokens"]["output"] == total
    assert spent["lost"]["calls"] == 0


def test_a_running_scheduler_takes_a_cap_or_a_price_that_changed_for_the_next_run(home: Home) -> None:
    """What the message says helps: raise the cap, resume the job. A lowered cap stops the next run."""
    configure(home, "[budget]\ntokens_per_day = 3000\n")
    write_job(home, "j", 'schedule: "0 * * * *"', "tools: [now]", prompt="look")
    fine = {"text": "fine", **used(900, 50), "repeat": True}
    with StubServer([fine]) as stub, Serving(home, env=model_env(stub), start_at="08:59") as serving:
        for hour in (9, 10, 11):
            serving.due(f"{hour:02}:00", runs=hour - 8)
        assert [run["state"] for run in serving.runs()] == ["ok", "ok", "budget_exhausted"]
        assert serving.cli("config", "set", "budget.tokens_per_day", "100000").rc == 0
        assert serving.cli("config", "set", "prices.main.output", "20.0").rc == 0
        assert serving.cli("resume", "j").rc == 0
        serving.due("12:00", runs=4)
        raised = serving.runs()[-1]
        assert (raised["state"], raised["cost_usd"]) == ("ok", pytest.approx((900 + 50 * 20) / 1e6))
        assert serving.cli("config", "set", "budget.tokens_per_day", "100").rc == 0
        serving.due("13:00", runs=5)
        assert serving.runs()[-1]["reason"] == "budget.tokens_per_day"


def test_the_homes_limits_hold_as_they_are_now_for_jobs_that_were_read_before(home: Home) -> None:
    """A cap that `show` names is one that runs are held to, in a scheduler that runs and in the next one."""
    configure(home)
    write_job(home, "j", 'schedule: "0 * * * *"', "tools: [now]", prompt="look")
    write_job(home, "own", 'schedule: "0 * * * *"', "tools: [now]", "limits: {tokens: 90000}", prompt="look")
    fine = {"text": "fine", **used(900, 50), "repeat": True}
    with StubServer([fine]) as stub, Serving(home, env=model_env(stub), start_at="08:59") as serving:

        def ended(at: str, runs: int) -> dict[str, str]:
            serving.due(at, runs=runs)
            return {run["job_name"]: run["reason"] or run["state"] for run in serving.runs()[-2:]}

        assert ended("09:00", 2) == {"j": "ok", "own": "ok"}
        assert serving.cli("config", "set", "limits.tokens", "100").rc == 0
        assert "100 tokens" in serving.cli("show", "j").out
        assert ended("10:00", 4) == {"j": "limits.tokens", "own": "ok"}
        serving.stop()
        serving.start()
        assert ended("11:00", 6) == {"j": "limits.tokens", "own": "ok"}
        assert serving.cli("config", "set", "limits.tokens", "80000").rc == 0
        assert ended("12:00", 8) == {"j": "ok", "own": "ok"}


def test_the_homes_minutes_and_model_calls_hold_as_they_are_now_too(home: Home) -> None:
    """In a scheduler that runs, by hand without one, and for what a run says of itself."""
    configure(home)
    write_job(home, "j", 'schedule: "0 * * * *"', "tools: [now]", prompt="look")
    write_job(
        home, "own", 'schedule: "0 * * * *"', "tools: [now]", "limits: {iterations: 5, minutes: 7}", prompt="look"
    )
    with (
        StubServer([{**LOOK, "repeat": True}]) as stub,
        Serving(home, env=model_env(stub), start_at="08:59") as serving,
    ):

        def ended(at: str, runs: int) -> dict[str, tuple[int, float]]:
            serving.due(at, runs=runs)
            query = (
                "SELECT job_name, iterations, (julianday(deadline_at) - julianday(taken_at)) * 1440 AS minutes "
                "FROM runs WHERE ended_at IS NOT NULL ORDER BY queued_at DESC LIMIT 2"
            )
            return {row["job_name"]: (row["iterations"], round(row["minutes"], 1)) for row in serving.rows(query)}

        assert serving.cli("config", "set", "limits.iterations", "3").rc == 0
        assert serving.cli("config", "set", "limits.minutes", "2").rc == 0
        assert "2 min, 3 model calls" in serving.cli("show", "j").out
        assert ended("09:00", 2) == {"j": (3, 2.0), "own": (5, 7.0)}
        assert serving.cli("config", "set", "limits.iterations", "4").rc == 0
        serving.stop()
        by_hand = json.loads(serving.cli("run", "j", "--json").out)
        assert (by_hand["state"], by_hand["iterations"]) == ("budget_exhausted", 4)
        assert "Limits: 4 model calls, 2 minutes" in serving.cli("run", "j", "--dry-run").out
        serving.start()
        assert ended("10:00", 5) == {"j": (4, 2.0), "own": (5, 7.0)}


def test_what_a_month_cost_does_not_fall_when_its_runs_need_not_be_kept(home: Home) -> None:
    configure(home, "[retention]\nruns = 1\ndays = 1\n")
    write_job(home, "j", 'schedule: "0 * * * *"', "tools: [now]", prompt="look")
    write_job(home, "s", 'schedule: "0 * * * *"', "script: echo 1", "catch_up: none")
    fine = {"text": "fine", **used(1000, 100), "repeat": True}
    with StubServer([fine]) as stub, Serving(home, env=model_env(stub), start_at="08:59") as serving:
        for hour in (9, 10, 11):
            serving.due(f"{hour}:00", runs=2 * (hour - 8))
        said = serving.ask("usage", "--by", "run")
        assert [serving.cli("remove", name, "-y").rc for name in ("j", "s")] == [0, 0]
        serving.stop()
        serving.at("+3 12:30")
        serving.start()
        until(lambda: len(serving.runs("s")) == 1, "the scripts' runs, which no sum counts, to go")
        assert len(serving.runs("j")) == 3
        assert serving.ask("usage", "--by", "run")["total"] == said["total"]
        assert json.loads(serving.cli("status", "--json").out)["money"]["month"]["cost_usd"] == pytest.approx(0.006)


def test_a_capped_model_without_a_price_makes_no_call(home: Home, run_cli: RunCli) -> None:
    configure(home, "[budget]\ncost_usd_per_day = 5.0\n")
    with StubServer(["never asked"]) as stub:
        done = run_cli("run", "--prompt", "look", "--json", env={**model_env(stub), "HERMES_CRON_MODEL": "nameless"})
        assert stub.requests == []
    told = json.loads(done.out)
    assert (done.rc, told["state"], told["reason"]) == (1, "budget_exhausted", "budget.cost_usd_per_day")
    assert "nobody knows what nameless costs" in told["error"]


def test_after_five_runs_the_forecast_is_within_a_quarter_of_the_month(home: Home) -> None:
    """A month of the test clock, run by run; the runs' tokens are drawn so that some cost twice as much as others."""
    configure(home)
    job(home, "digest")
    chance = random.Random(3)
    bills = [used(round(9000 * chance.lognormvariate(0, 0.3)), chance.randint(200, 400)) for _ in range(35)]
    script = [{"text": f"report {number}", **bill} for number, bill in enumerate(bills)]
    with StubServer(script) as stub, Serving(home, env=model_env(stub), start_at="08:59") as serving:
        for day in range(5):
            serving.due(f"+{day} 09:00", runs=day + 1)
        said = serving.ask("edit", "digest", "--description", "five runs old")["cost"]
        for day in range(5, 35):
            serving.due(f"+{day} 09:00", runs=day + 1)
        told = serving.ask("usage", "--days", "30")
    assert (said["basis"], said["runs_seen"], said["runs"]) == ("own", 5, 30)
    real = sum(bill["usage"]["prompt_tokens"] * 1.0 + bill["usage"]["completion_tokens"] * 10.0 for bill in bills[5:])
    assert told["total"]["cost_usd"] == pytest.approx(real / 1e6)
    assert said["usd"]["p50"] == pytest.approx(real / 1e6, rel=0.25)
