"""`status`: what was due, true, sent and spent, and everything that needs a person with the command that answers it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from hermes_cron.domain.job import Job
from hermes_cron.home import Home
from hermes_cron.scheduler.owners import Owner
from hermes_cron.store import runs, takes
from hermes_cron.store.engine import Store
from tests.golden.screens import (
    START,
    ZONE,
    Screens,
    insert,
    insert_approval,
    insert_delivery,
    insert_run,
    made,
    stored,
)

NOW = datetime(2026, 12, 1, 10, 42, tzinfo=ZONE)
DAY = "---\nschedule: every day 9am\ntimezone: Asia/Shanghai\n---\nlook\n"
CHECKS = json.dumps(
    [
        {"kind": "file", "says": "file out.csv", "verdict": "verified", "detail": "exists", "elapsed_ms": 1},
        {"kind": "report", "says": 'report matches "## 结论"', "verdict": "check_failed",
         "detail": 'the report has no "## 结论"', "elapsed_ms": 1},
    ],
    ensure_ascii=False,
)  # fmt: skip


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    screens = made(home, run_cli)
    with home.config.open("a") as config:
        config.write("[budget]\ncost_usd_per_day = 2.0\ncost_usd_per_month = 40.0\n")
    for name in ("add-indexes", "fine", "log-digest", "new-export", "old-report", "weekly-report"):
        screens.job(name, DAY)
    screens("list")
    screens.at(NOW)
    return screens


def filled(screens: Screens) -> None:
    due = datetime(2026, 12, 1, 9, tzinfo=ZONE)
    with screens.store() as store:
        uids = dict(store.execute("SELECT name, uid FROM jobs"))
        insert_run(store, uids["fine"], "r1", due, verdict="verified")
        insert_delivery(store, uids["fine"], "r1", at=due)
        insert_run(
            store,
            uids["weekly-report"],
            "r2",
            due,
            verdict="check_failed",
            check_results=CHECKS,
            job_name="weekly-report",
        )
        insert_delivery(store, uids["weekly-report"], "r2", at=due)
        insert_run(store, uids["log-digest"], "r3", due)
        insert_delivery(store, uids["log-digest"], "r3", state="silent", at=due)
        insert_run(store, uids["new-export"], "r4", due)
        insert_delivery(
            store, uids["new-export"], "r4", "sales-chat", "failed", at=due, error="Feishu 19024, no key\nword"
        )
        insert_delivery(store, uids["new-export"], "r4", "phone", "unknown", at=due, error="died between")
        insert_run(store, uids["old-report"], "r5", due, state="failed", error="model key refused")
        insert_run(store, uids["add-indexes"], "r6", due, state="waiting_approval", took=None)
        insert_approval(
            store, uids["add-indexes"], "r6", job_name="add-indexes", arguments='{"command": "make index"}',
            expires_at=stored(NOW + timedelta(hours=8)),
        )  # fmt: skip
        store.execute(
            "UPDATE jobs SET held_reason = '5 failures in a row: model key refused', held_at = ?, next_due = NULL"
            " WHERE name = 'old-report'",
            (stored(NOW),),
        )
        store.execute(
            "UPDATE jobs SET settled_until = ?, next_due = CASE WHEN held_reason IS NULL THEN ? END",
            (stored(due), stored(due + timedelta(days=1))),
        )
        for number, run, cost in ((1, "r2", 0.22), (2, "r3", 0.09), (3, "r3", None)):
            insert(
                store, "usage", session_id="s", seq=number, run_id=run, phase="main", model="m", input=900, output=100,
                cached=0, cache_write=0, estimated=0, cost_usd=cost, elapsed_ms=1, at=stored(due),
            )  # fmt: skip
    screens.job("broken-job", "---\nshedule: every day 9am\n---\nx\n")


SCREEN = """\
scheduler   not running; nothing starts by itself:  hermes-cron serve
last 24 h   6 due, 6 accounted for: 4 ok, 0 skipped, 0 merged, 1 failed, 1 not ended; latest 0.0 s late
truth       1 verified, 1 check_failed, 2 without checks
sent        2 sent, 1 failed, 1 unknown, 1 silent
money       0.31 of 2.00 USD today, 0.31 of 40.00 this month, what 1 call cost is unknown; dearest: weekly-report 0.22
learned     -
next        12-02 09:00 add-indexes, 12-02 09:00 fine, 12-02 09:00 log-digest

