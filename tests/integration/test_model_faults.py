"""Every fault of a model server under a real ``serve``: how the run ends, how long it waits, what is not done twice.

All jobs of a fixture are due at noon of one service, each with its own replies; a test looks at one of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.testing import StubRequest, StubServer
from tests.serving import Serving, until, write_job

DAILY = 'schedule: "0 12 * * *"'
HOURLY = 'schedule: "0 * * * *"'
COUNT = """
import time
from pathlib import Path
from hermes_cron.domain.run import Effect
from hermes_cron.tools.declaration import Arguments, Tool

class Count(Arguments):
    name: str

def count(arguments, context):
    with Path({file!r}).open("a") as file:
        file.write(arguments.name + "\\n")
    while Path({file!r} + ".held").exists():
        time.sleep(0.01)
    return "counted"

TOOL = Tool(name="count", toolset="test", description="Counts outside.", arguments=Count, handler=count,
            effect=Effect.EFFECT)
"""


def error(status: int, message: str = "no", headers: Mapping[str, str] | None = None, **members: Any) -> dict[str, Any]:
    return {"status": status, "headers": dict(headers or {}), "body": {"error": {"message": message, **members}}}


def busy(seconds: int) -> dict[str, Any]:
    return error(429, "slow down", {"Retry-After": str(seconds)})


@dataclass(frozen=True)
class Fault:
    """``replies`` follow one call of ``count``; ``after`` are state and reason at each clock time of the fixture."""

    replies: Sequence[Any]
    state: str
    reason: str | None
    requests: int
    lines: Sequence[str] = (DAILY, "retries: {attempts: 0}")
    after: Mapping[str, str] = field(default_factory=dict)  # clock time -> state; not named: as the state in the end
    until: Sequence[str] = ()  # what each wait ends at
    counted: int = 1


DONE = {"text": "all counted"}
WAITING = "waiting_retry"
ALWAYS = {"repeat": True}

ANSWERED = {
    "retry-after-7": Fault([busy(7), DONE], "ok", None, 3),
    "retry-after-3600": Fault(
        [busy(3600), DONE], "ok", None, 3, after=dict.fromkeys(("12:00", "12:05", "12:20", "12:50"), WAITING),
        until=["13:00"],
    ),
    "never-past-the-next-instant": Fault(
        [{**busy(3600), **ALWAYS}], "failed", "rate_limited", 3, lines=(HOURLY, "retries: {attempts: 3, backoff: 2h}")
    ),
    "busy-for-ever": Fault(
        [{**busy(31), **ALWAYS}], "failed", "rate_limited", 5,
        after={"12:00": WAITING, "12:05": WAITING, "12:20": WAITING}, until=["12:05", "12:20", "12:50"],
    ),
    "500": Fault([*[error(500)] * 3, DONE], "ok", None, 5, after={"12:00": WAITING}, until=["12:05"]),
    "cut-body": Fault(
        [*[{"text": "x" * 200, "cut": 90}] * 2, DONE], "ok", None, 4, after={"12:00": WAITING}, until=["12:05"]
    ),
    "cut-once": Fault([{"text": "x" * 200, "cut": 90}, DONE], "ok", None, 3),
    "html": Fault([{"body": "<html>Please log in</html>"}, DONE], "failed", "model_garbage", 2),
    "no-choices": Fault([{"body": {"choices": []}}, DONE], "failed", "model_garbage", 2),
    "not-json": Fault(
        [{"tool_calls": [{"name": "count", "arguments": '{"name": "not-'}]}, DONE], "ok", None, 3
    ),
    "too-long": Fault(
        [error(400, "too long", code="context_length_exceeded"), DONE], "failed", "context_length", 2
    ),
    "empty": Fault([{"text": ""}, {"text": " "}, DONE], "failed", "empty_reply", 3),
    "auth": Fault([error(401), DONE], "failed", "model_auth", 2, lines=(DAILY,)),
    "bad-request": Fault([error(400, "no such parameter"), DONE], "failed", "model_bad_request", 2, lines=(DAILY,)),
    "refused-by-the-model": Fault(
        [{"message": {"role": "assistant", "content": None, "refusal": "I can't do that"}}, DONE],
        "failed", "model_refused", 2, lines=(DAILY,),
    ),
    "refused-by-a-filter": Fault(
        [{"text": "half a sen", "finish": "content_filter"}, DONE], "failed", "model_refused", 2, lines=(DAILY,)
    ),
    "quota": Fault(
        [error(429, "pay", {"Retry-After": "5"}, code="insufficient_quota"), DONE], "failed", "quota_exhausted", 2,
        lines=(DAILY,),
    ),
}  # fmt: skip
"""``lines=(DAILY,)``: with the three attempts that every job has unless it says otherwise; none of them is made."""

STREAMED = {
    "cut-stream": Fault(
        [*[{"text": "words " * 30, "cut": 4}] * 2, DONE], "ok", None, 4, after={"12:00": WAITING}, until=["12:05"]
    ),
    "cut-in-a-call": Fault(
        [*[{"tool_calls": [{"name": "count", "arguments": {"name": "cut-in-a-call" + "x" * 90}}], "cut": 5}] * 2, DONE],
        "ok", None, 4, after={"12:00": WAITING}, until=["12:05"],
    ),
    "never-answers": Fault(
        [{"hang": True, **ALWAYS}], "failed", "model_timeout", 5,
        after={"12:00": WAITING, "12:05": WAITING, "12:20": WAITING}, until=["12:05", "12:20", "12:50"],
    ),
    "html-for-a-stream": Fault([{"body": "<html>Please log in</html>"}, DONE], "failed", "model_garbage", 2),
}  # fmt: skip


@dataclass
class Played:
    """What was seen of one job: its run at each clock time and as ``runs list`` tells of it in the end, the requests
    of its model, its lines in the counter.
    """

    runs: dict[str, dict[str, Any]]
    requests: list[StubRequest]
    counted: int
    line: str
    told: dict[str, Any]


def task(name: str) -> str:
    return f"TASK {name}:"


def script(faults: Mapping[str, Fault]) -> dict[str, Any]:
    def first(name: str) -> dict[str, Any]:
        return {"tool_calls": [{"name": "count", "arguments": {"name": name}}]}

    parts = [{"contains": task(name), "replies": [first(name), *fault.replies]} for name, fault in faults.items()]
    return {"conversations": parts}


def model_env(stub: StubServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "stub-model", "OPENAI_API_KEY": "k"}


def prepare(home: Home, faults: Mapping[str, Fault], counter: Path) -> None:
    home.tools.mkdir()
    (home.tools / "count.py").write_text(COUNT.format(file=str(counter)))
    counter.touch()
    for name, fault in faults.items():
        write_job(home, name, *fault.lines, "tools: [count]", prompt=f"{task(name)} count, then report.")


def play(home: Home, faults: Mapping[str, Fault], times: Sequence[str]) -> dict[str, Played]:
    counter = home.root.parent / "counted"
    prepare(home, faults, counter)
    seen: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in faults}
    with StubServer(script(faults)) as stub, Serving(home, ("--concurrency", "24"), env=model_env(stub)) as serve:
        for clock in times:
            serve.due(
                clock, runs=len(faults) + sum(HOURLY in fault.lines for fault in faults.values()) * (clock == "13:00")
            )
            for name in faults:
                seen[name][clock] = serve.runs(name)[0]
        counts = counter.read_text().splitlines()
        told = {run["run_id"]: run for run in serve.ask("runs", "list", "--limit", "1000")["runs"]}
        lines = serve.cli("runs", "list", "--limit", "1000").out.splitlines()
        ids = {name: seen[name][times[-1]]["id"] for name in faults}
        return {
            name: Played(
                runs=seen[name],
                requests=[request for request in stub.requests if task(name).encode() in request.body],
                counted=sum(line.startswith(name) for line in counts),
                line=next(line for line in lines if ids[name] in line),
                told=told[ids[name]],
            )
            for name in faults
        }


def made(folder: Path) -> Home:
    home = Home(folder / "home")
    for one in (home.root, home.jobs, home.skills, home.memories, home.run, home.owners):
        one.mkdir(parents=True, exist_ok=True)
    home.config.write_text('timezone = "UTC"\n', encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    return play(made(tmp_path_factory.mktemp("answered")), ANSWERED, ["12:00", "12:05", "12:20", "12:50", "13:00"])


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    home = made(tmp_path_factory.mktemp("streamed"))
    home.config.write_text('timezone = "UTC"\n[model]\nstream = true\ntimeout_s = 2\n', encoding="utf-8")
    return play(home, STREAMED, ["12:00", "12:05", "12:20", "12:50"])


def judge(fault: Fault, played: Played) -> None:
    last = list(played.runs.values())[-1]
    assert {at: run["state"] for at, run in played.runs.items()} == {
        at: fault.after.get(at, fault.state) for at in played.runs
    }
    assert (last["state"], last["reason"]) == (fault.state, fault.reason)
    waits = [run["start_after"] for run in played.runs.values() if run["state"] == WAITING]
    assert list(dict.fromkeys(wait[11:16] for wait in waits)) == list(fault.until)
    assert len(played.requests) == fault.requests
    assert played.counted == fault.counted
    assert (played.told["state"], played.told["reason"]) == (fault.state, fault.reason)
    assert fault.state in played.line


@pytest.mark.parametrize("name", ANSWERED)
def test_a_fault_ends_as_its_case_says(answered: dict[str, Played], name: str) -> None:
    judge(ANSWERED[name], answered[name])


@pytest.mark.parametrize("name", STREAMED)
def test_a_fault_of_a_stream_ends_as_its_case_says(streamed: dict[str, Played], name: str) -> None:
    judge(STREAMED[name], streamed[name])


def test_c206_a_short_wait_is_kept_inside_the_call(answered: dict[str, Played]) -> None:
    _, refused, again = answered["retry-after-7"].requests
    assert again.received - refused.received >= 7
    assert again.body == refused.body


@pytest.mark.parametrize("name", ["500", "cut-body", "cut-once", "retry-after-3600", "busy-for-ever"])
def test_the_failed_step_is_asked_again_byte_for_byte(answered: dict[str, Played], name: str) -> None:
    _, *again = answered[name].requests
    assert {request.body for request in again} == {again[0].body}


def test_arguments_that_are_not_json_are_answered_to_the_model(answered: dict[str, Played]) -> None:
    last = answered["not-json"].requests[-1].messages[-1]
    assert last["role"] == "tool"
    assert json.loads(last["content"])["error"]["code"] == "InvalidArguments"


def test_a_server_down_for_twenty_minutes_is_waited_for_and_holds_nobody_up(home: Home) -> None:
    """At most one run at once: were a thread held, the script could not run meanwhile."""
    counter = home.root.parent / "counted"
    prepare(home, {"down": Fault([DONE], "ok", None, 2, lines=(DAILY,))}, counter)
    held = Path(f"{counter}.held")
    held.touch()
    write_job(home, "meanwhile", 'schedule: "*/5 * * * *"', f"script: echo meanwhile >> {counter}")
    with StubServer(script({"down": Fault([DONE], "ok", None, 2)})) as stub:
        first = stub.base_url
        with Serving(home, ("--concurrency", "1"), env=model_env(stub)) as serve:
            serve.at("12:00")
            until(lambda: "down" in counter.read_text().split(), "the first step was made")
            stub.refuse()
            held.unlink()
            serve.due("12:00", runs=2)
            (run,) = serve.runs("down")
            assert (run["state"], run["reason"]) == (WAITING, "model_unreachable")
            listed = serve.cli("list").out
            assert WAITING in next(line for line in listed.splitlines() if line.startswith("down"))
            assert run["start_after"].startswith("2026-12-01 12:05")
            serve.due("12:05", runs=3)
            assert [one["state"] for one in serve.runs("meanwhile")] == ["ok", "ok"]
            assert serve.runs("down")[0]["start_after"].startswith("2026-12-01 12:20")
            serve.due("12:10", runs=4)
            serve.due("12:15", runs=5)
            assert serve.runs("down")[0]["state"] == WAITING
            stub.listen()
            assert stub.base_url == first
            serve.due("12:20", runs=6)
            (run,) = serve.runs("down")
            assert (run["state"], run["attempt"]) == ("ok", 1)
            assert {one["state"] for one in serve.runs("meanwhile")} == {"ok"}
        assert counter.read_text().split().count("down") == 1
        assert len(stub.requests) == 2
        assert stub.requests[1].messages[: len(stub.requests[0].messages)] == stub.requests[0].messages


def test_another_model_is_asked_only_where_the_job_names_it_and_the_change_is_recorded(home: Home) -> None:
    counter = home.root.parent / "counted"
    home.tools.mkdir()
    (home.tools / "count.py").write_text(COUNT.format(file=str(counter)))
    counter.touch()
    lines = (DAILY, "tools: [count]", "model: first", "retries: {attempts: 0}")
    for name, more in {"named": "fallback_models: [second]", "strict": "tags: [strict]"}.items():
        write_job(home, name, *lines, more, prompt=f"{task(name)} count, then report.")
    call = {"tool_calls": [{"name": "count", "arguments": {"name": "{{n}}"}}]}
    parts = [
        {"contains": task("named"), "model": "first", "replies": [call, {**busy(31), **ALWAYS}]},
        {"contains": task("named"), "model": "second", "replies": [{"text": "said by the second"}]},
        {"contains": task("strict"), "model": "first", "replies": [call, {**busy(31), **ALWAYS}]},
    ]
    with StubServer({"conversations": parts}) as stub, Serving(home, env=model_env(stub)) as serve:
        serve.due("12:00", runs=2)
        (named,), (strict,) = serve.runs("named"), serve.runs("strict")
        if named["state"] == WAITING:
            serve.due("12:50", runs=2)
            (named,) = serve.runs("named")
        assert (named["state"], named["model"]) == ("ok", "second")
        assert "second" in serve.cli("runs", "show", named["id"]).out
        used = serve.rows("SELECT model FROM usage WHERE run_id = ? ORDER BY seq", named["id"])
        assert [row["model"] for row in used] == ["first", "second"]
        assert strict["state"] == WAITING
        assert {request.json()["model"] for request in stub.requests if task("strict").encode() in request.body} == {
            "first"
        }
    assert len(counter.read_text().split()) == 2


def test_a_cap_that_the_first_call_would_pass_ends_the_run_before_it(home: Home) -> None:
    counter = home.root.parent / "counted"
    prepare(home, {"poor": Fault([DONE], "ok", None, 0, lines=(DAILY, "limits: {tokens: 50}"))}, counter)
    with StubServer([DONE]) as stub, Serving(home, env=model_env(stub)) as serve:
        serve.due("12:00", runs=1)
        (run,) = serve.runs("poor")
        assert (run["state"], run["attempt"]) == ("budget_exhausted", 1)
        assert stub.requests == []
        assert "50" in serve.cli("runs", "show", run["id"]).out


@pytest.mark.parametrize(("config", "limit"), [("", 8192), ("max_tokens = 500\n", 500)], ids=["default", "set"])
def test_the_limit_of_a_reply_is_always_sent_and_kept_with_the_run(home: Home, config: str, limit: int) -> None:
    """What a cap reserves for a call is what the call may really use, also when the settings change in between."""
    home.config.write_text(f'timezone = "UTC"\n[model]\n{config}', encoding="utf-8")
    write_job(home, "j", DAILY, prompt="look")
    with StubServer(["all is well"]) as stub:
        serve = Serving(home, env=model_env(stub))
        assert serve.cli("run", "j").rc == 0
        (row,) = serve.rows("SELECT body FROM messages WHERE seq = 0")
    assert stub.requests[0].json()["max_tokens"] == limit
    assert json.loads(row["body"])["parameters"] == {"max_tokens": limit}
