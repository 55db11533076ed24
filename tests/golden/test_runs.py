"""`runs list`, `runs show` and `runs steer`: how a run stands, what proves it, who heard of it, who was asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.golden.screens import ZONE, Screens, insert, insert_approval, insert_delivery, insert_run, made, stored

DUE = datetime(2026, 12, 1, 9, tzinfo=ZONE)
NOW = datetime(2026, 12, 1, 9, 40, tzinfo=ZONE)
JOB = """\
---
schedule: every day 9am
timezone: Asia/Shanghai
checks: [{report: {matches: done}}, {file: {path: out.csv}}]
deliver: [ops-chat, phone]
---
look
"""
CHECKS = json.dumps(
    [
        {"kind": "report", "says": "report matches done", "verdict": "verified", "detail": "found", "elapsed_ms": 1},
        {"kind": "file", "says": "file out.csv", "verdict": "check_failed", "detail": "there is no such\nfile",
         "elapsed_ms": 1},
    ]
)  # fmt: skip


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    screens = made(home, run_cli)
    screens.job("daily", JOB)
    screens("list")
    screens.at(NOW)
    return screens


def put_run(screens: Screens, run_id: str, **columns: Any) -> str:
    """A run of `daily`, with the job as it is."""
    with screens.store() as store:
        uid, spec = store.execute("SELECT uid, spec FROM jobs").fetchone()
        insert_run(store, uid, run_id, columns.pop("due", DUE), job_name="daily", **{"spec": spec, **columns})
    return str(uid)


def facts(screen: str) -> dict[str, list[str]]:
    """Label -> lines of `runs show`."""
    found: dict[str, list[str]] = {}
    label = ""
    lines = screen.partition("\n\n")[0].splitlines()[1:]
    column = lines[0].index("daily")  # the job's line is the first
    for line in lines:
        label = line[:column].strip() or label
        found.setdefault(label, []).append(line[column:])
    return found


def test_a_run_that_is_doubted_shows_every_check_message_and_attempt(screens: Screens) -> None:
    uid = put_run(
        screens, "r1", verdict="check_failed", check_results=CHECKS, attempt=2, takeovers=1, tokens_input=900,
        tokens_output=100, cost_usd=0.004, model="m", iterations=3, tool_calls=2,
    )  # fmt: skip
    sent_at = DUE + timedelta(seconds=3)
    with screens.store() as store:
        insert_delivery(store, uid, "r1", attempts=3, at=sent_at, receipt="HTTP 200\nok")
        insert_delivery(store, uid, "r1", "phone", "failed", attempts=17, error="HTTP 404")
        insert_delivery(store, uid, "r1", "hc", "sent", kind="ping")
        for number, state, reason in ((1, "failed", "exit_code"), (2, "ok", None)):
            started = stored(DUE + timedelta(minutes=5 * (number - 1)))
            insert(
                store, "attempts", run_id="r1", number=number, owner="o", fence=number, started_at=started,
                ended_at=started, state=state, reason=reason,
            )  # fmt: skip
    told = facts(screens("runs", "show", "r1").out)
    assert told["checked"] == [
        "check_failed",
        "verified      report matches done: found",
        "check_failed  file out.csv: there is no such file",
    ]
    assert told["sent"] == [
        "d1 ops-chat: sent Tue 2026-12-01 09:00:03, 3 tries: HTTP 200 ok",
        "d2 phone: failed, 17 tries: HTTP 404",
    ]
    assert told["attempts"] == [
        "number 1, since Tue 2026-12-01 09:00: failed (exit_code)",
        "number 2, since Tue 2026-12-01 09:05: ok",
    ]
    assert told["taken over"] == ["once, because its process died"]
    assert told["usage"] == ["3 model calls, 2 tool calls (0 failed), 1,000 tokens, 0.0040 USD"]
    assert "asked" not in told

    shown = json.loads(screens("runs", "show", "r1", "--json").out)
    assert [(each["target"], each["state"], each["attempts"]) for each in shown["deliveries"]] == [
        ("ops-chat", "sent", 3), ("phone", "failed", 17),
    ]  # fmt: skip
    assert (shown["verified"], shown["cost_usd"]) == ("check_failed", 0.004)
    assert [check["verdict"] for check in shown["checks"]] == ["verified", "check_failed"]
    assert [attempt["state"] for attempt in shown["attempts"]] == ["failed", "ok"]


def test_a_run_that_asked(screens: Screens) -> None:
    uid = put_run(screens, "r1", state="waiting_approval", took=None)
    with screens.store() as store:
        for seq, answer in enumerate(
            ({}, {"decision": "denied", "decided_at": stored(NOW), "decided_by": "oncall", "reason": "not\nnow"})
        ):
            insert_approval(
                store, uid, "r1", seq=seq, arguments='{"command": "x"}', expires_at=stored(NOW + timedelta(hours=1)),
                **answer,
            )  # fmt: skip
    told = facts(screens("runs", "show", "r1").out)
    assert told["result"] == ["waiting_approval"]
    assert told["took"] == ["-"]
    assert told["asked"] == [
        'a1 terminal {"command": "x"}: no answer yet; silence means no at Tue 2026-12-01 10:40',
        'a2 terminal {"command": "x"}: denied by oncall, Tue 2026-12-01 09:40 (not now)',
    ]
    shown = json.loads(screens("runs", "show", "r1", "--json").out)
    assert [(each["id"], each["decision"]) for each in shown["approvals"]] == [("a1", None), ("a2", "denied")]


def test_a_run_that_waits_says_until_when_and_why(screens: Screens) -> None:
    put_run(
        screens, "r1", state="waiting_retry", took=None, waits=2, reason="rate_limited", error="HTTP 429",
        start_after=stored(datetime(2026, 12, 1, 10, 45, tzinfo=ZONE)),
    )  # fmt: skip
    lines = screens("runs", "list").out.splitlines()
    assert "waiting_retry until 10:45" in lines[1]
    assert lines[1].endswith("rate_limited")
    told = facts(screens("runs", "show", "r1").out)
    assert told["result"] == ["waiting_retry until 10:45 (rate_limited)"]
    assert told["waits"] == ["2 for the model or network at the present step"]
    shown = json.loads(screens("runs", "list", "--json").out)["runs"][0]
    assert shown["waits_until"] == "2026-12-01T02:45:00+00:00"


def test_what_is_not_known_is_said(screens: Screens) -> None:
    put_run(screens, "r1")
    told = facts(screens("runs", "show", "r1").out)
    assert (told["checked"], told["sent"]) == (["not judged"], ["-"])
    assert told["usage"][0].endswith("0 tokens, cost unknown")
    put_run(screens, "r2", due=DUE + timedelta(days=1), spec='{"timezone": "Asia/Shanghai"}')
    told = facts(screens("runs", "show", "r2").out)
    assert (told["checked"], told["sent"]) == (["no checks"], ["to nobody"])


def test_the_list_has_the_three_facts(screens: Screens) -> None:
    uid = put_run(screens, "r1", verdict="verified")
    with screens.store() as store:
        insert_delivery(store, uid, "r1", attempts=2)
        insert_delivery(store, uid, "r1", "phone", "unknown")
    header, line = screens("runs", "list").out.splitlines()
    assert header.split() == ["RUN", "JOB", "DUE", "START", "TOOK", "RESULT", "CHECKED", "SENT", "TOKENS", "WHY"]
    assert "ok      verified  ops-chat, 2nd try, phone unknown" in line


def test_a_run_is_told_something(screens: Screens) -> None:
    put_run(screens, "r1", state="waiting_retry", took=None, ended_at=None)
    with screens.store() as store:
        store.execute("UPDATE runs SET spec = (SELECT spec FROM jobs)")
    told = screens("runs", "steer", "r1", "look", "at orders")
    assert told.out == "run r1 is told so with its next request\n"
    shown = facts(screens("runs", "show", "r1").out)["told"]
    assert shown[0].startswith("waits for the next request: ")
    assert shown[0].endswith(": look at orders")
    assert json.loads(screens("runs", "steer", "r1", "and", "--json").out) == {"run_id": "r1", "told": "and"}
    with screens.store() as store:
        store.execute("UPDATE runs SET state = 'ok', ended_at = ?", (stored(NOW),))
    assert "has ended already" in screens("runs", "steer", "r1", "x", rc=5).err
    assert "no run" in screens("runs", "steer", "r9", "x", rc=3).err
