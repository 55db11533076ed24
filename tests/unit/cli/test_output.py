"""Text is aligned for eyes that see wide characters, safe for terminals, and whole on a pipe."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.cli import output


@pytest.mark.parametrize(
    "text, columns",
    [("", 0), ("abc", 3), ("检查", 4), ("é", 1), ("e\u0301", 1), ("🚀", 2), ("a\u200bb", 2), ("（）", 4)],
)
def test_width_counts_columns(text: str, columns: int) -> None:
    assert output.width(text) == columns


@given(st.text(alphabet="ab检查🚀é ", max_size=20), st.integers(1, 30))
def test_cut_never_exceeds_and_says_that_it_cut(text: str, columns: int) -> None:
    shown = output.cut(text, columns)
    assert output.width(shown) <= columns
    assert shown == text or shown.endswith("…")


def test_columns_align_with_wide_characters() -> None:
    shown = output.table([("检查数据库", "ok", "1"), ("a", "", "200")], ("NAME", "STATE", "N"), right=frozenset({2}))
    assert shown.splitlines() == ["NAME        STATE    N", "检查数据库  ok       1", "a           -      200"]


def test_only_a_terminal_cuts() -> None:
    row = ("x" * 300, "end")
    assert output.table([row]).endswith("end")
    assert output.width(output.table([row], max_columns=100)) == 100


def test_a_cell_is_one_line_without_control_codes() -> None:
    shown = output.table([("a\x1b[2Jb\r\nc\u202ed", "x")])
    assert shown == "a\\x1b[2Jb c\\u202ed  x"


def test_plain_text_keeps_its_lines() -> None:
    assert output.plain("a\r\nb\tc\x07") == "a\nb\tc\\x07"


def test_facts_align_and_indent_further_lines() -> None:
    assert output.facts([("when", "daily"), ("next times", "a\nb")]) == (
        "  when        daily\n  next times  a\n              b"
    )


def test_json_is_readable_and_never_loses_a_character() -> None:
    value = {"name": "检查 🚀", "at": datetime(2026, 12, 1, tzinfo=UTC), "set": {"b", "a"}, "odd": "\udc80"}
    for encoding in ("utf-8", "gbk", "ascii", "latin-1", "no-such-codec"):
        text = output.to_json(value, encoding)
        assert json.loads(text)["name"] == "检查 🚀"
        assert json.loads(text)["odd"] == "\udc80"
    assert "检查" in output.to_json({"name": "检查"}, "gbk")
    assert "检查 🚀" in output.to_json({"name": "检查 🚀"})
