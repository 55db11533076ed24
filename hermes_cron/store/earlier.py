"""What did earlier runs of a job report?"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, or_, select

from hermes_cron.domain.check import Verdict
from hermes_cron.domain.job import name_key
from hermes_cron.domain.run import RunState
from hermes_cron.store.tables import JobRow, RunRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]

MOST = 100
"""Of one job, however far back ``since`` reaches."""


def uid_of(conn: Connection, name: str) -> str | None:
    """The job that is called so now."""
    found: str | None = conn.execute(
        select(_jobs.c.uid).where(_jobs.c.name_key == name_key(name), _jobs.c.removed_at.is_(None))
    ).scalar_one_or_none()
    return found


def reported(conn: Connection, job_uid: str, *, limit: int, since: datetime | None = None) -> list[dict[str, Any]]:
    """Runs of the job that ended ok and were not found wrong, newest first: ``id``, ``job_name``, ``ended_at``,
    ``verdict`` and ``output_path``."""
    query = (
        select(_runs.c.id, _runs.c.job_name, _runs.c.ended_at, _runs.c.verdict, _runs.c.output_path)
        .where(
            _runs.c.job_uid == job_uid,
            _runs.c.state == RunState.OK,
            or_(_runs.c.verdict.is_(None), _runs.c.verdict != Verdict.CHECK_FAILED),
            _runs.c.output_path.is_not(None),
        )
        .order_by(_runs.c.queued_at.desc(), _runs.c.id.desc())
        .limit(min(limit, MOST))
    )
    if since is not None:
        query = query.where(_runs.c.ended_at >= since)
    return [dict(row) for row in conn.execute(query).mappings()]
