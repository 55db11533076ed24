"""What is known of a job's incidents, who was told, and who is on them?"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, select, update

from hermes_cron.domain import notice, remedy
from hermes_cron.domain.delivery import DeliveryKind
from hermes_cron.errors import Conflict, NotFound
from hermes_cron.store import outbox
from hermes_cron.store.outbox import DeliveryView
from hermes_cron.store.tables import IncidentRow, JobRow

_incidents = IncidentRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_jobs = JobRow.__table__  # type: ignore[attr-defined]

_OPEN = _incidents.c.ended_at.is_(None)
_QUERY = select(*(column for column in _incidents.c if column.name != "job_name"), _jobs.c.name.label("job_name")).join(
    _jobs, _jobs.c.uid == _incidents.c.job_uid
)
"""An incident under the name that its job has now."""
_STARTS = (DeliveryKind.FAILURE, DeliveryKind.CHECK_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentView:
    """An incident as people look at it; they say ``id``."""

    number: int
    job_uid: str
    job_name: str
    kind: str
    error: str | None
    opened_at: datetime
    first_run: str
    last_run: str
    last_at: datetime
    failures: int
    ended_at: datetime | None
    ended_run: str | None
    acked_at: datetime | None
    acked_by: str | None

    @property
    def id(self) -> str:
        return f"i{self.number}"


def listed(
    conn: Connection, *, ended: bool = False, limit: int = 100, job_uid: str | None = None
) -> list[IncidentView]:
    """Open incidents of jobs that still exist, newest first; with ``ended`` all there are. ``job_uid``: of one job."""
    query = _QUERY.order_by(_incidents.c.number.desc()).limit(limit)
    if not ended:
        query = query.where(_OPEN, _jobs.c.removed_at.is_(None))
    if job_uid is not None:
        query = query.where(_incidents.c.job_uid == job_uid)
    return [_view(row) for row in conn.execute(query).mappings()]


def one(conn: Connection, word: str) -> IncidentView:
    """By ``i17`` or ``17``. Raises ``NotFound``."""
    said = re.fullmatch(r"i?(\d{1,18})", word.strip().lower())
    row = None
    if said is not None:
        row = conn.execute(_QUERY.where(_incidents.c.number == int(said[1]))).mappings().first()
    if row is None:
        raise NotFound(f'no incident "{notice.one_line(word, 40)}"', hint="hermes-cron incidents list --all")
    return _view(row)


def ack(conn: Connection, word: str, *, by: str, now: datetime) -> tuple[IncidentView, bool]:
    """Somebody is on it: no more messages until it is solved. The incident, and whether nobody was before.

    Raises ``NotFound``, ``Conflict`` (it is over).
    """
    found = one(conn, word)
    if found.ended_at is not None:
        raise Conflict(
            f"{found.id} is over: run {found.ended_run} of {found.job_name} went well",
            hint=f"hermes-cron incidents show {found.id}",
        )
    first = conn.execute(
        update(_incidents)
        .where(_incidents.c.number == found.number, _OPEN, _incidents.c.acked_at.is_(None))
        .values(acked_at=now, acked_by=by)
    )
    return one(conn, word), first.rowcount > 0


def told(conn: Connection, incident: IncidentView) -> list[DeliveryView]:
    """The messages of its start and its end, oldest first."""
    runs = [incident.first_run, *([incident.ended_run] if incident.ended_run else [])]
    found = [view for views in outbox.of_runs(conn, runs).values() for view in views]
    mine = [
        view
        for view in found
        if (view.kind in _STARTS and view.incident == incident.number)
        or (view.kind is DeliveryKind.RECOVERY and view.run_id == incident.ended_run)
    ]
    return sorted(mine, key=lambda view: view.number)


def look(conn: Connection, incident: IncidentView) -> str:
    """The command that shows why its newest run failed; that run may be forgotten by now."""
    spec = outbox.spec_of(conn, incident.last_run)
    databases = [] if spec is None else json.loads(spec).get("databases") or []
    return remedy.look(incident.kind, run_id=incident.last_run, databases=databases, error=incident.error)


def _view(row: RowMapping | dict[str, Any]) -> IncidentView:
    return IncidentView(**{name: row[name] for name in IncidentView.__dataclass_fields__})
