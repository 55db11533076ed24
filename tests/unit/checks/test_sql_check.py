"""The database's own answer: numbers compare as numbers, null is said, what cannot be asked proves nothing."""

from __future__ import annotations

import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.checks.sql import same
from tests.checks_rig import BAD, GOOD, UNKNOWN, Bench, made

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work")


def ask(bench: Bench, query: str, **params: Any) -> tuple[object, str]:
    return bench.ask("sql", database="shop", query=query, **params)


@pytest.mark.parametrize(
    "query, params, said",
    [
        ("select count(*) from orders", {"equals": 3}, "3"),
        ("select count(*) from orders", {"equals": "3"}, "3"),
        ("select count(*) from orders", {"equals": 3.0}, "3"),
        ("select count(*) from orders", {"at_least": 1, "at_most": 3}, "3"),
        ("select '3'", {"equals": 3}, "3"),
        ("select ' 3.50 '", {"at_most": 3.5}, "3.50"),
        ("select 0.1 + 0.2", {"equals": 0.3}, "0.30000000000000004"),
        ("select 0.7 + 0.1", {"at_least": 0.8}, "0.7999999999999999"),
        ("select 0.1 + 0.2", {"at_most": 0.3}, "0.30000000000000004"),
        ("select state from orders where id = 1", {"equals": "paid"}, "paid"),
        ("select state from orders where id = 3", {"equals": None}, "null"),
        ("select 1 = 1", {"equals": True}, "1"),
        ("select * from orders where state = 'lost'", {"rows": 0}, "0 rows"),
        ("select * from orders", {"rows": 3}, "3 rows"),
        ("select * from orders", {"rows": {"at_least": 1, "at_most": 3}}, "3 rows"),
        ("select * from orders", {"rows": {"at_least": 2}}, "3 rows"),
        ("select id, state from orders order by id", {"rows": 3, "equals": 1}, "3 rows; 1"),
    ],
)
def test_what_holds(bench: Bench, query: str, params: dict[str, Any], said: str) -> None:
    assert ask(bench, query, **params) == (GOOD, said)


@pytest.mark.parametrize(
    "query, params, said",
    [
        ("select count(*) from orders", {"equals": 4}, "3, not 4"),
        ("select count(*) from orders", {"at_least": 4}, "3, not at least 4"),
        ("select count(*) from orders", {"at_most": 2}, "3, not at most 2"),
        ("select max(total) from orders where id > 9", {"at_least": 0}, "null, not at least 0"),
        ("select max(total) from orders where id > 9", {"at_most": 0}, "null, not at most 0"),
        ("select max(total) from orders where id > 9", {"equals": 0}, "null, not 0"),
        ("select 0", {"equals": None}, "0, not null"),
        ("select ''", {"equals": None}, ", not null"),
        ("select id from orders where id > 9", {"equals": 1}, "no row came, so no value to be 1"),
        ("select id from orders where id > 9", {"at_least": 1}, "no row came, so no value to be at least 1"),
        ("select * from orders", {"rows": 2}, "3 rows came, not 2"),
        ("select * from orders", {"rows": 4}, "3 rows came, not 4"),
        ("select * from orders where id = 1", {"rows": {"at_least": 2, "at_most": 5}}, "1 row came, not 2 to 5"),
        ("select * from orders", {"rows": {"at_most": 1}}, "more than 2 rows came, not at most 1"),
        ("select 1.0", {"equals": "1.00x"}, "1.0, not 1.00x"),
        ("select 2", {"equals": True}, "2, not true"),
    ],
)
def test_what_does_not_hold_says_what_came(bench: Bench, query: str, params: dict[str, Any], said: str) -> None:
    assert ask(bench, query, **params) == (BAD, said)


def test_rows_beyond_the_databases_own_cap_are_counted(bench: Bench) -> None:
    many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) select i from n"
    assert ask(bench, many, rows=3000)[0] is GOOD
    assert ask(bench, many, rows={"at_least": 2500})[0] is GOOD


@pytest.mark.parametrize(
    "query, params, said",
    [
        ("delete from orders", {"equals": 0}, "refused"),
        ("select * from nowhere", {"equals": 1}, "no such table"),
        ("select 'many'", {"at_least": 1}, "many is no number"),
        ("select 1; select 2", {"equals": 1}, "2 statements in one text"),
    ],
)
def test_what_cannot_be_asked_proves_nothing(bench: Bench, query: str, params: dict[str, Any], said: str) -> None:
    verdict, detail = ask(bench, query, **params)
    assert verdict is UNKNOWN
    assert said in detail
    assert ask(bench, "select count(*) from orders", equals=3)[0] is GOOD


def test_a_database_that_is_unknown_or_gone_proves_nothing(bench: Bench) -> None:
    assert bench.ask("sql", database="other", query="select 1", equals=1) == (UNKNOWN, 'no database "other"')
    (bench.folder / "shop.db").unlink()
    assert ask(bench, "select 1", equals=1)[0] is UNKNOWN


def test_a_statement_without_end_is_ended(bench: Bench) -> None:
    began = time.monotonic()
    assert ask(bench, ENDLESS, at_least=1, timeout=0.3)[0] is UNKNOWN
    assert time.monotonic() - began < 10


def test_nothing_is_asked_when_the_run_has_no_time_left_or_was_stopped(bench: Bench) -> None:
    stopped = threading.Event()
    stopped.set()
    said = bench.ask("sql", stopped, database="shop", query="select 1", equals=1)
    assert said == (UNKNOWN, "not looked at: the run was stopped")
    bench.seconds = 0
    assert ask(bench, "select 1", equals=1) == (UNKNOWN, "not looked at: the run's time limit passed")


@pytest.mark.parametrize(
    "value, wanted, alike",
    [
        ("1.50", Decimal("1.5"), True), ("1e3", 1000, True), ("nan", 0, False), ("inf", 0, False), (True, 1, True),
        ("t", True, True), ("FALSE", False, True), ("yes", True, False), (1, "one", False), ("", 0, False),
        ("1", "1.0", False), ("01", 1, True), (None, False, False), (2**70, str(2**70), True), (0.1, "0.1", True),
        (1e10, 9999999999.99, False), (9999999999.99, 1e10, False), (1e12, 1000000000000.01, False),
        (1000000000000.4, 10**12, False), (0.1 + 0.2, "0.3", True), (0.7 + 0.1, 0.8, True), (1e-9, 0.000000001, True),
        (1.2345678901234568e29, 123456789012345678901234567890, True), ("1_000", 1000, False), ("١", 1, False),
        ("1e999999999", 1, False), (".5", 0.5, True), ("+5", 5, True),
    ],
)  # fmt: skip
def test_values_are_alike(value: Any, wanted: Any, alike: bool) -> None:
    assert same(value, wanted) is alike


def test_a_result_names_its_check_on_one_line(bench: Bench) -> None:
    query = "select count(*)\n  from orders"
    (result,) = bench.judge(made("sql", database="shop", query=query, at_least=1))
    assert result.says == "sql shop: select count(*) from orders, at_least 1"
