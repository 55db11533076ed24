"""SQL answers are JSON that always parses, and connections are used again and closed."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.databases.sqlite import SqliteDatabase
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.errors import NotFound
from hermes_cron.ports import Database
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.connections import Connections
from hermes_cron.tools.context import Caps, ToolContext
from hermes_cron.tools.registry import discover
from tests.agent_rig import context

TOOLS = discover().tools


class Shop:
    """Implements ``ports.Databases`` over one SQLite file; counts what it opened."""

    def __init__(self, folder: Path, *, row_cap: int = 1000) -> None:
        path = folder / "shop.db"
        with sqlite3.connect(path) as made:
            made.execute("create table orders (id integer primary key, note text)")
            made.executemany("insert into orders values (?, ?)", [(n, f"n\u00f6te {n}") for n in range(1, 301)])
        made.close()
        self._config = DatabaseConfig(name="shop", engine="sqlite", url=f"sqlite:///{path}", row_cap=row_cap)
        self.opened: list[Database] = []
        self.closed = 0

    def names(self) -> tuple[str, ...]:
        return ("shop",)

    def engine(self, name: str) -> str:
        return "sqlite"

    def open(self, name: str) -> Database:
        if name != "shop":
            raise NotFound(f"no database {name}")
        made = SqliteDatabase(self._config)
        self.opened.append(made)
        close = made.close

        def counted() -> None:
            self.closed += 1
            close()

        made.close = counted  # type: ignore[method-assign]
        return made


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def ask(around: ToolContext, name: str, **arguments: Any) -> ToolOutput:
    box = ToolBox(TOOLS, around)
    prepared = box.prepare(ToolCall(id="c", name=name, arguments=json.dumps(arguments)))
    return prepared.refusal or box.execute(prepared, lambda _group: None)


def test_rows_come_as_json(tmp_path: Path, shop: Shop) -> None:
    with Connections(shop, ["shop"]) as connections:
        around = context(tmp_path, connections=connections)
        output = ask(around, "sql_query", database="shop", sql="select id, note from orders where id < 3")
    assert json.loads(output.text) == {
        "columns": ["id", "note"], "rows": [[1, "n\u00f6te 1"], [2, "n\u00f6te 2"]], "row_count": 2, "truncated": None,
    }  # fmt: skip


def test_what_does_not_fit_is_whole_rows_less_and_said(tmp_path: Path, shop: Shop) -> None:
    with Connections(shop, ["shop"]) as connections:
        around = context(tmp_path, connections=connections, caps=Caps(sql_bytes=500))
        told = json.loads(ask(around, "sql_query", database="shop", sql="select * from orders").text)
    assert 0 < told["row_count"] == len(told["rows"]) < 300
    assert told["truncated"].endswith("of 300 rows left out: they did not fit into 500 bytes")


def test_max_rows_is_said_when_it_cuts(tmp_path: Path, shop: Shop) -> None:
    with Connections(shop, ["shop"]) as connections:
        around = context(tmp_path, connections=connections)
        told = json.loads(ask(around, "sql_query", database="shop", sql="select * from orders", max_rows=5).text)
    assert (told["row_count"], told["truncated"]) == (5, "295 of 300 rows left out: max_rows 5")


def test_limits_of_the_database_cannot_be_raised(tmp_path: Path) -> None:
    shop = Shop(tmp_path, row_cap=10)
    with Connections(shop, ["shop"]) as connections:
        around = context(tmp_path, connections=connections)
        told = json.loads(ask(around, "sql_query", database="shop", sql="select * from orders", max_rows=50).text)
    assert told["row_count"] == 10
    assert told["truncated"]


def test_statement_ends_with_the_run(tmp_path: Path, shop: Shop) -> None:
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    began = time.monotonic()
    with Connections(shop, ["shop"]) as connections:
        around = context(tmp_path, connections=connections, deadline=began + 0.3)
        output = ask(around, "sql_query", database="shop", sql=endless)
        late = ask(around, "sql_query", database="shop", sql="select 1")
    assert not output.ok
    assert time.monotonic() - began < 5
    assert "the run's time limit passed" in late.text


def test_write_is_refused_and_the_connection_kept(tmp_path: Path, shop: Shop) -> None:
    with Connections(shop, ["shop"]) as connections:
        around = context(tmp_path, connections=connections)
        for _ in range(2):
            refused = ask(around, "sql_query", database="shop", sql="delete from orders")
            assert json.loads(refused.text)["error"]["code"] == "SqlNotReadOnly"
        assert ask(around, "sql_query", database="shop", sql="select 1").ok
        assert len(shop.opened) == 1


def test_connection_that_met_an_error_is_not_used_again(tmp_path: Path, shop: Shop) -> None:
    with Connections(shop, ["shop"]) as connections:
        around = context(tmp_path, connections=connections)
        assert not ask(around, "sql_query", database="shop", sql="select * from nowhere").ok
        assert ask(around, "sql_query", database="shop", sql="select 1").ok
        assert (len(shop.opened), shop.closed) == (2, 1)
    assert shop.closed == 2


def test_each_thread_has_its_own_connection(shop: Shop) -> None:
    inside = threading.Barrier(3)

    def work() -> None:
        with connections.borrow("shop") as database:
            inside.wait(60)
            database.query("select 1")

    with Connections(shop, ["shop"]) as connections:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(shop.opened) == 3
        with connections.borrow("shop"):
            assert len(shop.opened) == 3, "an idle one is used again"
    assert shop.closed == 3


def test_connection_given_back_after_the_end_is_closed(shop: Shop) -> None:
    connections = Connections(shop, ["shop"])
    with connections.borrow("shop"):
        connections.close()
        assert shop.closed == 0
    assert shop.closed == 1


def test_database_of_another_job_does_not_exist_here(tmp_path: Path, shop: Shop) -> None:
    with Connections(shop, ["shopp"]) as connections:
        output = ask(context(tmp_path, connections=connections), "sql_query", database="shop", sql="select 1")
    error = json.loads(output.text)["error"]
    assert error["message"] == "no database 'shop'; this run may read: shopp"
    assert error["hint"] == "did you mean shopp?"
    assert shop.opened == []


def test_schema_is_plain_text(tmp_path: Path, shop: Shop) -> None:
    with Connections(shop, ["shop"]) as connections:
        around = context(tmp_path, connections=connections)
        assert "orders" in ask(around, "sql_schema", database="shop").text
        assert "orders" not in ask(around, "sql_schema", database="shop", pattern="x*").text
