"""A SQLite file that is open for looking: it answers, it is not changed, no other file appears."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_cron.databases.connect import Database, connect, probe, require_reader
from hermes_cron.databases.sqlite import SqliteDatabase
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import DatabaseError, HermesCronError, NotFound, SqlNotReadOnly
from tests.sql_mutations import SQLITE_WRITES, from_cases, mutated

ENDLESS = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"


def config(path: Path, **other: object) -> DatabaseConfig:
    return DatabaseConfig(name="shop", engine="sqlite", url=f"sqlite:///{path}", **other)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    made = sqlite3.connect(folder / "shop.db")
    made.executescript("""
        create table items (id integer primary key, name text not null default 'x', data blob);
        insert into items values (1, 'one', x'00ff'), (2, 'two', null);
        create table lines (item integer references items (id), n real);
        create index lines_n on lines (n);
        create view names as select name from items;
        create virtual table words using fts5 (body);
        insert into words values ('hello world');
    """)
    made.close()
    return folder / "shop.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    with connect(config(path), password=None) as opened:
        yield opened


def test_values_arrive_as_json(database: Database) -> None:
    result = database.query("select id, name, data, 1.5 as f, 9e999 as big from items order by id")
    assert result.columns == ("id", "name", "data", "f", "big")
    assert result.rows == ((1, "one", "\\x00ff", 1.5, "inf"), (2, "two", None, 1.5, "inf"))
    assert result.truncated is None


def test_two_thousand_disguised_writes_change_nothing(path: Path, tmp_path: Path) -> None:
    writes = [sql.replace("{F}", str(tmp_path)) for sql in SQLITE_WRITES]
    before = hashlib.sha256(path.read_bytes()).digest()
    files = sorted(tmp_path.rglob("*"))
    with connect(config(path, statement_timeout_s=2.0), password=None) as database:
        for sql in [*from_cases(), *writes, *mutated(writes, 2000, seed=8)]:
            try:
                database.query(sql)
            except (SqlNotReadOnly, DatabaseError):
                continue
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert sorted(tmp_path.rglob("*")) == files


def test_the_connection_alone_holds_when_the_guard_is_passed_by(path: Path, tmp_path: Path) -> None:
    before = hashlib.sha256(path.read_bytes()).digest()
    files = sorted(tmp_path.rglob("*"))
    for sql in (sql.replace("{F}", str(tmp_path)) for sql in SQLITE_WRITES):
        with SqliteDatabase(config(path)) as database:
            with pytest.raises(HermesCronError):
                database._fetch(sql, 2.0, 10)
            assert database.query("select count(*) from items").rows == ((2,),)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert sorted(tmp_path.rglob("*")) == files


def test_pragmas_explain_and_full_text_can_be_read(database: Database) -> None:
    assert database.query("pragma integrity_check").rows == (("ok",),)
    assert database.query("pragma table_info(items)").rows[0][1] == "id"
    assert database.query("select body from words where words match 'hello'").rows == (("hello world",),)
    assert "SCAN" in str(database.query("explain query plan select * from items").rows)
    assert database.query("select name from pragma_index_list('lines')").rows == (("lines_n",),)


def test_missing_file_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no file .*gone\.db"):
        connect(config(tmp_path / "gone.db"), password=None)
    assert list(tmp_path.iterdir()) == []


def test_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database " * 100)
    with pytest.raises(DatabaseError, match="file is not a database"):
        connect(config(tmp_path / "x.db"), password=None)


def test_wal_database_is_read_while_a_writer_lives(tmp_path: Path) -> None:
    writer = sqlite3.connect(tmp_path / "wal.db")
    writer.executescript("pragma journal_mode = wal; create table t (a); insert into t values (1)")
    with connect(config(tmp_path / "wal.db"), password=None) as database:
        assert database.query("select a from t").rows == ((1,),)
        writer.execute("insert into t values (2)")
        writer.commit()
        assert database.query("select count(*) from t").rows == ((2,),)
    writer.close()


def test_wal_database_is_read_when_nobody_writes(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "wal.db") as writer:
        writer.executescript("pragma journal_mode = wal; create table t (a); insert into t values (1)")
    writer.close()
    with connect(config(tmp_path / "wal.db"), password=None) as database:
        assert database.query("select a from t").rows == ((1,),)


def test_a_statement_that_runs_too_long_is_ended(database: Database) -> None:
    with pytest.raises(DatabaseError, match=r"stopped after 0\.2 s"):
        database.query(ENDLESS, timeout_s=0.2)
    assert database.query("select 1").rows == ((1,),)


def test_cancel_from_another_thread_ends_the_statement(database: Database) -> None:
    timer = threading.Timer(0.2, database.cancel)
    timer.start()
    with pytest.raises(DatabaseError, match="cancelled"):
        database.query(ENDLESS, timeout_s=20)
    timer.join()


def test_rows_and_bytes_are_capped(path: Path) -> None:
    many = "with recursive c(x) as (select 1 union all select x + 1 from c) select x, 'abcdefgh' from c"
    with connect(config(path, byte_cap=100), password=None) as database:
        assert database.query(many, row_cap=3).truncated == "only the first 3 rows; there are more"
        by_bytes = database.query(many)
        assert (len(by_bytes.rows), by_bytes.truncated) == (6, "only the first 6 rows: 100 bytes are the limit")
        wide = database.query("select hex(zeroblob(1000)) as h")
        assert wide.truncated == "only the first row, with long values cut at 100 bytes in all"
        assert len(str(wide.rows[0][0])) < 120
        with pytest.raises(DatabaseError, match="too big"):
            database.query("select length(randomblob(900000000))")


def test_schema_lists_keys_indexes_and_views(database: Database) -> None:
    text = database.schema("*")
    assert "table items (rows unknown)\n  id    INTEGER\n  name  TEXT not null default 'x'\n  data  BLOB" in text
    assert "  primary key: id" in text
    assert "  foreign key: item -> items (id)\n  index: lines_n (n)" in text
    assert "view names" in text
    assert database.schema("nothing*") == "no tables"
    assert [table.name for table in database.tables("LINES").tables] == ["lines"]


def test_account_can_only_read(path: Path) -> None:
    account = probe(config(path), password=None)
    assert (account.engine, account.powers, account.tls) == ("sqlite", (), None)
    require_reader(account, allow=False)


def test_path_with_odd_characters_opens(tmp_path: Path) -> None:
    odd = tmp_path / "a?b#c %41 ü.db"
    sqlite3.connect(odd).close()
    odd.write_bytes(b"")
    with connect(DatabaseConfig(name="odd", engine="sqlite", url=str(odd)), password=None) as database:
        assert database.query("select 1").rows == ((1,),)
    assert [entry.name for entry in tmp_path.iterdir()] == [odd.name]


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_plain_file_is_refused_before_it_is_opened(tmp_path: Path, kind: str) -> None:
    """Opening a pipe waits for a writer, and no time-out of ours would end that."""
    place = tmp_path / kind
    os.mkfifo(place) if kind == "pipe" else place.mkdir()
    with pytest.raises(DatabaseError, match="is no plain file"):
        connect(config(place), password=None)
