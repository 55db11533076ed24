"""Which lines of a text are like some others, and is the difference a slip of the pen or another meaning?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

FUZZY_CHARACTERS = 8_000
"""A longer piece is not looked for by likeness: whoever has so much of a file can copy it."""

_ALIKE = 85.0  # measured: below it a block of other steps is found too
_MARGIN = 5.0
_WORTH_SHOWING = 40.0
_NEAREST = 3
_SHOWN_LINES = 6
_SHOWN_WIDTH = 160
_COMPARED_LINES = 20
_PAIR = 60.0
_LINES = 50_000
_WANTED_LINES = 400
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_SHORTEST_TYPO = 4  # letters: "A" for "B" is another thing, "chek" for "check" is not
_TYPO = 70.0
_NO = frozenset("not no never without dont cannot cant wont none nor 不 没 未 勿 莫 非 无 别 禁".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Block:
    """Lines ``first`` to before ``last``, counted from 0."""

    score: float
    first: int
    last: int


def alike(lines: Sequence[str], wanted: Sequence[str]) -> list[Block]:
    """The best block and those beside it that are nearly as good, best first; empty when none is good enough.

    A block may have one line more or less than what is wanted.
    """
    if len(lines) > _LINES or len(wanted) > _WANTED_LINES:
        return []
    sizes = sorted({max(1, len(wanted) + more) for more in (-1, 0, 1)}, key=lambda size: abs(size - len(wanted)))
    found = sorted(_scored(lines, wanted, sizes, _ALIKE - _MARGIN), key=lambda it: (-it.score, it.first, it.last))
    if not found or found[0].score < _ALIKE:
        return []
    best, kept = found[0], [found[0]]
    for block in found[1:]:
        if best.score - block.score < _MARGIN and all(_apart(block, other) for other in kept):
            kept.append(block)
    return kept


def _apart(one: Block, other: Block) -> bool:
    """Whether two blocks are two places: they share less than half of the shorter one."""
    shared = min(one.last, other.last) - max(one.first, other.first)
    return shared * 2 < min(one.last - one.first, other.last - other.first)


def _scored(lines: Sequence[str], wanted: Sequence[str], sizes: Sequence[int], cutoff: float) -> list[Block]:
    from rapidfuzz import fuzz

    target = "\n".join(map(_bare, wanted))
    bare = [_bare(line) for line in lines]
    found = []
    for size in sizes:
        for first in range(len(bare) - size + 1):
            if not bare[first] or not bare[first + size - 1]:
                continue  # the same block without that empty line is looked at too
            score = fuzz.ratio(target, "\n".join(bare[first : first + size]), score_cutoff=cutoff)
            if score:
                found.append(Block(score, first, first + size))
    return found


def _bare(line: str) -> str:
    return " ".join(line.split())


def same_but_for_typos(one: str, other: str) -> bool:
    """Whether words differ by letters only: no number, no word of one to three letters, no *not* is another."""
    mine, yours = _words(one), _words(other)
    for what, a, b, c, d in SequenceMatcher(None, mine, yours, autojunk=False).get_opcodes():
        if what != "equal" and not _slip(mine[a:b], yours[c:d]):
            return False
    return True


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold().replace("’", "'").replace("n't", " not"))


def _slip(mine: Sequence[str], yours: Sequence[str]) -> bool:
    if len(mine) != len(yours):  # a word more or less
        return not any(word in _NO or any(map(str.isdigit, word)) or len(word) == 1 for word in (*mine, *yours))
    return all(map(_typo, mine, yours))


def _typo(one: str, other: str) -> bool:
    from rapidfuzz import fuzz

    if {one, other} & _NO or _digits(one) != _digits(other):
        return False
    if sorted(one) == sorted(other) and len(one) >= _SHORTEST_TYPO - 1:  # "teh"
        return True
    return min(len(one), len(other)) >= _SHORTEST_TYPO and fuzz.ratio(one, other) >= _TYPO


def _digits(word: str) -> str:
    return "".join(filter(str.isdigit, word))


def paired(wanted: Sequence[str], lines: Sequence[str]) -> dict[int, int]:
    """Which line each wanted one is, in order; one that is like none has none."""
    from rapidfuzz import fuzz

    def score(a: int, b: int) -> float:
        return fuzz.ratio(_bare(wanted[a]), _bare(lines[b]), score_cutoff=_PAIR)

    best = [[0.0] * (len(lines) + 1) for _ in range(len(wanted) + 1)]
    for a in reversed(range(len(wanted))):
        for b in reversed(range(len(lines))):
            best[a][b] = max(best[a + 1][b], best[a][b + 1], best[a + 1][b + 1] + score(a, b))
    found, a, b = {}, 0, 0
    while a < len(wanted) and b < len(lines):
        if best[a][b] == best[a][b + 1]:
            b += 1
        elif best[a][b] == best[a + 1][b]:
            a += 1
        else:
            found[a] = b
            a, b = a + 1, b + 1
    return found


def nearest(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """The likest blocks with their line numbers, for people; "" when nothing is like it."""
    wanted = wanted[:_COMPARED_LINES]
    if len(lines) > _LINES or sum(map(len, wanted)) > FUZZY_CHARACTERS:
        return ""
    kept: list[Block] = []
    scored = _scored(lines, wanted, [min(len(lines), max(1, len(wanted)))], _WORTH_SHOWING)
    for block in sorted(scored, key=lambda it: (-it.score, it.first)):
        if len(kept) < _NEAREST and all(_apart(block, other) for other in kept):
            kept.append(block)
    return "\n".join(_shown(lines, block) for block in kept)


def _shown(lines: Sequence[str], block: Block) -> str:
    here = [line[:_SHOWN_WIDTH] for line in lines[block.first : block.last]]
    more = [f"[... {len(here) - _SHOWN_LINES} more lines]"] if len(here) > _SHOWN_LINES else []
    body = "\n".join([*here[:_SHOWN_LINES], *more])
    return f"line {block.first + 1:,} ({block.score:.0f} % alike):\n{body}"
