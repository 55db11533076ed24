"""Which good runs used several skills? Of runs whose rows are still kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from hermes_cron.store.skill_uses import USE
from hermes_cron.store.tables import SkillUseRow

_uses = SkillUseRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_RUNS = 2_000


def in_good_runs(conn: Connection) -> list[tuple[str, Sequence[str]]]:
    """A run's id and its skills in the order it came to them, newest first; no more than 2,000 runs."""
    several = (
        select(_uses.c.run_id, func.max(_uses.c.number).label("last"))
        .where(_uses.c.kind == USE, _uses.c.well.is_(True))
        .group_by(_uses.c.run_id)
        .having(func.count() > 1)
        .order_by(func.max(_uses.c.number).desc())
        .limit(_RUNS)
        .subquery()
    )
    rows = conn.execute(
        select(_uses.c.run_id, _uses.c.skill)
        .join(several, several.c.run_id == _uses.c.run_id)
        .where(_uses.c.kind == USE)
        .order_by(several.c.last.desc(), _uses.c.number)
    )
    found: dict[str, list[str]] = defaultdict(list)
    for run, skill in rows:
        found[run].append(skill)
    return list(found.items())
