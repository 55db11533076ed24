"""How many tokens did runs use, and what did they cost: by run, job, skill, model, phase or day?

What is summed are the rows of model calls, one for each, written in the transaction of the reply. A playbook's steps
have such rows too and use nothing; they are not counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Row, Select, case, func, select

from hermes_cron.domain.money import Spent
from hermes_cron.store.spending import LOST
from hermes_cron.store.tables import JobRow, ReservationRow, RunRow, SessionRow, UsageRow

_usage = UsageRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]
_jobs = JobRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]
_reservations = ReservationRow.__table__  # type: ignore[attr-defined]


class By(StrEnum):
    """What the rows of a report stand for."""

    RUN = "run"
    JOB = "job"
    SKILL = "skill"
    MODEL = "model"
    PHASE = "phase"
    DAY = "day"


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Sums over calls. ``input`` has ``cached`` in it, as providers count.

    ``cost_usd`` is what is known of it: ``unpriced`` calls are not in it. ``estimated`` calls were counted by nobody
    but us.
    """

    calls: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    estimated: int = 0

    def __add__(self, other: Used) -> Used:
        return Used(
            calls=self.calls + other.calls,
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            cost_usd=self.cost_usd + other.cost_usd,
            unpriced=self.unpriced + other.unpriced,
            estimated=self.estimated + other.estimated,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """``name`` None: calls without one (a prompt has no job, most runs no skill). ``job`` and ``at`` are a run's."""

    name: str | None
    used: Used
    job: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """``total`` is over all calls of the time. By skill the lines add up to more where runs had several.

    ``lost``: reserved under a cap for ``lost_calls`` calls that nobody knows the end of; in no line and not in the
    total, but caps count it.
    """

    lines: tuple[Line, ...]
    total: Used
    lost: Spent = field(default_factory=Spent)
    lost_calls: int = 0


def report(
    conn: Connection, by: By, *, since: datetime, until: datetime, zone: ZoneInfo, job_uid: str | None = None
) -> Report:
    """Calls from ``since`` up to ``until``. The dearest line first; days and runs the newest first."""
    window = _Window(since=since, until=until, job_uid=job_uid)
    lines = _WAYS[by](conn, window, zone)
    total = _used(conn.execute(window.of(select(*_SUMS))).one())
    lost, calls = _lost(conn, window)
    return Report(lines=tuple(lines), total=total, lost=lost, lost_calls=calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    since: datetime
    until: datetime
    job_uid: str | None

    def of(self, query: Select[Any]) -> Select[Any]:
        """The query over model calls of these runs in this time."""
        found = query.select_from(_usage.join(_runs, _usage.c.run_id == _runs.c.id)).where(
            _usage.c.at >= self.since, _usage.c.at < self.until, _usage.c.model.not_like("playbook:%")
        )
        return found if self.job_uid is None else found.where(_runs.c.job_uid == self.job_uid)


_SUMS = (
    func.count().label("calls"),
    func.coalesce(func.sum(_usage.c.input), 0).label("input"),
    func.coalesce(func.sum(_usage.c.output), 0).label("output"),
    func.coalesce(func.sum(_usage.c.cached), 0).label("cached"),
    func.coalesce(func.sum(_usage.c.cost_usd), 0.0).label("cost_usd"),
    (func.count() - func.count(_usage.c.cost_usd)).label("unpriced"),
    func.coalesce(func.sum(case((_usage.c.estimated, 1), else_=0)), 0).label("estimated"),
)
_FIELDS = ("calls", "input", "output", "cached", "cost_usd", "unpriced", "estimated")


def _used(row: Row[Any]) -> Used:
    return Used(**{name: getattr(row, name) for name in _FIELDS})


def _dearest(lines: Sequence[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (-line.used.cost_usd, -line.used.input - line.used.output, line.name or ""))


def _by_column(conn: Connection, window: _Window, column: Any) -> list[Line]:
    rows = conn.execute(window.of(select(column.label("name"), *_SUMS)).group_by(column))
    return _dearest([Line(name=row.name, used=_used(row)) for row in rows])


def _by_job(conn: Connection, window: _Window, _zone: ZoneInfo) -> list[Line]:
    """A job under the name it has now, whatever it was called then."""
    query = window.of(select(_runs.c.job_uid, func.max(_runs.c.job_name).label("then"), *_SUMS))
    rows = conn.execute(query.group_by(_runs.c.job_uid)).all()
    uids = [row.job_uid for row in rows if row.job_uid is not None]
    now: Mapping[str, str] = dict(
        conn.execute(select(_jobs.c.uid, _jobs.c.name).where(_jobs.c.uid.in_(uids))).tuples().all()
    )
    return _dearest(
        [Line(name=None if row.job_uid is None else now.get(row.job_uid, row.then), used=_used(row)) for row in rows]
    )


def _by_run(conn: Connection, window: _Window, _zone: ZoneInfo) -> list[Line]:
    began = func.min(_usage.c.at)
    query = window.of(select(_runs.c.id, _runs.c.job_uid, _runs.c.job_name, began.label("at"), *_SUMS))
    rows = conn.execute(query.group_by(_runs.c.id).order_by(began.desc(), _runs.c.id))
    return [Line(name=row.id, used=_used(row), job=row.job_name if row.job_uid else None, at=row.at) for row in rows]


def _by_skill(conn: Connection, window: _Window, _zone: ZoneInfo) -> list[Line]:
    """A run's tokens count under each skill it was given."""
    rows = conn.execute(window.of(select(_runs.c.skills, *_SUMS)).group_by(_runs.c.skills))
    sums: dict[str | None, Used] = {}
    for row in rows:
        names: list[str | None] = list(dict.fromkeys(json.loads(row.skills))) if row.skills else []
        for name in names or [None]:
            sums[name] = sums.get(name, Used()) + _used(row)
    return _dearest([Line(name=name, used=used) for name, used in sums.items()])


def _by_day(conn: Connection, window: _Window, zone: ZoneInfo) -> list[Line]:
    """Days of the zone on which there were calls."""
    found = []
    first = window.since.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    last = window.until.astimezone(zone)
    for count in range((last.date() - first.date()).days, -1, -1):
        begin = first + timedelta(days=count)  # wall time: days are not all 24 h long
        day = replace(window, since=max(window.since, begin), until=min(window.until, begin + timedelta(days=1)))
        used = _used(conn.execute(day.of(select(*_SUMS))).one())
        if used.calls:
            found.append(Line(name=f"{begin:%Y-%m-%d}", used=used))
    return found


_WAYS: Mapping[By, Callable[[Connection, _Window, ZoneInfo], list[Line]]] = {
    By.RUN: _by_run,
    By.JOB: _by_job,
    By.SKILL: _by_skill,
    By.MODEL: lambda conn, window, _: _by_column(conn, window, _usage.c.model),
    By.PHASE: lambda conn, window, _: _by_column(conn, window, _usage.c.phase),
    By.DAY: _by_day,
}


def _lost(conn: Connection, window: _Window) -> tuple[Spent, int]:
    query = select(
        func.count().label("calls"),
        func.coalesce(func.sum(_reservations.c.tokens), 0).label("tokens"),
        func.coalesce(func.sum(_reservations.c.cost_usd), 0.0).label("cost_usd"),
        (func.count() - func.count(_reservations.c.cost_usd)).label("unpriced"),
    ).where(LOST, _reservations.c.at >= window.since, _reservations.c.at < window.until)
    if window.job_uid is not None:
        query = query.where(_reservations.c.job_uid == window.job_uid)
    row = conn.execute(query).one()
    return Spent(tokens=row.tokens, cost_usd=row.cost_usd, unpriced=row.unpriced), row.calls


def compactions(conn: Connection, run_id: str) -> tuple[int, int]:
    """Model calls beside a run that made room in its window, and their tokens: its own sums have these tokens, and not
    these calls."""
    beside = select(_sessions.c.id).where(_sessions.c.run_id == run_id, _sessions.c.parent_seq.is_not(None))
    query = select(func.count(), func.coalesce(func.sum(_usage.c.input + _usage.c.output), 0)).where(
        _usage.c.run_id == run_id, _usage.c.session_id.in_(beside)
    )
    calls, tokens = conn.execute(query).one()
    return int(calls), int(tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run that ended and had called a language model ``calls`` times."""

    job_uid: str | None
    model: str
    skills: tuple[str, ...]
    calls: int
    input: int
    output: int
    cached: int
    cost_usd: float | None


def past_runs(conn: Connection, *, job_uid: str | None = None, limit: int) -> list[PastRun]:
    """The newest ones, of one job or of all."""
    query = select(_runs).where(
        _runs.c.ended_at.is_not(None), _runs.c.model.is_not(None), _runs.c.tokens_input + _runs.c.tokens_output > 0
    )
    if job_uid is None:
        query = query.order_by(_runs.c.ended_at.desc())
    else:
        query = query.where(_runs.c.job_uid == job_uid).order_by(_runs.c.queued_at.desc())
    return [
        PastRun(
            job_uid=row.job_uid,
            model=row.model,
            skills=tuple(json.loads(row.skills)) if row.skills else (),
            calls=max(1, row.iterations),
            input=row.tokens_input,
            output=row.tokens_output,
            cached=row.tokens_cached,
            cost_usd=row.cost_usd,
        )
        for row in conn.execute(query.limit(limit))
    ]
