"""Which runs does nobody need any more?

A job keeps its newest ``keep.runs`` runs and all of the last ``keep.days`` days. What goes is the run with its
transcript; the row of its due instant stays, so that the past can still be accounted for. What the figures of today,
this month and the last 31 days are summed from stays whatever ``keep`` says: a sum that falls by itself is no sum. So
does a run that is still to be looked back at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, exists, or_, select

from hermes_cron.domain.job import Keep, load_keep
from hermes_cron.store import message_index, outbox, reviews, skill_uses, spending
from hermes_cron.store.tables import (
    ApprovalRow,
    AttemptRow,
    EffectRow,
    FeedbackRow,
    JobRow,
    MessageRow,
    ReservationRow,
    ReviewRow,
    RunRow,
    SessionRow,
    UsageRow,
)

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]
_messages = MessageRow.__table__  # type: ignore[attr-defined]
_effects = EffectRow.__table__  # type: ignore[attr-defined]
_usage = UsageRow.__table__  # type: ignore[attr-defined]
_reservations = ReservationRow.__table__  # type: ignore[attr-defined]
_approvals = ApprovalRow.__table__  # type: ignore[attr-defined]
_attempts = AttemptRow.__table__  # type: ignore[attr-defined]
_reviews = ReviewRow.__table__  # type: ignore[attr-defined]
_feedback = FeedbackRow.__table__  # type: ignore[attr-defined]

BATCH = 200
SHOWN = timedelta(days=1)
"""``status`` counts what became of the runs of the last 24 hours."""
SUMMED = timedelta(days=32)
"""What ``usage`` and ``status`` add up goes back 31 days or to the month's begin, whose longest has an hour more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """``output_path`` is relative to the home."""

    run_id: str
    output_path: str | None


def expired(conn: Connection, now: datetime, default: Keep, *, limit: int = BATCH) -> list[Expired]:
    """Ended runs beyond what their job keeps, oldest first, at most ``limit``. ``default`` for runs without a job."""
    found: list[Expired] = []
    for uid, keep in _keeps(conn, now, default):
        mine = _runs.c.job_uid.is_(None) if uid is None else _runs.c.job_uid == uid
        ended = _runs.c.ended_at.is_not(None)
        newest = select(_runs.c.id).where(mine, ended).order_by(_runs.c.queued_at.desc(), _runs.c.id).limit(keep.runs)
        query = (
            select(_runs.c.id, _runs.c.output_path)
            .where(
                mine,
                _runs.c.ended_at < _edge(now, keep),
                _runs.c.id.not_in(newest),
                ~_paid(now),
                ~reviews.open_of(_runs.c.id),
                ~_asks(),
            )
            .order_by(_runs.c.ended_at)
            .limit(limit - len(found))
        )
        found += [Expired(run_id=row.id, output_path=row.output_path) for row in conn.execute(query)]
        if len(found) >= limit:
            break
    return found


def _edge(now: datetime, keep: Keep) -> datetime:
    return now - max(timedelta(days=keep.days), SHOWN)


def _asks() -> ColumnElement[bool]:
    """Of a run: a person has yet to answer what it proposes."""
    return exists().where(_approvals.c.run_id == _runs.c.id, _approvals.c.decision.is_(None))


def _paid(now: datetime) -> ColumnElement[bool]:
    """Of a run: a sum of money counts calls of it, or what it had reserved for one. A playbook's calls cost nothing."""
    since = now - SUMMED
    called = exists().where(_usage.c.run_id == _runs.c.id, _usage.c.at >= since, _usage.c.model.not_like("playbook:%"))
    reserved = exists().where(_reservations.c.run_id == _runs.c.id, _reservations.c.at >= since)
    return or_(called, reserved)


def forget(conn: Connection, run_ids: Sequence[str]) -> None:
    """Remove these runs and all that hangs on them. Their words go first: the rows are what says which they are."""
    spending.forget(conn, run_ids)
    outbox.forget(conn, run_ids)
    skill_uses.forget(conn, run_ids)
    sessions = list(conn.execute(select(_sessions.c.id).where(_sessions.c.run_id.in_(run_ids))).scalars())
    message_index.forget(conn, sessions)
    conn.execute(delete(_messages).where(_messages.c.session_id.in_(sessions)))
    for table in (_approvals, _effects, _usage, _reviews, _feedback, _sessions, _attempts):
        conn.execute(delete(table).where(table.c.run_id.in_(run_ids)))
    conn.execute(delete(_runs).where(_runs.c.id.in_(run_ids)))


def _keeps(conn: Connection, now: datetime, default: Keep) -> list[tuple[str | None, Keep]]:
    """Jobs that have a run old enough to matter. A job that no longer parses keeps what the home keeps."""
    oldest = now - timedelta(days=1)
    old = select(_runs.c.job_uid).where(_runs.c.ended_at < oldest).distinct()
    uids = list(conn.execute(old).scalars())
    found: list[tuple[str | None, Keep]] = []
    for uid in uids:
        spec = None if uid is None else conn.execute(select(_jobs.c.spec).where(_jobs.c.uid == uid)).scalar()
        given = json.loads(spec).get("keep") if spec else None
        found.append((uid, load_keep(given).under(default) if given else default))
    return found
