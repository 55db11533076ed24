"""The real faults of sql-guard.jsonl: what is refused, what must not be, and that caps hold by fetching."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.databases.connect import connect
from hermes_cron.databases.guard import read_only
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import SqlNotReadOnly

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "sql-guard.jsonl").read_text(encoding="utf-8").splitlines()
]


def _single() -> Iterator[Any]:
    for case in CASES:
        statements = case["input"]["sql"]
        statements = [statements] if isinstance(statements, str) else statements
        expected = case["expected"] if isinstance(case["expected"], list) else [case["expected"]] * len(statements)
        for number, (sql, wanted) in enumerate(zip(statements, expected, strict=True)):
            for dialect in case["input"]["dialect"].split("/"):
                yield pytest.param(sql, dialect, wanted, id=f"{case['id']}-{number}-{dialect}")


@pytest.mark.parametrize("sql, dialect, wanted", list(_single()))
def test_verdict_of_the_case(sql: str, dialect: Any, wanted: dict[str, Any]) -> None:
    verdict = wanted.get("verdict", "allow")
    if verdict == "block":
        with pytest.raises(SqlNotReadOnly) as refused:
            read_only(sql, dialect=dialect)
        assert type(refused.value).__name__ == wanted["error"]
    elif verdict == "allow":
        assert read_only(sql, dialect=dialect)
    else:  # either, but never executed
        with pytest.raises(SqlNotReadOnly):
            read_only(sql, dialect=dialect)


@pytest.mark.parametrize("case_id", ["C267", "C268"])
def test_rows_are_capped_whatever_the_text_says(case_id: str, tmp_path: Path) -> None:
    sql = next(case["input"]["sql"] for case in CASES if case["id"] == case_id)
    path = tmp_path / "big.db"
    with sqlite3.connect(path) as made:
        made.execute("create table big (id integer primary key)")
        made.executemany("insert into big values (?)", [(n,) for n in range(500)])
    made.close()
    with connect(DatabaseConfig(name="big", engine="sqlite", url=str(path), row_cap=20), password=None) as database:
        result = database.query(sql)
    assert len(result.rows) == 20
    assert result.truncated == "only the first 20 rows; there are more"
