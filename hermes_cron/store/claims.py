"""Which instants are due now, and what is written about each?

``claim_due`` writes an instant's row and its queued run in one transaction; ``takes`` starts them. Any number of
processes may call it: SQLite's writer lock makes each call alone, ``settled_until`` says what is done, and the
constraints (one row an instant, one occupant a slot) refuse what slipped through.

A run's ``slot`` is the uid of its job while it occupies the job; the run's own id when it occupies nothing
(``overlap: allow``, no job); null while it waits for its job to be free, and after its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from hermes_cron.domain.job import CatchUp, Job, Overlap, load_job
from hermes_cron.domain.occurrence import (
    WINDOW,
    DuePlan,
    DueRun,
    Reason,
    Span,
    Timing,
    first_due,
    last_due,
    plan_due,
    timing_of,
)
from hermes_cron.domain.run import Cause, OccurrenceState, Outcome, RunState, new_run_id
from hermes_cron.errors import HermesCronError
from hermes_cron.store import counters
from hermes_cron.store.endings import end_waiting
from hermes_cron.store.prepared import Prepared, instant
from hermes_cron.store.tables import (
    IS_ACTIVE,
    IS_WAITING,
    JobRevisionRow,
    JobRow,
    OccurrenceRow,
    OccurrenceSpanRow,
    RunRow,
)
from hermes_cron.store.takes import states, take, take_run

Row = RowMapping | Mapping[str, Any]
"""The columns ``DUE_COLUMNS`` of a job."""

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_revisions = JobRevisionRow.__table__  # type: ignore[attr-defined]
_occurrences = OccurrenceRow.__table__  # type: ignore[attr-defined]
_spans = OccurrenceSpanRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]

BATCH = 200  # jobs a transaction: other writers wait no longer than this takes
QUEUE_CAP = 100  # waiting runs of one job with ``overlap: queue``; more than that never drains

DUE_COLUMNS = (
    _jobs.c.uid, _jobs.c.name, _jobs.c.spec, _jobs.c.revision, _jobs.c.settled_until, _jobs.c.fired,
    _jobs.c.held_reason,
)  # fmt: skip
_DUE = Prepared(
    select(*DUE_COLUMNS)
    .where(_jobs.c.next_due.is_not(None), _jobs.c.next_due <= bindparam("now"))
    .order_by(_jobs.c.next_due)
    .limit(bindparam("batch"))
)
_SETTLED = Prepared(
    update(_jobs)
    .where(_jobs.c.uid == bindparam("b_uid"))
    .values(settled_until=bindparam("b_settled"), next_due=bindparam("b_next"), fired=bindparam("b_fired"))
)
_NEW_OCCURRENCE = Prepared(
    insert(_occurrences), ("job_uid", "scheduled_at", "state", "reason", "run_id", "late", "noted_at")
)
_GROW = (
    update(_spans)
    .where(_spans.c.id == bindparam("b_id"))
    .values(last_at=bindparam("b_last"), count=_spans.c.count + bindparam("b_count"), noted_at=bindparam("b_now"))
)
_NEXT_DUE = Prepared(select(func.min(_jobs.c.next_due)).where(_jobs.c.next_due.is_not(None)))
_NEXT_START = Prepared(
    select(func.min(_runs.c.start_after)).where(
        IS_ACTIVE,
        or_(_runs.c.state == RunState.QUEUED.value, _runs.c.state == RunState.WAITING_RETRY.value),
        _runs.c.start_after > bindparam("now"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """What one pass did. ``more``: jobs are still due, call again. ``missed`` names jobs that lost instants."""

    runs: int = 0
    more: bool = False
    missed: tuple[tuple[str, Span], ...] = ()


def claim_due(conn: Connection, now: datetime, *, window: timedelta = WINDOW, batch: int = BATCH) -> Claimed:
    """Settle the jobs that are due, those due longest first, at most ``batch`` of them."""
    rows = [_due_row(values) for values in _DUE.all(conn, {"now": now, "batch": batch})]
    if not rows:
        return Claimed()
    try:
        with conn.begin_nested():
            done = settle(conn, rows, now, window=window)
    except IntegrityError:
        done = _one_by_one(conn, rows, now, window)
    return replace(done, more=done.more or len(rows) == batch)


def _due_row(values: Sequence[Any]) -> Row:
    row = {column.name: value for column, value in zip(DUE_COLUMNS, values, strict=True)}
    return {**row, "settled_until": instant(row["settled_until"])}


def settle(
    conn: Connection,
    rows: Sequence[Row],
    now: datetime,
    *,
    window: timedelta = WINDOW,
    blocked: Reason | None = None,
) -> Claimed:
    """Give every instant up to ``now`` of these jobs (``DUE_COLUMNS``) its row. ``blocked``: nothing may start."""
    pass_ = _Pass(now=now, occupied=_occupied(conn, [row["uid"] for row in rows]))
    for row in rows:
        try:
            job = load_job(row["spec"])
            timing = timing_of(job, held=row["held_reason"] is not None)
        except (ValueError, KeyError, TypeError, HermesCronError) as error:
            _set_aside(conn, row, f"its stored form cannot be read: {error}", now)
            continue
        if blocked is not None:
            timing = replace(timing, blocked=blocked)
        plan = plan_due(
            timing, uid=row["uid"], settled_until=row["settled_until"], now=now, fired=row["fired"], window=window
        )
        pass_.add(_Due(row=row, job=job, timing=timing, plan=plan))
    pass_.write(conn)
    return Claimed(runs=len(pass_.runs), more=pass_.more, missed=tuple(pass_.missed))


def _one_by_one(conn: Connection, rows: Sequence[Row], now: datetime, window: timedelta) -> Claimed:
    """A constraint refused something: only the job at fault is set aside, the others go on."""
    done = Claimed()
    for row in rows:
        try:
            with conn.begin_nested():
                one = settle(conn, [row], now, window=window)
        except IntegrityError as error:
            _set_aside(conn, row, f"the store refused its instants: {error.orig}", now)
            continue
        done = Claimed(runs=done.runs + one.runs, more=done.more or one.more, missed=done.missed + one.missed)
    return done


def _set_aside(conn: Connection, row: Row, why: str, now: datetime) -> None:
    """One job that cannot be planned must not stop the others: held, and `status` says so."""
    conn.execute(update(_jobs).where(_jobs.c.uid == row["uid"]).values(next_due=None, held_reason=why, held_at=now))


def next_wake(conn: Connection, now: datetime) -> datetime | None:
    """The next instant at which something becomes due, or a run that waits for a time may start or go on."""
    found = (_NEXT_DUE.first(conn, {}), _NEXT_START.first(conn, {"now": now}))
    return min((at for row in found if row is not None and (at := instant(row[0])) is not None), default=None)


# --- claiming ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    row: Row
    job: Job
    timing: Timing
    plan: DuePlan


@dataclass(slots=True)
class _Occupied:
    """Who holds a job's slot, and who waits for it."""

    holder: str | None = None
    waiting: list[str] = field(default_factory=list)

    @property
    def free(self) -> bool:
        return self.holder is None and not self.waiting


