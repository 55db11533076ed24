"""How does a run's execution stop: with its end, or so that it goes on later?

Every change of state names the state and the fence it starts from: a run that ended never changes again, whoever looks
at it with old knowledge. What follows from an end is ``endings``' matter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from hermes_cron.domain.check import dump_results
from hermes_cron.domain.retry import Next, Wait
from hermes_cron.domain.run import OccurrenceState, Outcome, RunState
from hermes_cron.ports import Fenced
from hermes_cron.store import counters, spending
from hermes_cron.store.prepared import Prepared, instant
from hermes_cron.store.spending import UsedOf
from hermes_cron.store.tables import AttemptRow, EffectRow, OccurrenceRow, RunRow, SessionRow
from hermes_cron.store.takes import open_session

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_attempts = AttemptRow.__table__  # type: ignore[attr-defined]
_occurrences = OccurrenceRow.__table__  # type: ignore[attr-defined]
_effects = EffectRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]


# Statements of the hot path are made once: building one costs more than running it.
_OF_RUN = Prepared(
    select(
        _runs.c.id, _runs.c.attempt, _runs.c.job_name, _runs.c.scheduled_at, _runs.c.started_at, _runs.c.taken_at,
        _runs.c.active_ms,
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
                "verdict", "check_results", "skills",
            )
        }
    )
)  # fmt: skip
_END_ATTEMPT = Prepared(
    update(_attempts)
    .where(_attempts.c.run_id == bindparam("b_run"), _attempts.c.number == bindparam("b_number"))
    .values(ended_at=bindparam("v_ended_at"), state=bindparam("v_state"), reason=bindparam("v_reason"))
)


_SO_FAR = (
    "model", "iterations", "tool_calls", "tool_errors", "tokens_input", "tokens_output", "tokens_cached", "cost_usd",
)  # fmt: skip


class _Ending(NamedTuple):
    """The columns of ``_OF_RUN``; instants as the driver gives them."""

    id: str
    attempt: int
    job_name: str
    scheduled_at: Any
    started_at: Any
    taken_at: Any
    active_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What the run's row now says it used. ``started_at`` is its first start."""

    started_at: datetime | None
    tokens: int
    cost_usd: float | None


def finish(conn: Connection, run_id: str, fence: int, outcome: Outcome, now: datetime) -> Finished:
    """The end of a run, its attempt and its totals. Raises Fenced when the run is not this fence's any more."""
    found = _OF_RUN.first(conn, {"b_id": run_id, "b_fence": fence})
    if found is None:
        raise Fenced(f"run {run_id} is no longer owned under fence {fence}")
    row = _Ending(*found)
    used = spending.used(conn, run_id)
    values = {"slot": None, "ended_at": now, **_outcome_values(outcome, used)}
    _END.run(conn, {"b_id": run_id, "b_fence": fence, **{f"v_{name}": value for name, value in values.items()}})
    end_attempt(conn, run_id, row.attempt, outcome, now)
    if outcome.state is RunState.SKIPPED:
        conn.execute(
            update(_occurrences)
            .where(_occurrences.c.run_id == run_id)
            .values(state=OccurrenceState.SKIPPED, reason=outcome.reason)
        )
    counters.raise_by(conn, [*_totals(row, outcome, now), *spending.totals(used)])
    tokens = int(str(values["tokens_input"])) + int(str(values["tokens_output"]))
    return Finished(started_at=instant(row.started_at), tokens=tokens, cost_usd=_cost(outcome, used))


def _outcome_values(outcome: Outcome, used: Sequence[UsedOf]) -> dict[str, object]:
    return {
        "state": outcome.state,
        "reason": outcome.reason,
        "error": outcome.error,
        "model": outcome.model,
        "iterations": outcome.iterations,
        "tool_calls": outcome.tool_calls,
        "tool_errors": outcome.tool_errors,
        # the journal's rows are the proof, where there are any
        "tokens_input": max(sum(each.input for each in used), outcome.tokens_input),
        "tokens_output": max(sum(each.output for each in used), outcome.tokens_output),
        "tokens_cached": max(sum(each.cached for each in used), outcome.tokens_cached),
        "cost_usd": _cost(outcome, used),
        "output_path": outcome.output_path,
        "result": outcome.result,
        "silent": outcome.silent,
        "verdict": outcome.verdict,
        "check_results": dump_results(outcome.checks),
        "skills": json.dumps(outcome.skills, ensure_ascii=False) if outcome.skills else None,
    }


def _cost(outcome: Outcome, used: Sequence[UsedOf]) -> float | None:
    """None is unknown: a call without a price, or calls that left no usage row. No model call costs nothing."""
    if used:
        known = all(each.priced == each.calls for each in used)
        return sum(each.cost_usd or 0.0 for each in used) if known else None
    return outcome.cost_usd if outcome.iterations else 0.0


