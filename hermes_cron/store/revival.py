"""A job whose file an undo or a restore brought back is the job that it was: its history, its count, its hold.

The files are looked at as always, by this process or by a living scheduler that was quicker: a file that is there again
is a new job then. Here the new row gives its place to the removed one of that name, while nothing was due of it yet.
Nothing of the time in between becomes due: the timing begins anew, where the new row's began.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from sqlalchemy import Connection, RowMapping, delete, exists, select, update
from sqlmodel import col

from hermes_cron.store.tables import IncidentRow, JobRevisionRow, JobRow, OccurrenceRow, OccurrenceSpanRow, RunRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_revisions = JobRevisionRow.__table__  # type: ignore[attr-defined]
_OF_A_JOB = (RunRow, OccurrenceRow, OccurrenceSpanRow, IncidentRow)

_FROM_THE_FILE = ("name", "file_name", "file_stat", "file_hash", "spec", "broken", "summary", "anchor")


def revive(conn: Connection, file_names: Collection[str]) -> list[str]:
    """The names of the jobs among these files that are again what they were before their removal."""
    untouched = [~exists().where(col(row.job_uid) == _jobs.c.uid) for row in _OF_A_JOB]
    here = (_jobs.c.file_name.in_(file_names), _jobs.c.removed_at.is_(None), _jobs.c.spec.is_not(None))
    found = conn.execute(select(_jobs).where(*here, _jobs.c.revision == 1, *untouched)).mappings().all()
    return [new["name"] for new in found if _revived(conn, new)]


def _revived(conn: Connection, new: RowMapping) -> bool:
    removed = (
        select(_jobs)
        .where(_jobs.c.name_key == new["name_key"], _jobs.c.removed_at.is_not(None))
        .order_by(_jobs.c.removed_at.desc(), _jobs.c.settled_until.desc())
        .limit(1)
    )
    old = conn.execute(removed).mappings().first()
    if old is None:
        return False
    number = old["revision"] + 1
    conn.execute(
        update(_revisions).where(_revisions.c.job_uid == new["uid"]).values(job_uid=old["uid"], revision=number)
    )
    conn.execute(delete(_jobs).where(_jobs.c.uid == new["uid"]))
    limit = json.loads(new["spec"]).get("max_runs")
    over = limit is not None and old["fired"] >= limit
    conn.execute(
        update(_jobs)
        .where(_jobs.c.uid == old["uid"])
        .values(
            **{column: new[column] for column in _FROM_THE_FILE},
            revision=number,
            settled_until=new["settled_until"],
            next_due=None if over else new["next_due"],
            removed_at=None,
            removed_by=None,
        )
    )
    return True