6 need you
  a1 approval   add-indexes: terminal {"command": "make index"}, 8.0 h left  hermes-cron approve a1
  check_failed  weekly-report: the report has no "## 结论"  hermes-cron runs show r2
  not sent      new-export to sales-chat: Feishu 19024, no key word  hermes-cron outbox retry d4
  unknown       new-export to phone: died between  hermes-cron outbox retry d5
  held          old-report: 5 failures in a row: model key refused  hermes-cron resume old-report
  broken file   jobs/broken-job.md:2 unknown key "shedule", did you mean "schedule"?  hermes-cron edit broken-job
"""


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_screen(screens: Screens) -> None:
    filled(screens)
    told = screens("status", rc=1).out
    assert squeezed(told) == squeezed(SCREEN)
    rows = told.splitlines()[-6:]
    assert len({line.index("hermes-cron ") for line in rows if line.isascii()}) == 1, "the commands stand in a column"


def test_json_has_the_same_facts(screens: Screens) -> None:
    filled(screens)
    told = json.loads(screens("status", "--json", rc=1).out)
    assert told["sent"] == {"sent": 2, "failed": 1, "unknown": 1, "silent": 1}
    assert told["truth"] == {"verified": 1, "check_failed": 1, "without_checks": 2}
    assert told["money"]["today"] == {"tokens": 3000, "cost_usd": pytest.approx(0.31), "unpriced": 1}
    assert told["money"]["dearest"] == {"job": "weekly-report", "cost_usd": 0.22}
    assert [(need["kind"], need["command"]) for need in told["need_you"]] == [
        ("approval", "hermes-cron approve a1"),
        ("checks", "hermes-cron runs show r2"),
        ("delivery", "hermes-cron outbox retry d4"),
        ("delivery", "hermes-cron outbox retry d5"),
        ("held", "hermes-cron resume old-report"),
        ("broken", "hermes-cron edit broken-job"),
    ]
    assert json.loads(screens("list", "--json").out)["need_you"] == 6


def test_what_could_not_be_checked_and_what_waits_is_said(screens: Screens) -> None:
    with screens.store() as store:
        (uid,) = store.execute("SELECT uid FROM jobs WHERE name = 'fine'").fetchone()
        insert_run(store, uid, "r1", START + timedelta(hours=1), verdict="not_checkable")
        insert_delivery(store, uid, "r1", state="queued", at=NOW)
        insert_delivery(store, uid, "r1", state="held", at=NOW)
    told = screens("status", rc=1).out
    assert "truth       0 verified, 0 check_failed, 0 without checks, 1 not_checkable\n" in told
    assert "sent        0 sent, 0 failed, 0 unknown, 0 silent, 1 queued, 1 held\n" in told
    assert "  not_checkable  fine: not_checkable  hermes-cron runs show r1\n" in told


def test_a_question_that_nobody_answered_in_time(screens: Screens) -> None:
    with screens.store() as store:
        insert_approval(store, None, "r9", job_name="prompt", expires_at=stored(NOW))
    told = screens("status", "--lang", "zh", rc=1).out
    assert "a1 待批准  prompt：terminal {}，现在起按否处理  hermes-cron serve" in told
    assert "今天 0.00/2.00 美元，本月 0.00/40.00\n" in told


def test_nothing_is_shown_for_want_of_knowledge(home: Home, run_cli: Callable[..., Any]) -> None:
    screens = made(home, run_cli)
    screens.job("fine", DAY)
    told = screens("status", rc=1).out
    for label in ("truth", "sent", "money", "learned"):
        assert f"\n{label:10}  -\n" in told


def test_without_a_scheduler_it_says_how_many_runs_only_one_could_go_on_with(screens: Screens) -> None:
    """One that was queued, one whose process died; not the one that a living command executes."""
    for name in ("queued", "orphan", "here"):
        screens.job(name, "---\nschedule: every day 9am\nscript: echo x\n---\n")
    screens("run", "queued", "--detach")
    assert "scheduler   not running; 1 run waits for it:  hermes-cron serve" in screens("status", rc=1).out
    home = screens.home
    with Owner(home.owners, kind="run", started_at=NOW) as living, Store(home.store) as store:
        for name, owner in (("orphan", "serve-1-dead"), ("here", living.name)):
            start = runs.Start(job=Job(name=name, script="true"), job_uid=None, actor="test")
            run_id = store.write(lambda conn, start=start: runs.enqueue(conn, start, NOW))
            store.write(lambda conn, run_id=run_id, owner=owner: takes.take_run(conn, run_id, owner, NOW))
        assert "not running; 2 runs wait for it:" in screens("status", rc=1).out
        assert "未运行，2 次运行在等它" in screens("status", "--lang", "zh", rc=1).out
        assert json.loads(screens("status", "--json", rc=1).out)["runs_left"] == 2