@dataclass(slots=True, kw_only=True)
class _Pass:
    """Rows collected over many jobs, so that each table is written once."""

    now: datetime
    occupied: dict[str, _Occupied]
    runs: list[dict[str, Any]] = field(default_factory=list)
    occurrences: list[dict[str, Any]] = field(default_factory=list)
    spans: list[tuple[_Due, Span, str | None]] = field(default_factory=list)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    ended: list[tuple[str, int, datetime]] = field(default_factory=list)
    cancel: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    missed: list[tuple[str, Span]] = field(default_factory=list)
    counted: list[counters.Raise] = field(default_factory=list)
    more: bool = False

    def add(self, due: _Due) -> None:
        started: dict[datetime, str] = {}
        for at, run in enumerate(due.plan.runs):
            run_id = self._start(due, run, first=at == 0)
            if run_id is not None:
                started[run.at] = run_id
        for span in due.plan.spans:
            self.spans.append((due, span, started.get(span.into) if span.into else None))
            self._count(due, span.state, span.count)
            if span.state is OccurrenceState.MISSED:
                self.missed.append((due.row["name"], span))
        self._advance(due, started)

    def _advance(self, due: _Due, started: Mapping[datetime, str]) -> None:
        fired = due.row["fired"] + len(started)
        over = due.timing.max_runs is not None and fired >= due.timing.max_runs
        next_due = None if over else first_due(due.timing, due.plan.settled_until)
        if over and started:
            self.ended.append((due.row["uid"], due.row["revision"], max(started)))
        self.jobs.append(
            {"b_uid": due.row["uid"], "b_settled": due.plan.settled_until, "b_next": next_due, "b_fired": fired}
        )
        self.more = self.more or (next_due is not None and next_due <= self.now)

    def _start(self, due: _Due, run: DueRun, *, first: bool) -> str | None:
        """The new run's id, None when overlap forbids it."""
        uid, run_id = due.row["uid"], new_run_id()
        place = self.occupied.setdefault(uid, _Occupied())
        serial = not first and due.timing.catch_up is CatchUp.ALL  # a backlog runs one after the other
        refused = self._refusal(place, due.job.overlap, serial=serial)
        if refused is None:
            self.runs.append(self._run_row(due, run, run_id, self._slot(place, due, run_id)))
        state = OccurrenceState.SKIPPED if refused else OccurrenceState.RAN
        if refused is not None:  # what got a run is counted when that ends: it may give way before it began
            self._count(due, state, 1)
        self.occurrences.append(
            {
                "job_uid": uid,
                "scheduled_at": run.at,
                "state": state,
                "reason": refused,
                "run_id": None if refused else run_id,
                "late": run.late,
                "noted_at": self.now,
            }
        )
        return None if refused else run_id

    def _refusal(self, place: _Occupied, overlap: Overlap, *, serial: bool) -> Reason | None:
        if overlap is Overlap.ALLOW or place.free or serial:
            return None
        if overlap is Overlap.SKIP:
            return Reason.OVERLAP
        if overlap is Overlap.QUEUE:
            return Reason.QUEUE_FULL if len(place.waiting) >= QUEUE_CAP else None
        if place.holder is not None:
            self.cancel.append(place.holder)
        self.drop += place.waiting  # the newest one takes over from those that waited
        place.waiting.clear()
        return None

    def _slot(self, place: _Occupied, due: _Due, run_id: str) -> str | None:
        if due.job.overlap is Overlap.ALLOW:
            return run_id
        if place.free:
            place.holder = run_id
            return str(due.row["uid"])
        place.waiting.append(run_id)
        return None

    def _run_row(self, due: _Due, run: DueRun, run_id: str, slot: str | None) -> dict[str, Any]:
        return {
            "id": run_id,
            "job_uid": due.row["uid"],
            "job_name": due.row["name"],
            "cause": Cause.SCHEDULE,
            "scheduled_at": run.at,
            "late": run.late,
            "spec": due.row["spec"],
            "slot": slot,
            "state": RunState.QUEUED,
            "queued_at": self.now,
            "start_after": run.start_after if run.start_after > self.now else None,
        }

    def write(self, conn: Connection) -> None:
        if self.runs:
            _NEW_RUN.run_all(conn, [{**RUN_DEFAULTS, **row} for row in self.runs])
        if self.occurrences:
            _NEW_OCCURRENCE.run_all(conn, self.occurrences)
        if self.cancel or self.drop:  # may name rows of this very pass, so only now
            self._give_way(conn)
        _write_spans(conn, self.spans, self.now)
        if self.jobs:
            _SETTLED.run_all(conn, self.jobs)
        for uid, revision, at in self.ended:
            conn.execute(
                update(_revisions)
                .where(_revisions.c.job_uid == uid, _revisions.c.revision == revision)
                .values(effective_until=at)
            )
        counters.raise_by(conn, self.counted)

    def _give_way(self, conn: Connection) -> None:
        """Those that never began are dropped, those that wait end, those that run are asked to stop."""
        drop_queued(
            conn, self.drop + self.cancel, self.now, RunState.CANCELLED, Reason.OVERLAP, OccurrenceState.SKIPPED
        )
        conn.execute(
            update(_runs)
            .where(_runs.c.id.in_(self.cancel), _runs.c.ended_at.is_(None), _runs.c.cancel_requested_at.is_(None))
            .values(cancel_requested_at=self.now, cancel_by=Reason.OVERLAP)
        )
        for run_id in self.cancel:
            end_waiting(conn, run_id, Outcome(state=RunState.CANCELLED, reason=Reason.OVERLAP), self.now)

    def _count(self, due: _Due, state: OccurrenceState, count: int) -> None:
        self.counted.append((counters.OCCURRENCES, {"job_name": due.row["name"], "state": state}, count))


