"""How does a run begin by hand, get cancelled or steered, and who owns which?"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping, insert, select, update

from hermes_cron.domain.job import Job, Overlap, Scalar, Work, dump_job, load_job
from hermes_cron.domain.run import Cause, Outcome, RunState, new_run_id
from hermes_cron.errors import Conflict, NameAmbiguous, NotFound, Usage
from hermes_cron.store.claims import RUN_DEFAULTS, drop_queued
from hermes_cron.store.endings import end_waiting
from hermes_cron.store.executions import finish
from hermes_cron.store.tables import IS_ACTIVE, EffectRow, MessageRow, RunRow
from hermes_cron.store.takes import open_session

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_effects = EffectRow.__table__  # type: ignore[attr-defined]
_messages = MessageRow.__table__  # type: ignore[attr-defined]

STEER_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A start by hand: of a job, or of a prompt (``job_uid`` None). ``arguments`` are the values of ``--set``."""

    job: Job
    job_uid: str | None
    actor: str
    cause: Cause = Cause.MANUAL
    arguments: Mapping[str, Scalar] | None = None
    priority: int = 10  # somebody is waiting for it


def enqueue(conn: Connection, start: Start, now: datetime) -> str:
    """A queued run; its id. Raises Conflict when the job runs already and its ``overlap`` is ``skip``."""
    run_id = new_run_id()
    slot, holder = _place(conn, start, run_id)
    if holder is not None and start.job.overlap is Overlap.CANCEL_RUNNING:
        cancel(conn, holder, by=start.actor, now=now)
    conn.execute(
        insert(_runs),
        {
            **RUN_DEFAULTS,
            "id": run_id,
            "job_uid": start.job_uid,
            "job_name": start.job.name,
            "cause": start.cause,
            "late": False,
            "spec": dump_job(start.job),
            "arguments": json.dumps(dict(start.arguments or {}), ensure_ascii=False),
            "priority": start.priority,
            "slot": slot,
            "state": RunState.QUEUED,
            "queued_at": now,
            "actor": start.actor,
        },
    )
    return run_id


def _place(conn: Connection, start: Start, run_id: str) -> tuple[str | None, str | None]:
    """The slot of a new run, and who holds the job now."""
    if start.job_uid is None or start.job.overlap is Overlap.ALLOW:
        return run_id, None
    held = select(_runs.c.id, _runs.c.state).where(_runs.c.slot == start.job_uid)
    holder = conn.execute(held).first()
    if holder is None:
        return start.job_uid, None
    if start.job.overlap is Overlap.SKIP:
        raise Conflict(
            f"{start.job.name} is {holder.state} already (run {holder.id})",
            hint=f"hermes-cron runs show {holder.id}",
            details={"run_id": holder.id},
        )
    return None, holder.id


# --- what people ask --------------------------------------------------------------------------------------------------


def cancel(conn: Connection, run_id: str, *, by: str, now: datetime) -> RunState:
    """One that is not executed ends at once, a running one is asked to stop; the state it was in.

    Raises NotFound, Conflict.
    """
    row = conn.execute(select(_runs.c.state, _runs.c.started_at).where(_runs.c.id == run_id)).first()
    if row is None:
        raise NotFound(f'no run "{run_id}"', hint="hermes-cron runs list")
    state = RunState(row.state)
    if state.ended:
        raise Conflict(f"run {run_id} has ended already: {state}", hint=f"hermes-cron runs show {run_id}")
    ask_to_stop(conn, [run_id], by=by, now=now)
    if state is RunState.QUEUED and row.started_at is None:
        drop_queued(conn, [run_id], now, RunState.CANCELLED, None, None)
    elif state is not RunState.RUNNING:
        end_waiting(conn, run_id, Outcome(state=RunState.CANCELLED, error=f"cancelled by {by}"), now)
    return state


def ask_to_stop(conn: Connection, run_ids: Sequence[str], *, by: str, now: datetime) -> None:
    """Whoever executes them looks between steps."""
    conn.execute(
        update(_runs)
        .where(_runs.c.id.in_(run_ids), _runs.c.ended_at.is_(None), _runs.c.cancel_requested_at.is_(None))
        .values(cancel_requested_at=now, cancel_by=by)
    )


def cancels_of(conn: Connection, owner: str) -> list[str]:
    """Running runs of ``owner`` that somebody asked to stop."""
    asked = select(_runs.c.id).where(
        IS_ACTIVE, _runs.c.owner == owner, _runs.c.state == RunState.RUNNING, _runs.c.cancel_requested_at.is_not(None)
    )
    return list(conn.execute(asked).scalars())


