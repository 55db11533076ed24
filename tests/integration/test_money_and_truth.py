"""A newcomer's first two mornings, with nothing but the command line: what one screen says, no other contradicts.

The model's server is ``dev stub``, which knows what it charged; the targets are a file and a loopback receiver. On the
first morning the agent does what it says, on the second it only says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.conftest import Ran, clean_env
from tests.receivers import Receiver
from tests.serving import Serving, until

JOB = "count-the-orders"


def usage(given: int, made: int, cached: int = 0) -> dict[str, Any]:
    return {"prompt_tokens": given, "completion_tokens": made, "prompt_tokens_details": {"cached_tokens": cached}}


SCRIPT = [
    {
        "tool_calls": [{"name": "write_file", "arguments": {"path": "orders.txt", "content": "12\n"}}],
        "usage": usage(1200, 30),
    },
    {"text": "12 orders, none late.", "usage": usage(1300, 12, 1024)},
    {"text": "Done: 15 orders.", "usage": usage(1210, 9)},
]
TOKENS = {"12-01": 2542, "12-02": 1219}
PRICE = {"input": 2.0, "output": 10.0}
"""USD for a million tokens; cached ones cost what input costs, since nothing else is said."""
DOLLARS = {"12-01": (2500 * 2 + 42 * 10) / 1e6, "12-02": (1210 * 2 + 9 * 10) / 1e6}
SHOWN = {"12-01": "0.0054", "12-02": "0.0025", "both": "0.0079"}
KEYS = """tools: [write_file]
workdir: {workdir}
checks:
  - file: {{path: orders.txt, changed: true}}
  - report: {{matches: '\\d+ orders'}}
deliver: [book, hook]
"""


@dataclass
class Morning:
    """What each screen said, as JSON and as text."""

    list: dict[str, Any]
    history: dict[str, Any]
    run: dict[str, Any]
    outbox: list[dict[str, Any]]
    status: dict[str, Any]
    used: dict[str, dict[str, Any]]
    incidents: list[dict[str, Any]]
    texts: dict[str, Ran]


@dataclass
class Mornings:
    first: Morning
    second: Morning
    billed: list[dict[str, Any]]
    posted: list[dict[str, Any]]
    book: str
    counters: list[tuple[str, str, float]]

    def counted(self, name: str) -> list[tuple[str, float]]:
        """Labels and value of a metric's counters."""
        return [(labels, value) for found, labels, value in self.counters if found == name]


@contextmanager
def dev_stub(folder: Path, script: list[Any]) -> Iterator[str]:
    """``hermes-cron dev stub`` as its page tells it: the first line is the address."""
    (folder / "script.json").write_text(json.dumps(script))
    argv = ["dev", "stub", str(folder / "script.json"), "--usage-log", str(folder / "usage.jsonl")]
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", *argv], env=clean_env(), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def well(ran: Ran) -> Ran:
    assert ran.rc == 0, ran.err or ran.out
    return ran


def settle_in(serve: Serving, base_url: str, receiver: Receiver, folder: Path) -> None:
    """init, a model and its price, two targets, a job, and the keys that a person writes into its file."""
    well(serve.cli("init", "--tz", "UTC", "--no-input"))
    for of_the_home in ("nightly-curator", "consolidate-memory"):  # whose nights would be in the sums
        well(serve.cli("remove", of_the_home, "-y"))
    well(serve.cli("model", "set", "stub-model", "--base-url", base_url))
    well(serve.cli("config", "set", *(f'prices."stub-model".{key}={value}' for key, value in PRICE.items())))
    well(serve.cli("targets", "add", "book", "--kind", "file", "--path", "reports.md"))
    well(serve.cli("targets", "add", "hook", "--kind", "webhook", "--url", f"{receiver.url}"))
    well(serve.cli("add", "every day 9am: count the orders"))
    work = folder / "work"
    work.mkdir()
    path = serve.home.jobs / f"{JOB}.md"
    head, _, rest = path.read_text("utf-8").partition("\n---\n")
    path.write_text(f"{head}\n{KEYS.format(workdir=work)}---\n{rest}", encoding="utf-8")
    well(serve.cli("check"))


