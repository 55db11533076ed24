"""What was spent, what is reserved, and may this call be made?"""

from __future__ import annotations

from sqlalchemy import Connection

from hermes_cron.store import counters


def totals(conn: Connection, run_id: str) -> list[counters.Raise]:
    """What the run's usage rows add to the counters of tokens and dollars, by model."""
    return []
