"""Which questions wait for a person, what was answered, and what does the run do then?

A question belongs to one call of one run. The run waits until none of its questions is open, whatever was answered;
then any scheduler goes on with it and reads the answers from here. Silence means no. What a run proposes to learn is a
question too, and no run waits for its answer (``store.proposals``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection, RowMapping, insert, select, update

from hermes_cron.domain import notice
from hermes_cron.domain.delivery import DeliveryKind
from hermes_cron.domain.learning import LearnedState
from hermes_cron.domain.run import ParkedEffect, RunState, TakenRun
from hermes_cron.errors import Conflict, NotFound
from hermes_cron.store import learned, outbox
from hermes_cron.store.tables import ApprovalRow, RunRow

_approvals = ApprovalRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]

ANSWER_WITHIN = timedelta(hours=24)
_IS_OPEN = _approvals.c.decision.is_(None)
_OF_A_CALL = _approvals.c.learned.is_(None)
_ID = re.compile(r"a?(\d{1,12})", re.IGNORECASE)


class Decision(StrEnum):
    """``approved``: it did not happen, do it. ``denied``: it did, or must not. ``withdrawn``: the run was cancelled."""

    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


_NO = {Decision.DENIED: LearnedState.DENIED, Decision.EXPIRED: LearnedState.EXPIRED}
"""What becomes of a proposal; what a yes makes of it is written with what was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question and its answer, if there is one. People say ``id``. ``learned``: it is about this proposal."""

    number: int
    run_id: str
    job_uid: str | None
    job_name: str
    session_id: str
    seq: int
    tool: str
    arguments: str
    evidence: tuple[str, ...]
    asked_at: datetime
    expires_at: datetime
    decision: Decision | None
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None
    used_at: datetime | None
    learned: int | None = None

    @property
    def id(self) -> str:
        return f"a{self.number}"


def ask(
    conn: Connection,
    taken: TakenRun,
    parked: Sequence[ParkedEffect],
    now: datetime,
    *,
    answer_within: timedelta = ANSWER_WITHIN,
) -> tuple[int, ...]:
    """One question a call, with a message to each of the job's targets; a call that is asked about already is not
    asked about twice. The numbers."""
    asked = tuple(
        number for effect in parked if (number := _ask(conn, taken, effect, now, now + answer_within)) is not None
    )
    if not asked and not _any_open(conn, taken.id):
        raise ValueError(f"run {taken.id} would wait for an answer that nobody is asked for")
    return asked


def _any_open(conn: Connection, run_id: str) -> bool:
    query = select(_approvals.c.number).where(_approvals.c.run_id == run_id, _OF_A_CALL, _IS_OPEN).limit(1)
    return conn.execute(query).first() is not None


def _ask(conn: Connection, taken: TakenRun, effect: ParkedEffect, now: datetime, expires_at: datetime) -> int | None:
    mine = (_approvals.c.session_id == effect.session_id, _approvals.c.seq == effect.seq, _IS_OPEN)
    if conn.execute(select(_approvals.c.number).where(*mine)).first() is not None:
        return None
    number: int = conn.execute(
        insert(_approvals)
        .values(
            run_id=taken.id,
            job_uid=taken.job_uid,
            job_name=taken.job.name,
            session_id=effect.session_id,
            seq=effect.seq,
            tool=effect.tool,
            arguments=effect.arguments,
            evidence=json.dumps(effect.evidence, ensure_ascii=False),
            asked_at=now,
            expires_at=expires_at,
        )
        .returning(_approvals.c.number)
    ).scalar_one()
    text = notice.approval(taken.job, effect, run_id=taken.id, number=number, asked_at=now, expires_at=expires_at)
    for target in taken.job.deliver.to:
        outbox.put(
            conn,
            kind=DeliveryKind.APPROVAL,
            target=target,
            title=text.title,
            body=text.body,
            run_id=taken.id,
            job_uid=taken.job_uid,
            job_name=taken.job.name,
            now=now,
        )
    return number


# --- answers ----------------------------------------------------------------------------------------------------------


def decide(
    conn: Connection, number: int, decision: Decision, *, by: str, reason: str | None, now: datetime
) -> Approval:
    """Keep a person's answer; when it was the last open question of its run, the run may go on.

    Raises NotFound; Conflict for a question that has an answer, or whose time is over.
    """
    asked = to_answer(conn, number, now)
    answer(conn, asked, decision, by=by, reason=reason, now=now)
    return one(conn, number)


def to_answer(conn: Connection, number: int, now: datetime) -> Approval:
    """One that waits for an answer. Raises as ``decide``."""
    asked = one(conn, number)
    if asked.decision is None and asked.expires_at <= now:
        raise Conflict(
            f"{asked.id} waited until {asked.expires_at:%Y-%m-%d %H:%M} UTC, and silence meant no",
            hint=f"hermes-cron runs show {asked.run_id}",
            details={"decision": Decision.EXPIRED.value},
        )
    if asked.decision is not None:
        raise Conflict(
            f"{asked.id} was answered already: {_answered(asked)}",
            hint=f"hermes-cron runs show {asked.run_id}",
            details={"decision": asked.decision.value},
        )
    return asked


def _answered(asked: Approval) -> str:
    return f"{asked.decision}" + (f" by {asked.decided_by}" if asked.decided_by else "")


def expire(conn: Connection, now: datetime) -> list[Approval]:
    """Questions that nobody answered in time; their runs go on and are told so."""
    late = conn.execute(select(_approvals).where(_IS_OPEN, _approvals.c.expires_at <= now)).mappings()
    asked = [_approval(row) for row in late]
    for each in asked:
        answer(conn, each, Decision.EXPIRED, by=None, reason=None, now=now)
    return [one(conn, each.number) for each in asked]


def any_late(conn: Connection, now: datetime) -> bool:
    """Whether ``expire`` would find anything."""
    query = select(_approvals.c.number).where(_IS_OPEN, _approvals.c.expires_at <= now).limit(1)
    return conn.execute(query).first() is not None


def withdraw(conn: Connection, run_id: str, now: datetime) -> int:
    """The run ends without an answer: nobody needs to give one any more. How many were open."""
    done = conn.execute(
        update(_approvals)
        .where(_approvals.c.run_id == run_id, _OF_A_CALL, _IS_OPEN)
        .values(decision=Decision.WITHDRAWN, decided_at=now)
    )
    return int(done.rowcount)


def answer(
    conn: Connection, asked: Approval, decision: Decision, *, by: str | None, reason: str | None, now: datetime
) -> None:
    """Write the answer down, whether or not its time is over: of what was done meanwhile it is the truth."""
    conn.execute(
        update(_approvals)
        .where(_approvals.c.number == asked.number, _IS_OPEN)
        .values(decision=decision, decided_at=now, decided_by=by, reason=reason)
    )
    if asked.learned is not None:
        if decision in _NO:
            learned.turn(conn, [asked.learned], _NO[decision], was=LearnedState.PROPOSED)
    elif not _any_open(conn, asked.run_id):
        conn.execute(
            update(_runs)
            .where(_runs.c.id == asked.run_id, _runs.c.state == RunState.WAITING_APPROVAL)
            .values(state=RunState.QUEUED, start_after=None)
        )


# --- looking ----------------------------------------------------------------------------------------------------------


def number_of(word: str) -> int:
    """``a91`` or ``91``. Raises NotFound."""
    found = _ID.fullmatch(word.strip())
    if found is None:
        raise NotFound(f'no approval "{word}"', hint="hermes-cron approvals list")
    return int(found[1])


def one(conn: Connection, number: int) -> Approval:
    """Raises NotFound."""
    row = conn.execute(select(_approvals).where(_approvals.c.number == number)).mappings().first()
    if row is None:
        raise NotFound(f"no approval a{number}", hint="hermes-cron approvals list")
    return _approval(row)


def listed(conn: Connection, *, every: bool = False, limit: int = 200) -> list[Approval]:
    """Open ones, the one that expires next first; or ``every`` one, newest first."""
    query = select(_approvals).limit(limit)
    ordered = (
        query.order_by(_approvals.c.number.desc())
        if every
        else query.where(_IS_OPEN).order_by(_approvals.c.expires_at, _approvals.c.number)
    )
    return [_approval(row) for row in conn.execute(ordered).mappings()]


def _approval(row: RowMapping) -> Approval:
    decision = None if row["decision"] is None else Decision(row["decision"])
    return Approval(**{**row, "evidence": tuple(json.loads(row["evidence"])), "decision": decision})
