"""Does a newer entry take the place of an older one? Only where the newer one says so and they speak of the same thing.

It says so with a word of change (*now*, *no longer*, *since DATE*, *was X*, *moved from X to Y*, 现在, 改为, 不再), and
but for that word and one value its words are those of the older one. Two entries with other values and no such word
stay: both may be true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from typing import Final

from hermes_cron.experience import dates
from hermes_cron.experience.facts import normal
from hermes_cron.experience.facts_words import table
from hermes_cron.experience.same import said

_NOW: Final = re.compile(
    r"\b(?:has\s+|have\s+|was\s+)?(?:changed|switched|moved|set)\s+to\b|(?:已经?)?(?:改为|改成|变为|变成|换成|换为)"
    r"|\b(?:now|currently|nowadays|meanwhile|instead|these\s+days|as\s+of\s+(?:now|today))\b|现在|目前|如今|已经?(?=改|是|换|用)|现(?=为|是|在|用)",
    re.I,
)
_SINCE: Final = re.compile(r"\b(?:since|as\s+of|from)\s*$|(?:自|从)\s*$", re.I)
_SINCE_AFTER: Final = re.compile(r"^\s*(?:onwards?\b|on\b|起|开始|以来|后)?\s*[,，:：]?", re.I)
_NO_LONGER: Final = re.compile(
    r"\b(?:(?:is|are|does|do|has|have)\s+)?(?:no\s+longer|not\s+any\s*more)\b|\bany\s*more\b|(?:已经?)?不再", re.I
)
_WAS: Final = re.compile(
    r"(?:[(（,，]?\s*\b(?:it\s+)?(?:was|formerly|previously|used\s+to\s+be|instead\s+of|replaces|replacing)(?:\s+the)?\s+"
    r"|[(（,，]\s*(?:before|not|no\s+longer)(?:\s+the)?\s+"
    r"|[(（,，]?\s*(?:原为|原来是|原是|以前是|之前是|旧[:：为]?|不再是|而不是|代替))"
    r"(?P<old>[^\s,，;；()（）。]+(?:\s[^\s,，;；()（）。]+)?)\s*[)）]?",
    re.I,
)
_MOVED: Final = re.compile(
    r"^(?P<subject>.+?)\s+(?:(?:has|have|was|were)\s+(?:been\s+)?)?(?:moved|changed|switched|migrated|upgraded|renamed)"
    r"(?:\s+\w+)?\s+from\s+(?P<old>.+?)\s+to\s+(?P<new>.+)$"
    r"|^(?P<subject_zh>.+?)(?:已经?)?[由从](?P<old_zh>.+?)(?:已经?)?(?:改为|改成|换成|换为|迁移?到|升级到|升级为|更名为)(?P<new_zh>.+)$",
    re.I | re.S,
)
_LINKS: Final = frozenset(
    table("on at in run use live host port version name call to by of with 在 是 为 用 使 上 于 叫 的 运 行")
)
_ADDS: Final = re.compile(r"\b(?:also|too|as\s+well|additionally|both|and|or)\b|也|还|同时|另外|都|以及|或", re.I)
_NOT: Final = frozenset(("not", "no", "never", "without", "不", "没", "未", "无"))
_SHARED = 2
_SLOT = 4

Words = tuple[str, ...]


def supersedes(newer: str, older: str, today: date) -> bool:
    """Whether ``newer``, which stands behind ``older``, says that it is so no more. What begins after ``today`` does
    not yet."""
    old, reading = said(older), _reading(newer)
    if not old or reading is None or any(first > today for first in reading.begins):
        return False
    return old in reading.ended or _was(reading, old) or _moved(reading, old) or _changed(reading, old)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What an entry that tells of a change says: without its words of change, what it says has ``ended``, which value
    there ``was``, and from where to where something moved. ``begins`` are its days."""

    bare: tuple[Words, ...]
    ended: tuple[Words, ...]
    was: tuple[tuple[Words, Words], ...]
    moved: tuple[Words, Words] | None
    begins: tuple[date, ...]


@lru_cache(maxsize=4096)
def _reading(entry: str) -> _Reading | None:
    """None for an entry that tells of no change, or of something more beside others."""
    text = normal(entry).strip().rstrip(".。")
    if _ADDS.search(text):
        return None
    bare, count = _NO_LONGER.subn(" ", text)
    match = _MOVED.match(text)
    found = _Reading(
        bare=tuple(said(it) for it in _without_marks(text)),
        ended=(said(bare),) if count == 1 else (),
        was=tuple(_values(text)),
        moved=None if match is None else (said(match["subject"] or match["subject_zh"]),
                                          said(match["old"] or match["old_zh"])),
        begins=tuple(day.first for day in dates.found(text)),
    )  # fmt: skip
    return found if found.bare or found.ended or found.was or found.moved else None


def _without_marks(text: str) -> Iterator[str]:
    bare, count = _NOW.subn(" ", text)
    since, dated = _without_since(bare)
    if count or dated:
        yield since if dated else bare


def _without_since(text: str) -> tuple[str, bool]:
    for day in dates.found(text):
        mark = _SINCE.search(text[: day.begin])
        if mark is not None:
            return text[: mark.start()] + " " + _SINCE_AFTER.sub(" ", text[day.end :], count=1), True
    return text, False


def _values(text: str) -> Iterator[tuple[Words, Words]]:
    """``the port is 5433 (was 5432)``: without the old value, and that value."""
    for mark in _WAS.finditer(text):
        bare = f"{text[: mark.start()]} {text[mark.end() :]}"
        for plain in (bare, *_without_marks(bare)):
            yield said(plain), said(mark["old"])


def _changed(reading: _Reading, old: Words) -> bool:
    """``the port is now 5433``: the value stands at the end. In ``db2 now has 64 GB`` it is another thing."""
    for new in reading.bare:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
        mine, yours = old[same:], new[same:]
        if same >= _SHARED and _are_values(mine, yours):
            return True
    return False


def _was(reading: _Reading, old: Words) -> bool:
    return any(value in _runs(old, len(value)) and _one_value(old, new) == value for new, value in reading.was)


def _moved(reading: _Reading, old: Words) -> bool:
    """``prod moved from db1 to db2``, of ``prod is on db1``."""
    if reading.moved is None:
        return False
    subject, value = reading.moved
    if not subject or not value or old[: len(subject)] != subject or value not in _runs(old, len(value)):
        return False
    return all(word in _LINKS for word in old[len(subject) :] if word not in value)


def _runs(words: tuple[str, ...], length: int) -> list[tuple[str, ...]]:
    return [words[at : at + length] for at in range(len(words) - length + 1)]


def _one_value(old: Words, new: Words) -> Words | None:
    """What stands in ``old`` where ``new`` has another value, if that is all that differs."""
    changes = [
        (old[a:b], new[c:d])
        for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if what != "equal"
    ]
    if len(changes) != 1 or len(old) == len(changes[0][0]):
        return None
    mine, yours = changes[0]
    return mine if _are_values(mine, yours) else None


def _are_values(mine: Words, yours: Words) -> bool:
    return bool(mine) and bool(yours) and max(len(mine), len(yours)) <= _SLOT and not _NOT & {*mine, *yours}
