"""Whatever `keep` says, no figure of today, of this month or of the last 31 days falls by itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain.job import Job, Keep, dump_job
from hermes_cron.store import retention, spending
from hermes_cron.store.engine import Store
from hermes_cron.store.tables import (
    ApprovalRow,
    FeedbackRow,
    JobRow,
    ReservationRow,
    RunRow,
    SessionRow,
    UsageRow,
)

NOW = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)
LEAST = Keep(runs=1, days=1)
MODEL, PLAYBOOK = "gpt-5-mini", "playbook:inspect-database"

jobs, runs, sessions = JobRow.__table__, RunRow.__table__, SessionRow.__table__  # type: ignore[attr-defined]
usage, reservations = UsageRow.__table__, ReservationRow.__table__  # type: ignore[attr-defined]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "state.db") as made:
        row = {
            "uid": "j", "name": "j", "name_key": "j", "file_name": "j.md", "file_stat": "", "file_hash": "",
            "anchor": NOW, "first_seen": NOW, "settled_until": NOW,
        }  # fmt: skip
        made.write(lambda conn: conn.execute(jobs.insert(), row))
        add(made, "newest", NOW - timedelta(minutes=1), model=PLAYBOOK, cost=0.0)
        yield made


def add(store: Store, run_id: str, at: datetime, *, model: str | None = MODEL, cost: float | None = 0.5) -> None:
    run = {
        "id": run_id, "job_uid": "j", "job_name": "j", "cause": "schedule", "spec": "{}", "state": "ok", "late": False,
        "queued_at": at, "ended_at": at, "fence": 1, "silent": False, "actor": "t",
    }  # fmt: skip
    session = {"id": f"s-{run_id}", "run_id": run_id, "kind": "main", "started_at": at}
    call = {
        "session_id": f"s-{run_id}", "seq": 2, "run_id": run_id, "phase": "main", "model": model, "input": 1000,
        "output": 100, "cached": 0, "cache_write": 0, "estimated": False, "cost_usd": cost, "elapsed_ms": 1, "at": at,
    }  # fmt: skip

    def work(conn: object) -> None:
        conn.execute(runs.insert(), run)  # type: ignore[attr-defined]
        conn.execute(sessions.insert(), session)  # type: ignore[attr-defined]
        if model is not None:
            conn.execute(usage.insert(), call)  # type: ignore[attr-defined]

    store.write(work)


def expired(store: Store, keep: Keep = LEAST) -> set[str]:
    with store.read() as conn:
        return {found.run_id for found in retention.expired(conn, NOW, keep)}


@pytest.mark.parametrize(
    ("days", "model", "goes"),
    [
        (2, MODEL, False),
        (30, MODEL, False),
        (31, MODEL, False),  # a month of 31 days has an hour more where clocks go back
        (33, MODEL, True),
        (2, PLAYBOOK, True),  # costs nothing, so no sum counts it; a watchdog has thousands
        (2, None, True),
    ],
)
def test_a_run_that_a_sum_of_money_counts_stays(store: Store, days: int, model: str | None, *, goes: bool) -> None:
    add(store, "old", NOW - timedelta(days=days), model=model)
    assert expired(store) == ({"old"} if goes else set())


def test_a_call_without_a_price_counts_and_so_does_what_a_dead_run_had_reserved(store: Store) -> None:
    at = NOW - timedelta(days=5)
    add(store, "unpriced", at, cost=None)
    add(store, "died", at, model=None)
    row = {
        "id": "r", "run_id": "died", "job_uid": "j", "fence": 1, "model": MODEL, "tokens": 900, "cost_usd": 0.1,
        "day": "2026-12-26", "month": "2026-12", "at": at,
    }  # fmt: skip
    store.write(lambda conn: conn.execute(reservations.insert(), row))
    assert expired(store) == set()


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/New_York"])
def test_the_month_costs_the_same_after_the_runs_that_nobody_keeps_went(store: Store, zone: str) -> None:
    for day in range(45):
        add(store, f"r{day}", NOW - timedelta(days=day, hours=1))

    def month() -> tuple[int, float]:
        with store.read() as conn:
            spent = spending.this_month(conn, ZoneInfo(zone), NOW)
        return spent.tokens, spent.cost_usd

    before = month()
    gone = expired(store)
    store.write(lambda conn: retention.forget(conn, sorted(gone)))
    assert month() == before
    assert gone == {f"r{day}" for day in range(32, 45)}


def test_what_status_counts_of_the_last_day_stays_though_no_day_is_kept(store: Store) -> None:
    add(store, "yesterday", NOW - timedelta(hours=23), model=None)
    add(store, "before", NOW - timedelta(hours=25), model=None)
    assert expired(store, Keep(runs=1, days=0)) == {"before"}


def test_a_job_that_says_nothing_keeps_what_the_home_says_now(store: Store) -> None:
    """Not what it said when the job's file was read."""
    kept = Keep(runs=1, days=90, inherited=("runs", "days"))
    spec = dump_job(Job(name="j", prompt="x", keep=kept))
    store.write(lambda conn: conn.execute(jobs.update().values(spec=spec)))
    add(store, "old", NOW - timedelta(days=40))
    assert expired(store, Keep(runs=1, days=90)) == set()
    assert expired(store, Keep(runs=1, days=30)) == {"old"}


def test_a_run_with_an_open_question_stays_and_what_was_said_of_a_run_goes_with_it(store: Store) -> None:
    old = NOW - timedelta(days=60)
    add(store, "asks", old, model=None)
    add(store, "said", old, model=None)

    def work(conn: object) -> None:
        conn.execute(  # type: ignore[attr-defined]
            ApprovalRow.__table__.insert(),  # type: ignore[attr-defined]
            {
                "run_id": "asks", "job_name": "j", "session_id": "s/1", "seq": 0, "tool": "learn", "arguments": "",
                "evidence": "[]", "asked_at": old, "expires_at": NOW, "learned": 1,
            },
        )  # fmt: skip
        conn.execute(  # type: ignore[attr-defined]
            FeedbackRow.__table__.insert(),  # type: ignore[attr-defined]
            {"run_id": "said", "text": "wrong", "by_whom": "x", "at": old},
        )

    store.write(work)
    assert expired(store) == {"said"}
    store.write(lambda conn: retention.forget(conn, ["said"]))
    with store.read() as conn:
        assert conn.execute(FeedbackRow.__table__.select()).first() is None  # type: ignore[attr-defined]
