"""What did the scanner find, and who must know? Rows for `status` and `runs show`, and the counter, in one transaction.

A row says class and place, never the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.scan import Verdict
from hermes_cron.store import counters
from hermes_cron.store.tables import JobRow, SecurityEventRow

_events = SecurityEventRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_jobs = JobRow.__table__  # type: ignore[attr-defined]

_KEPT = timedelta(days=90)
_PROMPT = "prompt"


def note(conn: Connection, findings: Sequence[SecurityFinding], now: datetime) -> None:
    """Keep these and raise the counter; what is older than three months goes."""
    if not findings:
        return
    conn.execute(delete(_events).where(_events.c.noted_at < now - _KEPT))
    conn.execute(
        insert(_events),
        [
            {
                "noted_at": now,
                "guard": found.guard,
                "kind": found.kind,
                "verdict": found.verdict,
                "place": found.place,
                "job_name": found.job,
                "run_id": found.run_id,
            }
            for found in findings
        ],
    )
    labels = [{"guard": str(found.guard), "verdict": str(found.verdict)} for found in findings]
    counters.raise_by(conn, [(counters.SECURITY, each, 1) for each in labels])


def blocked(conn: Connection, since: datetime) -> list[dict[str, Any]]:
    """Blocks since then: a line for each class and place, with how often, when last, and a run of them.

    A job file that is broken for it says so itself.
    """
    broken = select(_jobs.c.name).where(_jobs.c.broken.is_not(None), _jobs.c.removed_at.is_(None))
    a_run = func.max(_events.c.run_id).label("run_id")
    columns = (_events.c.guard, _events.c.kind, _events.c.place, _events.c.job_name)
    query = (
        select(*columns, func.max(_events.c.noted_at).label("at"), func.count().label("times"), a_run)
        .where(
            _events.c.verdict == Verdict.BLOCK,
            _events.c.noted_at > since,
            ~((_events.c.guard == _PROMPT) & _events.c.job_name.in_(broken)),
        )
        .group_by(*columns)
        .order_by(func.max(_events.c.noted_at).desc(), _events.c.place)
    )
    return [dict(row) for row in conn.execute(query).mappings()]
