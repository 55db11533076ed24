"""What became of every due instant, and is there one without an answer?

``rows`` lists instants, spans expanded through the trigger of their revision. ``accounted`` asks the triggers of all
revisions again what was due and compares that with the rows: a proof that does not trust ``next_due``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, or_, select, true

from hermes_cron.domain.occurrence import Timing, count_due, due_between, newest_due
from hermes_cron.domain.run import OccurrenceState, RunState
from hermes_cron.store.revisions import timing_of_row
from hermes_cron.store.tables import JobRevisionRow, JobRow, OccurrenceRow, OccurrenceSpanRow, RunRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_revisions = JobRevisionRow.__table__  # type: ignore[attr-defined]
_occurrences = OccurrenceRow.__table__  # type: ignore[attr-defined]
_spans = OccurrenceSpanRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]

_TICK = timedelta(microseconds=1)
_LISTED = 20  # unaccounted instants that are named one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class DueRow:
    """One due instant. ``run`` is its row of ``runs``; a merged one shows the run of the instant ``into``."""

    due: datetime
    state: OccurrenceState
    reason: str | None = None
    late: bool = False
    run: Mapping[str, Any] | None = None
    into: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounted:
    """``due`` instants in the window, and what became of them.

    ``waiting`` are due and not yet looked at by a scheduler; ``missing`` were passed over without a row, which is a
    fault of ours; ``surplus`` rows have no due instant. ``ends`` counts the states of the runs that the instants got.
    """

    due: int
    states: Mapping[OccurrenceState, int]
    ends: Mapping[RunState, int]
    waiting: int
    missing: tuple[tuple[str, datetime], ...]
    surplus: int
    latest: timedelta | None

    @property
    def accounted_for(self) -> int:
        return self.due - self.waiting - len(self.missing)


def rows(
    conn: Connection,
    job_uid: str,
    *,
    limit: int,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[DueRow]:
    """The newest ``limit`` due instants in (since, until], newest first."""
    bounds = [_occurrences.c.job_uid == job_uid]
    if since is not None:
        bounds.append(_occurrences.c.scheduled_at > since)
    if until is not None:
        bounds.append(_occurrences.c.scheduled_at <= until)
    single = select(_occurrences).where(*bounds).order_by(_occurrences.c.scheduled_at.desc()).limit(limit)
    found = conn.execute(single).mappings().all()
    spans = _spans_of(conn, job_uid, since, until, limit)
    run_ids = {row["run_id"] for row in [*found, *spans] if row["run_id"]}
    runs = _runs_by_id(conn, run_ids)
    listed = [
        DueRow(
            due=row["scheduled_at"],
            state=OccurrenceState(row["state"]),
            reason=row["reason"],
            late=row["late"],
            run=runs.get(row["run_id"]),
        )
        for row in found
    ]
    timings = _timings(conn, job_uid)
    for span in spans:
        listed += _expanded(span, timings[span["revision"]], runs, since, until, limit)
    listed.sort(key=lambda row: row.due, reverse=True)
    return listed[:limit]


def _spans_of(
    conn: Connection, job_uid: str, since: datetime | None, until: datetime | None, limit: int
) -> list[RowMapping]:
    bounds = [_spans.c.job_uid == job_uid]
    if since is not None:
        bounds.append(_spans.c.last_at > since)
    if until is not None:
        bounds.append(_spans.c.first_at <= until)
    query = select(_spans).where(*bounds).order_by(_spans.c.last_at.desc()).limit(limit)
    return list(conn.execute(query).mappings())


def _runs_by_id(conn: Connection, run_ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    ids = list(run_ids)
    found: dict[str, Mapping[str, Any]] = {}
    for at in range(0, len(ids), 500):
        for row in conn.execute(select(_runs).where(_runs.c.id.in_(ids[at : at + 500]))).mappings():
            found[row["id"]] = dict(row)
    return found


def _timings(conn: Connection, job_uid: str) -> dict[int, Timing]:
    revisions = conn.execute(select(_revisions).where(_revisions.c.job_uid == job_uid)).mappings()
    return {row["revision"]: timing_of_row(row) for row in revisions}


def _expanded(
    span: RowMapping,
    timing: Timing,
    runs: Mapping[str, Mapping[str, Any]],
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> list[DueRow]:
    after = span["first_at"] - _TICK if since is None else max(since, span["first_at"] - _TICK)
    last = span["last_at"] if until is None else min(until, span["last_at"])
    into = runs.get(span["run_id"])
    return [
        DueRow(
            due=at,
            state=OccurrenceState(span["state"]),
            reason=span["reason"],
            run=into,
            into=None if into is None else into["scheduled_at"],
        )
        for at in newest_due(timing, after, last, limit)
    ]


# --- the proof --------------------------------------------------------------------------------------------------------


def accounted(conn: Connection, *, since: datetime, now: datetime, job_uid: str | None = None) -> Accounted:
    """Compare what was due in (since, now] with what is written about it, of one job or of all."""
    proof = _Proof(conn, since, now, job_uid)
    for row in proof.revisions():
        proof.check(row)
    return proof.verdict()


class _Proof:
    """Adds up revision by revision."""

    def __init__(self, conn: Connection, since: datetime, now: datetime, job_uid: str | None) -> None:
        self._conn = conn
        self._since = since
        self._now = now
        self._job_uid = job_uid
        self._due = self._waiting = self._matched = 0
        self._missing: list[tuple[str, datetime]] = []
        self._singles = self._single_rows()
        self._spans = self._span_rows()

    def _of_job(self, column: Any) -> ColumnElement[bool]:
        return true() if self._job_uid is None else column == self._job_uid

    def revisions(self) -> Iterable[RowMapping]:
        """Those in force at some moment of the window, with their job's progress."""
        query = (
            select(
                _revisions, _jobs.c.settled_until, _jobs.c.next_due, _jobs.c.removed_at, _jobs.c.name.label("now_name")
            )
            .join(_jobs, _jobs.c.uid == _revisions.c.job_uid)
            .where(
                _revisions.c.trigger.is_not(None),
                _revisions.c.effective_from < self._now,
                or_(_revisions.c.effective_until.is_(None), _revisions.c.effective_until > self._since),
                self._of_job(_revisions.c.job_uid),
            )
        )
        return self._conn.execute(query).mappings()

    def check(self, row: RowMapping) -> None:
        timing = timing_of_row(row)
        after = max(self._since, row["effective_from"])
        until = min(self._now, row["effective_until"] or self._now)
        settled = max(after, min(until, row["settled_until"]))
        due = count_due(timing, after, settled)
        waiting = 0 if row["effective_until"] is not None else count_due(timing, settled, until)
        if due == 0 and waiting == 0:
            return
        self._due += due + waiting
        self._waiting += waiting
        written = self._written(row["job_uid"], timing, after, settled)
        if written == due:
            self._matched += written
            return
        known = self._instants(row["job_uid"], timing, after, settled)
        wanted = due_between(timing, after, settled)
        self._matched += sum(1 for at in wanted if at in known)
        self._missing += [(row["now_name"], at) for at in wanted if at not in known]

    def verdict(self) -> Accounted:
        ended = and_(
            _occurrences.c.scheduled_at > self._since,
            _occurrences.c.scheduled_at <= self._now,
            self._of_job(_occurrences.c.job_uid),
        )
        query = (
            select(_occurrences.c.state, _occurrences.c.scheduled_at, _runs.c.state.label("end"), _runs.c.started_at)
            .join(_runs, _runs.c.id == _occurrences.c.run_id, isouter=True)
            .where(ended)
        )
        states: Counter[OccurrenceState] = Counter()
        ends: Counter[RunState] = Counter()
        latest: timedelta | None = None
        for row in self._conn.execute(query):
            states[OccurrenceState(row.state)] += 1
            if row.end is not None and row.state == OccurrenceState.RAN:
                ends[RunState(row.end)] += 1
            if row.started_at is not None:
                lateness = max(timedelta(0), row.started_at - row.scheduled_at)
                latest = lateness if latest is None else max(latest, lateness)
        for spans in self._spans.values():
            for span, timing in spans:
                low = max(self._since, span["first_at"] - _TICK)
                states[OccurrenceState(span["state"])] += self._count(span, timing, low, self._now)
        return Accounted(
            due=self._due,
            states=dict(states),
            ends=dict(ends),
            waiting=self._waiting,
            missing=tuple(self._missing[:_LISTED]) if self._missing else (),
            surplus=max(0, sum(states.values()) - self._matched),
            latest=latest,
        )

    def _single_rows(self) -> dict[str, list[datetime]]:
        query = select(_occurrences.c.job_uid, _occurrences.c.scheduled_at).where(
            _occurrences.c.scheduled_at > self._since,
            _occurrences.c.scheduled_at <= self._now,
            self._of_job(_occurrences.c.job_uid),
        )
        found: dict[str, list[datetime]] = {}
        for row in self._conn.execute(query):
            found.setdefault(row.job_uid, []).append(row.scheduled_at)
        return found

    def _span_rows(self) -> dict[str, list[tuple[RowMapping, Timing]]]:
        query = (
            select(_spans, _revisions.c.trigger, _revisions.c.timezone, _revisions.c.policy, _revisions.c.paused)
            .join(
                _revisions,
                and_(_revisions.c.job_uid == _spans.c.job_uid, _revisions.c.revision == _spans.c.revision),
            )
            .where(_spans.c.last_at > self._since, _spans.c.first_at <= self._now, self._of_job(_spans.c.job_uid))
        )
        found: dict[str, list[tuple[RowMapping, Timing]]] = {}
        for row in self._conn.execute(query).mappings():
            found.setdefault(row["job_uid"], []).append((row, timing_of_row(row)))
        return found

    def _written(self, uid: str, timing: Timing, after: datetime, until: datetime) -> int:
        singles = sum(1 for at in self._singles.get(uid, ()) if after < at <= until)
        spans = sum(self._count(span, spans, after, until) for span, spans in self._spans.get(uid, ()))
        return singles + spans

    @staticmethod
    def _count(span: RowMapping, timing: Timing, after: datetime, until: datetime) -> int:
        """How many of the span's instants lie in (after, until]; its own count when all do."""
        if after < span["first_at"] and span["last_at"] <= until:
            return int(span["count"])
        return count_due(timing, max(after, span["first_at"] - _TICK), min(until, span["last_at"]))

    def _instants(self, uid: str, timing: Timing, after: datetime, until: datetime) -> set[datetime]:
        known = set(self._singles.get(uid, ()))
        for span, spans in self._spans.get(uid, ()):
            known.update(due_between(spans, max(after, span["first_at"] - _TICK), min(until, span["last_at"])))
        return known
