"""Which failures of a job belong together, and when is such an incident over?"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from hermes_cron.domain.ending import Ending


def note_end(conn: Connection, ending: Ending, now: datetime) -> None:
    """Opens, continues or ends the job's incidents, with the message that belongs to it. No job, no incident."""
