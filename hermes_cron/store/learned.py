"""What did runs learn, what of it stands, and who was told?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from hermes_cron.domain.learning import Kind, Learned, LearnedState
from hermes_cron.store import skill_uses
from hermes_cron.store.tables import LearnedRow

_learned = LearnedRow.__table__  # type: ignore[attr-defined]  # SQLModel's table


def note(conn: Connection, learned: Learned) -> Learned:
    """Keep it, numbered. One with a key that is known already is not kept twice: the one that is known."""
    if learned.key is not None and (known := by_key(conn, learned.key)) is not None:
        return known
    number = conn.execute(insert(_learned).values(_row(learned)).returning(_learned.c.number)).scalar_one()
    skill_uses.note_change(conn, learned)
    return one(conn, number)


def by_key(conn: Connection, key: str) -> Learned | None:
    """What the call with this key did."""
    row = conn.execute(select(_learned).where(_learned.c.key == key)).mappings().first()
    return None if row is None else _of(row)


def one(conn: Connection, number: int) -> Learned:
    """Raises LookupError."""
    row = conn.execute(select(_learned).where(_learned.c.number == number)).mappings().first()
    if row is None:
        raise LookupError(f"nothing learned has the number {number}")
    return _of(row)


def of_run(conn: Connection, run_id: str) -> list[Learned]:
    """In order, proposals and what was taken back too."""
    rows = conn.execute(select(_learned).where(_learned.c.run_id == run_id).order_by(_learned.c.number))
    return [_of(row) for row in rows.mappings()]


def since(conn: Connection, instant: datetime) -> list[Learned]:
    """What was changed or proposed from then on, in order."""
    rows = conn.execute(select(_learned).where(_learned.c.at >= instant).order_by(_learned.c.number))
    return [_of(row) for row in rows.mappings()]


def turn(
    conn: Connection, numbers: Sequence[int], state: LearnedState, *, was: LearnedState = LearnedState.APPLIED
) -> int:
    """Those of these that are in state ``was`` are in ``state`` from now on; how many."""
    if state in (LearnedState.UNDONE, LearnedState.REJECTED):
        skill_uses.note_back(conn, numbers)
    done = conn.execute(
        update(_learned).where(_learned.c.number.in_(numbers), _learned.c.state == was.value).values(state=state.value)
    )
    return int(done.rowcount)


def by_snapshots(conn: Connection, snapshots: Sequence[str]) -> list[Learned]:
    """What these snapshots brought."""
    rows = conn.execute(select(_learned).where(_learned.c.after.in_(snapshots)).order_by(_learned.c.number))
    return [_of(row) for row in rows.mappings()]


def done(conn: Connection) -> list[Learned]:
    """What was done, in order; also what was taken back since."""
    states = [state.value for state in (LearnedState.APPLIED, LearnedState.UNDONE, LearnedState.REJECTED)]
    rows = conn.execute(select(_learned).where(_learned.c.state.in_(states)).order_by(_learned.c.number))
    return [_of(row) for row in rows.mappings()]


def open_proposals(conn: Connection) -> int:
    """How many wait for a person."""
    query = select(func.count()).select_from(_learned).where(_learned.c.state == LearnedState.PROPOSED.value)
    return int(conn.execute(query).scalar_one())


def count(conn: Connection) -> int:
    """All rows."""
    return int(conn.execute(select(func.count()).select_from(_learned)).scalar_one())


def _row(learned: Learned) -> dict[str, Any]:
    values: dict[str, Any] = {
        name: getattr(learned, name) for name in learned.__dataclass_fields__ if name not in ("number", "lines")
    }
    values["kind"], values["state"] = learned.kind.value, learned.state.value
    values["lines"] = json.dumps(list(learned.lines), ensure_ascii=False)
    values["details"] = json.dumps(dict(learned.details), ensure_ascii=False)
    return values


def _of(row: RowMapping) -> Learned:
    return Learned(
        **{
            **row,
            "kind": Kind(row["kind"]),
            "state": LearnedState(row["state"]),
            "lines": tuple(json.loads(row["lines"])),
            "details": json.loads(row["details"]),
        }
    )
