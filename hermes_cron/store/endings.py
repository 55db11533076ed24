"""What becomes of a run when its execution stops: does it go on later, and if not, what follows from its end?

One transaction holds the run's state, its attempt, its totals and everything that follows: messages, incidents, the
signal of an outside switch, the hold after many failures. So nobody sees an end without what was to be told of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, RowMapping, bindparam, or_, select, update

from hermes_cron.domain.ending import Ending
from hermes_cron.domain.job import Job, Work, load_job
from hermes_cron.domain.nudge import Nudge
from hermes_cron.domain.retry import Standing, Wait, after_failure
from hermes_cron.domain.run import Cause, Outcome, RunState, TakenRun
from hermes_cron.domain.schedule.trigger import period
from hermes_cron.store import (
    approvals,
    executions,
    incidents,
    learned_notices,
    nudges,
    pings,
    reports,
    reviews,
    skill_uses,
    streaks,
)
from hermes_cron.store.executions import Finished
from hermes_cron.store.prepared import Prepared, instant
from hermes_cron.store.tables import IncidentRow, JobRow, RunRow

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_jobs = JobRow.__table__  # type: ignore[attr-defined]
_incidents = IncidentRow.__table__  # type: ignore[attr-defined]

_open = select(_incidents.c.number).where(_incidents.c.job_uid == _jobs.c.uid, _incidents.c.ended_at.is_(None))
_JOB = Prepared(
    select(_jobs.c.next_due, _jobs.c.failures, _open.exists(), _jobs.c.removed_at).where(
        _jobs.c.uid == bindparam("b_uid")
    )
)
_BEGUN_AND_WAITS = (
    _runs.c.ended_at.is_(None),
    or_(
        _runs.c.state.in_([RunState.WAITING_RETRY, RunState.WAITING_APPROVAL]),
        (_runs.c.state == RunState.QUEUED) & _runs.c.started_at.is_not(None),
    ),
)


_NEEDS_NO_WAIT = frozenset({RunState.OK, RunState.SKIPPED, RunState.QUEUED, RunState.WAITING_APPROVAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The state that the run has now. ``wait``: why it is ``waiting_retry``, and until when. ``asked``: the approvals
    that were asked for. ``outcome`` is its end. ``tells``: messages may have been put into the outbox. ``review``: the
    look back at it that is queued."""

    state: RunState
    wait: Wait | None = None
    asked: tuple[int, ...] = ()
    outcome: Outcome | None = None
    tells: bool = False
    review: int | None = None


def end(  # noqa: PLR0913  # what an end is made of
    conn: Connection,
    taken: TakenRun,
    outcome: Outcome,
    now: datetime,
    *,
    ran: timedelta | None = None,
    answer_within: timedelta = approvals.ANSWER_WITHIN,
    nudge: Nudge | None = None,
) -> Ended:
    """Carry out what ``outcome`` means for the run. Raises Fenced when the run is not this fence's any more.

    ``ran`` is how long it was executed since it was taken, on a clock that nobody sets (None: by the wall clock).
    ``nudge``: after how much an ended run is looked back at.
    """
    span = now - taken.started_at if ran is None else ran
    wait = _wait(conn, taken, outcome, now)
    goes_on = wait is not None or not outcome.state.ended
    if goes_on and (by := cancelled_by(conn, taken.id)) is not None:
        return close(conn, taken, _cancelled(outcome, by), now, nudge=nudge)
    if outcome.state is RunState.QUEUED:
        executions.put_back(conn, taken.id, taken.fence, ran=span, outcome=outcome)
        return Ended(state=RunState.QUEUED)
    if outcome.state is RunState.WAITING_APPROVAL:
        executions.park(conn, taken.id, taken.fence, ran=span, outcome=outcome)
        asked = approvals.ask(conn, taken, outcome.parked, now, answer_within=answer_within)
        return Ended(state=RunState.WAITING_APPROVAL, asked=asked, tells=_tells(taken.job))
    if wait is None:
        return close(conn, taken, outcome, now, nudge=nudge)
    executions.put_off(
        conn, taken.id, taken.fence, attempt=taken.attempt, outcome=outcome, wait=wait, now=now, ran=span
    )
    return Ended(state=RunState.WAITING_RETRY, wait=wait)


def close(conn: Connection, taken: TakenRun, outcome: Outcome, now: datetime, *, nudge: Nudge | None = None) -> Ended:
    """The end, with all that follows from it: no wait and no other attempt, whatever failed. Raises Fenced.

    What is to be learned from it is looked for later and by others: here it is only written down that it is due.
    """
    done = executions.finish(conn, taken.id, taken.fence, outcome, now)
    _follow(conn, taken, outcome, done, now)
    due = nudges.note_end(conn, taken, outcome, nudge)
    review = None if due is None else reviews.queue(conn, taken, due, now)
    return Ended(state=outcome.state, outcome=outcome, tells=_tells(taken.job), review=review)


