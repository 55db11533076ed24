"""Which runs of the curator were there? The first nights after an installation change nothing."""

from __future__ import annotations

import json
from datetime import datetime

from sqlalchemy import Connection, func, select, text
from sqlalchemy.dialects.sqlite import insert

from hermes_cron.domain.job import Action
from hermes_cron.domain.learning import LearnedState
from hermes_cron.store.tables import JobRow, LearnedRow, MetaRow, RunRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]
_learned = LearnedRow.__table__  # type: ignore[attr-defined]
_meta = MetaRow.__table__  # type: ignore[attr-defined]

_NIGHTS = "curator.nights"
_MOST = 100  # as many as the setting allows


def nights(conn: Connection) -> tuple[str, ...]:
    """The runs, oldest first; no more than the setting may ask for."""
    kept = conn.execute(select(_meta.c.value).where(_meta.c.key == _NIGHTS)).scalar()
    return () if kept is None else tuple(json.loads(kept))


def note_night(conn: Connection, run_id: str) -> int:
    """Which night of the home this run is, from 1. The same run again is the same night."""
    known = nights(conn)
    if run_id in known:
        return known.index(run_id) + 1
    if len(known) >= _MOST:
        return _MOST + 1
    value = json.dumps([*known, run_id])
    row = insert(_meta).values(key=_NIGHTS, value=value)
    conn.execute(row.on_conflict_do_update(index_elements=["key"], set_={"value": value}))
    return len(known) + 1


def last_run(conn: Connection) -> str | None:
    """The newest that ended."""
    query = (
        select(_runs.c.id)
        .where(func.json_extract(_runs.c.spec, "$.action") == Action.CURATE.value, _runs.c.ended_at.is_not(None))
        .order_by(_runs.c.queued_at.desc(), text("runs.rowid DESC"))  # of two at one instant the later one
        .limit(1)
    )
    found: str | None = conn.execute(query).scalar()
    return found


def ended_since(conn: Connection, instant: datetime) -> list[tuple[str, str]]:
    """(run, job) of those that ended from then on, oldest first."""
    query = (
        select(_runs.c.id, _runs.c.job_name)
        .where(_runs.c.ended_at > instant, func.json_extract(_runs.c.spec, "$.action") == Action.CURATE.value)
        .order_by(_runs.c.ended_at)
    )
    return [(row.id, row.job_name) for row in conn.execute(query)]


def understood(conn: Connection) -> list[tuple[str, str, str]]:
    """File, its stat, and the parsed job of each file that is good as it was last seen."""
    query = select(_jobs.c.file_name, _jobs.c.file_stat, _jobs.c.spec).where(
        _jobs.c.removed_at.is_(None), _jobs.c.broken.is_(None), _jobs.c.spec.is_not(None)
    )
    return [(name, stat, spec) for name, stat, spec in conn.execute(query)]


def open_proposals(conn: Connection) -> int:
    """What the curator asked and nobody has answered."""
    query = select(func.count()).where(_learned.c.actor == "curator", _learned.c.state == LearnedState.PROPOSED.value)
    return int(conn.execute(query).scalar_one())
