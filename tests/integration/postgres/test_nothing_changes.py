"""Cases and 2,000 disguised writes on a real PostgreSQL, as reader and as superuser, leave every dump as it was.

The guard is asked first, as in production; in a second pass, the statements it would refuse are sent past it, so that
the session alone is judged for a reader.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from hermes_cron.databases.connect import connect
from hermes_cron.databases.postgres import PostgresDatabase
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import DatabaseError, HermesCronError, SqlNotReadOnly
from tests.servers import READER, SUPERUSER, PostgresServer, fresh_database, password_of
from tests.sql_mutations import POSTGRES_WRITES, from_cases, mutated

SCHEMA = """
create table items (id int primary key, name text);
insert into items values (1, 'one'), (2, 'two');
create table other (id int primary key, n int);
insert into other values (1, 10);
create materialized view seen as select count(*) from items;
create sequence counter;
create function evil() returns int language plpgsql as $$ begin delete from items; return 1; end $$;
create function evil_row(items) returns int language plpgsql as $$ begin delete from items; return 1; end $$;
create function evil_op(items, int) returns int language plpgsql as $$ begin delete from items; return 1; end $$;
create operator ==> (leftarg = items, rightarg = int, function = evil_op);
create procedure wipe() language sql as 'delete from items';
select lo_from_bytea(7777, 'kept');
select setval('counter', 41);
"""

STATE = """
select (select count(*) from pg_replication_slots), (select count(*) from pg_locks where locktype = 'advisory'),
       (select string_agg(name || '=' || setting, ',' order by name) from pg_settings
          where name in ('default_transaction_read_only', 'work_mem', 'search_path')),
       (select string_agg(last_value::text || is_called::text, ',') from counter),
       (select count(*) from pg_prepared_xacts), (select count(*) from pg_file_settings)
"""


@pytest.fixture
def attacked(server: PostgresServer, tmp_path: Path) -> Path:
    """A database with something to lose and a folder that the server may write to."""
    with psycopg.connect(fresh_database(server, "attacked"), autocommit=True) as owner:
        owner.execute(SCHEMA.encode())
    tmp_path.chmod(0o777)
    return tmp_path


def _state(server: PostgresServer) -> tuple[object, ...]:
    with psycopg.connect(server.dsn("attacked")) as owner:
        row = owner.execute(STATE.encode()).fetchone()
    assert row is not None
    return tuple(row)


def _config(server: PostgresServer, user: str) -> DatabaseConfig:
    return DatabaseConfig(
        name="attacked",
        engine="postgresql",
        url=server.url("attacked", user=user),
        allow_writable_account=True,
        statement_timeout_s=2.0,
    )


def _throw(statements: list[str], server: PostgresServer, user: str) -> Counter[str]:
    """Send each through the whole way; a statement may answer or be refused, never crash us or be left hanging."""
    ends: Counter[str] = Counter()
    with connect(_config(server, user), password=password_of(user)) as database:
        for sql in statements:
            try:
                database.query(sql)
                ends["answered"] += 1
            except SqlNotReadOnly:
                ends["refused by the guard"] += 1
            except DatabaseError:
                ends["refused by the server"] += 1
        assert database.query("select count(*) from items").rows == ((2,),)
    return ends


@pytest.mark.parametrize("user", [READER, SUPERUSER])
def test_cases_and_two_thousand_disguised_writes_change_nothing(
    server: PostgresServer, attacked: Path, user: str
) -> None:
    writes = [sql.replace("{F}", str(attacked)) for sql in POSTGRES_WRITES]
    statements = [*from_cases(), *writes, *mutated(writes, 2000, seed=8)]
    before, state = server.dump("attacked"), _state(server)
    with psycopg.connect(server.dsn("attacked", user=user), application_name="witness") as witness:
        ends = _throw(statements, server, user)
        assert witness.execute("select 1").fetchone() == (1,), "another session was ended"
    assert server.dump("attacked") == before
    assert _state(server) == state
    assert list(attacked.iterdir()) == []
    assert ends["refused by the guard"] > 1900


def test_the_reader_session_alone_holds_when_the_guard_is_passed_by(server: PostgresServer, attacked: Path) -> None:
    """Without layer 2: the account and READ ONLY with one statement a call."""
    harmless_side_effects = ("advisory", "pg_notify", "terminate", "cancel_backend", "LISTEN", "set_config", "pg_sleep")
    writes = [
        sql.replace("{F}", str(attacked))
        for sql in POSTGRES_WRITES
        if not any(word in sql for word in harmless_side_effects) and not sql.startswith(("COMMIT", "SET SESSION"))
    ]
    before, state = server.dump("attacked"), _state(server)
    statements = [*writes, *(f"select 1; {sql}" for sql in writes), *(f"commit; {sql}" for sql in writes)]
    with PostgresDatabase(_config(server, READER), password=password_of(READER)) as database:
        for sql in statements:
            with suppress(HermesCronError), database._transaction(2.0) as connection:
                database._stream(connection, sql, 10)
    assert server.dump("attacked") == before
    assert _state(server) == state
    assert list(attacked.iterdir()) == []
