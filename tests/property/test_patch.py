"""Whatever the file is: what a patch does not name stays byte for byte, and a place is never a guess between two."""

from __future__ import annotations

import contextlib

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hermes_cron.errors import PatchAmbiguous, PatchNoMatch
from hermes_cron.experience.patch import How, patch

WORDS = st.text("abcdé数据库 \t-#:`\\n\"'|{}%", max_size=12)
ENDS = st.sampled_from(["\n", "\r\n"])
FILES = st.lists(st.tuples(WORDS, ENDS), min_size=1, max_size=12)


def text_of(lines: list[tuple[str, str]]) -> str:
    return "".join(text + end for text, end in lines)


@settings(max_examples=300, deadline=None)
@given(lines=FILES, new=st.lists(WORDS, min_size=1, max_size=3), data=st.data(), mark=st.booleans())
def test_whole_lines_are_exchanged_and_others_stay(
    lines: list[tuple[str, str]], new: list[str], data: st.DataObject, mark: bool
) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    old = "\n".join(text for text, _ in lines[first : last + 1]) + "\n"
    assume(old.strip())
    whole = text_of(lines)
    assume(_count(whole.replace("\r\n", "\n"), old) == 1)
    before, after = text_of(lines[:first]), text_of(lines[last + 1 :])
    sign = "\ufeff" if mark else ""
    made = patch((sign + whole).encode(), old, "\n".join(new) + "\n", shown="f").data.decode()
    assert made.startswith(sign + before)
    assert made.endswith(after)
    middle = made[len(sign + before) : len(made) - len(after)]
    assert middle.replace("\r\n", "\n") == "\n".join(new) + "\n"
    if len({end for _, end in lines}) == 1:  # one style stays one
        assert middle.count("\r") == (len(new) if lines[0][1] == "\r\n" else 0)


def _count(text: str, piece: str) -> int:
    return sum(text.startswith(piece, at) for at in range(len(text)))


@settings(max_examples=300, deadline=None)
@given(lines=FILES, data=st.data())
def test_what_is_the_same_before_and_after_changes_nothing(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    whole = text_of(lines)
    plain = whole.replace("\r\n", "\n")
    first = data.draw(st.integers(0, len(plain)))
    piece = plain[first : data.draw(st.integers(first, len(plain)))]
    with contextlib.suppress(PatchAmbiguous, PatchNoMatch):
        assert patch(whole.encode(), piece, piece, shown="f").data == whole.encode()


@settings(max_examples=300, deadline=None)
@given(lines=FILES, data=st.data(), new=WORDS.filter(bool))
def test_every_exact_place_is_exchanged_and_nothing_else(
    lines: list[tuple[str, str]], data: st.DataObject, new: str
) -> None:
    whole = text_of([(f"ab{text}", end) for text, end in lines])
    line = data.draw(st.sampled_from(whole.split()))
    old = line[: data.draw(st.integers(1, len(line)))]
    made = patch(whole.encode(), old, new, shown="f", replace_all=True)
    assert made.data.decode() == whole.replace(old, new)
    assert (made.places, made.how) == (whole.count(old), How.EXACT)


@settings(max_examples=300, deadline=None)
@given(lines=FILES, data=st.data(), indent=st.sampled_from(["", "  ", "\t", "      "]))
def test_another_indent_finds_the_same_lines_and_leaves_the_others(
    lines: list[tuple[str, str]], data: st.DataObject, indent: str
) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    here = [text.strip() for text, _ in lines[first : last + 1]]
    assume(here[0] and here[-1])
    old = "\n".join(indent + text if text else "" for text in here)
    before, after = text_of(lines[:first]), text_of(lines[last + 1 :])
    whole = text_of(lines)
    with contextlib.suppress(PatchAmbiguous, PatchNoMatch):  # it may stand twice
        made = patch(whole.encode(), old, old + "\n" + indent + "zz", shown="f")
        if made.how is How.BLANKS:
            text = made.data.decode()
            assert text.startswith(before)
            assert text.endswith(after)
            assert "zz" in text[len(before) : len(text) - len(after)]
            kept = text_of(lines[first : last + 1])
            assert text[len(before) :].startswith(
                kept.rstrip("\r\n").rstrip() if last == first else kept.split("\n")[0]
            )


@settings(max_examples=300, deadline=None)
@given(lines=FILES, old=st.text("abcdé数据库 \n-", min_size=1, max_size=30))
def test_no_refusal_is_another_error(lines: list[tuple[str, str]], old: str) -> None:
    with contextlib.suppress(PatchAmbiguous, PatchNoMatch):
        patch(text_of(lines).encode(), old, "x\ny", shown="f")
