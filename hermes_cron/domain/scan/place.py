"""Where in a text is a finding, and how is it shown on one line?"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from hermes_cron.domain.scan.fold import invisible

_BEFORE = 12
_LONGEST = 90


class Places:
    """Lines and columns of one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(at + 1 for at, char in enumerate(self._text) if char == "\n")]

    def of(self, at: int) -> tuple[int, int]:
        """Line and column, from 1."""
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def excerpt(self, start: int, end: int) -> str:
        """The place with a little before it; cut, and with visible escapes."""
        begin = max(0, start - _BEFORE)
        stop = min(len(self._text), max(end, start + 1), start + _LONGEST)
        shown = visible(self._text[begin:stop])
        cut = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
        return ("…" if begin else "") + cut + ("…" if stop < end and not cut.endswith("…") else "")


def visible(text: str) -> str:
    """One line; what prints nothing or moves the cursor stands as an escape."""
    return "".join(_seen(char) for char in text)


def _seen(char: str) -> str:
    if char in "\n\t\r":
        return " "
    if char.isprintable() and not invisible(char):
        return char
    point = ord(char)
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
