"""Which known words are meant by an unknown one?"""

from __future__ import annotations

from collections.abc import Iterable

_CUTOFF = 60  # percent of rapidfuzz's ratio: "shedule" finds "schedule" (93), "x" finds nothing


def nearest(word: str, known: Iterable[str], *, limit: int = 1, at_least: int = _CUTOFF) -> list[str]:
    """The best first; empty when nothing resembles the word. Case does not count."""
    from rapidfuzz import fuzz, process

    found = process.extract(
        word, sorted(known), scorer=fuzz.ratio, processor=str.casefold, limit=limit, score_cutoff=at_least
    )
    return [choice for choice, _, _ in found]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``, did you mean "schedule"?`` or nothing, to be put behind a message."""
    found = nearest(word, known)
    return f', did you mean "{found[0]}"?' if found else ""