RUN_DEFAULTS = {
    "arguments": "{}", "priority": 0, "fence": 0, "attempt": 1, "takeovers": 0, "iterations": 0, "tool_calls": 0,
    "tool_errors": 0, "tokens_input": 0, "tokens_output": 0, "tokens_cached": 0, "silent": False, "actor": "schedule",
    "active_ms": 0, "waits": 0,
}  # fmt: skip


_NEW_RUN = Prepared(
    insert(_runs),
    (
        *RUN_DEFAULTS, "id", "job_uid", "job_name", "cause", "scheduled_at", "late", "spec", "slot", "state",
        "queued_at", "start_after",
    ),
)  # fmt: skip
_HOLDER = Prepared(select(_runs.c.id).where(_runs.c.slot == bindparam("uid")))
_WAITERS = Prepared(select(_runs.c.id).where(IS_WAITING, _runs.c.job_uid == bindparam("uid")))


def _occupied(conn: Connection, uids: Sequence[str]) -> dict[str, _Occupied]:
    found: dict[str, _Occupied] = {}
    for uid in uids:
        holder = _HOLDER.first(conn, {"uid": uid})
        waiting = [str(row[0]) for row in _WAITERS.all(conn, {"uid": uid})]
        found[uid] = _Occupied(holder=holder[0] if holder else None, waiting=waiting)
    return found


