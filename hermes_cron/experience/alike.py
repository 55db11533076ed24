"""Which texts are there twice, or nearly?

Two texts are alike as far as they share runs of three words (Jaccard). Only pairs that can reach the threshold are
compared: of each text the rarest shingles are looked up (prefix filtering, Chaudhuri et al., 2006), which finds every
such pair and looks at few others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import ceil

from hermes_cron.domain.words import words

NEARLY = 0.8
_RUN = 3
_MOST = 4_000  # words of a text that are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two names, in order; ``likeness`` 1 is the same text."""

    one: str
    other: str
    likeness: float


def pairs(texts: Mapping[str, str], *, at_least: float = NEARLY) -> list[Pair]:
    """The most alike first, then by name. ``texts`` by name."""
    numbers: dict[str, int] = {}
    shingles = {name: _shingles(text, numbers) for name, text in sorted(texts.items())}
    found = []
    for one, other in _candidates(shingles, at_least):
        likeness = _jaccard(shingles[one], shingles[other])
        if likeness >= at_least:
            found.append(Pair(one=one, other=other, likeness=round(likeness, 3)))
    return sorted(found, key=lambda it: (-it.likeness, it.one, it.other))


def _shingles(text: str, numbers: dict[str, int]) -> frozenset[int]:
    """Runs of words, each as one number: words are numbered as they are first met."""
    said = [numbers.setdefault(word, len(numbers) + 1) for word in words(text)[:_MOST]]
    if len(said) < _RUN:
        return frozenset((_run(*said, *(0,) * (_RUN - len(said))),) if said else ())
    return frozenset(map(_run, said, said[1:], said[2:]))


def _run(one: int, two: int, three: int) -> int:
    return one << 64 | two << 32 | three


def _candidates(shingles: Mapping[str, frozenset[int]], at_least: float) -> Iterator[tuple[str, str]]:
    """Two texts that are so alike share one of the rarest shingles of each. One that only one text has is shared with
    none, and stands before all others."""
    count = Counter(chain.from_iterable(shingles.values()))
    shared = {shingle for shingle, texts in count.items() if texts > 1}
    seen: dict[int, list[str]] = defaultdict(list)
    for name, each in shingles.items():
        common = each & shared
        most = len(common) - ceil(at_least * len(each)) + 1
        near: dict[str, None] = {}
        for shingle in sorted(common, key=lambda it: (count[it] << 96) | it)[: max(most, 0)]:
            near.update(dict.fromkeys(seen[shingle]))
            seen[shingle].append(name)
        yield from ((other, name) for other in near)


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0
