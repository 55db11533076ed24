"""How does a statement reach PostgreSQL so that it can look and not change?

Each statement has a transaction of its own: ``BEGIN READ ONLY``, a first query (after one, the server refuses ``SET
TRANSACTION READ WRITE``) that sets the time-outs for this transaction, the statement by the extended protocol (it takes
one statement only; the simple protocol runs ``commit; insert ...``), and ROLLBACK always.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Final, cast

import psycopg

from hermes_cron.databases.guard import read_only
from hermes_cron.databases.postgres_account import read_account
from hermes_cron.databases.postgres_schema import read_schema
from hermes_cron.databases.postgres_values import adapt
from hermes_cron.databases.rows import Row, collect
from hermes_cron.databases.shadows import refuse_shadowed
from hermes_cron.databases.url import address
from hermes_cron.domain.database import Account, DatabaseConfig, QueryResult, Schema
from hermes_cron.errors import DatabaseError

CONNECT_TIMEOUT_S: Final = 10
LOCK_TIMEOUT_S: Final = 5.0

_BEGIN: Final = "BEGIN TRANSACTION READ ONLY"
_FIRST_QUERY: Final = """
select set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true),
       set_config('idle_in_transaction_session_timeout', %s, true),
       set_config('standard_conforming_strings', 'on', true),
       set_config('DateStyle', 'ISO', true), set_config('bytea_output', 'hex', true)
"""


class PostgresDatabase:
    """One read-only connection. Used by one thread at a time; ``cancel`` may come from another."""

    def __init__(self, config: DatabaseConfig, *, password: str | None) -> None:
        self._config = config
        self._password = password
        self._address = address(config.url)
        self._connection = self._connect()

    def query(self, sql: str, *, timeout_s: float | None = None, row_cap: int | None = None) -> QueryResult:
        """Raises SqlNotReadOnly before anything is sent, DatabaseError for what the server says."""
        text = read_only(sql, dialect="postgres")
        limit_s = self._config.statement_timeout_s if timeout_s is None else timeout_s
        rows_kept = self._config.row_cap if row_cap is None else row_cap
        began = time.monotonic()
        with self._transaction(limit_s) as connection:
            refuse_shadowed(connection, text)
            columns, rows, truncated = self._stream(connection, text, rows_kept)
        elapsed_ms = round((time.monotonic() - began) * 1000)
        return QueryResult(columns=columns, rows=rows, truncated=truncated, elapsed_ms=elapsed_ms)

    def tables(self, pattern: str | None = None) -> Schema:
        """Tables and views outside the system's schemas whose ``schema.name`` or name fits (``*``, ``?``)."""
        with self._transaction(self._config.statement_timeout_s) as connection:
            return read_schema(connection, pattern)

    def schema(self, pattern: str | None = None) -> str:
        return self.tables(pattern).text()

    def account(self) -> Account:
        """Who is connected and why it could write, read from the server's catalogs."""
        with self._transaction(self._config.statement_timeout_s) as connection:
            return read_account(connection)

    def cancel(self) -> None:
        """End the running statement on the server, from any thread. Nothing running: nothing happens."""
        with suppress(Exception):  # the statement may have ended, the server may be gone: both are what is wanted
            self._connection.cancel_safe(timeout=5)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> PostgresDatabase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        try:
            connection = psycopg.connect(
                self._config.url,
                password=self._password,
                autocommit=True,  # transactions are written out below, so that each begins READ ONLY
                connect_timeout=CONNECT_TIMEOUT_S,
                application_name="hermes-cron",
                client_encoding="UTF8",
                keepalives_idle=30,
                prepare_threshold=None,
            )
        except psycopg.Error as error:
            raise self._explained(error, connecting=True) from None
        adapt(connection)
        return connection

    @contextmanager
    def _transaction(self, limit_s: float) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        milliseconds = max(1, round(limit_s * 1000))
        try:
            self._connection.execute(_BEGIN)
            self._connection.execute(
                _FIRST_QUERY,
                [str(milliseconds), str(min(milliseconds, round(LOCK_TIMEOUT_S * 1000))), str(milliseconds + 60_000)],
            )
            yield self._connection
        except psycopg.errors.QueryCanceled as error:
            late = "statement timeout" in str(error) or "lock timeout" in str(error)
            why = f"stopped after {limit_s:g} s" if late else "cancelled"
            raise DatabaseError(f"{self._config.name}: the statement was {why}") from None
        except psycopg.Error as error:
            raise self._explained(error, connecting=False) from None
        finally:
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")

    def _stream(
        self, connection: psycopg.Connection[tuple[Any, ...]], text: str, row_cap: int
    ) -> tuple[tuple[str, ...], tuple[Row, ...], str | None]:
        # Row by row, so that a result of a billion rows costs the cap and no more. stream() always takes the extended
        # protocol. The text was made by the guard; it is no literal, and has no parameters that could be confused.
        with connection.cursor() as cursor:
            stream = cast("Generator[Row]", cursor.stream(text))
            try:
                rows, truncated = collect(stream, row_cap=row_cap, byte_cap=self._config.byte_cap)
                columns = tuple(column.name for column in cursor.description or ())
            finally:
                stream.close()
        return columns or _described(connection, text), rows, truncated

    def _explained(self, error: Exception, *, connecting: bool) -> DatabaseError:
        said = _without(str(error).strip(), self._password)
        if not connecting:
            return DatabaseError(
                f"{self._config.name} ({self._address}): {said.splitlines()[0] if said else 'no answer'}"
            )
        if "refused" in said:
            said = f"connection refused by {self._address}"
        elif "timeout" in said or "timed out" in said:
            said = f"no answer from {self._address} within {CONNECT_TIMEOUT_S} s"
        else:
            said = f"{self._address}: {said.splitlines()[-1].rpartition('FATAL:')[2].strip()}"
        return DatabaseError(
            f"{self._config.name} does not answer: {said}",
            details={"look": f"hermes-cron db test {self._config.name}"},
        )


def _described(connection: psycopg.Connection[tuple[Any, ...]], text: str) -> tuple[str, ...]:
    """The column names of a statement that gave no rows: a stream of nothing does not carry them."""
    raw = connection.pgconn
    raw.prepare(b"", text.encode())
    described = raw.describe_prepared(b"")
    return tuple((described.fname(at) or b"").decode("utf-8", "replace") for at in range(described.nfields))


def _without(text: str, password: str | None) -> str:
    return text.replace(password, "***") if password else text