def _write_spans(conn: Connection, spans: Sequence[tuple[_Due, Span, str | None]], now: datetime) -> None:
    """A span that continues the one before it makes that one longer, so a paused minute job is one row a pause."""
    fresh, grown = [], []
    for due, span, run_id in spans:
        earlier = None if run_id else _continued(conn, due, span)
        if earlier is None:
            fresh.append(
                {
                    "job_uid": due.row["uid"],
                    "revision": due.row["revision"],
                    "first_at": span.first,
                    "last_at": span.last,
                    "count": span.count,
                    "state": span.state,
                    "reason": span.reason,
                    "run_id": run_id,
                    "noted_at": now,
                }
            )
        else:
            grown.append({"b_id": earlier, "b_last": span.last, "b_count": span.count, "b_now": now})
    if fresh:
        conn.execute(insert(_spans), fresh)
    if grown:
        conn.execute(_GROW, grown)


def _continued(conn: Connection, due: _Due, span: Span) -> int | None:
    """The row of this job that ends with the instant before ``span`` and shares its fate."""
    before = last_due(due.timing, span.first - timedelta(microseconds=1))
    if before is None:
        return None
    found: int | None = conn.execute(
        select(_spans.c.id).where(
            _spans.c.job_uid == due.row["uid"],
            _spans.c.last_at == before,
            _spans.c.revision == due.row["revision"],
            _spans.c.state == span.state,
            _spans.c.reason == span.reason,
        )
    ).scalar()
    return found


def drop_queued(
    conn: Connection,
    run_ids: Sequence[str],
    now: datetime,
    state: RunState,
    reason: Reason | None,
    occurrence: OccurrenceState | None,
) -> int:
    """End runs that never started; how many were still queued. ``occurrence``: what their instants become, if told."""
    queued = select(_runs.c.id, _runs.c.job_name, _runs.c.scheduled_at).where(
        _runs.c.id.in_(run_ids), _runs.c.state == RunState.QUEUED, _runs.c.started_at.is_(None)
    )
    found = conn.execute(queued).all()
    ids = [row.id for row in found]
    if not ids:
        return 0
    conn.execute(
        update(_runs)
        .where(_runs.c.id.in_(ids), _runs.c.state == RunState.QUEUED)
        .values(state=state, reason=reason, slot=None, ended_at=now)
    )
    if occurrence is not None:
        conn.execute(update(_occurrences).where(_occurrences.c.run_id.in_(ids)).values(state=occurrence, reason=reason))
    became = occurrence or OccurrenceState.RAN
    counted: list[counters.Raise] = [(counters.RUNS, {"job_name": row.job_name, "outcome": state}, 1) for row in found]
    counted += [
        (counters.OCCURRENCES, {"job_name": row.job_name, "state": became}, 1)
        for row in found
        if row.scheduled_at is not None
    ]
    counters.raise_by(conn, counted)
    return len(ids)


def stale(conn: Connection, now: datetime, *, window: timedelta = WINDOW) -> list[str]:
    """Runs queued by the schedule for an instant before the catch-up window, and never started."""
    query = select(_runs.c.id).where(
        IS_ACTIVE,
        _runs.c.state == RunState.QUEUED,
        _runs.c.started_at.is_(None),
        _runs.c.cause == Cause.SCHEDULE,
        _runs.c.scheduled_at < now - window,
    )
    return list(conn.execute(query).scalars())


def drop_stale(conn: Connection, now: datetime, *, window: timedelta = WINDOW) -> int:
    """Stale runs are missed, as if their instants were found only now."""
    ids = stale(conn, now, window=window)
    return drop_queued(conn, ids, now, RunState.SKIPPED, Reason.TOO_OLD, OccurrenceState.MISSED) if ids else 0


__all__ = [
    "Claimed", "claim_due", "drop_queued", "drop_stale", "next_wake", "settle", "stale", "states", "take", "take_run",
]  # fmt: skip
