"""Every case has a test or a place on the list of later ones."""

from __future__ import annotations

import json
import re
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
LOOKED_AT = {
    "dispatch",
    "agent-loop",
    "model-client",
    "delivery",
    "snapshot",
    "security-scan",
    "compression",
    "memory",
    "curator",
}
"""Areas whose cases are in the name or the id of a test, or read from the file by one: a word about it is no test."""


@pytest.mark.parametrize(("area", "case"), CASES)
def test_the_case_is_tested_or_listed(area: str, case: str) -> None:
    assert area in TABLED or case.lower() in TESTS or case in LATER


@pytest.mark.parametrize(("area", "case"), [row for row in CASES if row[0] in LOOKED_AT and row[1] not in LATER])
def test_the_case_is_more_than_a_word_about_it(area: str, case: str) -> None:
    named = rf'def test_{case}_|id="{case}\b|ids=\[[^\]]*"{case}"|cases\["{case}"\]'.lower()
    assert re.search(named, TESTS), area


def test_every_case_of_this_issue_is_here() -> None:
    here = {area: {case for found, case in CASES if found == area} for area in LOOKED_AT}
    assert {area: len(cases) for area, cases in here.items()} == {
        "dispatch": 17, "agent-loop": 4, "model-client": 8, "delivery": 8, "snapshot": 5,
        "security-scan": 15, "compression": 7, "memory": 6, "curator": 7,
    }  # fmt: skip


def test_nothing_is_listed_that_does_not_exist() -> None:
    assert {case for _, case in CASES} >= LATER
