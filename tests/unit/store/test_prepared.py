"""A statement compiled once stores what it was given, and nothing where it was given nothing."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Column, Integer, MetaData, String, Table, insert

from hermes_cron.store.engine import Store
from hermes_cron.store.prepared import Prepared


def test_a_column_without_a_value_is_null(tmp_path: Path) -> None:
    table = Table(
        "scrap", MetaData(), Column("id", Integer, primary_key=True), Column("n", Integer), Column("s", String)
    )
    prepared = Prepared(insert(table), ("id", "n", "s"))
    with Store(tmp_path / "state.db") as store:
        store.write(table.create)
        store.write(lambda conn: prepared.run_all(conn, [{"id": 1}, {"id": 2, "n": 3, "s": "x"}]))
        store.write(lambda conn: prepared.run(conn, {"id": 3, "s": "y"}))
        with store.read() as conn:
            rows = [tuple(row) for row in conn.execute(table.select().order_by(table.c.id))]
    assert rows == [(1, None, None), (2, 3, "x"), (3, None, "y")]
