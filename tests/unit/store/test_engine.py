"""The store as threads and processes meet it: fair, durable, alone when it must be."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from hermes_cron.errors import Conflict, HermesCronError, SchemaTooNew, StoreDamaged
from hermes_cron.store import migrate
from hermes_cron.store.engine import Store

INSERT = "INSERT INTO meta (key, value) VALUES (?, ?)"


def count(store: Store) -> int:
    with store.read() as conn:
        return int(conn.exec_driver_sql("SELECT count(*) FROM meta").scalar_one())


def test_work_that_raises_is_taken_back_alone(tmp_path: Path) -> None:
    """Callers who share a commit do not share a fault."""
    gate = threading.Event()
    with Store(tmp_path / "state.db") as store:
        blocker = threading.Thread(target=lambda: store.write(lambda _conn: gate.wait(60)))
        blocker.start()
        faults: list[BaseException] = []

        def add(key: str) -> None:
            try:
                store.write(lambda conn: conn.exec_driver_sql(INSERT, (key, "x")))
            except IntegrityError as error:
                faults.append(error)

        waiting = [threading.Thread(target=add, args=(key,)) for key in ("a", "b", "a", "c", "b")]
        for thread in waiting:
            thread.start()
        gate.set()
        for thread in [blocker, *waiting]:
            thread.join()
        assert count(store) == 3
        assert len(faults) == 2


def test_a_multi_statement_work_leaves_nothing_when_it_fails_alone(tmp_path: Path) -> None:
    def work(conn: Connection) -> None:
        conn.exec_driver_sql(INSERT, ("a", "x"))
        raise ValueError("no")

    with Store(tmp_path / "state.db") as store:
        with pytest.raises(ValueError, match="no"):
            store.write(work)
        assert count(store) == 0


def test_readers_are_not_blocked_by_a_writer_and_see_a_snapshot(tmp_path: Path) -> None:
    with Store(tmp_path / "state.db") as store, store.read() as conn:
        before = conn.exec_driver_sql("SELECT count(*) FROM meta").scalar()
        store.write(lambda writing: writing.exec_driver_sql(INSERT, ("a", "x")))
        assert conn.exec_driver_sql("SELECT count(*) FROM meta").scalar() == before
        assert count(store) == 1


def _open_and_add(path: Path, key: str) -> None:
    with Store(path) as store:
        store.write(lambda conn: conn.exec_driver_sql(INSERT, (key, "x")))


def test_many_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_open_and_add, args=(path, f"k{i}")) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 6
    with Store(path) as store:
        assert count(store) == 6


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_a_store_that_is_taken_from_under_another_process_is_said_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(migrate, "MAKING_S", 0.2)
    path = tmp_path / "state.db"
    with Store(path) as old:
        assert count(old) == 0
        assert old.in_place()
        path.unlink()
        if how == "emptied":
            path.touch()
        assert not old.in_place()
        with pytest.raises(Conflict, match="gone or empty"):
            Store(path)
    with Store(path) as new:
        assert count(new) == 0


def test_who_comes_while_the_store_is_open_does_not_wait_for_it_to_close(tmp_path: Path) -> None:
    """As when `serve` and `add` are the first two commands of a home: the second saw no file yet."""
    path = tmp_path / "state.db"
    lock = migrate.StoreLock(path)
    with Store(path):
        assert not migrate._alone_to_make(path, lock, _newest())
    lock.close()


def test_a_newer_schema_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store(path).close()
    with sqlite3.connect(path) as conn:
        conn.execute("PRAGMA user_version = 99")
    with pytest.raises(SchemaTooNew, match="schema 99") as caught:
        Store(path)
    assert caught.value.hint is not None
    assert "newer hermes-cron" in caught.value.hint


@pytest.fixture
def second_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    first = migrate.migrations()
    newest = first[-1][0]
    later = [*first, (newest + 1, "ALTER TABLE meta ADD COLUMN extra TEXT;")]
    monkeypatch.setattr(migrate, "migrations", lambda: later)


def _newest() -> int:
    return migrate.migrations()[-1][0]


def test_an_upgrade_copies_first_and_keeps_every_row(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "state.db"
    _open_and_add(path, "kept")
    old = _newest()
    request.getfixturevalue("second_migration")
    with Store(path) as store, store.read() as conn:
        assert conn.exec_driver_sql("SELECT key, extra FROM meta").all() == [("kept", None)]
    copy = tmp_path / f"state.db.before-{old + 1}"
    with sqlite3.connect(copy) as conn:
        assert conn.execute("PRAGMA user_version").fetchone() == (old,)
        assert conn.execute("SELECT key FROM meta").fetchall() == [("kept",)]


def test_an_upgrade_needs_the_home_alone(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "state.db"
    with Store(path):
        request.getfixturevalue("second_migration")
        with pytest.raises(Conflict, match="another hermes-cron"):
            Store(path)


def test_a_failed_upgrade_leaves_the_old_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.db"
    _open_and_add(path, "kept")
    old = _newest()
    first = migrate.migrations()
    broken = [*first, (old + 1, "ALTER TABLE meta ADD COLUMN extra TEXT; SELECT nonsense;")]
    monkeypatch.setattr(migrate, "migrations", lambda: broken)
    with pytest.raises(HermesCronError, match="cannot be made"):
        Store(path)
    monkeypatch.setattr(migrate, "migrations", lambda: first)
    with Store(path) as store:
        assert count(store) == 1


def test_a_file_that_is_no_database_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(HermesCronError, match="not a usable store"):
        Store(path)


def test_the_migrations_make_the_tables_that_the_code_declares(tmp_path: Path) -> None:
    from sqlmodel import SQLModel, create_engine

    from hermes_cron.store import tables  # noqa: F401  # declaring them fills the metadata

    Store(tmp_path / "state.db").close()
    declared = create_engine(f"sqlite:///{tmp_path / 'declared.db'}")
    SQLModel.metadata.create_all(declared)
    shapes = []
    for name in ("state.db", "declared.db"):
        with sqlite3.connect(tmp_path / name) as conn:
            rows = conn.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
            shapes.append({(kind, made): " ".join(sql.split()) for kind, made, sql in rows})
    assert shapes[0] == shapes[1]


def test_a_store_whose_pages_were_overwritten_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    with Store(path) as store:
        with pytest.raises(StoreDamaged, match="malformed"):
            count(store)
        with pytest.raises(StoreDamaged, match="malformed"):
            store.write(lambda conn: conn.exec_driver_sql(INSERT, ("a", "x")))
