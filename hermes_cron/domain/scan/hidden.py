"""What in a text does a reader not see: characters without a shape, turned directions, letters of another script?

Joiners in emoji and in scripts that need them, marks of direction beside right-to-left text, and variants of Chinese
characters are what they are for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from hermes_cron.domain.scan.confusables import DISGUISES
from hermes_cron.domain.scan.finding import Kind, Verdict

_RUN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_OVERRIDES = frozenset("\u202d\u202e")
_DIRECTIONS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069")
_JOINERS = frozenset("\u200c\u200d")
_LONG = 8
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_FOREIGN_WORD = re.compile("[A-Za-z\u0370-\u03ff\u0400-\u052f]{3,}")
_LATIN = re.compile("[A-Za-z]")
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f]")


@dataclass(frozen=True, slots=True)
class Hidden:
    """A place in the original text. ``said`` is what tag characters spell."""

    kind: Kind
    verdict: Verdict
    start: int
    end: int
    said: str | None = None


def hidden(text: str) -> Iterator[Hidden]:
    """Every such place, by place."""
    if text.isascii():
        return
    turned = _RIGHT_TO_LEFT.search(text) is not None
    for run in _RUN.finditer(text):
        found = _invisible(text, run.start(), run.end(), turned=turned)
        if found is not None:
            yield found
    yield from _disguised(text)


def _invisible(text: str, start: int, end: int, *, turned: bool) -> Hidden | None:
    run = text[start:end]
    said = "".join(chr(ord(char) - 0xE0000) for char in run if 0xE0020 <= ord(char) <= 0xE007E)
    if said:
        flag = text[start - 1 : start] == "\U0001f3f4" and run.endswith("\U000e007f") and len(run) <= _LONG
        return None if flag else Hidden(Kind.INVISIBLE_UNICODE, Verdict.BLOCK, start, end, said)
    if len(run) >= _LONG or _many_selectors(run):
        return Hidden(Kind.INVISIBLE_UNICODE, Verdict.BLOCK, start, end)
    if not turned and not _OVERRIDES.isdisjoint(run):
        return Hidden(Kind.INVISIBLE_UNICODE, Verdict.BLOCK, start, end)
    if all(_wanted(char, text[start - 1 : start], text[end : end + 1], turned=turned) for char in run):
        return None
    if start == 0 and run == "\ufeff":
        return None
    return Hidden(Kind.INVISIBLE_UNICODE, Verdict.WARN, start, end)


def _many_selectors(run: str) -> bool:
    """Bytes can be hidden in variation selectors; a character has at most one or two."""
    return sum("\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" for char in run) >= 3


def _wanted(char: str, before: str, after: str, *, turned: bool) -> bool:
    if char in _JOINERS:
        return _joins(before) and (_joins(after) or not after.isalnum())
    if char in _DIRECTIONS or char in _OVERRIDES:
        return turned
    if "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or "\u180b" <= char <= "\u180f":
        return bool(before) and not before.isspace() and not (before.isascii() and before.isalpha())
    if char == "\u2800":  # drawn with Braille: bars and sparklines
        return "\u2800" <= before <= "\u28ff" or "\u2800" <= after <= "\u28ff" or not (before + after).isalnum()
    return False


def _joins(char: str) -> bool:
    """Emoji and their modifiers, and letters of scripts that are joined."""
    if not char:
        return False
    return (
        ord(char) >= 0x2190 or 0x0600 <= ord(char) <= 0x0DFF or 0x0E00 <= ord(char) <= 0x18FF or char in "#*0123456789"
    )


def _disguised(text: str) -> Iterator[Hidden]:
    """Words of Latin letters with look-alikes among them."""
    if not _FOREIGN.search(text):
        return
    real: bool | None = None
    for word in _FOREIGN_WORD.finditer(text):
        letters = word[0]
        if not (_LATIN.search(letters) and _FOREIGN.search(letters)):
            continue
        if any(_FOREIGN.match(letter) and letter not in DISGUISES for letter in letters):
            continue
        scripts = [unicodedata.name(letter, "").partition(" ")[0] for letter in letters]
        changes = sum(one != other for one, other in pairwise(scripts))
        if changes < 2:
            if real is None:
                real = _has_words_of_its_own(text)
            if real:  # "SMSка" in a Russian text
                continue
        yield Hidden(Kind.HOMOGLYPHS, Verdict.WARN, word.start(), word.end())


def _has_words_of_its_own(text: str) -> bool:
    return any(not _LATIN.search(word[0]) for word in _FOREIGN_WORD.finditer(text))
