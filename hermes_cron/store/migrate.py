"""Which schema does the file have, and how does it get ours?

Numbered SQL files, each run once, in order, in one transaction, never edited after a release; ``PRAGMA user_version``
holds the last one. Every process that has the store open holds a shared lock beside it; an upgrade needs that lock
alone, so that no older code writes in the middle. The first command after an install upgrades by itself, the way
``hermes-cron upgrade`` does (``store.upgrade``), which takes a backup of the home first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from importlib import resources
from pathlib import Path

from hermes_cron.errors import Conflict, HermesCronError, SchemaTooNew
from hermes_cron.store import upgrade
from hermes_cron.store.disk_faults import of_the_disk

MAKING_S = 5.0
"""Longer than a store takes to be made."""


class StoreLock:
    """A shared ``flock`` for as long as the store is open; exclusive while it is made or upgraded."""

    def __init__(self, store: Path) -> None:
        folder = store.parent / "run"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(folder / "store.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HermesCronError(f"{folder}: {error.strerror}", hint="the home must be writable") from error

    def share(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def alone(self) -> bool:
        """False when another process has the store open; the shared lock is given up in any case."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        os.close(self._fd)


def migrations() -> list[tuple[int, str]]:
    """(number, SQL) in order. The file's name begins with its number: ``0001_initial.sql``."""
    folder = resources.files("hermes_cron.store") / "migrations"
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name.split("_", 1)[0]), (folder / name).read_text(encoding="utf-8")) for name in files]


def newest() -> int:
    """The schema that this version has."""
    return migrations()[-1][0]


def version(path: Path) -> int:
    """``user_version`` of the file; 0 when there is none yet.

    Not opened read-only: a process that was killed in the middle leaves a journal, and to read past it is to recover.
    """
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with contextlib.closing(sqlite3.connect(path, timeout=5)) as conn:
        return int(conn.execute("PRAGMA user_version").fetchone()[0])


def migrate(path: Path, lock: StoreLock) -> None:
    """Bring ``path`` to the newest schema and leave ``lock`` shared. A file that is there already costs one read."""
    lock.share()
    try:
        found = version(path)
    except sqlite3.DatabaseError as error:
        raise of_the_disk(error, "read") or HermesCronError(
            f"{path} is not a usable store: {error}", hint="restore a backup, or move it away and start `serve`"
        ) from error
    steps = migrations()
    latest = steps[-1][0]
    if found == latest:
        return
    if found > latest:
        raise SchemaTooNew(
            f"{path} has schema {found}; this hermes-cron knows up to {latest}",
            hint="install the newer hermes-cron again, or use another --home",
        )
    if found:
        if not lock.alone():
            raise Conflict(
                f"the store must be upgraded from schema {found} to {latest}, and another hermes-cron has it open",
                hint="stop `hermes-cron serve`, then repeat the command",
            )
    elif not _alone_to_make(path, lock, latest):
        lock.share()
        return
    found = version(path)  # another process may have done it while we waited
    if not found:
        upgrade.make(path, steps)
    elif found < latest:
        upgrade.upgrade(path, found, steps)
    lock.share()


def _alone_to_make(path: Path, lock: StoreLock, newest: int) -> bool:
    """Many first commands of a home may come at once: one makes the store, the others find it made (False).

    Who holds the lock and makes nothing has another store open, one that was deleted or replaced under it.
    """
    end = time.monotonic() + MAKING_S
    while not lock.alone():
        if version(path) == newest:
            return False
        if time.monotonic() > end:
            raise Conflict(
                f"{path} is gone or empty, and another hermes-cron still has the old one open",
                hint="stop `hermes-cron serve`, then repeat the command",
            )
        time.sleep(0.02)
    return True
