"""Which texts are there twice, or nearly?

Two texts are alike as far as they share runs of three words (Jaccard). Only pairs that can reach the threshold are
compared: of each text the rarest shingles are looked up (prefix filtering, Chaudhuri et al., 2006), which finds every
such pair and looks at few others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    shingles = {name: _shingles(text) for name, text in sorted(texts.items())}
    found = []
    for one, other in _candidates(shingles, at_least):
        likeness = _jaccard(shingles[one], shingles[other])
        if likeness >= at_least:
            found.append(Pair(one=one, other=other, likeness=round(likeness, 3)))
    return sorted(found, key=lambda it: (-it.likeness, it.one, it.other))


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    said = list(words(text))[:_MOST]
    if len(said) < _RUN:
        return frozenset((tuple(said),) if said else ())
    return frozenset(zip(said, said[1:], said[2:], strict=False))


def _candidates(
    shingles: Mapping[str, frozenset[tuple[str, ...]]], at_least: float
) -> Iterator[tuple[str, str]]:  # fmt: skip
    count = Counter(shingle for each in shingles.values() for shingle in each)
    seen: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, each in shingles.items():
        rarest = sorted(each, key=lambda it: (count[it], it))[: len(each) - ceil(at_least * len(each)) + 1]
        near: dict[str, None] = {}
        for shingle in rarest:
            near.update(dict.fromkeys(seen[shingle]))
            seen[shingle].append(name)
        yield from ((other, name) for other in near)


def _jaccard(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0
