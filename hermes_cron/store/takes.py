"""Which queued runs may start now, and whose are they then?

``take`` is a compare-and-set from ``queued``: of two processes that want one run, one gets it. See ``claims`` for what
``slot`` means.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, RowMapping, and_, bindparam, func, insert, or_, select, update

from hermes_cron.domain.job import Work, load_job
from hermes_cron.domain.run import Cause, RunState, TakenRun
from hermes_cron.store import counters
from hermes_cron.store.tables import AttemptRow, RunRow

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_attempts = AttemptRow.__table__  # type: ignore[attr-defined]

_READY = and_(
    _runs.c.state == RunState.QUEUED, or_(_runs.c.start_after.is_(None), _runs.c.start_after <= bindparam("now"))
)
_ORDER = (_runs.c.priority.desc(), _runs.c.queued_at, _runs.c.scheduled_at, _runs.c.id)
_WITH_SLOT = select(_runs).where(_READY, _runs.c.slot.is_not(None)).order_by(*_ORDER).limit(bindparam("slots"))
_holder = _runs.alias("holder")
_WAITING = (
    select(_runs)
    .where(_READY, _runs.c.slot.is_(None), ~select(_holder.c.id).where(_holder.c.slot == _runs.c.job_uid).exists())
    .order_by(*_ORDER)
    .limit(bindparam("slots"))
)
_TAKE = (
    update(_runs)
    .where(_runs.c.id == bindparam("b_id"), _runs.c.state == RunState.QUEUED)
    .values(
        state=RunState.RUNNING,
        owner=bindparam("b_owner"),
        fence=bindparam("b_fence"),
        slot=bindparam("b_slot"),
        started_at=bindparam("b_now"),
        deadline_at=bindparam("b_deadline"),
    )
)


_NEW_ATTEMPT = insert(_attempts)


def take(conn: Connection, owner: str, slots: int, now: datetime) -> list[TakenRun]:
    """Make at most ``slots`` queued runs ``owner``'s and running: by priority, then who waits longest."""
    if slots <= 0:
        return []
    bound = {"now": now, "slots": slots}
    ready = list(conn.execute(_WITH_SLOT, bound).mappings())
    seen: set[str] = set()
    for row in conn.execute(_WAITING, {**bound, "slots": slots * 4}).mappings():
        if row["job_uid"] not in seen:  # one of a job at a time: the others wait on
            seen.add(row["job_uid"])
            ready.append(row)
    ready.sort(key=lambda row: (-row["priority"], row["queued_at"], row["scheduled_at"] or row["queued_at"], row["id"]))
    return _start_rows(conn, ready[:slots], owner, now)


def ready(conn: Connection, now: datetime) -> bool:
    """Whether ``take`` would find anything."""
    bound = {"now": now, "slots": 1}
    return conn.execute(_WITH_SLOT, bound).first() is not None or conn.execute(_WAITING, bound).first() is not None


def take_run(conn: Connection, run_id: str, owner: str, now: datetime) -> TakenRun | None:
    """Take this very run; None when it is not queued any more or its job is occupied."""
    row = conn.execute(select(_runs).where(_runs.c.id == run_id, _runs.c.state == RunState.QUEUED)).mappings().first()
    if row is None:
        return None
    if row["slot"] is None and conn.execute(select(_runs.c.id).where(_runs.c.slot == row["job_uid"])).first():
        return None
    return _start_rows(conn, [row], owner, now)[0]


def _start_rows(conn: Connection, rows: Sequence[RowMapping], owner: str, now: datetime) -> list[TakenRun]:
    if not rows:
        return []
    taken = [_taken(row, owner, now) for row in rows]
    conn.execute(
        _TAKE,
        [
            {
                "b_id": run.id,
                "b_owner": owner,
                "b_fence": run.fence,
                "b_slot": row["slot"] or row["job_uid"] or run.id,
                "b_now": now,
                "b_deadline": run.deadline_at,
            }
            for run, row in zip(taken, rows, strict=True)
        ],
    )
    conn.execute(
        _NEW_ATTEMPT,
        [
            {"run_id": run.id, "number": run.attempt, "owner": owner, "fence": run.fence, "started_at": now}
            for run in taken
        ],
    )
    counters.raise_by(conn, [it for row in rows for it in _lateness(row, now)])
    return taken


def _lateness(row: RowMapping, now: datetime) -> list[counters.Raise]:
    """A delay that the job asked for (jitter) is no lateness."""
    wanted = row["start_after"] or row["scheduled_at"]
    return [] if wanted is None else counters.observation(counters.LATENESS, max(0.0, (now - wanted).total_seconds()))


def _taken(row: RowMapping, owner: str, now: datetime) -> TakenRun:
    job = load_job(row["spec"])
    allowed = job.timeout if job.work is Work.SCRIPT else timedelta(minutes=job.limits.minutes)
    return TakenRun(
        id=row["id"],
        job_uid=row["job_uid"],
        job=job,
        cause=Cause(row["cause"]),
        owner=owner,
        fence=row["fence"] + 1,
        attempt=row["attempt"],
        started_at=now,
        deadline_at=now + allowed,
        scheduled_at=row["scheduled_at"],
        late=row["late"],
        arguments=json.loads(row["arguments"]),
    )


def states(conn: Connection) -> Counter[str]:
    """How many runs are queued, running and so on; ended ones are not counted."""
    active = select(_runs.c.state, func.count().label("n")).where(_runs.c.ended_at.is_(None)).group_by(_runs.c.state)
    return Counter({row.state: row.n for row in conn.execute(active)})
