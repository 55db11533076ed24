"""Every case has a test or a place on the list of later ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLED = {"schedule-parse", "schedule-time", "sql-guard"}
"""Areas whose test reads the whole file and takes each row as a test."""

CASES = [
    (path.stem, json.loads(line)["id"])
    for path in sorted((HERE / "data").glob("*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
    if line.strip()
]
LATER = {line.split()[0] for line in (HERE.parent / "cases_later.txt").read_text().splitlines() if line[:1] == "C"}
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in HERE.parent.rglob("test_*.py")).lower()


@pytest.mark.parametrize(("area", "case"), CASES)
def test_the_case_is_tested_or_listed(area: str, case: str) -> None:
    assert area in TABLED or case.lower() in TESTS or case in LATER


def test_nothing_is_listed_that_does_not_exist() -> None:
    assert {case for _, case in CASES} >= LATER
