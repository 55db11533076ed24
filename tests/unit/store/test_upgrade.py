"""A store of an older schema: every value comes through, and a migration that would lose one does not happen."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_cron.errors import HermesCronError, UpgradeFailed
from hermes_cron.store import upgrade
from hermes_cron.store.engine import Store
from hermes_cron.store.migrate import migrations, newest
from tests.old_stores import OLDER, PROMPT, ROWS, contents, old_store, schema_of


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    old_store(path, 1)
    return path


def steps(sql: str) -> list[tuple[int, str]]:
    """All of ours, and one more."""
    return [*migrations(), (newest() + 1, sql)]


@pytest.mark.parametrize("schema", OLDER)
def test_every_value_of_every_table_comes_through_from_every_schema(tmp_path: Path, schema: int) -> None:
    path = tmp_path / "state.db"
    old_store(path, schema)
    before = contents(path)
    assert all(len(rows) == ROWS for rows in before["rows"].values())
    Store(path).close()
    assert schema_of(path) == newest()
    assert contents(path, before["shape"]) == before


def test_c092_a_prompt_is_not_replaced_by_its_jobs_name(old: Path) -> None:
    Store(old).close()
    with closing(sqlite3.connect(old)) as conn:
        for (spec,) in conn.execute("SELECT spec FROM jobs UNION ALL SELECT spec FROM runs"):
            assert json.loads(spec)["prompt"] == PROMPT


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        pytest.param("UPDATE jobs SET spec = name;", "jobs would say something else", id="a field is replaced"),
        pytest.param("UPDATE runs SET spec = replace(spec, 'x', 'y') WHERE id = (SELECT max(id) FROM runs);",
                     "runs would say something else", id="in one row"),
        pytest.param("DELETE FROM messages WHERE seq = (SELECT max(seq) FROM messages);", "messages would have 2 rows",
                     id="a row is lost"),
        pytest.param("INSERT INTO meta SELECT key || '2', value FROM meta;", "meta would have 6 rows",
                     id="rows appear"),
        pytest.param("DROP TABLE counters;", "counters would lose columns, or go", id="a table goes"),
        pytest.param("ALTER TABLE jobs DROP COLUMN held_reason;", "jobs would lose columns, or go", id="a column goes"),
        pytest.param("UPDATE usage SET cost_usd = round(cost_usd, 2);", "usage would say something else",
                     id="a number is rounded"),
        pytest.param("UPDATE messages SET body = CAST(body AS TEXT);", "messages would say something else",
                     id="bytes become text"),
        pytest.param("DELETE FROM meta; COMMIT;", "ended its transaction itself", id="it commits by itself"),
        pytest.param("DELETE FROM meta; SELECT nonsense;", "no such column", id="it does not run"),
    ],
)  # fmt: skip
def test_a_migration_that_would_lose_something_does_not_happen(old: Path, sql: str, said: str) -> None:
    before = contents(old)
    with pytest.raises(UpgradeFailed, match=said):
        upgrade.upgrade(old, 1, steps(sql))
    assert schema_of(old) == 1
    assert contents(old) == before


@pytest.mark.parametrize(
    "sql",
    [
        "-- What.\n-- owns: jobs.summary, runs.result\nUPDATE jobs SET summary = '{}'; UPDATE runs SET result = NULL;",
        "-- What it does.\n-- owns: counters.*\nDROP TABLE counters;",
    ],
)
def test_what_a_migration_says_it_owns_it_may_change(old: Path, sql: str) -> None:
    done = upgrade.upgrade(old, 1, steps(sql))
    assert schema_of(old) == newest() + 1
    assert schema_of(done.copy) == 1


def test_what_the_disk_gives_back_differently_is_put_back_from_the_copy(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing after a commit can be taken back by the transaction: the copy is what helps."""
    before = contents(old)
    look_again = upgrade._look_again

    def damaged(path: Path, schema: int, tables: object) -> None:
        with closing(sqlite3.connect(path)) as conn:
            conn.execute("DELETE FROM messages WHERE seq = (SELECT max(seq) FROM messages)")
            conn.commit()
        look_again(path, schema, tables)  # type: ignore[arg-type]

    monkeypatch.setattr(upgrade, "_look_again", damaged)
    with pytest.raises(UpgradeFailed, match="lost rows on the disk"):
        upgrade.upgrade(old, 1, migrations())
    assert schema_of(old) == 1
    assert contents(old) == before


def test_a_damaged_store_is_not_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old_store(path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\xa5" * (len(whole) - len(whole) // 2))
    with pytest.raises(HermesCronError):
        upgrade.upgrade(path, 1, migrations())
    assert path.read_bytes()[len(whole) // 2 :] == b"\xa5" * (len(whole) - len(whole) // 2)
    assert schema_of(path) == 1
