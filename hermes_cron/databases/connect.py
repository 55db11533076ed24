"""How is a configured database opened, and may its account be used?"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final, Protocol, Self

from hermes_cron.domain.database import Account, DatabaseConfig, QueryResult, Schema
from hermes_cron.errors import AccountTooPowerful, ExtraMissing


class Database(Protocol):
    """One read-only connection, closed by whoever opened it. Not shared between threads, except ``cancel``."""

    def query(self, sql: str, *, timeout_s: float | None = None, row_cap: int | None = None) -> QueryResult: ...

    def tables(self, pattern: str | None = None) -> Schema: ...

    def schema(self, pattern: str | None = None) -> str: ...

    def account(self) -> Account: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def connect(config: DatabaseConfig, *, password: str | None) -> Database:
    """Open it. Raises DatabaseError, NotFound (a missing SQLite file), ExtraMissing (no driver)."""
    if config.engine == "sqlite":
        from hermes_cron.databases.sqlite import SqliteDatabase

        return SqliteDatabase(config)
    _need_driver()
    from hermes_cron.databases.postgres import PostgresDatabase

    return PostgresDatabase(config, password=password)


def probe(config: DatabaseConfig, *, password: str | None) -> Account:
    """Connect, ask who we are and what we may, close."""
    with connect(config, password=password) as database:
        return database.account()


def require_reader(account: Account, *, allow: bool) -> None:
    """Raises AccountTooPowerful for an account that could write, unless ``allow``."""
    if not account.powers or allow:
        return
    more = account.powers[1:]
    # Before version 15 every role may create tables in schema public: a reader of one's own does not help against that.
    by_default = all("may create tables in" in power for power in account.powers)
    revoke = {"revoke": "REVOKE CREATE ON SCHEMA public FROM PUBLIC;"} if by_default else {}
    raise AccountTooPowerful(
        f"refused: account {account.name} {account.powers[0]}, it could write",
        details={**({"also": "; ".join(more)} if more else {}), **revoke, **_REMEDIES},
    )


_REMEDIES: Final = {
    "make_a_reader": (
        "psql ... <<'SQL'\n"
        "CREATE ROLE watcher LOGIN PASSWORD '...';  GRANT pg_monitor, pg_read_all_data TO watcher;\n"
        "SQL"
    ),
    "or_insist": "--allow-writable-account (two fences still hold; `db list` says so)",
}


def _need_driver() -> None:
    """By the driver's own name: an index may hold another program under ours, and a clone is on none."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        driver = "'psycopg[binary]>=3.3,<4'"
        raise ExtraMissing(
            "PostgreSQL needs the driver psycopg, which is not installed",
            hint=f"{sys.executable} -m pip install {driver}   or   uv pip install --python {sys.executable} {driver}",
        ) from error
