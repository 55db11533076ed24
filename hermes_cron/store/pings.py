"""What does an outside dead man's switch hear of a run?"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from hermes_cron.domain.ending import Ending
from hermes_cron.domain.run import TakenRun


def note_start(conn: Connection, taken: TakenRun, now: datetime) -> None:
    """Queues the start signal of a job with ``ping:``."""


def note_end(conn: Connection, ending: Ending, now: datetime) -> None:
    """Queues the success or fail signal of a job with ``ping:``."""
