"""What becomes of a run whose owner died?

It is put back, and whoever takes it goes on at its step. A run that was put back twice at one step and dies there once
more is not tried again: something in it kills its process.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select, update

from hermes_cron.domain.occurrence import Reason
from hermes_cron.domain.run import Cause, Outcome, RunState, TakenRun
from hermes_cron.store import endings, executions
from hermes_cron.store.runs import LostRun
from hermes_cron.store.tables import MessageRow, RunRow
from hermes_cron.store.takes import open_session

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_messages = MessageRow.__table__  # type: ignore[attr-defined]

AT_ONE_STEP = 3
"""The take-over with this number at one step is not made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOver:
    """What became of it: ``queued``, or the end that ``outcome`` says. ``times`` it was put back at this step."""

    run: LostRun
    state: RunState
    times: int = 0
    outcome: Outcome | None = None
    tells: bool = False


def take_over(conn: Connection, lost: LostRun, now: datetime) -> TakenOver | None:
    """Put the run back, or end it; None when it is not running under that owner and fence any more."""
    mine = (_runs.c.state == RunState.RUNNING, _runs.c.owner == lost.owner, _runs.c.fence == lost.fence)
    row = conn.execute(select(_runs).where(_runs.c.id == lost.id, *mine)).mappings().first()
    if row is None:
        return None
    taken = endings.taken_of(row, now)
    if row["cancel_requested_at"] is not None:  # going on would do what somebody stopped
        said = f"cancelled by {row['cancel_by']}; its process died before it stopped"
        return _ended(conn, lost, taken, Outcome(state=RunState.CANCELLED, reason="cancelled", error=said), now)
    if taken.cause is Cause.SEARCH:  # nobody waits for it any more, and its prompt is no task of an agent
        return _ended(conn, lost, taken, Outcome(state=RunState.INTERRUPTED, reason=Reason.OWNER_DIED), now)
    step, last_at = _step(conn, lost.id)
    times = row["takeovers"] + 1 if row["takeover_step"] == step else 1
    if times >= AT_ONE_STEP:
        return _ended(conn, lost, taken, _crashed(step), now)
    began = row["taken_at"] or now
    ran = timedelta(0) if last_at is None else max(timedelta(0), last_at - began)
    executions.put_back(conn, lost.id, lost.fence, ran=min(ran, max(timedelta(0), taken.deadline_at - began)))
    conn.execute(update(_runs).where(_runs.c.id == lost.id).values(takeover_step=step, takeovers=times))
    return TakenOver(run=lost, state=RunState.QUEUED, times=times)


def excuse(conn: Connection, run_ids: list[str], owner: str) -> None:
    """A shutdown that could not wait for these is no sign that they kill their process: their count starts anew."""
    conn.execute(
        update(_runs)
        .where(_runs.c.id.in_(run_ids), _runs.c.owner == owner, _runs.c.state == RunState.RUNNING)
        .values(takeover_step=None, takeovers=0)
    )


def _ended(conn: Connection, lost: LostRun, taken: TakenRun, outcome: Outcome, now: datetime) -> TakenOver:
    ended = endings.close(conn, taken, outcome, now)
    return TakenOver(run=lost, state=outcome.state, outcome=outcome, tells=ended.tells)


def _crashed(step: int) -> Outcome:
    where = "before its first step" if step == 0 else f"after row {step - 1} of its transcript"
    return Outcome(
        state=RunState.FAILED,
        reason="crashed",
        error=f"its process died {AT_ONE_STEP} times {where}; it is not tried again",
    )


def _step(conn: Connection, run_id: str) -> tuple[int, datetime | None]:
    """Filled rows of the open transcript, and when the last one was written."""
    session = open_session(conn, run_id)
    if session is None:
        return 0, None
    query = select(func.count(), func.max(_messages.c.at)).where(
        _messages.c.session_id == session, _messages.c.body.is_not(None)
    )
    count, last_at = conn.execute(query).one()
    return count, last_at
