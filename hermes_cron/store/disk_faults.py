"""Which faults of SQLite are the disk's and not the store's? A full disk damages nothing, and needs no backup."""

from __future__ import annotations

import sqlite3

from hermes_cron.errors import DiskFull

_FULL = ("disk is full", "disk I/O error")
"""With no room left not even reading goes: the index of the write-ahead log is a file too."""


def of_the_disk(error: sqlite3.DatabaseError, verb: str) -> DiskFull | None:
    """The fault as a fact, or None when it is another. ``verb``: what was tried."""
    text = str(error)
    if not isinstance(error, sqlite3.OperationalError) or not any(words in text for words in _FULL):
        return None
    return DiskFull(f"the store cannot be {verb}: {text}", hint="df -h   then free some space; the store is as it was")
