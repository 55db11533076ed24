"""How do two versions of a file differ, for a person who reads it?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDiff:
    """``lines`` are a unified diff without the two lines of names. ``binary``: it is no text, so there are none."""

    lines: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    binary: bool = False


def text_diff(before: bytes | None, after: bytes | None) -> TextDiff:
    """None is a file that is not there. Bytes that are not UTF-8 stay visible; a NUL makes it binary, as git has it."""
    if any(data is not None and b"\0" in data for data in (before, after)):
        return TextDiff(binary=True)
    old, new = _lines(before), _lines(after)
    found = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    return TextDiff(
        lines=tuple(_shown(found)),
        added=sum(line.startswith("+") for line in found),
        removed=sum(line.startswith("-") for line in found),
    )


def _lines(data: bytes | None) -> list[str]:
    """With their ends: a line end that changed is a change."""
    text = (data or b"").decode("utf-8", "surrogateescape")
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])


def _shown(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield line.removesuffix("\n")
        if not line.endswith("\n") and not line.startswith("@@"):
            yield _NO_NEWLINE