def look(serve: Serving) -> Morning:
    """Several commands at once: nothing changes meanwhile, and each is a process of its own."""
    run_id = serve.runs(JOB)[-1]["id"]
    commands = {
        "list": ["list"], "history": ["history"], "status": ["status"], "run": ["runs", "show", run_id],
        "incidents": ["incidents", "list"], "outbox": ["outbox", "list", "--all"],
    }  # fmt: skip
    with ThreadPoolExecutor(3) as pool:
        texts = {name: pool.submit(serve.cli, *argv) for name, argv in commands.items() if name != "outbox"}
        told = {name: pool.submit(serve.ask, *argv) for name, argv in commands.items()}
        used = {by: pool.submit(serve.ask, "usage", "--by", by) for by in ("run", "day")}
    return Morning(
        list=told["list"].result()["jobs"][0],
        history=told["history"].result()["history"][0],
        run=told["run"].result(),
        outbox=[each for each in told["outbox"].result()["deliveries"] if each["run_id"] == run_id],
        status=told["status"].result(),
        used={name: future.result() for name, future in used.items()},
        incidents=told["incidents"].result()["incidents"],
        texts={name: future.result() for name, future in texts.items()},
    )


@pytest.fixture(scope="module")
def mornings(tmp_path_factory: pytest.TempPathFactory) -> Mornings:
    folder = tmp_path_factory.mktemp("newcomer")
    with dev_stub(folder, SCRIPT) as base_url, Receiver() as receiver:
        serve = Serving(Home(folder / "home"), start_at="08:00")
        settle_in(serve, base_url, receiver, folder)
        seen = []
        with serve:
            for number, morning in enumerate(("09:00", "+1 09:00"), start=1):
                serve.due(morning, runs=number)
                until(
                    lambda: not serve.rows("SELECT 1 FROM deliveries WHERE state = 'queued'"),
                    lambda: serve.rows("SELECT target, state, error FROM deliveries"),
                )
                seen.append(look(serve))
        return Mornings(
            first=seen[0],
            second=seen[1],
            billed=[json.loads(line) for line in (folder / "usage.jsonl").read_text().splitlines()],
            posted=[posted.json() for posted in receiver.at("/hook")],
            book=(serve.home.root / "reports.md").read_text("utf-8"),
            counters=[(row["name"], row["labels"], row["value"]) for row in serve.rows("SELECT * FROM counters")],
        )


def line_of(ran: Ran, word: str) -> str:
    return next(line for line in ran.out.splitlines() if word in line)


def test_a_good_morning_is_good_on_every_screen(mornings: Mornings) -> None:
    seen = mornings.first
    assert (seen.run["state"], seen.run["verified"], seen.run["text"]) == ("ok", "verified", "12 orders, none late.")
    assert (seen.history["result"], seen.history["checked"]) == ("ok", "verified")
    assert (seen.list["result"], seen.list["checked"], seen.list["sent"]) == ("ok", "verified", {"sent": 2})
    assert seen.history["run_id"] == seen.run["run_id"] == seen.list["run_id"]
    assert seen.status["truth"] == {"verified": 1}
    assert seen.status["need_you"] == seen.incidents == []
    assert line_of(seen.texts["list"], JOB).split()[-5:] == ["ok", "verified", "2", "of", "2"]
    assert {"ok", "verified", "2,542"} <= set(line_of(seen.texts["history"], JOB).split())
    assert "1 due, 1 accounted for" in seen.texts["history"].out
    assert "1 due, 1 accounted for: 1 ok" in seen.texts["status"].out
    assert "nothing needs you" in seen.texts["status"].out
    assert seen.texts["status"].rc == 0


def test_a_word_without_a_deed_is_a_failure_on_every_screen(mornings: Mornings) -> None:
    seen = mornings.second
    assert (seen.run["state"], seen.run["verified"], seen.run["text"]) == ("ok", "check_failed", "Done: 15 orders.")
    assert [check["verdict"] for check in seen.run["checks"]] == ["check_failed", "verified"]
    assert (seen.history["checked"], seen.list["checked"]) == ("check_failed", "check_failed")
    assert seen.status["truth"] == {"check_failed": 1}
    assert [incident["kind"] for incident in seen.incidents] == ["check_failed"]
    assert seen.incidents[0]["last_run"] == seen.run["run_id"]
    (need,) = seen.status["need_you"]
    assert (need["job"], need["state"], need["run_id"]) == (JOB, "check_failed", seen.run["run_id"])
    for name in ("list", "history", "run", "status", "incidents"):
        assert "check_failed" in seen.texts[name].out, name
    assert seen.texts["status"].rc == 6
    assert "1 verified" not in seen.texts["status"].out
    checked = {
        json.loads(labels)["outcome"]: value for labels, value in mornings.counted("hermes_cron_job_checks_total")
    }
    assert checked == {"verified": 1, "check_failed": 1}


