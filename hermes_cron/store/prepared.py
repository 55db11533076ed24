"""How does a statement run that is needed at every step of every run?

SQLAlchemy's execution costs four times what SQLite needs for the statement itself. Those few statements are compiled
once and handed to the driver below the connection, inside the same transaction. On another database than SQLite they
run as any other statement.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.base import Executable

_INSTANT = "%Y-%m-%d %H:%M:%S.%f"
"""As SQLAlchemy's SQLite dialect writes an instant: text that sorts."""


class Prepared:
    """One statement. Its parameters are columns' names (``keys``, for an insert) or its ``bindparam`` names.

    Values are what SQLite stores itself, and aware datetimes. No result types: rows come as the driver gives them.
    """

    def __init__(self, statement: Any, keys: Iterable[str] = ()) -> None:
        self._statement: Executable = statement
        names = list(keys)
        compiled = statement.compile(dialect=sqlite.dialect(paramstyle="named"), column_keys=names or None)
        self._sql = str(compiled)
        # For a column it has no value for, SQLAlchemy gives its symbol REQUIRED, which is an int: it would be stored.
        self._fixed = {**compiled.params, **dict.fromkeys(names)}

    def run(self, conn: Connection, values: Mapping[str, Any]) -> int:
        """Execute it; the number of rows it touched."""
        if conn.dialect.name != "sqlite":
            return conn.execute(self._statement, values).rowcount
        with self._translated():
            return int(_driver(conn).execute(self._sql, self._bound(values)).rowcount)

    def run_all(self, conn: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute it for each; an insert's missing columns are null."""
        if conn.dialect.name != "sqlite":
            conn.execute(self._statement, rows)
            return
        with self._translated():
            _driver(conn).executemany(self._sql, [self._bound(row) for row in rows])

    def first(self, conn: Connection, values: Mapping[str, Any]) -> Sequence[Any] | None:
        """The first row of a query."""
        if conn.dialect.name != "sqlite":
            return conn.execute(self._statement, values).first()
        with self._translated():
            row: Sequence[Any] | None = _driver(conn).execute(self._sql, self._bound(values)).fetchone()
        return row

    def all(self, conn: Connection, values: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """Every row of a query."""
        if conn.dialect.name != "sqlite":
            return conn.execute(self._statement, values).all()
        with self._translated():
            rows: list[Sequence[Any]] = _driver(conn).execute(self._sql, self._bound(values)).fetchall()
        return rows

    def _translated(self) -> _Translated:
        return _Translated(self._sql)

    def _bound(self, values: Mapping[str, Any]) -> dict[str, Any]:
        bound = dict(self._fixed)
        for name, value in values.items():
            bound[name] = value.astimezone(UTC).strftime(_INSTANT) if isinstance(value, datetime) else value
        return bound


class _Translated:
    """The driver's fault becomes the one SQLAlchemy would have raised: who catches it need not know how it ran."""

    __slots__ = ("_sql",)

    def __init__(self, sql: str) -> None:
        self._sql = sql

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise DBAPIError.instance(self._sql, None, error, sqlite3.Error) from error


def instant(value: Any) -> datetime | None:
    """A stored instant as a row holds it: SQLite's text, or what another driver made of it."""
    return datetime.fromisoformat(value).replace(tzinfo=UTC) if isinstance(value, str) else value


def _driver(conn: Connection) -> Any:
    """The sqlite3 connection that is inside ``conn``'s transaction."""
    return conn.connection.driver_connection