def cancelled_by(conn: Connection, run_id: str) -> str | None:
    """Who asked that the run ends; None when nobody did. Such a run never goes on."""
    asked = select(_runs.c.cancel_by).where(_runs.c.id == run_id, _runs.c.cancel_requested_at.is_not(None))
    found = conn.execute(asked).first()
    return None if found is None else str(found[0] or "")


def _cancelled(outcome: Outcome, by: str) -> Outcome:
    """What it used stays; of an effect that may have happened the end says so, since nobody is asked any more."""
    parked = ", ".join(dict.fromkeys(effect.tool for effect in outcome.parked))
    unknown = f"; not known whether {parked} happened" if parked else ""
    return replace(outcome, state=RunState.CANCELLED, reason="cancelled", error=f"cancelled by {by}{unknown}")


def end_waiting(conn: Connection, run_id: str, outcome: Outcome, now: datetime) -> bool:
    """End a run that was begun and that nobody executes now; False when it is in another state."""
    row = conn.execute(select(_runs).where(_runs.c.id == run_id, *_BEGUN_AND_WAITS)).mappings().first()
    if row is None:
        return False
    approvals.withdraw(conn, run_id, now)
    conn.execute(  # taken by nobody, for this transaction
        update(_runs).where(_runs.c.id == run_id).values(state=RunState.RUNNING, taken_at=now, owner=None)
    )
    close(conn, taken_of(row, now), outcome, now)
    return True


def taken_of(row: RowMapping, now: datetime) -> TakenRun:
    """A row of ``runs`` as whoever took it would know it."""
    return TakenRun(
        id=row["id"],
        job_uid=row["job_uid"],
        job=load_job(row["spec"]),
        cause=Cause(row["cause"]),
        owner=row["owner"] or "",
        fence=row["fence"],
        attempt=row["attempt"],
        started_at=row["taken_at"] or now,
        deadline_at=row["deadline_at"] or now,
        scheduled_at=row["scheduled_at"],
        late=row["late"],
        waits=row["waits"],
    )


def _wait(conn: Connection, taken: TakenRun, outcome: Outcome, now: datetime) -> Wait | None:
    """Nothing is looked up for a run that went well or goes on, or that somebody started by hand."""
    if outcome.state in _NEEDS_NO_WAIT or taken.cause is not Cause.SCHEDULE:
        return None
    job = taken.job
    known = None if taken.job_uid is None else _JOB.first(conn, {"b_uid": taken.job_uid})
    if known is not None and known[3] is not None:  # the job was removed meanwhile
        return None
    standing = Standing(
        cause=taken.cause,
        attempt=taken.attempt,
        waits=taken.waits,
        effects=executions.has_intents(conn, taken.id),
        script=job.work is Work.SCRIPT,
        next_due=None if known is None else instant(known[0]),
        period=None if job.trigger is None else period(job.trigger, ZoneInfo(job.timezone), taken.scheduled_at or now),
    )
    return after_failure(outcome, job.retries, standing, now)


def _follow(conn: Connection, taken: TakenRun, outcome: Outcome, done: Finished, now: datetime) -> None:
    """In this order: incidents, reports, the outside switch, holds, and what goes along with any message of them.

    For most jobs none of them writes.
    """
    job = taken.job
    known = None if taken.job_uid is None else _JOB.first(conn, {"b_uid": taken.job_uid})
    ending = Ending(
        run_id=taken.id,
        job_uid=taken.job_uid,
        job=job,
        cause=taken.cause,
        outcome=outcome,
        attempt=taken.attempt,
        scheduled_at=taken.scheduled_at,
        started_at=done.started_at,
        ended_at=now,
        next_due=None if known is None else instant(known[0]),
        tokens=done.tokens,
        cost_usd=done.cost_usd,
    )
    if ending.failure is not None or (known is not None and known[2]):
        incidents.note_end(conn, ending, now)
    if job.deliver.to:
        reports.put_report(conn, ending, now)
    skill_uses.note_end(conn, ending)
    if job.ping is not None:
        pings.note_end(conn, ending, now)
    if known is not None and (ending.failure is not None or known[1]):
        streaks.note_end(conn, ending, now)
    if job.deliver.to:
        learned_notices.with_message(conn, ending, now)


def _tells(job: Job) -> bool:
    return bool(job.deliver.to or job.ping or job.on_check_failure.notify)
