"""`history`: a row for every due instant, spans expanded, and the sum as a proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.golden.screens import ZONE, Screens, insert_delivery, insert_run, insert_span, made, stored


def day(number: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, number, hour, minute, tzinfo=ZONE)


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    screens = made(home, run_cli)
    screens.job("inspect-prod-db", "---\nschedule: every workday 9am\ntimezone: Asia/Shanghai\n---\nlook\n")
    screens.job("log-digest", '---\nschedule: "0 8-20/2 * * *"\ntimezone: Asia/Shanghai\n---\nlook\n')
    screens.at(day(25, 19))
    screens("list")
    screens.at(day(1, 12, month=12))
    with screens.store() as store:
        uids = dict(store.execute("SELECT name, uid FROM jobs"))
        uid, digest = uids["inspect-prod-db"], uids["log-digest"]
        insert_run(store, uid, "r7gq1", day(26, 9), after=10_080, took=3, late=1, verdict="verified")
        insert_run(store, uid, "r7dd8", day(27, 9), took=900, state="failed", error="prod refused")
        insert_run(store, uid, "r7h9x", day(30, 9), took=3.1, verdict="verified")
        insert_run(store, uid, "r7k2m", day(1, 9, month=12), tokens_input=9000, tokens_output=120)
        insert_delivery(store, uid, "r7h9x", attempts=3)
        insert_delivery(store, uid, "r7dd8", kind="failure")
        insert_delivery(store, uid, "r7k2m", state="failed", error="refused")
        insert_run(store, digest, "r7gq2", day(26, 10), after=6480, took=41, late=1)
        insert_span(
            store, job_uid=digest, revision=1, first_at=stored(day(25, 20)), last_at=stored(day(26, 8)), count=2,
            state="merged", run_id="r7gq2", noted_at=stored(day(26, 11)),
        )  # fmt: skip
        store.execute("UPDATE jobs SET settled_until=?", (stored(day(1, 9, month=12)),))
        store.execute("UPDATE jobs SET settled_until=? WHERE uid=?", (stored(day(26, 11)), digest))
    return screens


SCREEN = """\
DUE              START   TOOK    RESULT  CHECKED   SENT               TOKENS  RUN
Tue 12-01 09:00  +0.0 s  2.9 s   ok      -         ops-chat failed     9,120  r7k2m
Mon 11-30 09:00  +0.0 s  3.1 s   ok      verified  ops-chat, 3rd try       0  r7h9x
Fri 11-27 09:00  +0.0 s  15 min  failed  -         ops-chat                0  r7dd8  prod refused
Thu 11-26 09:00  +2.8 h  3.0 s   ok      verified  -                       0  r7gq1  late
4 due, 4 accounted for.
"""

MERGED = """\
DUE              START   TOOK  RESULT  CHECKED  SENT  TOKENS  RUN
Thu 11-26 10:00  +1.8 h  41 s  ok      -        -          0  r7gq2  late
Thu 11-26 08:00  -       -     merged  -        -          -  -      into Thu 11-26 10:00
Wed 11-25 20:00  -       -     merged  -        -          -  -      into Thu 11-26 10:00
"""


def test_every_due_instant_has_a_row(screens: Screens) -> None:
    done = screens("history", "inspect-prod-db")
    assert (done.out, done.err) == (SCREEN, "")


def test_merged_instants_say_into_which_run(screens: Screens) -> None:
    out = screens("history", "log-digest").out
    assert out.startswith(MERGED)
    assert "wait for a scheduler." in out.splitlines()[-1]


def test_only_what_failed(screens: Screens) -> None:
    lines = screens("history", "insp", "--failed").out.splitlines()
    assert [line.split()[-3:] for line in lines[1:-1]] == [["failed", "9,120", "r7k2m"], ["r7dd8", "prod", "refused"]]
    with screens.store() as store:
        store.execute("UPDATE runs SET verdict = 'not_checkable' WHERE id = 'r7gq1'")
    assert [line.split()[-1] for line in screens("history", "insp", "--failed").out.splitlines()[3:-1]] == ["late"]


def test_limit_and_since(screens: Screens) -> None:
    assert screens("history", "insp", "--limit", "2").out.splitlines()[-1] == "2 due, 2 accounted for."
    assert screens("history", "insp", "--since", "2d").out.splitlines()[-1] == "2 due, 2 accounted for."
    since = screens("history", "insp", "--since", "2026-11-27T09:00").out.splitlines()
    assert since[-1] == "3 due, 3 accounted for."
    assert "is not an instant" in screens("history", "insp", "--since", "monday", rc=2).err


def test_all_jobs_name_theirs(screens: Screens) -> None:
    lines = screens("history").out.splitlines()
    assert lines[0].split()[:2] == ["DUE", "JOB"]
    assert {line.split()[3] for line in lines[1:-1]} == {"inspect-prod-db", "log-digest"}


def test_json_has_the_facts_of_each_row(screens: Screens) -> None:
    found = json.loads(screens("history", "log-digest", "--json").out)
    first, second, *_ = found["history"]
    assert {key: first[key] for key in ("job", "scheduled_at", "state", "reason", "run_id", "late", "result")} == {
        "job": "log-digest", "scheduled_at": "2026-11-26T10:00:00+08:00", "state": "ran", "reason": None,
        "run_id": "r7gq2", "late": True, "result": "ok",
    }  # fmt: skip
    assert (first["sent"], second["sent"]) == ([], [])
    sent = json.loads(screens("history", "insp", "--json").out)["history"][1]["sent"]
    assert [(each["target"], each["state"], each["attempts"]) for each in sent] == [("ops-chat", "sent", 3)]
    assert (second["state"], second["run_id"], second["into"]) == ("merged", "r7gq2", "2026-11-26T10:00:00+08:00")
    assert (found["missing"], found["due"] - found["waiting"]) == ([], found["accounted_for"])


def test_a_missing_row_is_said(screens: Screens) -> None:
    with screens.store() as store:
        store.execute("DELETE FROM occurrences WHERE run_id = 'r7h9x'")
    assert screens("history", "insp", "--since", "7d").out.splitlines()[-1] == (
        "4 due, 3 accounted for. MISSING: inspect-prod-db 2026-11-30T01:00Z."
    )


def test_a_removed_job_keeps_its_history(screens: Screens) -> None:
    screens("remove", "inspect-prod-db", "-y")
    assert "r7dd8" in screens("history", "inspect-prod-db").out


def test_nothing_yet(screens: Screens) -> None:
    screens.job("fresh", "---\nschedule: every day 9am\n---\nx\n")
    assert screens("history", "fresh").out == "Nothing was due yet.\n"


def test_a_run_that_goes_on_has_no_end(screens: Screens) -> None:
    with screens.store() as store:
        (uid,) = store.execute("SELECT uid FROM jobs WHERE name = 'log-digest'").fetchone()
        insert_run(store, uid, "r9", day(1, 12, month=12), took=None, state="running")
    line = screens("history", "log-digest", "--limit", "1").out.splitlines()[1]
    assert line.split() == ["Tue", "12-01", "12:00", "+0.0", "s", "-", "running", "-", "-", "-", "r9"]
