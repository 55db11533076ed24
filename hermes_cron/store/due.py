"""Which jobs should have begun and have not, and which never did?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from hermes_cron.domain.run import OccurrenceState
from hermes_cron.store.prepared import instant
from hermes_cron.store.tables import JobRow, OccurrenceRow, OccurrenceSpanRow, RunRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]
_occurrences = OccurrenceRow.__table__  # type: ignore[attr-defined]
_spans = OccurrenceSpanRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """A job whose instant ``at`` passed; of one that never ran the first that it missed, ``missed`` of them."""

    job: str
    at: datetime
    missed: int = 0


def scheduled(conn: Connection) -> int:
    """Jobs that have a next instant."""
    return int(conn.execute(select(func.count()).where(*_starts(), _jobs.c.next_due.is_not(None))).scalar_one())


def overdue(conn: Connection, before: datetime) -> list[Late]:
    """Jobs whose next instant is older than that and that nobody has claimed, the oldest first."""
    query = (
        select(_jobs.c.name, _jobs.c.next_due).where(*_starts(), _jobs.c.next_due < before).order_by(_jobs.c.next_due)
    )
    return [Late(job=row.name, at=_known(row.next_due)) for row in conn.execute(query)]


def never_ran(conn: Connection) -> list[Late]:
    """Jobs that missed instants and have no run at all, by name."""
    missed = OccurrenceState.MISSED.value
    single = select(_occurrences.c.job_uid, _occurrences.c.scheduled_at.label("at"), func.count().label("n")).where(
        _occurrences.c.state == missed
    )
    spans = select(_spans.c.job_uid, _spans.c.first_at.label("at"), _spans.c.count.label("n")).where(
        _spans.c.state == missed
    )
    both = single.group_by(_occurrences.c.job_uid, _occurrences.c.scheduled_at).union_all(spans).subquery()
    ran = select(_runs.c.id).where(_runs.c.job_uid == _jobs.c.uid)
    query = (
        select(_jobs.c.name, func.min(both.c.at).label("at"), func.sum(both.c.n).label("n"))
        .join(both, both.c.job_uid == _jobs.c.uid)
        .where(*_starts(), ~ran.exists())
        .group_by(_jobs.c.name)
        .order_by(_jobs.c.name)
    )
    return [Late(job=row.name, at=_known(row.at), missed=int(row.n)) for row in conn.execute(query)]


def _starts() -> tuple[ColumnElement[bool], ...]:
    """Of a job: nothing keeps it from being started."""
    return (
        _jobs.c.removed_at.is_(None),
        _jobs.c.held_reason.is_(None),
        _jobs.c.broken.is_(None),
        func.json_extract(_jobs.c.spec, "$.paused").is_(None),
    )


def _known(value: Any) -> datetime:
    at = instant(value)
    if at is None:
        raise ValueError("an instant that is not there")
    return at
