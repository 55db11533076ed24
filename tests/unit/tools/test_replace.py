"""One place is changed, every other byte stays, and likeness is never enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.errors import PatchAmbiguous, PatchNoMatch
from hermes_cron.tools.replace import replace_once

CODE = "def a():\n    x = 1\n    return x\n\n\ndef b():\n\tx = 2\n\treturn x\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "expected", "how"),
    [
        pytest.param("one two three", "two", "2", "one 2 three", "exact", id="inside a line"),
        pytest.param("a\nb\nc\n", "b\n", "", "a\nc\n", "exact", id="removal"),
        pytest.param("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n", "exact", id="file with CRLF"),
        pytest.param("a\nb", "a\nb", "c", "c", "exact", id="everything, no newline at the end"),
        pytest.param("\ufeffa\nb\n", "b", "c", "\ufeffa\nc\n", "exact", id="byte order mark"),
        pytest.param(CODE, "x = 1\nreturn x", "x = 5\nreturn x", CODE.replace("x = 1", "x = 5"), "blanks",
                     id="indent forgotten and given back"),
        pytest.param(CODE, "    x  =  2\n    return x\n", "    x = 7\n    return x\n", CODE.replace("x = 2", "x = 7"),
                     "blanks", id="spaces for a tab"),
        pytest.param("a \nb\t\nc\n", "a\nb", "x\ny", "x\ny\t\nc\n".replace("\t", ""), "blanks", id="trailing blanks"),
        pytest.param("k:\n  a\n  b\nz\n", "a\nb", "", "k:\nz\n", "blanks", id="lines removed"),
        pytest.param("if x:\n    go()\n", "go()", "go(1)", "if x:\n    go(1)\n", "exact", id="exact comes first"),
        pytest.param("\u8bd5 \u9a8c\n", "\u8bd5  \u9a8c", "\u597d", "\u597d\n", "blanks", id="Chinese"),
    ],
)  # fmt: skip
def test_replaced(text: str, old: str, new: str, expected: str, how: str) -> None:
    done = replace_once(text, old, new, shown="f")
    assert (done.text, done.how) == (expected, how)


@pytest.mark.parametrize(
    ("text", "old", "lines"),
    [
        pytest.param("a\nb\na\n", "a", "2 places: lines 1, 3", id="exact"),
        pytest.param("aaa", "aa", "2 places: lines 1, 1", id="overlapping"),
        pytest.param("  a\n b\nc\n\ta\n b\n", "a\nb", "2 places: lines 1, 4", id="but for blanks"),
        pytest.param("x\n" * 30, "x", "30 places: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ...", id="many"),
    ],
)
def test_several_places_are_refused(text: str, old: str, lines: str) -> None:
    with pytest.raises(PatchAmbiguous, match=lines) as caught:
        replace_once(text, old, "z", shown="f.txt")
    assert caught.value.message.startswith("f.txt: ")


def test_absent_text_shows_the_nearest_lines() -> None:
    text = "".join(f"setting_{n} = {n * 3}\n" for n in range(200))
    with pytest.raises(PatchNoMatch) as caught:
        replace_once(text, "settings_117 = 351", "x", shown="f.ini")
    message = caught.value.message
    assert message.startswith("f.ini: the text to replace is not there; nearest:\nline 118 (")
    assert "setting_117 = 351" in message
    assert message.count("% alike") == 3


def test_likeness_is_never_enough() -> None:
    with pytest.raises(PatchNoMatch):
        replace_once("timeout = 30\n", "timeout = 31\n", "x", shown="f")


def test_nothing_like_it() -> None:
    with pytest.raises(PatchNoMatch, match="nothing in the file is like it"):
        replace_once("aaaa\nbbbb\n", "zzzzzzzzzzzzzz", "x", shown="f")


@pytest.mark.parametrize(
    ("text", "old"), [("", "a"), ("\n\n", " \n "), ("a\n", "\n\n")], ids=["empty", "blank", "lines"]
)
def test_odd_texts_are_refused_not_crashed_on(text: str, old: str) -> None:
    with pytest.raises(PatchNoMatch):
        replace_once(text, old, "x", shown="f")


@given(
    before=st.text("ab \n\r\t", max_size=40),
    old=st.text("xyz \n", min_size=1, max_size=20).filter(lambda text: "x" in text),
    new=st.text("xyz\n ", max_size=20),
    after=st.text("ab \n\r\t", max_size=40),
)
def test_bytes_beside_the_exact_place_stay(before: str, old: str, new: str, after: str) -> None:
    text = before + old + after
    if text.count(old) != 1 or "\r\n" in text or old in text[text.index(old) + 1 :]:
        return
    assert replace_once(text, old, new, shown="f").text == before + new + after


@given(st.lists(st.text("ab \t", max_size=6), max_size=12), st.integers(0, 11), st.integers(1, 3))
def test_lines_beside_a_place_found_by_blanks_stay(lines: list[str], at: int, size: int) -> None:
    """Whatever is replaced, the lines before and after are the same objects of the file."""
    text = "".join(f"{line}\n" for line in lines)
    wanted = [f" {line.strip()}  " for line in lines[at : at + size]]
    if not any(line.strip() for line in wanted):
        return
    try:
        done = replace_once(text, "\n".join(wanted), "NEW", shown="f")
    except (PatchAmbiguous, PatchNoMatch):
        return
    assert "NEW" in done.text
    if done.how == "blanks":
        start = done.line - 1
        assert done.text.splitlines()[:start] == lines[:start]
