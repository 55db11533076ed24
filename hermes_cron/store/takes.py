"""Which runs may start or go on now, and whose are they then?

``take`` is a compare-and-set from ``queued`` or ``waiting_retry``: of two processes that want one run, one gets it. See
``claims`` for what ``slot`` means. A run that was begun before goes on with its open transcript, and its deadline
leaves out the time in which nobody executed it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, func, null, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from hermes_cron.domain.job import Job, Limits, Work, load_job
from hermes_cron.domain.run import Cause, RunState, TakenRun
from hermes_cron.store import counters, pings
from hermes_cron.store.prepared import Prepared, instant
from hermes_cron.store.tables import IS_ACTIVE, AttemptRow, RunRow, SessionRow

HOME = Limits()
"""What config.toml says when it says nothing."""

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_attempts = AttemptRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]

_COLUMNS = (
    _runs.c.id, _runs.c.job_uid, _runs.c.spec, _runs.c.cause, _runs.c.slot, _runs.c.fence, _runs.c.attempt,
    _runs.c.arguments, _runs.c.late, _runs.c.priority, _runs.c.queued_at, _runs.c.scheduled_at, _runs.c.start_after,
    _runs.c.started_at, _runs.c.active_ms, _runs.c.waits, _runs.c.check_inputs,
)  # fmt: skip
_QUEUED = or_(_runs.c.state == RunState.QUEUED.value, _runs.c.state == RunState.WAITING_RETRY.value)
_READY = and_(IS_ACTIVE, _QUEUED, or_(_runs.c.start_after.is_(None), _runs.c.start_after <= bindparam("now")))
_ORDER = (_runs.c.priority.desc(), _runs.c.queued_at, _runs.c.scheduled_at, _runs.c.id)
_holder = _runs.alias("holder")
_FREE = ~select(_holder.c.id).where(_holder.c.slot == _runs.c.job_uid).exists()
_WITH_SLOT = Prepared(
    select(*_COLUMNS).where(_READY, _runs.c.slot.is_not(None)).order_by(*_ORDER).limit(bindparam("slots"))
)
_WAITING = Prepared(
    select(*_COLUMNS).where(_READY, _runs.c.slot.is_(None), _FREE).order_by(*_ORDER).limit(bindparam("slots"))
)
_THIS = Prepared(select(*_COLUMNS).where(_QUEUED, _runs.c.id == bindparam("b_id")))
_HELD = Prepared(select(_runs.c.id).where(_runs.c.slot == bindparam("uid")))
_TAKE = Prepared(
    update(_runs)
    .where(_runs.c.id == bindparam("b_id"), _QUEUED)
    .values(
        state=RunState.RUNNING.value,
        owner=bindparam("b_owner"),
        fence=bindparam("b_fence"),
        slot=bindparam("b_slot"),
        started_at=func.coalesce(_runs.c.started_at, bindparam("b_now")),
        taken_at=bindparam("b_now"),
        reason=null(),
        error=null(),
        deadline_at=bindparam("b_deadline"),
    )
)
_OPEN_SESSION = Prepared(
    select(_sessions.c.id)
    .where(_sessions.c.run_id == bindparam("b_run"), _sessions.c.kind == "main", _sessions.c.ended_at.is_(None))
    .order_by(_sessions.c.started_at.desc(), _sessions.c.id.desc())
    .limit(1)
)
_NEW = insert(_attempts)
_NEW_ATTEMPT = Prepared(
    _NEW.on_conflict_do_update(  # gone on with: by whom it is executed now
        index_elements=["run_id", "number"], set_={name: _NEW.excluded[name] for name in ("owner", "fence")}
    ),
    ("run_id", "number", "owner", "fence", "started_at"),
)


class _Queued(NamedTuple):
    """A row of ``_COLUMNS``; instants as the driver gives them."""

    id: str
    job_uid: str | None
    spec: str
    cause: str
    slot: str | None
    fence: int
    attempt: int
    arguments: str
    late: bool
    priority: int
    queued_at: Any
    scheduled_at: Any
    start_after: Any
    started_at: Any
    active_ms: int
    waits: int
    check_inputs: str | None


def take(conn: Connection, owner: str, slots: int, now: datetime, home: Limits = HOME) -> list[TakenRun]:
    """Make at most ``slots`` runs ``owner``'s and running: by priority, then who waits longest.

    ``home``: what a run may use of what its job says nothing about.
    """
    taken: list[TakenRun] = []
    while slots > len(taken):
        left = slots - len(taken)
        ready = _ready(conn, left, now)
        taken += _start_rows(conn, ready, owner, now, home)
        if not ready or len(ready) == left:
            break
    return taken


def _ready(conn: Connection, slots: int, now: datetime) -> list[_Queued]:
    """Some of the runs that may start now, the first ones; all of them are taken when this finds none.

    One of a job that waits: the others of that job wait on, and must not hide the jobs behind them.
    """
    bound = {"now": now, "slots": slots}
    found = [_Queued(*row) for row in _WITH_SLOT.all(conn, bound)]
    seen: set[str | None] = set()
    for row in map(_Queued._make, _WAITING.all(conn, {**bound, "slots": slots * 4})):
        if row.job_uid not in seen:
            seen.add(row.job_uid)
            found.append(row)
    found.sort(key=lambda row: (-row.priority, row.queued_at, row.scheduled_at or row.queued_at, row.id))
    return found[:slots]


def ready(conn: Connection, now: datetime) -> bool:
    """Whether ``take`` would find anything."""
    bound = {"now": now, "slots": 1}
    return _WITH_SLOT.first(conn, bound) is not None or _WAITING.first(conn, bound) is not None


def take_run(conn: Connection, run_id: str, owner: str, now: datetime, home: Limits = HOME) -> TakenRun | None:
    """Take this very run; None when it does not wait to be taken any more or its job is occupied."""
    found = _THIS.first(conn, {"b_id": run_id})
    if found is None:
        return None
    row = _Queued(*found)
    if row.slot is None and _HELD.first(conn, {"uid": row.job_uid}) is not None:
        return None
    return _start_rows(conn, [row], owner, now, home)[0]


def _start_rows(conn: Connection, rows: Sequence[_Queued], owner: str, now: datetime, home: Limits) -> list[TakenRun]:
    taken = [_taken(conn, row, owner, now, home) for row in rows]
    for run, row in zip(taken, rows, strict=True):
        _TAKE.run(
            conn,
            {
                "b_id": run.id,
                "b_owner": owner,
                "b_fence": run.fence,
                "b_slot": row.slot or row.job_uid or run.id,
                "b_now": now,
                "b_deadline": run.deadline_at,
            },
        )
        _NEW_ATTEMPT.run(
            conn,
            {"run_id": run.id, "number": run.attempt, "owner": owner, "fence": run.fence, "started_at": now},
        )
        if run.job.ping is not None and row.started_at is None:
            pings.note_start(conn, run, now)
    counters.raise_by(conn, [it for row in rows for it in _lateness(row, now)])
    return taken


def _lateness(row: _Queued, now: datetime) -> list[counters.Raise]:
    """A delay that the job asked for (jitter) is no lateness, and going on is no start."""
    if row.started_at is not None:
        return []
    wanted = instant(row.start_after or row.scheduled_at)
    return [] if wanted is None else counters.observation(counters.LATENESS, max(0.0, (now - wanted).total_seconds()))


def open_session(conn: Connection, run_id: str) -> str | None:
    """The newest main session that was not closed: the transcript to go on with."""
    found = _OPEN_SESSION.first(conn, {"b_run": run_id})
    return None if found is None else str(found[0])


def of_now(job: Job, home: Limits) -> Job:
    """The job with what it leaves to the home, and its script's time-out within that."""
    limits = job.limits.under(home)
    timeout = min(job.timeout, timedelta(minutes=limits.minutes))
    return job if (limits, timeout) == (job.limits, job.timeout) else replace(job, limits=limits, timeout=timeout)


