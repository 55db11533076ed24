"""What do a run's checks compare with? Kept with the run before its agent begins, so that the agent cannot move it.

And which process group judges it now, so that it can be ended should its owner die.
"""

from __future__ import annotations

import json
from datetime import datetime

from sqlalchemy import Connection, bindparam, select, update

from hermes_cron.domain.command import ProcessGroup
from hermes_cron.domain.run import RunState
from hermes_cron.ports import Fenced
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import RunRow

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table

_MINE = update(_runs).where(
    _runs.c.id == bindparam("b_id"), _runs.c.fence == bindparam("b_fence"), _runs.c.state == RunState.RUNNING.value
)
_PIN = Prepared(_MINE.values(check_inputs=bindparam("v_inputs")))
_NOTE = Prepared(_MINE.values(check_group=bindparam("v_group")))


def queued_at(conn: Connection, run_id: str) -> datetime:
    """When the run's copy of its job was made."""
    found: datetime = conn.execute(select(_runs.c.queued_at).where(_runs.c.id == run_id)).scalar_one()
    return found


def note_group(conn: Connection, run_id: str, fence: int, group: ProcessGroup) -> None:
    """Keeps the process group of the check that begins now. Raises ``Fenced`` as ``pin`` does."""
    values = (group.pgid, group.started, group.boot_id)
    if _NOTE.run(conn, {"b_id": run_id, "b_fence": fence, "v_group": json.dumps(values)}) != 1:
        raise Fenced(f"run {run_id} is no longer owned under fence {fence}")


def pin(conn: Connection, run_id: str, fence: int, inputs: str) -> None:
    """Keeps ``inputs`` with the run. Raises ``Fenced`` when the run is not this fence's any more."""
    if _PIN.run(conn, {"b_id": run_id, "b_fence": fence, "v_inputs": inputs}) != 1:
        raise Fenced(f"run {run_id} is no longer owned under fence {fence}")
