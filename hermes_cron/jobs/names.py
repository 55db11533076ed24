"""What may a job be called, and what is one called that a person did not name?"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable

from hermes_cron.domain.job import name_key

LONGEST = 64
_FROM_PROMPT = 40
"""Characters: a name is typed often, so a long prompt gives its first words only."""
_MOST_BYTES = 220
"""A file name has 255 bytes at most; a removed file's has a time stamp behind it."""


def name_fault(name: str) -> str | None:
    """Why this cannot be a job's name; None when it can."""
    if not name:
        return "a job needs a name"
    if len(name) > LONGEST or len(os.fsencode(name)) > _MOST_BYTES:
        return f'the name "{name[:20]}..." is longer than {LONGEST} characters'
    odd = next((character for character in name if not (_is_word(character) or character == "-")), None)
    if odd is not None:
        return f'the name "{name}" has "{odd}" in it; letters, digits and - only{_instead(name)}'
    if name[0] == "-" or name[-1] == "-" or unicodedata.category(name[0])[0] == "M":
        return f'the name "{name}" must begin and end with a letter or digit{_instead(name)}'
    return None


def name_from(prompt: str) -> str:
    """``inspect prod db`` is ``inspect-prod-db``, ``巡检 prod 数据库`` is ``巡检-prod-数据库``.

    Words of the first line that has a letter or digit, lower case, as many as fit; ``job`` where there is none.
    """
    first = next((line for line in prompt.splitlines() if any(map(str.isalnum, line))), "")
    words = _words(unicodedata.normalize("NFC", first).lower())
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer) > _FROM_PROMPT:
            break
        name = longer
    if not name and words:
        name = words[0][:_FROM_PROMPT]
    return name or "job"


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, or with ``-2``, ``-3`` ... behind it: the first that nobody has."""
    keys = {name_key(other) for other in taken}
    if name_key(name) not in keys:
        return name
    number = 2
    while True:
        ending = f"-{number}"
        candidate = name[: LONGEST - len(ending)].rstrip("-") + ending
        if name_key(candidate) not in keys:
            return candidate
        number += 1


def _words(text: str) -> list[str]:
    """An apostrophe joins: ``today's`` is one word."""
    kept = "".join(character if _is_word(character) else "" if character in "'’" else " " for character in text)
    return [word for word in kept.split() if unicodedata.category(word[0])[0] != "M"]


def _is_word(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "L" or category in {"Nd", "Mn", "Mc"}


def _instead(name: str) -> str:
    better = "-".join(_words(unicodedata.normalize("NFC", name)))[:LONGEST].strip("-")
    return f', for example "{better}"' if better else ""
