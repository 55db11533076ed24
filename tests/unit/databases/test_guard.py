"""What the guard refuses, what it must let through, and that the meaning survives the way through it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.databases.guard import read_only
from hermes_cron.errors import SqlNotReadOnly

DATA = Path(__file__).parent / "data"


def lines(name: str) -> list[str]:
    return (DATA / name).read_text(encoding="utf-8").strip().split("\n")


@pytest.mark.parametrize("sql", lines("refused.postgres.sql"))
def test_postgres_statement_with_an_effect_is_refused(sql: str) -> None:
    with pytest.raises(SqlNotReadOnly):
        read_only(sql, dialect="postgres")


@pytest.mark.parametrize(
    "dialect, sql",
    [
        ("mysql", "select 1 /*!50000 union select 2 */"),
        ("mysql", "select 1 /*M!100000 union select 2 */"),
        ("mysql", "select 'x' into outfile '/srv/x'"),
        ("mysql", "select 1 into @x"),
        ("mysql", "select @a := 1"),
        ("mysql", "select load_file('/etc/passwd')"),
        ("mysql", "select sleep(5)"),
        ("mysql", "select benchmark(100000000, md5('a'))"),
        ("mysql", "select get_lock('a', 10)"),
        ("mysql", "select release_all_locks()"),
        ("mysql", "select last_insert_id(7)"),
        ("mysql", "select master_pos_wait('x', 4)"),
        ("mysql", "select sys.ps_setup_enable_instrument('x')"),
        ("mysql", "select /*+ set_var(sql_safe_updates=0) */ 1"),
        ("mysql", "explain analyze select 1"),
        ("mysql", "select * from t lock in share mode"),
        ("mysql", "select 5 --1"),
        ("mysql", "show tables; drop table t"),
        ("mysql", "handler t open"),
        ("mysql", "select authentication_string from mysql.user"),
        ("tsql", "select * from openrowset('SQLNCLI', 'x', 'delete from t')"),
        ("tsql", "select * from openquery(other, 'delete from t')"),
        ("tsql", "select next value for s"),
        ("tsql", "select @a = 1"),
        ("tsql", "select @@a = 1"),
        ("mysql", "select @@a := 1"),
        ("sqlite", "select '\ud800'"),
        ("postgres", "select {:},'x'"),
        ("tsql", "select 1 drop table t"),
        ("tsql", "select * into x from t"),
        ("tsql", "exec xp_cmdshell 'dir'"),
        ("tsql", "select * from t with (tablockx)"),
        ("tsql", "select dbo.evil()"),
        ("tsql", "waitfor delay '0:1:0'"),
        ("sqlite", "select load_extension('x')"),
        ("sqlite", "select writefile('x', 'y')"),
        ("sqlite", "select readfile('/etc/passwd')"),
        ("sqlite", "attach 'x.db' as y"),
        ("sqlite", "pragma user_version = 5"),
        ("sqlite", "pragma journal_mode(wal)"),
        ("sqlite", "pragma main.wal_checkpoint"),
        ("sqlite", "select * from pragma_user_version(5)"),
        ("sqlite", "explain delete from t"),
        ("sqlite", "vacuum into 'x'"),
        ("sqlite", "select 1 \x00; delete from t"),
    ],
)
def test_other_dialects_effects_are_refused(dialect: Any, sql: str) -> None:
    with pytest.raises(SqlNotReadOnly):
        read_only(sql, dialect=dialect)


@pytest.mark.parametrize(
    "dialect, sql, sent",
    [
        ("postgres", "select 1 -- ; delete from t", "SELECT 1"),
        ("postgres", "select 1; -- done", "SELECT 1"),
        ("postgres", "select 1; /* done */ ;", "SELECT 1"),
        ("postgres", "select '--', e'\\'', \"a;--\" from t", "SELECT '--', e'''', \"a;--\" FROM t"),
        ("mysql", "select '--x', '#', 'a\\'b' from t # c", "SELECT '--x', '#', 'a''b' FROM t"),
        ("mysql", "select @@version", "SELECT @@version"),
        ("mysql", "select truncate(1.5, 1), insert('a', 1, 1, 'x')", "SELECT truncate(1.5, 1), insert('a', 1, 1, 'x')"),
        ("tsql", "select @@version", "SELECT @@version"),
        ("postgres", "select ';' as sep;", "SELECT ';' AS sep"),
        ("postgres", 'select "update", "delete" from "drop"', 'SELECT "update", "delete" FROM "drop"'),
        ("postgres", "select $$;drop table t;$$", "SELECT ';drop table t;'"),
        ("postgres", "table t", "SELECT * FROM t"),
        ("postgres", "values (1)", "VALUES (1)"),
        ("postgres", "select E'a\\'; drop table t; --'", "SELECT e'a''; drop table t; --'"),
        ("postgres", "explain (analyze false, format json) select 1", "EXPLAIN (FORMAT JSON) SELECT 1"),
        ("postgres", "explain verbose select 1", "EXPLAIN (VERBOSE) SELECT 1"),
        ("postgres", "explain (select 1)", "EXPLAIN (SELECT 1)"),
        ("postgres", "/* a /* b */ c */ show server_version;", "SHOW server_version"),
        ("postgres", "select pg_catalog.count(*) from t", "SELECT pg_catalog.count(*) FROM t"),
        ("postgres", "select nextval from t", "SELECT nextval FROM t"),
        ("sqlite", "pragma table_info('my table')", 'PRAGMA table_info("my table")'),
        ("sqlite", "PRAGMA main.user_version;", "PRAGMA main.user_version"),
        ("sqlite", "explain query plan select 1", "EXPLAIN QUERY PLAN SELECT 1"),
        ("sqlite", "select replace(a, 'x', 'y') from t", "SELECT replace(a, 'x', 'y') FROM t"),
        ("sqlite", "with recursive c(x) as (select 1 union all select x + 1 from c limit 5) select x from c", None),
        ("mysql", "select `update` from t", "SELECT `update` FROM t"),
        ("mysql", "show full processlist", "show full processlist"),
        ("mysql", "explain format=json select 1", "EXPLAIN FORMAT=JSON SELECT 1"),
        ("mysql", "describe t", "DESCRIBE t"),
        ("tsql", "select top 5 [drop] from dbo.t", "SELECT TOP 5 [drop] FROM dbo.t"),
    ],
)
def test_reading_is_let_through_in_this_spelling(dialect: Any, sql: str, sent: str | None) -> None:
    text = read_only(sql, dialect=dialect)
    assert sent is None or text == sent


def test_refusal_names_the_function_and_what_to_do() -> None:
    with pytest.raises(SqlNotReadOnly, match=r"function pg_sleep\(\) is not on the read list") as refused:
        read_only("select pg_sleep(1)", dialect="postgres")
    assert refused.value.hint is not None
    assert "docs/formats/databases.md" in refused.value.hint
    assert refused.value.exit_code == 4


@pytest.mark.parametrize("sql", ["", "  ", ";", "-- only a comment", "/* open", "select 1" + " " * 100_000, "(" * 5000])
def test_text_that_cannot_be_judged_is_refused(sql: str) -> None:
    with pytest.raises(SqlNotReadOnly):
        read_only(sql, dialect="postgres")


def test_a_refused_statement_prints_nothing(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for sql in ("with x as (select 1) merge into t", "(call p())", "select 1 from t where current of c"):
        with pytest.raises(SqlNotReadOnly):
            read_only(sql, dialect="postgres")
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


SETUP = """
create table t (a, b, c);
insert into t values (1, 'x', '{"a.b":1,"a":{"b":2},"x":[1,2,3],"0":5}'), (2, null, '{}'), (null, 'y', '[1,2]'),
                     (-3, '5', '{"$.x":1}');
create index i on t (a);
"""


def statements(name: str) -> list[str]:
    return [part.strip() for part in (DATA / name).read_text(encoding="utf-8").split("\n;\n")]


@pytest.mark.parametrize("sql", statements("faithful.sqlite.sql"))
def test_sqlite_gives_the_same_rows_for_the_text_that_is_sent(sql: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SETUP)
    try:
        text = read_only(sql, dialect="sqlite")
    except SqlNotReadOnly:
        text = None
    if text is not None:
        assert connection.execute(text).fetchall() == connection.execute(sql).fetchall()
    else:
        assert "'a' 'b'" in sql, "of these only the text beside a text is refused"
    connection.close()
