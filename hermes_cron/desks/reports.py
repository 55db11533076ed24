"""What did earlier runs report that a run is to read?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.earlier import Report
from hermes_cron.errors import NotFound
from hermes_cron.runner import outputs
from hermes_cron.store import earlier

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from hermes_cron.domain.earlier import Earlier
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.wiring import App


def asked_for(app: App, taken: TakenRun) -> list[Report]:
    """The reports that the job's ``context`` names and that are still there. Raises ``NotFound`` for a job that is
    not: a run that could not see what it is to write about is not worth paying for."""
    wanted = taken.job.context
    if not wanted.wanted:
        return []
    since = None if wanted.since is None else taken.started_at - wanted.since
    with app.store.read() as conn:
        rows = list(_rows(conn, wanted, taken, since))
    found = ((row, own, outputs.read(app.home, row["output_path"])) for row, own in rows)
    return [_report(row, text, own=own) for row, own, text in found if text is not None and text.strip()]


def _rows(
    conn: Connection, wanted: Earlier, taken: TakenRun, since: datetime | None
) -> Iterator[tuple[dict[str, Any], bool]]:
    if wanted.own and taken.job_uid is not None:
        for row in earlier.reported(conn, taken.job_uid, limit=wanted.own, since=since):
            yield row, True
    for name in wanted.jobs:
        uid = earlier.uid_of(conn, name)
        if uid is None:
            raise NotFound(
                f'context: no job "{name}"; nothing was asked of a model',
                hint=f"hermes-cron list, or take it out of jobs/{taken.job.name}.md",
            )
        for row in earlier.reported(conn, uid, limit=1 if since is None else earlier.MOST, since=since):
            yield {**row, "job_name": name}, False


def _report(row: dict[str, Any], text: str, *, own: bool) -> Report:
    return Report(run_id=row["id"], job=row["job_name"], at=row["ended_at"], verdict=row["verdict"], text=text, own=own)