@pytest.mark.parametrize("morning", ["first", "second"])
def test_what_was_sent_is_what_arrived(mornings: Mornings, morning: str) -> None:
    seen: Morning = getattr(mornings, morning)
    assert {each["state"] for each in seen.outbox} == {"sent"}
    told = sorted((each["id"], each["target"], each["kind"]) for each in seen.outbox)
    assert told == sorted((each["id"], each["target"], each["kind"]) for each in seen.run["deliveries"])
    assert told == sorted((each["id"], each["target"], each["kind"]) for each in seen.history["sent"])
    assert seen.list["sent"] == seen.status["sent"] == {"sent": len(seen.outbox)}
    hooked = {each["message_id"] for each in seen.outbox if each["target"] == "hook"}
    assert hooked == {posted["id"] for posted in mornings.posted if posted["run_id"] == seen.run["run_id"]}
    for each in seen.outbox:
        if each["target"] == "book":
            assert mornings.book.count(f"[{each['message_id']}]") == 1
    kinds = ["report"] if morning == "first" else ["check_failed", "report"]
    assert sorted({each["kind"] for each in seen.outbox}) == kinds
    for posted in mornings.posted:
        if posted["run_id"] == seen.run["run_id"] and posted["kind"] == "report":
            assert seen.run["text"] in posted["text"]
            assert ("verified" if morning == "first" else "CHECK FAILED") in posted["text"].splitlines()[-1]


@pytest.mark.parametrize(("morning", "day"), [("first", "12-01"), ("second", "12-02")])
def test_tokens_and_money_are_those_of_the_bill(mornings: Mornings, morning: str, day: str) -> None:
    seen: Morning = getattr(mornings, morning)
    calls = mornings.billed[:2] if morning == "first" else mornings.billed[2:]
    tokens = {
        "input": sum(call["prompt_tokens"] for call in calls),
        "output": sum(call["completion_tokens"] for call in calls),
        "cached": sum(call["cached_tokens"] for call in calls),
    }
    assert tokens["input"] + tokens["output"] == TOKENS[day]
    assert seen.run["tokens"] == seen.history["tokens"] == tokens
    (of_run,) = [line for line in seen.used["run"]["lines"] if line["run_id"] == seen.run["run_id"]]
    (of_day,) = [line for line in seen.used["day"]["lines"] if line["day"].endswith(day)]
    for found in (of_run, of_day):
        assert (found["calls"], found["tokens"]) == (len(calls), tokens)
        assert found["cost_usd"] == pytest.approx(DOLLARS[day])
    assert seen.run["cost_usd"] == pytest.approx(DOLLARS[day])
    assert seen.run["iterations"] == len(calls)
    assert seen.status["money"]["today"]["tokens"] == TOKENS[day]
    assert seen.status["money"]["today"]["cost_usd"] == pytest.approx(DOLLARS[day])
    assert f"{TOKENS[day]:,} tokens, {SHOWN[day]} USD" in seen.texts["run"].out
    assert f"{SHOWN[day]} USD today" in seen.texts["status"].out
    report = next(each for each in mornings.posted if (each["run_id"], each["kind"]) == (seen.run["run_id"], "report"))
    assert f"{TOKENS[day]:,} tokens, {SHOWN[day]} USD" in report["text"].splitlines()[-1]


def test_the_sums_are_the_sums_of_their_parts(mornings: Mornings) -> None:
    totals = [found["total"] for found in mornings.second.used.values()]
    assert all(total == totals[0] for total in totals)
    assert totals[0]["calls"] == len(mornings.billed) == 3
    assert totals[0]["tokens"]["input"] + totals[0]["tokens"]["output"] == sum(TOKENS.values())
    assert totals[0]["cost_usd"] == pytest.approx(sum(DOLLARS.values()))
    assert mornings.second.status["money"]["month"]["tokens"] == sum(TOKENS.values())
    assert f"{SHOWN['both']} this month" in mornings.second.texts["status"].out
    tokens = {json.loads(labels)["type"]: value for labels, value in mornings.counted("hermes_cron_model_tokens_total")}
    cached = sum(call["cached_tokens"] for call in mornings.billed)
    given = sum(call["prompt_tokens"] for call in mornings.billed)
    assert {**tokens, "input": tokens["input"] + cached}["input"] == given
    assert sum(tokens.values()) == sum(TOKENS.values())
