"""The shipped SQLite playbook finds every planted fault with its figure, and invents none (check 8)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import HermesCronError
from tests import planted
from tests.inspection_rig import inspect


def _config(path: Path) -> DatabaseConfig:
    return DatabaseConfig(name="prod", engine="sqlite", url=f"sqlite:///{path}")


def _made(path: Path, script: str) -> DatabaseConfig:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return _config(path)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_planted_fault_is_found_and_none_is_invented(tmp_path: Path, language: str) -> None:
    planted.plant_sqlite(tmp_path / "shop.db")
    found = inspect(_config(tmp_path / "shop.db"), language=language)

    assert found.found() == {
        "broken_foreign_keys/lines, items",
        "no_primary_key/notes",
        "fk_without_index/lines, item",
        "redundant_indexes/items_name_b",
        "missing_statistics/items",
        "free_pages",
    }
    figures = {
        "en": ["3 rows of lines point at rows of items", "notes (50 rows)", "lines (item) refers to items, 1,003 rows",
               "items_name_b on items (name) adds nothing to items_name_a (name)", "items (500 rows, 2 indexes)"],
        "zh": ["lines 有 3 行指向 items 中不存在的行", "notes（50 行）", "lines（item）引用 items，1,003 行",
               "items 的 items_name_b（name）已被 items_name_a（name）覆盖", "items（500 行，2 个索引）"],
    }  # fmt: skip
    assert [figure for figure in figures[language] if figure not in found.text] == []
    free = next(f for f in found.result["findings"] if f["key"] == "free_pages")
    assert free["value"] >= planted.SQLITE_FREE_PAGES_PCT


HEALTHY = """
create table a (id integer primary key, b integer references b (id), note text);
create index a_b on a (b);
create table b (id integer primary key);
create table pair (x int, y int, primary key (x, y)) without rowid;
create table part (id integer primary key references b (id), x int, y int, foreign key (y, x) references pair (y, x));
create index part_xy on part (x, y, id);
create unique index pair_yx on pair (y, x);
create index a_note on a (note) where note is not null;
create index a_upper on a (upper(note));
create index a_note_desc on a (note desc, b);
create unique index a_note_id on a (note, id);
create virtual table words using fts5 (word);
analyze;
"""


def test_a_sound_schema_gives_no_finding(tmp_path: Path) -> None:
    """Partial and expression indexes, descending keys, WITHOUT ROWID, a foreign key that is the rowid itself,
    a foreign key whose columns stand in another order in its index, and a virtual table."""
    found = inspect(_made(tmp_path / "shop.db", HEALTHY))
    assert found.found() == set()
    assert found.text.split("\n")[0] == "# prod: nothing found"


def test_a_damaged_index_is_critical(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("""
        create table t (id integer primary key, v integer);
        insert into t select value, value from (with recursive n (value) as (select 1 union all select value + 1 from n
          where value < 200) select value from n);
        create index t_v on t (v);
        analyze;
        pragma writable_schema = on;
        update sqlite_master set sql = 'create index t_v on t (v) where v > 100' where name = 't_v';
        pragma writable_schema = off;
    """)
    connection.close()
    found = inspect(_config(path))
    assert found.found(step="integrity")
    assert found.text.startswith("# prod: ")
    assert "**Critical**\n1. Damaged file: " in found.text


def test_prefix_index_is_redundant_and_unique_one_is_not(tmp_path: Path) -> None:
    found = inspect(_made(tmp_path / "shop.db", """
        create table t (id integer primary key, a, b);
        create index t_a on t (a); create index t_ab on t (a, b); create unique index t_b on t (b);
        create index t_ba on t (b, a);
    """))  # fmt: skip
    assert found.found(step="redundant_indexes") == {"redundant_indexes/t_a"}
    assert "t_a on t (a) adds nothing to t_ab (a, b)" in found.text


def test_growth_is_judged_against_the_last_size(tmp_path: Path) -> None:
    config = _made(tmp_path / "shop.db", "create table t (id integer primary key, v)")
    first = inspect(config)
    assert first.not_checked == {"growth": "no earlier size to compare with"}
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.executemany("insert into t (v) values (?)", [("x" * 4000,) for _ in range(500)])
    connection.commit()
    connection.close()
    found = inspect(config, last=first.result, params={"growth_warning_mb": 1})
    assert found.found(step="growth") == {"growth"}
    assert "Fast growth: from 0 to 2" in found.text


def test_a_missing_file_fails_instead_of_finding_nothing(tmp_path: Path) -> None:
    with pytest.raises(HermesCronError, match="there is no file"):
        inspect(_config(tmp_path / "gone.db"))


ODD = """
create table "or der's" ("sel ect" int references "Pa rent"("x"), b text);
create table "Pa rent"(x integer primary key);
create index "i x" on "or der's"(b);
create index "i y" on "or der's"(b);
create table gen(a integer primary key, b int generated always as (a+1) stored);
create view v as select * from gen;
create table "UPPER"(ID INTEGER PRIMARY KEY, P INT REFERENCES gen);
create index up on upper(p);
create table nk(a int, b int, unique(a,b));
create index nk_a on nk(a);
create index nk_part on nk(b) where b>1;
insert into "or der's" values (1, 'b');
"""


def test_names_that_need_quotes_get_them_in_what_is_to_be_typed(tmp_path: Path) -> None:
    found = inspect(_made(tmp_path / "shop.db", ODD))
    assert found.found() == {
        "broken_foreign_keys/or der's, Pa rent", "no_primary_key/or der's", "no_primary_key/nk",
        "fk_without_index/or der's, \"sel ect\"", "redundant_indexes/i y", "redundant_indexes/nk_a",
    }  # fmt: skip
    assert "1 row of or der's points at rows of Pa rent" in found.text
    connection = sqlite3.connect(tmp_path / "shop.db")
    for line in found.text.split("\n"):
        if line.startswith(("   Do: create index", "   Do: drop index")):
            connection.execute(line.removeprefix("   Do: "))
    connection.close()
    assert inspect(_config(tmp_path / "shop.db")).found() == {
        "broken_foreign_keys/or der's, Pa rent", "no_primary_key/or der's", "no_primary_key/nk"
    }  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00", b"hello world" * 1000])
def test_a_file_that_is_empty_or_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "shop.db").write_bytes(content)
    if not content:
        found = inspect(_config(tmp_path / "shop.db"))
        assert (found.found(), set(found.not_checked)) == (set(), {"growth"})
        return
    with pytest.raises(HermesCronError, match="not a database"):
        inspect(_config(tmp_path / "shop.db"))


def test_a_damaged_file_is_the_first_finding_and_never_just_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "hurt.db"
    connection = sqlite3.connect(path)
    connection.execute("create table t (id integer primary key, s text)")
    connection.executemany("insert into t (s) values (?)", [("x" * 500,) for _ in range(2000)])
    connection.execute("create index t_s on t (s)")
    connection.commit()
    connection.close()
    with path.open("r+b") as file:
        file.seek(4096 * 20)
        file.write(b"\xff" * 4096 * 10)
    for language, head in (("en", "# prod: 1 critical"), ("zh", "# prod：1 项严重")):
        found = inspect(_config(path), language=language)
        assert found.text.startswith(head)
        assert "malformed" in found.text
        first = found.result["findings"][0]
        assert (first["step"], first["severity"]) == ("integrity", "critical")


def test_advice_can_be_pasted_whatever_the_names_are(tmp_path: Path) -> None:
    """Reserved words are quoted, and a name that holds SQL stays a name."""
    path = tmp_path / "odd.db"
    config = _made(
        path,
        """
        create table keep (id integer primary key);
        create table "order" (id integer primary key, "group" int references keep (id));
        create table "x; drop table keep; --" (
          id integer primary key, "a""); drop table keep; --" int references keep (id));
        """,
    )
    lines = [line.strip() for line in inspect(config).text.splitlines()]
    advice = [line.removeprefix("Do: ") for line in lines if line.startswith("Do: create index")]
    assert len(advice) == 2
    connection = sqlite3.connect(path)
    for statement in advice:
        connection.execute(statement)
    assert connection.execute("select count(*) from sqlite_master where name = 'keep'").fetchone() == (1,)
    connection.close()
