"""Every example on the page gets the verdict that the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hermes_cron.domain.scan import Kind, Purpose, Verdict, scan

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "scanner.md").read_text("utf-8")
CLASSES = re.findall(r"^\| `(\w+)` \| (?!the text)[^|]+\| `(.+)` \|$", PAGE, re.MULTILINE)
BY_PURPOSE = re.findall(r"^\| `(.+)` \| (\w+) \| (\w+) \| (\w+) \| (\w+) \|$", PAGE, re.MULTILINE)
ALLOWED = [line for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def test_every_class_is_on_the_page() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert {kind.value for kind in Kind} <= set(rows)
    assert {verdict.value for verdict in Verdict} <= set(rows)
    assert (len(CLASSES), len(BY_PURPOSE), len(ALLOWED)) == (7, 4, 8)


@pytest.mark.parametrize("purpose", Purpose)
@pytest.mark.parametrize(("kind", "text"), CLASSES)
def test_the_example_of_a_class_is_blocked(kind: str, text: str, purpose: Purpose) -> None:
    found = scan(text.replace("U+202E", "\u202e"), purpose).blocked
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("row", BY_PURPOSE, ids=lambda row: row[0][:30])
def test_verdicts_differ_by_purpose_as_the_table_says(row: tuple[str, ...]) -> None:
    assert tuple(scan(row[0], purpose).verdict for purpose in Purpose) == row[1:]


@pytest.mark.parametrize("purpose", Purpose)
@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_allowed_is_allowed_everywhere(text: str, purpose: Purpose) -> None:
    assert scan(text, purpose).verdict is Verdict.ALLOW
