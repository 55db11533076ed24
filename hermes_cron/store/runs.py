"""How does a run begin by hand, end, get cancelled, or lose its owner?

Every change of state names the state it starts from: a run that ended never changes again, whoever looks at it with
old knowledge.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, bindparam, func, insert, select, update

from hermes_cron.domain.job import Job, Overlap, Scalar, dump_job
from hermes_cron.domain.occurrence import Reason
from hermes_cron.domain.run import Cause, OccurrenceState, Outcome, RunState, new_run_id
from hermes_cron.errors import Conflict, NameAmbiguous, NotFound
from hermes_cron.ports import Fenced
from hermes_cron.store import counters
from hermes_cron.store.claims import RUN_DEFAULTS, drop_queued
from hermes_cron.store.prepared import Prepared, instant
from hermes_cron.store.tables import IS_ACTIVE, AttemptRow, EffectRow, OccurrenceRow, RunRow, UsageRow

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_attempts = AttemptRow.__table__  # type: ignore[attr-defined]
_occurrences = OccurrenceRow.__table__  # type: ignore[attr-defined]
_effects = EffectRow.__table__  # type: ignore[attr-defined]
_usage = UsageRow.__table__  # type: ignore[attr-defined]


# Statements of the hot path are made once: building one costs more than running it.
_OF_RUN = Prepared(
    select(
        _runs.c.id, _runs.c.attempt, _runs.c.job_name, _runs.c.scheduled_at, _runs.c.started_at,
    ).where(
        _runs.c.id == bindparam("b_id"), _runs.c.fence == bindparam("b_fence"), _runs.c.state == RunState.RUNNING.value
    )
)  # fmt: skip
_END = Prepared(
    update(_runs)
    .where(
        _runs.c.id == bindparam("b_id"), _runs.c.fence == bindparam("b_fence"), _runs.c.state == RunState.RUNNING.value
    )
    .values(
        {
            name: bindparam(f"v_{name}")
            for name in (
                "slot", "ended_at", "state", "reason", "error", "model", "iterations", "tool_calls", "tool_errors",
                "tokens_input", "tokens_output", "tokens_cached", "cost_usd", "output_path", "result", "silent",
            )
        }
    )
)  # fmt: skip
_END_ATTEMPT = Prepared(
    update(_attempts)
    .where(_attempts.c.run_id == bindparam("b_run"), _attempts.c.number == bindparam("b_number"))
    .values(ended_at=bindparam("v_ended_at"), state=bindparam("v_state"), reason=bindparam("v_reason"))
)
_USED = Prepared(
    select(
        func.coalesce(func.sum(_usage.c.input), 0),
        func.coalesce(func.sum(_usage.c.output), 0),
        func.coalesce(func.sum(_usage.c.cached), 0),
        func.count(),
        func.count(_usage.c.cost_usd),
        func.sum(_usage.c.cost_usd),
    ).where(_usage.c.run_id == bindparam("b_id"))
)


class _Ending(NamedTuple):
    """The columns of ``_OF_RUN``; instants as the driver gives them."""

    id: str
    attempt: int
    job_name: str
    scheduled_at: Any
    started_at: Any


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


def finish(conn: Connection, run_id: str, fence: int, outcome: Outcome, now: datetime) -> None:
    """The end of a run, its attempt and its totals. Raises Fenced when the run is not this fence's any more."""
    found = _OF_RUN.first(conn, {"b_id": run_id, "b_fence": fence})
    if found is None:
        raise Fenced(f"run {run_id} is no longer owned under fence {fence}")
    row = _Ending(*found)
    values = {"slot": None, "ended_at": now, **_outcome_values(conn, run_id, outcome)}
    _END.run(conn, {"b_id": run_id, "b_fence": fence, **{f"v_{name}": value for name, value in values.items()}})
    _end_attempt(conn, row, outcome.state, outcome.reason, now)
    if outcome.state is RunState.SKIPPED:
        conn.execute(
            update(_occurrences)
            .where(_occurrences.c.run_id == run_id)
            .values(state=OccurrenceState.SKIPPED, reason=outcome.reason)
        )
    counters.raise_by(conn, _totals(row, outcome, now))


def _outcome_values(conn: Connection, run_id: str, outcome: Outcome) -> dict[str, object]:
    used = _USED.first(conn, {"b_id": run_id})
    assert used is not None  # noqa: S101  # sums have one row
    return {
        "state": outcome.state,
        "reason": outcome.reason,
        "error": outcome.error,
        "model": outcome.model,
        "iterations": outcome.iterations,
        "tool_calls": outcome.tool_calls,
        "tool_errors": outcome.tool_errors,
        "tokens_input": max(used[0], outcome.tokens_input),  # the journal's rows are the proof, where there are any
        "tokens_output": max(used[1], outcome.tokens_output),
        "tokens_cached": max(used[2], outcome.tokens_cached),
        "cost_usd": _cost(outcome, calls=used[3], priced=used[4], total=used[5]),
        "output_path": outcome.output_path,
        "result": outcome.result,
        "silent": outcome.silent,
    }


