"""Which targets get a run's report?"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from hermes_cron.domain.ending import Ending


def put_report(conn: Connection, ending: Ending, now: datetime) -> None:
    """One delivery row for each target of ``deliver.to``: queued, or silent with its reason."""
