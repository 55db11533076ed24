"""Who hears of what was learned, and when? The row and its message are one transaction, so that it is told once.

``delivery``: with the next message of the job, whatever that tells. ``now``: with the row. ``off``, a job that tells
nobody, and what a person did by a command: never; ``runs show`` has it all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, bindparam, literal_column, select, update

from hermes_cron.domain import notice, notice_learned
from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.domain.ending import Ending
from hermes_cron.domain.job import Job, load_job
from hermes_cron.domain.learning import Learned, LearnedState
from hermes_cron.store import learned, outbox
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import DeliveryRow, LearnedRow

_learned = LearnedRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_deliveries = DeliveryRow.__table__  # type: ignore[attr-defined]

When = Literal["delivery", "now", "off"]
"""``learning.notice``."""

_SAYS_IT_ITSELF = frozenset({"consolidation"})
"""Whose run's report is of nothing but what it changed."""

_UNTOLD = _learned.c.told_at.is_(literal_column("NULL"))
_ANY_UNTOLD = Prepared(
    select(_learned.c.number).where(_learned.c.job_uid == bindparam("b_uid"), _UNTOLD).limit(1),
)


def note(conn: Connection, change: Learned, *, when: When) -> None:
    """Tell of a change that was just written down, keep it for the job's next message, or settle that nobody is told.

    One that is told, or kept for it, already is left alone.
    """
    if change.told_at is not None or change.state is not LearnedState.APPLIED:
        return
    job = None if change.actor in _SAYS_IT_ITSELF else listening(conn, change, when=when)
    if job is None:
        _told(conn, [change.number], change.at)
    elif when == "now":
        _put(conn, job, notice_learned.learned(job, [change]), change, change.run_id, change.at)
        _told(conn, [change.number], change.at)


def asked(conn: Connection, change: Learned, text: notice.Text, job: Job, now: datetime) -> None:
    """The message of a proposal: at once, for silence means no."""
    _put(conn, job, text, change, change.run_id, now)
    _told(conn, [change.number], now)


def listening(conn: Connection, change: Learned, *, when: When) -> Job | None:
    """The job as it was in the run that learned, if anybody is to be told of it."""
    if when == "off" or change.actor == "cli" or change.run_id is None or change.job_uid is None:
        return None
    spec = outbox.spec_of(conn, change.run_id)
    job = None if spec is None else load_job(spec)
    return job if job is not None and job.deliver.to else None


def with_message(conn: Connection, ending: Ending, now: datetime) -> None:
    """What the job learned and nobody has heard of goes out beside a message of this run, if it sends one."""
    if ending.job_uid is None or _ANY_UNTOLD.first(conn, {"b_uid": ending.job_uid}) is None:
        return
    if not _sends(conn, ending.run_id):
        return
    changes = untold(conn, ending.job_uid)
    stands = [change for change in changes if change.state is LearnedState.APPLIED]
    if stands:
        _put(conn, ending.job, notice_learned.learned(ending.job, stands), stands[0], ending.run_id, now)
    _told(conn, [change.number for change in changes], now)


def untold(conn: Connection, job_uid: str) -> list[Learned]:
    """What the job's next message brings along, in order; also what was taken back meanwhile."""
    rows = conn.execute(select(_learned.c.number).where(_learned.c.job_uid == job_uid, _UNTOLD).order_by("number"))
    return [learned.one(conn, number) for number in rows.scalars()]


def _sends(conn: Connection, run_id: str) -> bool:
    """A ping is no message to a person, and a silent row is none to anybody."""
    query = select(_deliveries.c.number).where(
        _deliveries.c.run_id == run_id,
        _deliveries.c.state == DeliveryState.QUEUED.value,
        _deliveries.c.kind != DeliveryKind.PING.value,
    )
    return conn.execute(query.limit(1)).first() is not None


def _put(
    conn: Connection, job: Job, text: notice.Text, change: Learned, run_id: str | None, now: datetime
) -> None:  # fmt: skip
    for target in dict.fromkeys(job.deliver.to):
        outbox.put(
            conn,
            kind=DeliveryKind.LEARNED,
            target=target,
            title=text.title,
            body=text.body,
            run_id=run_id,
            job_uid=change.job_uid,
            job_name=job.name,
            now=now,
        )


def _told(conn: Connection, numbers: Sequence[int], now: datetime) -> None:
    conn.execute(update(_learned).where(_learned.c.number.in_(numbers), _UNTOLD).values(told_at=now))
