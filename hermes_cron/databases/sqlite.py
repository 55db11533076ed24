"""How is a SQLite file opened so that no statement can change it or make another file?

Three fences in the connection itself: ``mode=ro`` (the file is never created or written), an authorizer that allows
SELECT, READ, recursion, listed functions and listed PRAGMAs in their reading form (``mode=ro`` alone lets ATTACH create
another file), and a progress handler that ends what runs too long.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import quote

from hermes_cron.databases.functions import SQLITE, SQLITE_PRAGMAS, SQLITE_PRAGMAS_WITH_ARGUMENT
from hermes_cron.databases.guard import read_only
from hermes_cron.databases.refusal import refusal
from hermes_cron.databases.rows import Row, collect
from hermes_cron.databases.sqlite_schema import read_schema
from hermes_cron.databases.url import sqlite_path
from hermes_cron.domain.database import Account, DatabaseConfig, QueryResult, Schema
from hermes_cron.errors import DatabaseError, NotFound

_LONGEST_VALUE: Final = 50_000_000  # bytes: randomblob(2000000000) must not eat the memory
_STEPS_BETWEEN_LOOKS: Final = 2_000  # virtual machine instructions, well under a millisecond
_ALWAYS_ALLOWED: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})


class SqliteDatabase:
    """One read-only connection. Used by one thread at a time; ``cancel`` may come from another."""

    def __init__(self, config: DatabaseConfig) -> None:
        self._config = config
        self._path = sqlite_path(config.url)
        self._deadline = float("inf")
        self._lock = threading.Lock()
        self._connection = _open(self._path, config.name)
        self._connection.set_progress_handler(self._too_late, _STEPS_BETWEEN_LOOKS)
        self._connection.set_authorizer(_authorize)

    def query(self, sql: str, *, timeout_s: float | None = None, row_cap: int | None = None) -> QueryResult:
        """Raises SqlNotReadOnly before anything is sent, DatabaseError for what SQLite says."""
        text = read_only(sql, dialect="sqlite")
        limit_s = self._config.statement_timeout_s if timeout_s is None else timeout_s
        began = time.monotonic()
        columns, rows, truncated = self._fetch(text, limit_s, self._config.row_cap if row_cap is None else row_cap)
        elapsed_ms = round((time.monotonic() - began) * 1000)
        return QueryResult(columns=columns, rows=rows, truncated=truncated, elapsed_ms=elapsed_ms)

    def tables(self, pattern: str | None = None) -> Schema:
        """Tables and views whose name fits ``pattern`` (``*`` and ``?``), by name."""
        self._deadline = time.monotonic() + self._config.statement_timeout_s
        try:
            return read_schema(self._connection, pattern)
        except sqlite3.Error as error:
            raise self._explained(error, self._config.statement_timeout_s) from error
        finally:
            self._deadline = float("inf")

    def schema(self, pattern: str | None = None) -> str:
        return self.tables(pattern).text()

    def account(self) -> Account:
        """A file has no account; this connection can only read it."""
        counted = self.query("select count(*) from sqlite_master where type = 'table' and name not like 'sqlite_%'")
        return Account(
            name="file",
            engine="sqlite",
            version=sqlite3.sqlite_version,
            tls=None,
            tables=int(counted.rows[0][0] or 0),
            rights=("opened read-only",),
            powers=(),
        )

    def cancel(self) -> None:
        """End the running statement from another thread. Nothing running: nothing happens."""
        with self._lock, suppress(sqlite3.ProgrammingError):
            self._connection.interrupt()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __enter__(self) -> SqliteDatabase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fetch(self, text: str, limit_s: float, row_cap: int) -> tuple[tuple[str, ...], tuple[Row, ...], str | None]:
        self._deadline = time.monotonic() + limit_s
        try:
            cursor = self._connection.execute(text)
            try:
                columns = tuple(entry[0] for entry in cursor.description or ())
                rows, truncated = collect(_plain(cursor), row_cap=row_cap, byte_cap=self._config.byte_cap)
            finally:
                cursor.close()
        except sqlite3.Error as error:
            raise self._explained(error, limit_s) from error
        finally:
            self._deadline = float("inf")
        return columns, rows, truncated

    def _too_late(self) -> int:
        return 1 if time.monotonic() > self._deadline else 0

    def _explained(self, error: sqlite3.Error, limit_s: float) -> Exception:
        code = getattr(error, "sqlite_errorname", "")
        if code == "SQLITE_AUTH":
            return refusal(f"SQLite's authorizer: {error}")
        if code == "SQLITE_INTERRUPT":
            late = time.monotonic() > self._deadline
            why = f"stopped after {limit_s:g} s" if late else "cancelled"
            return DatabaseError(f"{self._config.name}: the statement was {why}")
        return DatabaseError(f"{self._config.name} ({self._path}): {error}")


def _open(path: Path, name: str) -> sqlite3.Connection:
    if not path.exists():
        raise NotFound(
            f"database {name}: there is no file {path}",
            details={"look": f"hermes-cron db show {name}"},
        )
    if not path.is_file():  # opening a pipe would wait for a writer, for ever
        raise DatabaseError(f"database {name}: {path} is no plain file")
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5, check_same_thread=False)
    except sqlite3.Error as error:
        raise DatabaseError(f"database {name}: {path} cannot be opened: {error}") from error
    try:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        connection.execute("pragma query_only = on")
        connection.execute("pragma trusted_schema = off")
        _declare_virtual_tables(connection)
    except sqlite3.Error as error:
        connection.close()
        raise DatabaseError(f"database {name}: {path} cannot be read: {error}") from error
    return connection


def _declare_virtual_tables(connection: sqlite3.Connection) -> None:
    """SQLite declares a virtual table on first use, which the authorizer takes for a change of the schema.

    So table-valued PRAGMAs and the file's own (full-text) tables are declared before there is one; about 2 ms.
    """
    own = connection.execute("select name from sqlite_master where sql like 'create virtual table%'").fetchall()
    built_in = (*(f"pragma_{name}" for name in sorted(SQLITE_PRAGMAS)), "json_each", "json_tree", "dbstat")
    names = [*built_in, *(row[0] for row in own)]
    for name in names:
        with suppress(sqlite3.OperationalError):  # a module that this library was built without
            quoted = name.replace('"', '""')
            connection.execute(f'explain select 1 from "{quoted}"').close()  # noqa: S608 the name is quoted


def _authorize(action: int, first: str | None, second: str | None, schema: str | None, within: str | None) -> int:
    if action in _ALWAYS_ALLOWED:
        allowed = True
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() in SQLITE
    elif action == sqlite3.SQLITE_PRAGMA:
        name = (first or "").lower()
        reading = name in SQLITE_PRAGMAS and (second is None or name in SQLITE_PRAGMAS_WITH_ARGUMENT)
        allowed = reading or name == "data_version"  # full-text tables ask for it
    else:
        allowed = False
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _plain(cursor: sqlite3.Cursor) -> Iterator[Row]:
    for row in cursor:
        yield tuple(
            "\\x" + value.hex() if isinstance(value, bytes) else _finite(value) if isinstance(value, float) else value
            for value in row
        )


def _finite(value: float) -> float | str:
    """JSON has no infinity."""
    return value if value - value == 0 else str(value)
