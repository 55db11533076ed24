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


ROW = ("r1", "a-job-with-a-long-name", "Mon 11-30 16:17:01", "failed", "check_failed", "1,234", "because of something")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (100, "r1  a-job-with-a-long-name  Mon 11-30 16:17:01  failed  check_failed  1,234  because of something"),
        (90, "r1  a-job-with-a-lon…  Mon 11-30 16:17:01  failed  check_failed  1,234  because of someth…"),
        (70, "r1  a-job-with…  Mon 11-30 16:17:01  failed  check_failed  because of…"),
        (60, "r1  a-job-with-a-lo…  failed  check_failed  because of some…"),
        (30, "r1  a-job-w…  failed  check_f…"),
    ],
)
def test_on_a_narrow_terminal_long_words_give_way_before_what_the_table_is_for(columns: int, expected: str) -> None:
    shown = output.table([ROW], right=frozenset({5}), max_columns=columns, give={1, 6}, spare=(5, 2))
    assert shown == expected


@given(
    st.lists(st.lists(st.text(alphabet="ab检 ", max_size=30), min_size=4, max_size=4), min_size=1, max_size=5),
    st.integers(20, 120),
)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut_without_need(rows: list[list[str]], room: int) -> None:
    whole = output.table(rows)
    shown = output.table(rows, max_columns=room, give={1, 3}, spare=(2,))
    assert all(output.width(line) <= room for line in shown.splitlines())
    if all(output.width(line) <= room for line in whole.splitlines()):
        assert shown.splitlines() == whole.splitlines()


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
