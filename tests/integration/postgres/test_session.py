"""What a statement meets at a real PostgreSQL: caps, time-outs, cancel, values, and the meaning of what was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hermes_cron.databases.connect import Database, connect
from hermes_cron.databases.functions import POSTGRES
from hermes_cron.databases.guard import read_only
from hermes_cron.databases.postgres import PostgresDatabase
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import DatabaseError, SqlNotReadOnly
from tests import planted
from tests.servers import READER, READER_PASSWORD, PostgresServer, fresh_database

DATA = Path(__file__).parent / "data"


def statements(name: str) -> list[str]:
    return [part.strip() for part in (DATA / name).read_text(encoding="utf-8").split("\n;\n")]


@pytest.fixture(scope="module")
def shop(server: PostgresServer) -> str:
    dsn = fresh_database(server, "shop")
    planted.plant_postgres(dsn)
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("""
            create table t (a int, b text);
            insert into t values (1, 'x'), (2, 'y'), (3, '5'), (null, 'x');
            create table jt (j jsonb);
            insert into jt values ('{"a.b":1,"a":{"b":2},"x":[1,2,3],"0":5,"$.a":7,"a b":8}');
            create table big as select g as id from generate_series(1, 5000) g;
            create function evil_row(t) returns int language sql as 'select 1';
            create function lower(t) returns text language sql as $$ select 'mine'::text $$;
            create schema ext;
        """)
    return dsn


@pytest.fixture
def config(server: PostgresServer, shop: str) -> DatabaseConfig:
    return DatabaseConfig(name="prod", engine="postgresql", url=server.url("shop", user=READER), row_cap=20)


@pytest.fixture
def database(config: DatabaseConfig) -> Iterator[Database]:
    with connect(config, password=READER_PASSWORD) as opened:
        yield opened


def _all(connection: psycopg.Connection[Any], sql: str) -> list[list[str]]:
    cursor = psycopg.ClientCursor(connection)
    cursor.execute(sql.encode())
    return [[str(value) for value in row] for row in cursor.fetchall()]


def test_every_inspection_query_gives_the_rows_it_gives_without_the_guard(shop: str) -> None:
    with psycopg.connect(shop) as raw:
        for sql in statements("playbook.sql"):
            assert _all(raw, read_only(sql, dialect="postgres")) == _all(raw, sql)


# Refused on purpose: other versions read them in another way, or sqlglot does not know them.
REFUSED = (
    "@ -5",
    "U&'",
    "json '{",
    "(t).a",
    "1_000",
    "0x1f",
    "order by all",
    "<->",
    "xmlelement",
    "overlaps(",
    "|/",
    "@ (",
)


@pytest.mark.parametrize("sql", statements("faithful.sql"))
def test_the_text_that_is_sent_means_what_was_asked(shop: str, sql: str) -> None:
    try:
        text = read_only(sql, dialect="postgres")
    except SqlNotReadOnly:
        assert any(mark in sql for mark in REFUSED)
        return
    with psycopg.connect(shop, autocommit=True) as raw:
        try:
            wanted = _all(raw, sql)
        except psycopg.Error as error:
            with pytest.raises(type(error)):
                _all(raw, text)
        else:
            assert _all(raw, text) == wanted


def test_planted_faults_show_the_stated_figures(database: Database, shop: str) -> None:
    long, blocked, dead, keyless, keys, unused, sequences = (
        database.query(sql) for sql in statements("playbook.sql")[1:8]
    )
    assert (long.rows, blocked.rows) == ((), ())
    assert dead.rows == ((planted.DEAD_TABLE, planted.DEAD_ROWS, planted.LIVE_ROWS, planted.DEAD_PCT, "never"),)
    assert (planted.NO_KEY_TABLE, planted.NO_KEY_ROWS) in keyless.rows
    assert keys.rows == ((planted.FK_TABLE, planted.FK_NAME, planted.FK_COLUMNS),)
    assert planted.UNUSED_INDEX.removeprefix("public.") in [row[0] for row in unused.rows]
    assert sequences.rows == ((planted.SEQUENCE, planted.SEQUENCE_LAST, planted.SEQUENCE_END, planted.SEQUENCE_PCT),)


def test_planted_sessions_are_seen(database: Database, shop: str) -> None:
    _, long, blocked = statements("playbook.sql")[:3]
    with planted.long_transaction(shop) as pid:
        assert pid in [row[0] for row in database.query(long).rows]
    with planted.blocked_session(shop) as (waiting, holding):
        assert database.query(blocked).rows[0][:2] == (waiting, holding)
    assert database.query(blocked).rows == ()


@pytest.mark.parametrize(
    "sql",
    [
        "select * from big -- all rows",
        "select * from big where id in (select id from big limit 5) or true /* limit 10 */",
        "select a.id from big a, big b, big c",
    ],
)
def test_rows_are_capped_by_fetching(database: Database, sql: str) -> None:
    result = database.query(sql)
    assert len(result.rows) == 20
    assert result.truncated == "only the first 20 rows; there are more"
    assert result.elapsed_ms < 5000
    assert database.query("select 1").rows == ((1,),)


def test_a_whole_number_without_measure_arrives_as_text(database: Database) -> None:
    assert database.query("select 10::numeric ^ 4999").rows[0][0] == "1" + "0" * 4999 + ".0000000000000000"
    assert database.query("select trunc(10::numeric ^ 4999)").rows == (("1" + "0" * 4999,),)
    assert database.query("select 2::int8, trunc(10::numeric ^ 20)").rows == ((2, 10**20),)


def test_values_arrive_as_json(database: Database) -> None:
    result = database.query(
        "select 7::int8, 1.50, 92::numeric, 'NaN'::numeric, 'infinity'::float8, true, null, array[1, 2],"
        " '\\x00ff'::bytea,"
        " '{\"a\": 1}'::jsonb, 'infinity'::date, date '0044-03-15 BC', interval '1 day', 'pg_class'::regclass"
    )
    assert result.rows == (
        (
            7,
            1.5,
            92,
            "NaN",
            "Infinity",
            True,
            None,
            "{1,2}",
            "\\x00ff",
            '{"a": 1}',
            "infinity",
            "0044-03-15 BC",
            "1 day",
            "pg_class",
        ),
    )


def test_columns_keep_their_names_when_there_are_no_rows(database: Database) -> None:
    assert database.query("select a, b as c, now() from t where false").columns == ("a", "c", "now")


def test_show_and_explain_work(database: Database) -> None:
    assert database.query("show server_version_num").columns == ("server_version_num",)
    assert "Seq Scan" in str(database.query("explain (format json) select * from t").rows)


def test_a_statement_that_runs_too_long_is_ended_by_the_server(database: Database) -> None:
    with pytest.raises(DatabaseError, match=r"stopped after 0\.2 s"):
        database.query("select count(*) from generate_series(1, 2000000000)", timeout_s=0.2)
    assert database.query("select 1").rows == ((1,),)


def test_cancel_from_another_thread_ends_the_statement(database: Database) -> None:
    timer = threading.Timer(0.2, database.cancel)
    timer.start()
    with pytest.raises(DatabaseError, match="cancelled"):
        database.query("select count(*) from generate_series(1, 2000000000)", timeout_s=20)
    timer.join()
    assert database.query("select 1").rows == ((1,),)


@pytest.mark.parametrize(
    "sql, owner",
    [
        ("select x.evil_row from t x", "public.evil_row"),
        ("select t.evil_row from t", "public.evil_row"),
        ("select lower(x) from t x", "public.lower"),
    ],
)
def test_functions_of_the_database_itself_are_found_by_name(database: Database, sql: str, owner: str) -> None:
    with pytest.raises(SqlNotReadOnly, match=owner):
        database.query(sql)


def test_system_function_is_reached_when_it_is_named_whole(database: Database) -> None:
    assert database.query("select pg_catalog.lower('X')").rows == (("x",),)


def test_read_write_cannot_be_switched_on_and_one_statement_is_sent(config: DatabaseConfig) -> None:
    with PostgresDatabase(config, password=READER_PASSWORD) as database:
        for sql, said in (
            ("set transaction read write", "must be set before any query"),
            ("commit; insert into t values (9)", "cannot insert multiple commands"),
            ("select 1; select 2", "cannot insert multiple commands"),
        ):
            with pytest.raises(DatabaseError, match=said), database._transaction(5.0) as connection:
                database._stream(connection, sql, 10)


def test_schema_shows_tables_keys_and_estimates(database: Database) -> None:
    text = database.schema("invoices")
    assert "table public.invoices (about 20,000 rows)" in text
    assert "  primary key: id" in text
    assert "  index: invoices_due_a (due)" in text
    assert "  foreign key: customer_id -> public.customers (id)" in database.schema("public.ord*")


@pytest.mark.parametrize(
    "url, said",
    [
        ("postgresql://watcher@127.0.0.1:1/shop", "prod does not answer: connection refused by 127.0.0.1:1"),
        ("postgresql://nobody@{at}/shop", "prod does not answer: {at}: password authentication failed"),
        ("postgresql://watcher@{at}/gone", 'prod does not answer: {at}: database "gone" does not exist'),
    ],
)
def test_what_is_said_when_it_does_not_answer(server: PostgresServer, url: str, said: str) -> None:
    at = f"{server.host}:{server.port}"
    config = DatabaseConfig(name="prod", engine="postgresql", url=url.replace("{at}", at))
    with pytest.raises(DatabaseError) as refused:
        connect(config, password=READER_PASSWORD)
    assert refused.value.message.startswith(said.replace("{at}", at))
    assert READER_PASSWORD not in f"{refused.value} {refused.value.hint} {refused.value.__cause__}"


def test_no_function_with_effects_is_reached_by_attribute_notation(database: Database, shop: str) -> None:
    with psycopg.connect(shop) as owner:
        rows = owner.execute(
            "select distinct proname from pg_proc where provolatile = 'v' and prokind = 'f' and pronargs >= 1"
            " and pronargs - pronargdefaults <= 1 and pronamespace = 'pg_catalog'::regnamespace"
        ).fetchall()
    names = sorted({row[0] for row in rows} - POSTGRES)
    assert "nextval" in names
    for name in names:
        for sql in (f'select x."{name}" from unnest(array[1]) x', f"select (1).{name}", f"select {name}(1)"):
            with pytest.raises(SqlNotReadOnly):
                database.query(sql)


@pytest.mark.parametrize("text", ["%s", "%", "%(x)s", "100 %% sure", "{}", "$1", ":a"])
def test_marks_of_the_driver_are_plain_text(database: Database, text: str) -> None:
    assert database.query(f"select '{text}'").rows == ((text,),)