def allowed(job: Job) -> timedelta:
    """How long one attempt may execute. A script ends by its own ``timeout``; its checks need time after that."""
    alone = job.work is Work.SCRIPT and not job.checks
    return job.timeout if alone else timedelta(minutes=job.limits.minutes)


def _taken(conn: Connection, row: _Queued, owner: str, now: datetime, home: Limits) -> TakenRun:
    job = of_now(load_job(row.spec), home)
    return TakenRun(
        id=row.id,
        job_uid=row.job_uid,
        job=job,
        cause=Cause(row.cause),
        owner=owner,
        fence=row.fence + 1,
        attempt=row.attempt,
        started_at=now,
        deadline_at=now + max(timedelta(0), allowed(job) - timedelta(milliseconds=row.active_ms)),
        scheduled_at=instant(row.scheduled_at),
        late=bool(row.late),
        arguments=json.loads(row.arguments),
        session=None if row.started_at is None else open_session(conn, row.id),
        waits=row.waits,
        check_inputs=row.check_inputs,
    )


def states(conn: Connection) -> Counter[str]:
    """How many runs are queued, running and so on; ended ones are not counted."""
    active = select(_runs.c.state, func.count().label("n")).where(_runs.c.ended_at.is_(None)).group_by(_runs.c.state)
    return Counter({row.state: row.n for row in conn.execute(active)})
