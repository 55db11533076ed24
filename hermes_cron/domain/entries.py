"""How does a file of entries read, and how is it written? Entries are parted by a line with a section sign alone.

Read leniently, for people edit it; written exactly: what is written reads back as the same entries.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

SIGN = "§"
BETWEEN = f"\n{SIGN}\n"
_LIKE = 0.6
_COMPARED = 5_000


class Entry(NamedTuple):
    """``line`` counts from 1 in the file."""

    text: str
    line: int


def read(data: bytes) -> tuple[Entry, ...]:
    """Any line ends, a byte order mark, blanks around the sign, blank lines, signs with nothing between are borne.

    Bytes that are no UTF-8 stay as they are (``surrogateescape``), so that a change elsewhere does not lose them.
    """
    entries: list[Entry] = []
    inside: list[str] = []
    first = 1
    for number, line in enumerate([*lines(_decoded(data)), SIGN], start=1):
        if line.strip() != SIGN:
            inside.append(line)
            continue
        entry = "\n".join(inside).strip()
        if entry:
            skipped = next(at for at, each in enumerate(inside) if each.strip())
            entries.append(Entry(entry, first + skipped))
        inside, first = [], number + 1
    return tuple(entries)


def texts(data: bytes) -> tuple[str, ...]:
    """The entries without their places."""
    return tuple(entry.text for entry in read(data))


def written(entries: Sequence[str], limit: int | None = None) -> bytes:
    """The file, too, has at most ``limit`` characters if the entries have: its last line end is left out where it would
    be one more."""
    text = BETWEEN.join(entries)
    if text and (limit is None or len(text) < limit):
        text += "\n"
    return text.encode("utf-8", "surrogateescape")


def size(entries: Sequence[str]) -> int:
    """In characters, with what parts the entries."""
    return sum(map(len, entries)) + len(BETWEEN) * max(0, len(entries) - 1)


def lines(text: str) -> list[str]:
    """With any line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def merged(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...] | None:
    """``ours`` with what ``theirs`` changed of ``base``, whole entries at a time: two that were added behind one
    another do not clash, as two lines would. None where an entry that is to go is not as it was; one that is gone
    already is no reason."""
    gone = [entry for entry in base if entry not in theirs]
    others = [entry for entry in ours if entry not in base and entry not in theirs]
    if any(entry not in ours and _reworded(entry, others) for entry in gone):
        return None
    found = list(ours)
    for at, entry in enumerate(theirs):
        if entry not in base and entry not in found:
            found.insert(_behind(found, theirs[:at]), entry)
    return tuple(entry for entry in found if entry not in gone)


def _reworded(entry: str, others: Sequence[str]) -> bool:
    """Whether one of these may be the entry with other words."""
    matcher = difflib.SequenceMatcher(b=entry, autojunk=False)
    for other in others:
        if max(len(entry), len(other)) > _COMPARED:
            return True
        matcher.set_seq1(other)
        if matcher.real_quick_ratio() >= _LIKE and matcher.quick_ratio() >= _LIKE and matcher.ratio() >= _LIKE:
            return True
    return False


def _behind(found: Sequence[str], before: Sequence[str]) -> int:
    """Where an entry belongs that stood behind these."""
    known = [at for at, entry in enumerate(found) if entry in before]
    return known[-1] + 1 if known else 0


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