def end_attempt(conn: Connection, run_id: str, number: int, outcome: Outcome, now: datetime) -> None:
    """The attempt's row says how it ended; one that goes on later has no end yet."""
    _END_ATTEMPT.run(
        conn,
        {
            "b_run": run_id,
            "b_number": number,
            "v_ended_at": now,
            "v_state": outcome.state,
            "v_reason": outcome.reason,
        },
    )


def _totals(row: _Ending, outcome: Outcome, now: datetime) -> list[counters.Raise]:
    """The duration is that of the execution: a run that waits for a person or a model does not take longer."""
    labels = {"job_name": row.job_name}
    found: list[counters.Raise] = [(counters.RUNS, {**labels, "outcome": outcome.state}, 1)]
    if row.scheduled_at is not None:
        became = OccurrenceState.SKIPPED if outcome.state is RunState.SKIPPED else OccurrenceState.RAN
        found.append((counters.OCCURRENCES, {**labels, "state": became}, 1))
    if outcome.verdict is not None:
        found.append((counters.CHECKS, {**labels, "outcome": outcome.verdict}, 1))
    taken = instant(row.taken_at)
    if taken is not None:
        took = max(0.0, (now - taken).total_seconds()) + row.active_ms / 1000
        found += counters.observation(counters.DURATION, took, labels)
    if outcome.iterations:
        found += counters.observation(counters.ITERATIONS, outcome.iterations, labels)
    return found


# --- a run that goes on later ----------------------------------------------------------------------------------------


def put_back(conn: Connection, run_id: str, fence: int, *, ran: timedelta, outcome: Outcome | None = None) -> None:
    """Any scheduler may go on with it at once; it keeps its job. ``outcome`` None: its owner died. Raises Fenced."""
    changes = {} if outcome is None else _so_far(conn, run_id, outcome)
    if outcome is not None and outcome.progressed:
        changes["waits"] = 0
    _leave(conn, run_id, fence, RunState.QUEUED, start_after=None, ran=ran, **changes)


def park(conn: Connection, run_id: str, fence: int, *, ran: timedelta, outcome: Outcome) -> None:
    """It waits for a person; see ``approvals``. Raises Fenced."""
    _leave(conn, run_id, fence, RunState.WAITING_APPROVAL, start_after=None, ran=ran, **_so_far(conn, run_id, outcome))


def put_off(  # noqa: PLR0913  # what a wait is made of
    conn: Connection, run_id: str, fence: int, *, attempt: int, outcome: Outcome, wait: Wait, now: datetime,
    ran: timedelta,
) -> None:  # fmt: skip
    """It waits until ``wait.until``, and says why. Raises Fenced.

    Another attempt counts its time from 0; for a fresh one the transcript so far is closed.
    """
    why = {"start_after": wait.until, "waits": wait.waits, "reason": outcome.reason, "error": outcome.error}
    told = {**why, **_so_far(conn, run_id, outcome)}
    if wait.next is Next.GO_ON:
        _leave(conn, run_id, fence, RunState.WAITING_RETRY, ran=ran, **told)
        return
    anew = {"attempt": attempt + 1, "active_ms": 0, "takeovers": 0, "takeover_step": None}
    _leave(conn, run_id, fence, RunState.WAITING_RETRY, ran=timedelta(0), **told, **anew)
    end_attempt(conn, run_id, attempt, outcome, now)
    if wait.next is Next.FRESH:
        close_sessions(conn, run_id, now)


def _leave(conn: Connection, run_id: str, fence: int, state: RunState, *, ran: timedelta, **values: Any) -> None:
    """From running to ``state``, with its slot and without an owner."""
    changed = conn.execute(
        update(_runs)
        .where(_runs.c.id == run_id, _runs.c.fence == fence, _runs.c.state == RunState.RUNNING)
        .values(
            {
                "state": state,
                "owner": None,
                "active_ms": _runs.c.active_ms + max(0, ran // timedelta(milliseconds=1)),
                **values,
            }
        )
    )
    if changed.rowcount != 1:
        raise Fenced(f"run {run_id} is no longer owned under fence {fence}")


def _so_far(conn: Connection, run_id: str, outcome: Outcome) -> dict[str, Any]:
    """What a run that goes on later used until now: whoever looks at it meanwhile shall not read that it is free.

    A run that was stopped before its loop began says nothing, and its row keeps what it said.
    """
    if not outcome.iterations and not outcome.tool_calls:
        return {}
    values = _outcome_values(outcome, spending.used(conn, run_id))
    return {name: values[name] for name in _SO_FAR}


def close_sessions(conn: Connection, run_id: str, now: datetime) -> None:
    """Nobody goes on with the transcripts so far."""
    conn.execute(
        update(_sessions).where(_sessions.c.run_id == run_id, _sessions.c.ended_at.is_(None)).values(ended_at=now)
    )


def has_intents(conn: Connection, run_id: str) -> bool:
    """Whether the open transcript says that something outside was, or was about to be, changed."""
    session = open_session(conn, run_id)
    if session is None:
        return False
    query = select(_effects.c.seq).where(_effects.c.session_id == session).limit(1)
    return conn.execute(query).first() is not None
