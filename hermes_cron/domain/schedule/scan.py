"""How is a phrase taken apart by a table of patterns?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from hermes_cron.domain.schedule import parts as p

Reader: TypeAlias = Callable[[re.Match[str]], Iterable[p.Part]]


def run(
    text: str,
    patterns: tuple[tuple[re.Pattern[str], Reader], ...],
    *,
    glue: re.Pattern[str],
    word: re.Pattern[str],
    half_known: re.Pattern[str],
) -> p.Scan:
    """The longest pattern at each place; words that none takes are collected and shown as ``...``."""
    found: list[p.Part] = []
    shown: list[str] = []
    left: list[str] = []
    waiting: list[str] = []  # words such as "every": known, but nothing came of them
    at = 0
    while at < len(text):
        if skipped := glue.match(text, at):
            at = skipped.end()
            continue
        best, read = _longest(text, at, patterns)
        if best is not None and read is not None:
            found += read(best)
            shown.append(best[0].strip())
            at = best.end()
            continue
        taken = half_known.match(text, at)
        if taken:
            waiting.append(taken[0])
            shown.append(taken[0])
        else:
            taken = word.match(text, at)
            assert taken is not None  # noqa: S101 - glue and word cover every character
            left.append(taken[0])
            if not shown or shown[-1] != "...":
                shown.append("...")
        at = taken.end()
    return p.Scan(parts=tuple(found), left_over=" ".join(left or waiting), understood=" ".join(shown))


def _longest(
    text: str, at: int, patterns: tuple[tuple[re.Pattern[str], Reader], ...]
) -> tuple[re.Match[str] | None, Reader | None]:
    best: re.Match[str] | None = None
    chosen: Reader | None = None
    for pattern, read in patterns:
        found = pattern.match(text, at)
        if found is not None and (best is None or found.end() > best.end()):
            best, chosen = found, read
    return best, chosen
