"""The page of the curator's proposals shows an answer that is understood, and the numbers of the code."""

from __future__ import annotations

import re
from pathlib import Path

from hermes_cron.experience import composition, curator_brief, skill_redirects

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "proposals.md").read_text(encoding="utf-8")


def test_the_answer_on_the_page_is_understood() -> None:
    block = re.search(r"```json\n.*?```", PAGE, re.DOTALL)
    assert block is not None
    assert [it.action for it in curator_brief.understood(block[0])] == ["merge", "patch", "archive"]
    assert curator_brief.understood('{"proposals": []}') == ()


def test_the_numbers_are_those_of_the_code() -> None:
    assert (curator_brief.MOST, curator_brief.CANDIDATES, composition.ENOUGH) == (10, 12, 5)
    for words in ("at most twelve", "Ten proposals at most", "at least five of them", "90 days", "not\nfor 14"):
        assert words in PAGE
    assert f"skills/{skill_redirects.REDIRECTS}" in PAGE
    assert composition.PARTS_KEY in PAGE
    assert f"{curator_brief.MOST} proposals" in curator_brief.ORDER
