"""What does the store say about the state of a home: what came next, what needs a person?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, func, select

from hermes_cron.domain.run import OccurrenceState, RunState
from hermes_cron.store.tables import JobRow, OccurrenceSpanRow, RunRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]
_spans = OccurrenceSpanRow.__table__  # type: ignore[attr-defined]

BAD = (
    RunState.FAILED,
    RunState.TIMEOUT,
    RunState.INTERRUPTED,
    RunState.BUDGET_EXHAUSTED,
    RunState.DENIED,
    RunState.UNKNOWN,
)
"""Ends that somebody should look at. ``cancelled`` was somebody's wish."""

Kind = Literal["broken", "held", "run", "missed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that needs a person. ``state`` and ``run_id`` for runs; ``text`` is one line, from files or errors."""

    kind: Kind
    job: str
    text: str
    state: str | None = None
    run_id: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """The next instant of a job, in its zone's name."""

    job: str
    at: datetime
    timezone: str


def needs(conn: Connection) -> list[Need]:
    """Broken files, held jobs, jobs whose last run ended badly, one-shots that were missed; by name within a kind."""
    return [*_broken(conn), *_held(conn), *_bad_runs(conn), *_missed_for_good(conn)]


def coming(conn: Connection, limit: int) -> list[Coming]:
    """The next jobs to start, soonest first."""
    query = (
        select(_jobs.c.name, _jobs.c.next_due, func.json_extract(_jobs.c.spec, "$.timezone").label("zone"))
        .where(
            _jobs.c.next_due.is_not(None),
            _jobs.c.held_reason.is_(None),
            func.json_extract(_jobs.c.spec, "$.paused").is_(None),
        )
        .order_by(_jobs.c.next_due)
        .limit(limit)
    )
    return [Coming(job=row.name, at=row.next_due, timezone=row.zone or "UTC") for row in conn.execute(query)]


def verdicts(conn: Connection, since: datetime) -> dict[str, int]:
    """What outcome checks said of runs that ended since then; runs without checks do not count."""
    query = (
        select(_runs.c.verdict, func.count().label("n"))
        .where(_runs.c.ended_at > since, _runs.c.verdict.is_not(None))
        .group_by(_runs.c.verdict)
    )
    return {row.verdict: row.n for row in conn.execute(query)}


def _broken(conn: Connection) -> list[Need]:
    query = (
        select(_jobs.c.name, _jobs.c.broken)
        .where(_jobs.c.broken.is_not(None), _jobs.c.removed_at.is_(None))
        .order_by(_jobs.c.name)
    )
    return [Need(kind="broken", job=row.name, text=row.broken) for row in conn.execute(query)]


def _held(conn: Connection) -> list[Need]:
    query = (
        select(_jobs.c.name, _jobs.c.held_reason, _jobs.c.held_at)
        .where(_jobs.c.held_reason.is_not(None), _jobs.c.removed_at.is_(None))
        .order_by(_jobs.c.name)
    )
    return [Need(kind="held", job=row.name, text=row.held_reason, at=row.held_at) for row in conn.execute(query)]


def _bad_runs(conn: Connection) -> list[Need]:
    """The last run that ended, of each job; a run by hand that went well answers an earlier failure."""
    mine = _runs.alias("mine")
    newest = (
        select(mine.c.id)
        .where(mine.c.job_uid == _jobs.c.uid, mine.c.ended_at.is_not(None), mine.c.state != RunState.CANCELLED)
        .order_by(mine.c.queued_at.desc(), mine.c.id.desc())
        .limit(1)
        .correlate(_jobs)
        .scalar_subquery()
    )
    query = (
        select(_jobs.c.name, _runs.c.id, _runs.c.state, _runs.c.reason, _runs.c.error, _runs.c.ended_at)
        .select_from(_jobs.join(_runs, _runs.c.id == newest))
        .where(_jobs.c.removed_at.is_(None), _runs.c.state.in_(BAD))
        .order_by(_jobs.c.name)
    )
    return [
        Need(
            kind="run",
            job=row.name,
            text=row.error or row.reason or "",
            state=row.state,
            run_id=row.id,
            at=row.ended_at,
        )
        for row in conn.execute(query)
    ]


def _missed_for_good(conn: Connection) -> list[Need]:
    """A job whose last instant was missed and that has no other: nobody would hear of it again."""
    later = select(_runs.c.id).where(_runs.c.job_uid == _spans.c.job_uid, _runs.c.queued_at > _spans.c.last_at)
    query = (
        select(_jobs.c.name, _spans.c.last_at, _spans.c.reason)
        .select_from(_jobs.join(_spans, _spans.c.job_uid == _jobs.c.uid))
        .where(
            _jobs.c.removed_at.is_(None),
            _jobs.c.next_due.is_(None),
            _spans.c.state == OccurrenceState.MISSED,
            _spans.c.revision == _jobs.c.revision,
            ~later.exists(),
        )
        .order_by(_jobs.c.name)
    )
    return [Need(kind="missed", job=row.name, text=row.reason or "", at=row.last_at) for row in conn.execute(query)]
