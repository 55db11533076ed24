"""The memory's files: what is read, what is written, and that operations touch what they mean and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.domain.entries import merged, read, size, texts, written
from hermes_cron.errors import MemoryDelimiterInContent, MemoryFull, NameAmbiguous, NotFound, Usage
from hermes_cron.experience.memory import (
    Action,
    Memory,
    Operation,
    Planned,
    Target,
    alike,
    content,
    planned,
    shown,
)

LIMIT = 2200


def memory(*entries: str, limit: int = LIMIT) -> Memory:
    return Memory(target=Target.MEMORY, entries=entries, limit=limit)


def add(text: str) -> Operation:
    return Operation(action=Action.ADD, content=text)


def replace(part: str, text: str) -> Operation:
    return Operation(action=Action.REPLACE, part=part, content=text)


def remove(part: str) -> Operation:
    return Operation(action=Action.REMOVE, part=part)


def plan(before: Memory, *operations: Operation, archive: bool = False) -> Planned:
    return planned(before, operations, archive=archive)


# --- the file


def test_a_file_is_entries_between_lines_with_the_sign() -> None:
    assert written(["one", "two\nlines"], LIMIT).decode() == "one\n§\ntwo\nlines\n"
    assert texts("one\n§\ntwo\nlines\n".encode()) == ("one", "two\nlines")


@pytest.mark.parametrize(
    "data",
    [
        "\ufeffone\n§\ntwo\n".encode(),
        b"one\r\n\xc2\xa7\r\ntwo\r\n",
        b"one\r\xc2\xa7\rtwo",
        "\n\n  one\n\n  §  \n\n\ntwo".encode(),
        "§\none\n§\n§\n \n§\ntwo\n§".encode(),
        "one\n§\ntwo".encode("utf-16"),
    ],
    ids=["byte order mark", "crlf", "old mac", "blanks", "empty entries", "utf-16"],
)
def test_what_people_and_editors_make_of_it_is_read(data: bytes) -> None:
    assert texts(data) == ("one", "two")


def test_places_are_lines_of_the_file_as_it_lies_there() -> None:
    assert [entry.line for entry in read("\n\none\nmore\n§\n\n  two\n".encode())] == [3, 7]


def test_bytes_that_are_no_utf8_survive_a_change_beside_them() -> None:
    latin = b"Stra\xdfe\n\xc2\xa7\nother\n"
    after = plan(memory(*texts(latin)), add("new")).after
    assert written(after.entries, LIMIT) == b"Stra\xdfe\n\xc2\xa7\nother\n\xc2\xa7\nnew\n"
    assert shown(after.entries[0]) == "Stra\ufffde"


ENTRIES = st.lists(
    st.text(
        st.sampled_from(["§", "\n", "\r", " ", "a", "安", "\u3000", "\x0b", "\x00", "\u2028", "\ufeff"]), min_size=1
    ),
    max_size=6,
)


def test_what_would_move_a_cursor_or_end_a_text_is_left_out() -> None:
    assert content("a\x1b[2Jb\x00\tc\r\nd\x85") == "a[2Jb\tc\nd"


@given(ENTRIES)
def test_what_is_written_is_read_back_as_the_same_entries(wanted: list[str]) -> None:
    good = []
    for text in wanted:
        try:
            good.append(content(text))
        except (Usage, MemoryDelimiterInContent):
            continue
    assert texts(written(good, 10_000)) == tuple(good)


@given(st.lists(st.text(st.sampled_from("ab安"), min_size=1, max_size=9), min_size=1, max_size=5, unique=True))
def test_the_file_has_no_more_characters_than_the_limit_allows(entries: list[str]) -> None:
    exact = size(entries)
    assert len(written(entries, exact).decode()) == exact
    assert len(written(entries, exact + 1).decode()) == exact + 1
    assert texts(written(entries, exact)) == tuple(entries)


# --- the limit


def test_a_file_may_be_filled_to_its_last_character_and_not_further() -> None:
    before = memory("x" * 2150)
    assert plan(before, add("y" * 47)).after.usage == "2200/2200"
    with pytest.raises(MemoryFull) as caught:
        plan(before, add("y" * 48))
    assert "2150/2200" in caught.value.message
    assert "48 characters" in caught.value.message
    assert "replace or remove existing entries first" in caught.value.message
    assert caught.value.details == {"current_entries": ["x" * 2150], "usage": "2150/2200"}


def test_characters_are_counted_not_bytes() -> None:
    assert plan(memory(), add("安" * 2200)).after.characters == 2200
    with pytest.raises(MemoryFull):
        plan(memory(), add("安" * 2201))


def test_replace_may_not_pass_the_limit_either() -> None:
    with pytest.raises(MemoryFull):
        plan(memory("a" * 2000, "short"), replace("short", "b" * 198))
    assert plan(memory("a" * 2000, "short"), replace("short", "b" * 197)).after.characters == 2200


def test_a_file_that_a_person_made_too_long_may_shrink_and_not_grow() -> None:
    before = memory("a" * 2300, "b" * 100)
    assert plan(before, remove("bbb")).after.characters == 2300
    with pytest.raises(MemoryFull):
        plan(before, add("c"))


def test_one_call_may_make_room_and_use_it() -> None:
    before = memory("a" * 2000, "old" * 60)
    after = plan(before, add("new" * 60), remove("oldold")).after
    assert after.entries == ("a" * 2000, "new" * 60)


def test_with_an_archive_the_oldest_make_room_and_what_is_new_stays() -> None:
    done = plan(memory("first " * 10, "second", "third", limit=80), add("fourth, of some length"), archive=True)
    assert done.after.entries == ("second", "third", "fourth, of some length")
    assert done.archived == (("first " * 10),)
    assert done.lines[0] == "+ fourth, of some length"
    assert done.lines[1].startswith("- first first")
    assert "MEMORY.archive.md" in done.notes[0]


def test_what_is_too_long_by_itself_is_refused_with_an_archive_too() -> None:
    with pytest.raises(MemoryFull):
        plan(memory("a", "b", limit=50), add("x" * 51), archive=True)


# --- which entry


def test_an_entry_is_found_by_a_part_of_it() -> None:
    done = plan(memory("prod is PostgreSQL 15", "staging is SQLite"), replace("staging", "staging is MySQL 8"))
    assert done.after.entries == ("prod is PostgreSQL 15", "staging is MySQL 8")
    assert done.lines == ("- staging is SQLite", "+ staging is MySQL 8")


def test_a_part_of_several_is_refused_with_all_of_them() -> None:
    with pytest.raises(NameAmbiguous) as caught:
        plan(memory("dark mode at night", "the dark cluster"), remove("dark"))
    assert caught.value.details == {"matches": ["dark mode at night", "the dark cluster"]}


def test_a_whole_entry_is_meant_although_others_hold_it() -> None:
    assert plan(memory("dark", "dark mode"), remove("dark")).after.entries == ("dark mode",)


def test_of_two_that_say_the_same_one_goes() -> None:
    assert plan(memory("same", "same"), remove("same")).after.entries == ("same",)


@pytest.mark.parametrize("part", ["PROD  is\nPostgreSQL", "prod IS postgresql"])
def test_case_and_blanks_do_not_hide_an_entry(part: str) -> None:
    assert plan(memory("prod is PostgreSQL 15", "other"), remove(part)).after.entries == ("other",)


def test_an_absent_part_names_what_is_near() -> None:
    with pytest.raises(NotFound) as caught:
        plan(memory("the prod database is PostgreSQL 15", "x"), remove("the prod database is MySQL"))
    assert caught.value.details["near"] == ["the prod database is PostgreSQL 15"]


@pytest.mark.parametrize("operation", [remove(" "), replace("", "x"), add(" \n "), replace("a", "")])
def test_nothing_said_is_no_operation(operation: Operation) -> None:
    with pytest.raises(Usage):
        plan(memory("a"), operation)


# --- repetition and batches


def test_the_same_twice_is_one_entry_and_a_note() -> None:
    done = plan(memory("a fact"), add("  a fact\n"))
    assert done.after.entries == ("a fact",)
    assert done.lines == ()
    assert "already" in done.notes[0]


def test_the_same_may_be_said_again_where_the_file_is_too_long_already() -> None:
    assert plan(memory("a fact", "b" * 3000), add("a fact")).lines == ()


def test_a_replacement_that_is_an_entry_already_leaves_one_of_it() -> None:
    done = plan(memory("old", "new"), replace("old", "new"))
    assert done.after.entries == ("new",)
    assert done.lines == ("- old",)


def test_a_batch_is_all_or_none() -> None:
    before = memory("a", "b")
    done = plan(before, add("c"), remove("a"), replace("b", "B, a longer one"))
    assert done.after.entries == ("B, a longer one", "c")
    with pytest.raises(NotFound):
        plan(before, add("d"), remove("nowhere"))


def test_what_comes_and_goes_in_one_call_is_no_change() -> None:
    assert plan(memory("a"), add("b"), remove("b")).lines == ()


def test_a_call_has_at_most_twenty_operations() -> None:
    with pytest.raises(Usage):
        plan(memory(), *[add(f"n{number}") for number in range(21)])
    with pytest.raises(Usage):
        plan(memory())


# --- likeness


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The prod database is PostgreSQL 15.", "the prod database is PostgreSQL 15", True),
        ("ops reads the weekly report on Monday mornings", "ops reads the weekly report on Monday morning", False),
        ("the team reads the weekly report every Monday early", "the team reads the report every Monday early", True),
        ("prod listens on port 5432 behind the proxy", "prod listens on port 5433 behind the proxy", False),
        ("用户希望报告用中文写", "用户希望报告用中文来写", True),
        ("用户希望报告用中文写", "主机在上海机房", False),
    ],
)
def test_entries_that_say_nearly_the_same(one: str, other: str, *, same: bool) -> None:
    assert alike(one, other) is same


# --- two changes of one file


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        ("a b", "a b c", "b", "b c"),
        ("a b", "a b c", "a", "a c"),
        ("a", "a b", "", "b"),
        ("a new", "a new c", "a old", "a old c"),
        ("b", "b c", "a b", "a b c"),
        ("a c", "a c d", "a b c", "a b c d"),
        ("a b", "a", "a b c", "a c"),
        ("a fact", "a facts", "a", None),
        ("a b", "a x", "a", "a x"),
        ("a b", "a", "a", "a"),
        ("a 备份在两点", "a 备份在三点", "a", None),
    ],
    ids=[
        "first taken back", "last taken back", "the only one", "replacement taken back", "removal taken back",
        "between", "both", "changed since", "gone since, another is there", "gone since", "changed since, in Chinese",
    ],
)  # fmt: skip
def test_changes_of_entries_go_together_unless_they_are_of_one(
    base: str, ours: str, theirs: str, result: str | None
) -> None:
    found = merged(base.split(), ours.split(), theirs.split())
    assert found == (None if result is None else tuple(result.split()))
