"""How is a live SQLite store copied whole, and is a copy sound?

Through SQLite's backup API in one step: one read transaction, so the copy is one moment's state, and in WAL mode nobody
waits for it. In several steps it would begin again at every write and never end in a storm of them.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from hermes_cron.backup.manifest import StoreFacts
from hermes_cron.errors import HermesCronError, StoreDamaged

_BUSY_S = 30.0


def copy(store: Path, to: Path) -> StoreFacts:
    """``to`` must not exist; what it holds then. Raises ``StoreDamaged``, or what opening the store met."""
    try:
        with closing(_opened(store, "mode=rw")) as live, closing(sqlite3.connect(to)) as made:
            made.execute("PRAGMA synchronous=OFF")  # a power cut here leaves no backup in any case
            live.backup(made)
        return facts(to)
    except sqlite3.DatabaseError as error:
        if "malformed" in str(error) or "not a database" in str(error):
            raise StoreDamaged(
                f"no backup was made: the store is damaged: {error}",
                hint="restore an older one: hermes-cron backup restore FILE --to FOLDER",
            ) from error
        raise HermesCronError(
            f"{store} cannot be copied: {error}", hint=f"ls -l {store} ; df -h {to.parent}"
        ) from error


def facts(path: Path) -> StoreFacts:
    """Schema and counts of a copy that nobody writes. Raises ``sqlite3.DatabaseError``."""
    with closing(_opened(path, "mode=ro&immutable=1")) as conn:
        named = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        rows = {str(name): 0 for (name,) in sorted(named)}
        for name in rows:
            (rows[name],) = conn.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchone()  # noqa: S608  # the file's own names
        return StoreFacts(schema=int(conn.execute("PRAGMA user_version").fetchone()[0]), rows=rows)


def faults(path: Path) -> list[str]:
    """What SQLite itself finds wrong with a copy; empty when it is sound."""
    try:
        with closing(_opened(path, "mode=ro&immutable=1")) as conn:
            found = [str(row[0]) for row in conn.execute("PRAGMA integrity_check(5)")]
            broken = conn.execute("PRAGMA foreign_key_check").fetchmany(5)
    except sqlite3.DatabaseError as error:
        return [str(error)]
    said = [] if found == ["ok"] else found
    return said + [f"{table} row {row}: no such row in {parent}" for table, row, parent, _ in broken]


def _opened(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True, timeout=_BUSY_S)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