def _cost(outcome: Outcome, *, calls: int, priced: int, total: float | None) -> float | None:
    """None is unknown: a call without a price, or calls that left no usage row. No model call costs nothing."""
    if calls:
        return total if priced == calls else None
    return outcome.cost_usd if outcome.iterations else 0.0


def _end_attempt(conn: Connection, row: _Ending, state: RunState, reason: str | None, now: datetime) -> None:
    _END_ATTEMPT.run(
        conn, {"b_run": row.id, "b_number": row.attempt, "v_ended_at": now, "v_state": state, "v_reason": reason}
    )


def _totals(row: _Ending, outcome: Outcome, now: datetime) -> list[counters.Raise]:
    labels = {"job_name": row.job_name}
    found: list[counters.Raise] = [(counters.RUNS, {**labels, "outcome": outcome.state}, 1)]
    if row.scheduled_at is not None:
        became = OccurrenceState.SKIPPED if outcome.state is RunState.SKIPPED else OccurrenceState.RAN
        found.append((counters.OCCURRENCES, {**labels, "state": became}, 1))
    started = instant(row.started_at)
    if started is not None:
        took = max(0.0, (now - started).total_seconds())
        found += counters.observation(counters.DURATION, took, labels)
    if outcome.iterations:
        found += counters.observation(counters.ITERATIONS, outcome.iterations, labels)
    return found


def cancel(conn: Connection, run_id: str, *, by: str, now: datetime) -> RunState:
    """A queued run ends at once, a running one is asked to stop; the state it was in. Raises NotFound, Conflict."""
    row = conn.execute(select(_runs.c.id, _runs.c.state).where(_runs.c.id == run_id)).first()
    if row is None:
        raise NotFound(f'no run "{run_id}"', hint="hermes-cron runs list")
    state = RunState(row.state)
    if state.ended:
        raise Conflict(f"run {run_id} has ended already: {state}", hint=f"hermes-cron runs show {run_id}")
    conn.execute(
        update(_runs)
        .where(_runs.c.id == run_id, _runs.c.cancel_requested_at.is_(None))
        .values(cancel_requested_at=now, cancel_by=by)
    )
    if state is RunState.QUEUED:
        drop_queued(conn, [run_id], now, RunState.CANCELLED, None, None)
    return state


def cancels_of(conn: Connection, owner: str) -> list[str]:
    """Running runs of ``owner`` that somebody asked to stop."""
    asked = select(_runs.c.id).where(
        IS_ACTIVE, _runs.c.owner == owner, _runs.c.state == RunState.RUNNING, _runs.c.cancel_requested_at.is_not(None)
    )
    return list(conn.execute(asked).scalars())


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRun:
    """A running run, and the process groups that worked for it and sent no receipt: (pgid, started, boot id)."""

    id: str
    job_name: str
    owner: str
    fence: int
    groups: tuple[tuple[int, str, str], ...] = ()


def owned(conn: Connection, owners: Collection[str] | None = None, *, but: str | None = None) -> list[LostRun]:
    """Running runs of these owners (None: of every owner), without those of ``but``."""
    query = select(_runs.c.id, _runs.c.job_name, _runs.c.owner, _runs.c.fence).where(
        IS_ACTIVE, _runs.c.state == RunState.RUNNING
    )
    if owners is not None:
        query = query.where(_runs.c.owner.in_(owners))
    if but is not None:
        query = query.where(_runs.c.owner != but)
    found = conn.execute(query).all()
    groups: dict[str, list[tuple[int, str, str]]] = {}
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


def interrupt(conn: Connection, runs: Sequence[LostRun], reason: Reason, now: datetime) -> list[LostRun]:
    """Running runs that will not end by themselves; those that were still running under that owner and fence."""
    return [run for run in runs if _interrupted(conn, run, RunState.INTERRUPTED, reason, now)]


def give_up(conn: Connection, run_id: str, fence: int, now: datetime) -> bool:
    """A run whose thread outlived its deadline ends as ``timeout``; its thread will find itself fenced."""
    run = LostRun(id=run_id, job_name="", owner="", fence=fence)
    return _interrupted(conn, run, RunState.TIMEOUT, Reason.OVERLONG, now)


def _interrupted(conn: Connection, run: LostRun, state: RunState, reason: Reason, now: datetime) -> bool:
    found = _OF_RUN.first(conn, {"b_id": run.id, "b_fence": run.fence})
    if found is None:
        return False
    row = _Ending(*found)
    conn.execute(
        update(_runs)
        .where(_runs.c.id == run.id, _runs.c.state == RunState.RUNNING, _runs.c.fence == run.fence)
        .values(state=state, reason=reason, slot=None, ended_at=now)
    )
    _end_attempt(conn, row, state, reason, now)
    counters.raise_by(conn, _totals(row, Outcome(state=state), now))
    return True


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
