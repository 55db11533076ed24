"""Which nights has the curator had? The first ones after an installation change nothing."""

from __future__ import annotations

import json

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from hermes_cron.store.tables import MetaRow

_meta = MetaRow.__table__  # type: ignore[attr-defined]  # SQLModel's table

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