def steer(conn: Connection, run_id: str, words: str, *, by: str) -> RunState:
    """The run's next request carries these words, and whose they are; the state it is in. Several wait in order.

    Raises NotFound; Conflict for a run that ended or that no agent drives; Usage for a text without words or too long.
    """
    row = conn.execute(select(_runs.c.state, _runs.c.spec, _runs.c.steer).where(_runs.c.id == run_id)).first()
    if row is None:
        raise NotFound(f'no run "{run_id}"', hint="hermes-cron runs list")
    state = RunState(row.state)
    if state.ended:
        raise Conflict(f"run {run_id} has ended already: {state}", hint=f"hermes-cron runs show {run_id}")
    if load_job(row.spec).work is not Work.PROMPT:
        raise Conflict(f"run {run_id} is a script: there is no agent to tell", hint=f"hermes-cron runs cancel {run_id}")
    if _has_playbook(conn, run_id):
        raise Conflict(
            f"run {run_id} follows a playbook: there is no agent to tell", hint=f"hermes-cron runs cancel {run_id}"
        )
    if not words.strip():
        raise Usage("nothing to tell the run", hint=f'hermes-cron runs steer {run_id} "TEXT"')
    waiting = [*json.loads(row.steer or "[]"), f"{by} adds, while you work: {words.strip()}"]
    if sum(map(len, waiting)) > STEER_CHARACTERS:
        raise Usage(
            f"more than {STEER_CHARACTERS:,} characters wait for the run",
            hint="say it shorter, or wait for its next step",
        )
    conn.execute(
        update(_runs)
        .where(_runs.c.id == run_id, _runs.c.ended_at.is_(None))
        .values(steer=json.dumps(waiting, ensure_ascii=False))
    )
    return state


def _has_playbook(conn: Connection, run_id: str) -> bool:
    session = open_session(conn, run_id)
    if session is None:
        return False
    header = select(_messages.c.body).where(_messages.c.session_id == session, _messages.c.seq == 0)
    return json.loads(conn.execute(header).scalar_one()).get("playbook") is not None


# --- owners -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRun:
    """A running run, and the process groups to be ended: those that worked for it and sent no receipt, and that of its
    last check, which may have ended. (pgid, started, boot id)
    """

    id: str
    job_name: str
    owner: str
    fence: int
    groups: tuple[tuple[int, str, str], ...] = ()


def owned(conn: Connection, owners: Collection[str] | None = None, *, but: str | None = None) -> list[LostRun]:
    """Running runs of these owners (None: of every owner), without those of ``but``."""
    query = select(_runs.c.id, _runs.c.job_name, _runs.c.owner, _runs.c.fence, _runs.c.check_group).where(
        IS_ACTIVE, _runs.c.state == RunState.RUNNING
    )
    if owners is not None:
        query = query.where(_runs.c.owner.in_(owners))
    if but is not None:
        query = query.where(_runs.c.owner != but)
    found = conn.execute(query).all()
    groups: dict[str, list[tuple[int, str, str]]] = {}
    for row in found:
        if row.check_group is not None:
            groups[row.id] = [tuple(json.loads(row.check_group))]
    if found:
        working = select(_effects.c.run_id, _effects.c.pgid, _effects.c.pg_started, _effects.c.boot_id).where(
            _effects.c.run_id.in_([row.id for row in found]),
            _effects.c.pgid.is_not(None),
            _effects.c.receipt_at.is_(None),
        )
        for row in conn.execute(working):
            groups.setdefault(row.run_id, []).append((row.pgid, row.pg_started or "", row.boot_id or ""))
    return [
        LostRun(
            id=row.id, job_name=row.job_name, owner=row.owner, fence=row.fence, groups=tuple(groups.get(row.id, ()))
        )
        for row in found
    ]


def unended(conn: Connection) -> list[str]:
    """Runs that execute, wait, or will be gone on with: what they left on disk is still theirs."""
    return list(conn.execute(select(_runs.c.id).where(IS_ACTIVE)).scalars())


def find(conn: Connection, prefix: str) -> RowMapping:
    """The run with this id or unique beginning of it. Raises NotFound, NameAmbiguous."""
    escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    query = select(_runs).where(_runs.c.id.like(f"{escaped}%", escape="\\")).order_by(_runs.c.id).limit(6)
    rows = conn.execute(query).mappings().all()
    exact = [row for row in rows if row["id"] == prefix]
    if len(rows) == 1 or exact:
        return (exact or rows)[0]
    if not rows:
        raise NotFound(f'no run "{prefix}"', hint="hermes-cron runs list")
    raise NameAmbiguous(f'several runs begin with "{prefix}"', hint=", ".join(row["id"] for row in rows))


__all__ = [
    "LostRun", "Start", "ask_to_stop", "cancel", "cancels_of", "enqueue", "find", "finish", "owned", "steer", "unended",
]  # fmt: skip
