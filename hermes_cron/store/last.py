"""Which run of a job came before?"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, bindparam, select

from hermes_cron.domain.run import RunState
from hermes_cron.store.tables import RunRow

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table

_ENDED = (
    select(_runs)
    .where(_runs.c.job_uid == bindparam("job"), _runs.c.ended_at.is_not(None), _runs.c.started_at.is_not(None))
    .order_by(_runs.c.queued_at.desc())
    .limit(1)
)
_WITH_RESULT = (
    select(_runs.c.result, _runs.c.started_at)
    .where(_runs.c.job_uid == bindparam("job"), _runs.c.state == RunState.OK, _runs.c.result.is_not(None))
    .order_by(_runs.c.queued_at.desc())
    .limit(1)
)


def last_ended(conn: Connection, job_uid: str) -> dict[str, Any] | None:
    """The newest run of the job that ran and ended, with ``result`` and ``result_at`` of the newest good one."""
    row = conn.execute(_ENDED, {"job": job_uid}).mappings().first()
    if row is None:
        return None
    good = conn.execute(_WITH_RESULT, {"job": job_uid}).first()
    return {**row, "result": good.result if good else None, "result_at": good.started_at if good else None}
