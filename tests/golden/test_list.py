"""`list`, byte for byte: facts that are known, `-` for those that are not, BROKEN with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.golden.screens import ZONE, Screens, insert_delivery, insert_run, made, stored


def job(schedule: str, *keys: str) -> str:
    more = "".join(f"{key}\n" for key in keys)
    return f"---\nschedule: {schedule}\ntimezone: Asia/Shanghai\n{more}---\nlook\n"


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    screens = made(home, run_cli)
    screens.job("add-missing-indexes", job("every sunday 02:30"))
    screens.job("disk-watchdog", job('"*/5 * * * *"', "tags: [ops]"))
    screens.job("inspect-prod-db", job("every workday 9am", "description: Morning inspection"))
    screens.job("检查数据库", job("每天早上9点"))
    screens.job("old-report", job("every day 7am"))
    screens.job("resting", job("every day 7am", "paused: holiday"))
    screens.job("broken-job", "---\n# what was I thinking\ntimezone: UTC\nshedule: every day 9am\n---\nx\n")
    screens.at(datetime(2026, 11, 29, 12, 0, tzinfo=ZONE))
    screens("list")
    screens.at(datetime(2026, 11, 30, 10, 42, tzinfo=ZONE))
    with screens.store() as store:
        uids = dict(store.execute("SELECT name, uid FROM jobs"))
        insert_run(store, uids["inspect-prod-db"], "r1", datetime(2026, 11, 30, 9, tzinfo=ZONE), verdict="verified")
        insert_delivery(store, uids["inspect-prod-db"], "r1")
        insert_run(store, uids["disk-watchdog"], "r2", datetime(2026, 11, 30, 10, 40, tzinfo=ZONE), silent=1)
        insert_delivery(store, uids["disk-watchdog"], "r2", state="silent")
        insert_delivery(store, uids["disk-watchdog"], "r2", "https://hc.example", state="failed", kind="ping")
        held = stored(datetime(2026, 11, 30, 10, 42, tzinfo=ZONE) - timedelta(days=12))
        store.execute("UPDATE jobs SET held_reason='5 failures', held_at=? WHERE name='old-report'", (held,))
        for name, due in (("inspect-prod-db", (12, 1, 9, 0)), ("disk-watchdog", (11, 30, 10, 45))):
            at = stored(datetime(2026, *due, tzinfo=ZONE))
            store.execute("UPDATE jobs SET next_due=? WHERE name=?", (at, name))
    return screens


SCREEN = """\
NAME                 WHEN           NEXT         LAST   RESULT  CHECKED   SENT
add-missing-indexes  Sun 02:30      12-06 02:30  -      -       -         -
disk-watchdog        every 5 min    10:45        10:40  ok      -         silent
inspect-prod-db      workday 09:00  12-01 09:00  09:00  ok      verified  1 of 1
old-report           held 12 days   -            -      -       -         -
resting              paused         -            -      -       -         -
检查数据库           daily 09:00    09:00        -      -       -         -
broken-job           BROKEN jobs/broken-job.md:4 unknown key "shedule", did you mean "schedule"?

2 need you:  hermes-cron status
"""


def test_the_screen(screens: Screens) -> None:
    done = screens("list")
    assert done.err == ""
    lines = done.out.splitlines()
    wanted = SCREEN.splitlines()
    assert lines == wanted


def test_long_has_the_descriptions(screens: Screens) -> None:
    done = screens("list", "-l", "--lang", "zh")
    lines = done.out.splitlines()
    assert lines[0].split() == ["名称", "时间", "下次", "上次", "结果", "核查", "送达", "说明"]
    assert lines[3].endswith("Morning inspection")


def test_only_labelled_jobs(screens: Screens) -> None:
    assert [line.split()[0] for line in screens("list", "--tag", "ops").out.splitlines()] == ["NAME", "disk-watchdog"]


def test_json(screens: Screens) -> None:
    listed = json.loads(screens("list", "--json").out)
    by_name = {job["name"]: job for job in listed["jobs"]}
    assert listed["need_you"] == 2
    assert by_name["检查数据库"]["description"] == "look"
    assert by_name["inspect-prod-db"]["next"] == "2026-12-01T09:00:00+08:00"
    assert (by_name["inspect-prod-db"]["result"], by_name["inspect-prod-db"]["checked"]) == ("ok", "verified")
    assert by_name["inspect-prod-db"]["sent"] == {"sent": 1}
    assert (by_name["disk-watchdog"]["sent"], by_name["resting"]["sent"]) == ({"silent": 1}, None)
    assert by_name["broken-job"]["broken"].startswith("jobs/broken-job.md:4 unknown key")
    assert by_name["old-report"]["held"] == "5 failures"
    assert by_name["resting"]["paused"] == "holiday"


@pytest.mark.parametrize(
    ("states", "word"),
    [
        (("sent", "sent"), "2 of 2"),
        (("sent", "queued"), "1 of 2"),
        (("sent", "silent"), "1 of 1"),
        (("sent", "failed"), "failed"),
        (("sent", "unknown"), "unknown"),
        (("unknown", "failed"), "failed"),
        (("queued",), "queued"),
        (("held",), "held"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else None,
)
def test_what_did_not_arrive_is_never_shown_as_sent(screens: Screens, states: tuple[str, ...], word: str) -> None:
    with screens.store() as store:
        (uid,) = store.execute("SELECT uid FROM jobs WHERE name = 'inspect-prod-db'").fetchone()
        store.execute("DELETE FROM deliveries")
        for number, state in enumerate(states):
            insert_delivery(store, uid, "r1", f"target-{number}", state)
    line = next(line for line in screens("list").out.splitlines() if line.startswith("inspect-prod-db"))
    assert line.endswith(f"verified  {word}")


def test_a_broken_file_runs_its_last_good_version(screens: Screens) -> None:
    screens.job("inspect-prod-db", "---\nschedule: every wrokday 9am\n---\nx\n")
    line = screens("list").out.splitlines()[-3]
    assert line.startswith("inspect-prod-db")
    assert 'jobs/inspect-prod-db.md:2 schedule: schedule not understood: "every wrokday 9am"' in line
    assert line.endswith("(the last good version runs, next 12-01 09:00)")


def test_two_names_in_another_case_are_one_job_and_a_fault(screens: Screens) -> None:
    screens.job("Resting", job("every day 8am"))
    listed = json.loads(screens("list", "--json").out)["jobs"]
    resting = [job for job in listed if job["name"].lower() == "resting"]
    assert sorted(bool(job["broken"]) for job in resting) == [False, True]
    screens("resume", "RESTING")
    assert "paused" not in (screens.home.jobs / "resting.md").read_text(), "the job's own file, not its twin"


def test_removed_jobs_are_listed_on_request(screens: Screens) -> None:
    screens("remove", "resting", "-y")
    assert "resting" not in screens("list").out
    assert any(line.split()[:2] == ["resting", "removed"] for line in screens("list", "--all").out.splitlines())


def test_a_home_without_jobs_says_how_to_begin(home: Home, run_cli: Callable[..., Any]) -> None:
    assert run_cli("list").out == 'No jobs.  hermes-cron add "every day 9am: inspect prod db"\n'
