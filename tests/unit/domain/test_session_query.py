"""Whatever is typed is understood, and never as syntax."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.domain.session_query import MOST_WORDS, expression, parse
from hermes_cron.domain.words import LONGEST, words
from hermes_cron.store.tables import MESSAGE_INDEX


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Deploy FAILED", ["deploy", "failed"]),
        ("CAFÉ cafe\u0301 Straße", ["cafe", "cafe", "strasse"]),
        ("がか", ["が", "か"]),
        ("й и ё", ["й", "и", "ё"]),
        ("上海foo杭州", ["上", "海", "foo", "杭", "州"]),
        ("서버가", ["서", "버", "가"]),
        ("ｆｕｌｌ　ｗｉｄｔｈ １２", ["full", "width", "12"]),
        ("🚀 done👍🏽", ["🚀", "done", "👍", "🏽"]),
        ("🫠🥲", ["🫠", "🥲"]),  # younger than SQLite's own table
        ("can't x_y a-b 10:30", ["can", "t", "x", "y", "a", "b", "10", "30"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("𠀀𠀁", ["𠀀", "𠀁"]),
        ("x" * 200, ["x" * LONGEST]),
        ("\udcff ok", ["ok"]),
        ("┌──┐ … ？！", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a b", '("a") AND ("b")'),
        ("a AND b", '("a") AND ("b")'),
        ("a OR b c", '("a" OR "b") AND ("c")'),
        ("prod (x OR y)", '("prod") AND ("x" OR "y")'),
        ("a or b", '("a") AND ("or") AND ("b")'),
        ('"a b" c', '("a b") AND ("c")'),
        ("“a b”", '("a b")'),
        ('"a b', '("a b")'),
        ("a -b", '(("a")) NOT ("b")'),
        ("a －b −c", '(("a")) NOT ("b" OR "c")'),
        ('a -"b c"', '(("a")) NOT ("b c")'),
        ("a NOT b", '(("a")) NOT ("b")'),
        ("--limit", '("limit")'),
        ("foo-bar", '("foo bar")'),
        ("conf*", '("conf" *)'),
        ('"a co"*', '("a co" *)'),
        ("上海*", '("上 海" *)'),
        ("near(a b)", '("near a") AND ("b")'),
        ("words : a", '("words") AND ("a")'),
        ("OR a OR", '("a")'),
    ],
)
def test_what_is_typed_becomes(typed: str, expected: str) -> None:
    assert expression(parse(typed)) == expected


@pytest.mark.parametrize("typed", ["", " ", '"', "-", "*", "???", "-a", "OR", "NOT a", '""', "\x00"])
def test_nothing_to_look_for(typed: str) -> None:
    assert parse(typed).groups == ()


def test_of_too_many_words_the_rest_is_told() -> None:
    found = parse(" ".join(f"w{number}" for number in range(MOST_WORDS + 6)))
    assert (len(found.groups), found.left_out) == (MOST_WORDS, 6)


_TYPED = st.text(st.sampled_from("ab上海é\"*-()OR NOT:^{}+.,'\\\x00🚀")) | st.text(max_size=40)


@given(typed=_TYPED)
def test_no_input_is_a_syntax_error(typed: str) -> None:
    query = parse(typed)
    if query.groups:
        INDEX.execute("SELECT rowid FROM message_index WHERE message_index MATCH ?", (expression(query),)).fetchall()


@given(text=st.text(st.sampled_from("abc上海杭州 é-_.🚀"), max_size=30), data=st.data())
def test_a_text_is_found_by_every_piece_of_its_words(text: str, data: st.DataObject) -> None:
    said = words(text)
    if not said:
        return
    begin = data.draw(st.integers(0, len(said) - 1))
    end = data.draw(st.integers(begin + 1, len(said)))
    INDEX.execute("DELETE FROM kept")
    INDEX.execute("INSERT INTO kept (rowid, words) VALUES (1, ?)", (" ".join(said),))
    phrase = expression(parse(f'"{" ".join(said[begin:end])}"'))
    assert INDEX.execute("SELECT rowid FROM kept WHERE kept MATCH ?", (phrase,)).fetchall() == [(1,)]


_TERM = st.tuples(st.sampled_from(["", "-", "OR "]), st.text(st.sampled_from("上海杭a"), min_size=1, max_size=3))


@given(
    texts=st.lists(st.text(st.sampled_from("上海杭州a "), max_size=8), min_size=1, max_size=5),
    terms=st.lists(_TERM, min_size=1, max_size=4),
)
def test_what_is_found_is_what_looking_at_every_text_finds(texts: list[str], terms: list[tuple[str, str]]) -> None:
    query = parse(" ".join(sign + term for sign, term in terms))
    if not query.groups:
        return
    INDEX.execute("DELETE FROM kept")
    INDEX.executemany(
        "INSERT INTO kept (rowid, words) VALUES (?, ?)",
        [(row, " ".join(words(text))) for row, text in enumerate(texts)],
    )
    found = INDEX.execute("SELECT rowid FROM kept WHERE kept MATCH ? ORDER BY rowid", (expression(query),)).fetchall()
    assert [row for (row,) in found] == [row for row, text in enumerate(texts) if _matches(words(text), terms)]


def _matches(said: list[str], terms: list[tuple[str, str]]) -> bool:
    """By the page's words: OR joins with the last wanted term, the rest is AND, and - is NOT."""
    groups: list[bool] = []
    for sign, term in terms:
        there = _stands(said, words(term))
        if sign == "-" and there:
            return False
        if sign == "OR " and groups:
            groups[-1] = groups[-1] or there
        elif sign != "-":
            groups.append(there)
    return all(groups)


def _stands(said: list[str], phrase: list[str]) -> bool:
    return any(said[at : at + len(phrase)] == phrase for at in range(len(said)))


INDEX = sqlite3.connect(":memory:")
INDEX.execute(MESSAGE_INDEX)
INDEX.execute(MESSAGE_INDEX.replace("message_index", "kept").replace("content='', ", ""))
