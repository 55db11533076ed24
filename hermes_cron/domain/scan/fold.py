"""How does a text read to somebody who sees only the letters?

Compatibility forms, accents, look-alikes and case are folded, what is invisible goes. Places are mapped back.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate

from hermes_cron.domain.scan.confusables import LATIN

_BLANKS = frozenset("\u3164\u115f\u1160\uffa0\u2800")
"""Letters and symbols by category that print nothing."""


@lru_cache(maxsize=4096)
def invisible(char: str) -> bool:
    """Prints nothing and stands in no word: format characters, fillers, variation selectors, private tags."""
    point = ord(char)
    return (
        unicodedata.category(char) == "Cf"
        or char in _BLANKS
        or char == "\u034f"
        or 0xFE00 <= point <= 0xFE0F
        or 0xE0000 <= point <= 0xE0FFF
        or 0x180B <= point <= 0x180F
    )


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    if char < "\x80":
        return char.lower()
    if invisible(char):
        return ""
    if unicodedata.category(char) in ("Zs", "Zl", "Zp"):
        return "\n" if char in "\u2028\u2029" else " "
    parts = unicodedata.normalize("NFKD", LATIN.get(char, char))
    return "".join(LATIN.get(part, part) for part in parts if unicodedata.category(part) != "Mn").lower()


class Folded:
    """``text`` for matching; ``origin`` is where a place in it stands in the original."""

    def __init__(self, original: str) -> None:
        self.original = original
        self.text = original.lower() if original.isascii() else "".join(map(_folded, original))

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(_folded(char)) for char in self.original))

    def origin(self, at: int) -> int:
        if self.original.isascii():
            return at
        return min(bisect_right(self._ends, at), max(0, len(self.original) - 1))

    def place(self, at: int) -> int:
        """The other way: where a place of the original stands in ``text``."""
        return at if self.original.isascii() or at == 0 else self._ends[min(at, len(self._ends)) - 1]
