"""Which failures of a job belong together, and when is such an incident over?

Same job and same kind of failure (``Ending.failure``) is one incident: the first failed run opens it with one message,
more of them only count, and the first good run ends every open incident of the job with one message for all. Another
kind while one is open is another incident; so kinds that take turns open once each, however often they change.

A run by hand that fails opens and counts nothing: whoever started it sees it fail. One that goes well ends incidents
all the same: that the job works again is proven by the run, not by who started it, and a message that came only with
the next scheduled run would call a solved thing open for a day. A cancelled or skipped run proves neither.

What a cap of a day or month ended is told by the hold that comes with it (``store.streaks``): one message, not two.

After ``ack`` of an open incident somebody is on it: until the job's next good run, new incidents of the job are kept
and counted, but their messages are ``silent``, reason ``acked``. The recovery is told to everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, insert, or_, select, update

from hermes_cron.domain import notice
from hermes_cron.domain.check import Verdict
from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.domain.ending import Ending
from hermes_cron.domain.job import Job
from hermes_cron.domain.run import Cause, RunState
from hermes_cron.store import outbox
from hermes_cron.store.tables import IncidentRow, RunRow

_incidents = IncidentRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]

ACKED = "acked"
"""Why the message of an incident was not sent."""

_CHECKS = frozenset({Verdict.CHECK_FAILED.value, Verdict.NOT_CHECKABLE.value})
_OPEN = _incidents.c.ended_at.is_(None)


def note_end(conn: Connection, ending: Ending, now: datetime) -> None:
    """Opens, continues or ends the job's incidents, with the message that belongs to it. No job, no incident."""
    if ending.job_uid is None:
        return
    kind = ending.failure
    if kind is None:
        if ending.outcome.state is RunState.OK:
            _end_all(conn, ending, ending.job_uid, now)
    elif ending.cause is Cause.SCHEDULE and not _one_more(conn, ending, ending.job_uid, kind, now):
        _open(conn, ending, ending.job_uid, kind, now)


def _one_more(conn: Connection, ending: Ending, uid: str, kind: str, now: datetime) -> bool:
    """Whether an open incident of this kind took the failure."""
    counted = conn.execute(
        update(_incidents)
        .where(_incidents.c.job_uid == uid, _incidents.c.kind == kind, _OPEN)
        .values(
            failures=_incidents.c.failures + 1,
            last_run=ending.run_id,
            last_at=now,
            error=_error(ending),
            job_name=ending.job.name,
        )
    )
    return counted.rowcount > 0


def _open(conn: Connection, ending: Ending, uid: str, kind: str, now: datetime) -> None:
    acked = select(_incidents.c.number).where(_incidents.c.job_uid == uid, _OPEN, _incidents.c.acked_at.is_not(None))
    quiet = conn.execute(acked.limit(1)).first() is not None
    made = insert(_incidents).values(
        job_uid=uid,
        job_name=ending.job.name,
        kind=kind,
        error=_error(ending),
        opened_at=now,
        first_run=ending.run_id,
        last_run=ending.run_id,
        last_at=now,
        failures=1,
    )
    number: int = conn.execute(made.returning(_incidents.c.number)).scalar_one()
    if ending.spent_for_many:
        return
    last_good = _last_good(conn, uid)
    if kind in _CHECKS:
        text = notice.check_failed(ending, incident=number, last_good=last_good)
        _tell(conn, ending, DeliveryKind.CHECK_FAILED, text, number, now, checks=True, quiet=quiet)
    else:
        text = notice.failure(ending, incident=number, last_good=last_good)
        _tell(conn, ending, DeliveryKind.FAILURE, text, number, now, checks=False, quiet=quiet)


def _end_all(conn: Connection, ending: Ending, uid: str, now: datetime) -> None:
    query = select(_incidents).where(_incidents.c.job_uid == uid, _OPEN).order_by(_incidents.c.number)
    ended = conn.execute(query).all()
    if not ended:
        return
    conn.execute(
        update(_incidents)
        .where(_incidents.c.number.in_([each.number for each in ended]))
        .values(ended_at=now, ended_run=ending.run_id)
    )
    solved = [notice.Solved(number=each.number, failures=each.failures, opened_at=each.opened_at) for each in ended]
    text = notice.recovery(ending, solved)
    checks = any(each.kind in _CHECKS for each in ended)
    _tell(conn, ending, DeliveryKind.RECOVERY, text, ended[-1].number, now, checks=checks, quiet=False)


def _tell(  # noqa: PLR0913  # a message and to whom
    conn: Connection,
    ending: Ending,
    kind: DeliveryKind,
    text: notice.Text,
    incident: int,
    now: datetime,
    *,
    checks: bool,
    quiet: bool,
) -> None:
    """One row a target; a job that tells nobody has its incident all the same."""
    for target in _targets(ending.job, checks=checks):
        outbox.put(
            conn,
            kind=kind,
            target=target,
            title=text.title,
            body=text.body,
            run_id=ending.run_id,
            job_uid=ending.job_uid,
            job_name=ending.job.name,
            now=now,
            state=DeliveryState.SILENT if quiet else DeliveryState.QUEUED,
            reason=ACKED if quiet else None,
            incident=incident,
        )


def _targets(job: Job, *, checks: bool) -> Sequence[str]:
    """Each once: ``deliver.to``, and for what checks said also ``on_check_failure.notify``."""
    also = job.on_check_failure.notify if checks else ()
    return tuple(dict.fromkeys((*job.deliver.to, *also)))


def _error(ending: Ending) -> str | None:
    """One line of why."""
    if ending.outcome.error:
        return notice.one_line(ending.outcome.error)
    bad = [check for check in ending.outcome.checks if check.verdict is not Verdict.VERIFIED]
    return notice.one_line(f"{bad[0].says}: {bad[0].detail}") if bad else None


def _last_good(conn: Connection, uid: str) -> datetime | None:
    """When the job's last good run was due; by hand, when it started."""
    query = (
        select(_runs.c.scheduled_at, _runs.c.started_at)
        .where(
            _runs.c.job_uid == uid,
            _runs.c.state == RunState.OK,
            or_(_runs.c.verdict.is_(None), _runs.c.verdict == Verdict.VERIFIED),
        )
        .order_by(_runs.c.queued_at.desc())
        .limit(1)
    )
    row = conn.execute(query).first()
    return None if row is None else row.scheduled_at or row.started_at
