"""How does a job that the program held start again? ``streaks`` says when it is held."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, select, update

from hermes_cron.domain.job import load_job
from hermes_cron.domain.occurrence import WINDOW, first_due, timing_of
from hermes_cron.store.claims import settle
from hermes_cron.store.tables import JobRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table


def release(conn: Connection, uid: str, now: datetime, *, window: timedelta = WINDOW) -> bool:
    """End the hold: what was due meanwhile is ``skipped``, reason ``held``; the next instant counts from ``now``.

    False when the job is not held, or was never understood.
    """
    more = True
    row = None
    while more:
        row = conn.execute(select(_jobs).where(_jobs.c.uid == uid)).mappings().first()
        if row is None or row["held_reason"] is None or row["spec"] is None:
            return False
        more = settle(conn, [row], now, window=window).more
    if row is None:
        return False
    job = load_job(row["spec"])
    over = job.max_runs is not None and row["fired"] >= job.max_runs
    next_due = None if over else first_due(timing_of(job), now)  # a paused job's instants get rows too
    conn.execute(
        update(_jobs).where(_jobs.c.uid == uid).values(held_reason=None, held_at=None, failures=0, next_due=next_due)
    )
    return True
