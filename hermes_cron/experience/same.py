"""Do two entries of the memory say the same? By a stated measure, and a strict one: nobody is asked before one goes.

Two entries are nearly the same when their words are the same in the same order, once case, width, punctuation, plural
endings and words that carry nothing (articles, *is*, *please*, 的) are left out; or when one of them is whole a clause
of the other, and nothing beside it there turns it (*not*, *until*, *was*, 除非, 以前). In either case every fact of the
one that goes must stand in the one that stays. Other words for the same thing are a model's business, or a person's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from hermes_cron.experience.facts import missing, normal, tokens
from hermes_cron.experience.facts_words import table

_LIGHT: Final = frozenset(table("a an the is are be am please note that there also really very s"))
_LIGHT_ZH: Final = re.compile(r"[的了着吧呢啊是请]|注意[,:，：]?")
_LINKS: Final = frozenset(
    table(
        "on at in to for of with by from as it its this their there has have do does will can and or also so then "
        "在 和 与 于 有"
    )
)
_CLAUSE: Final = re.compile(r"(?<=[.!?;])\s+|[。！？；;\n]+")
_TURNS: Final = frozenset(
    table(
        "not no never none nor without unless except until till was were had formerly previously used old outdated "
        "wrong false incorrect but however instead longer anymore changed if when only before after "
        "from since starting begins planned maybe perhaps unclear"
    )
)
_TURNS_ZH: Final = re.compile("不|没|未|除|但|以前|之前|曾|原|旧|错|误|改|直到|如果|只|仅")
_SHORTEST = 3
"""Words of a clause that is enough to say what an entry says."""


@lru_cache(maxsize=4096)
def said(text: str) -> tuple[str, ...]:
    """What two texts that say the same have in common: their words in order, those that carry nothing left out."""
    return tuple(_said(text))


def _said(text: str) -> Iterator[str]:
    for token in tokens(text):
        if token.what == "cjk":
            yield from _LIGHT_ZH.sub("", token.said)
        elif token.what == "word":
            plain = token.text.islower() or token.text.istitle()
            for word in re.split("[:=]", token.said):  # db1:5432
                if word and word not in _LIGHT:
                    yield _singular(word) if plain else word
        else:
            yield token.said


def _singular(word: str) -> str:
    return word[:-1] if word.isalpha() and len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def exactly(one: str, other: str) -> bool:
    """Blanks and line ends do not matter."""
    return one.split() == other.split()


def nearly(goes: str, stays: str) -> bool:
    """Whether ``stays`` says all of what ``goes`` says, by the measure above."""
    mine = said(goes)
    if not mine or not _words(goes) <= _words(stays) or missing([goes], stays) or _asks(goes) != _asks(stays):
        return False
    return mine == said(stays) or (len(mine) >= _SHORTEST and _is_a_clause(mine, stays))


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(said(text))


def content(text: str) -> frozenset[str]:
    """The words that carry something, in no order."""
    return _words(text) - _LINKS


def _asks(text: str) -> bool:
    return normal(text).rstrip().endswith("?")


def _is_a_clause(mine: tuple[str, ...], whole: str) -> bool:
    parts = [part for part in clauses(whole) if part.strip()]
    said_in = [said(part) for part in parts]
    for at in range(len(parts)):
        for end in range(at + 1, len(parts) + 1):
            together = tuple(word for each in said_in[at:end] for word in each)
            if together == mine:
                beside = [*parts[:at], *parts[end:]]
                return bool(beside) and not any(map(_turns, beside))
    return False


def clauses(text: str) -> list[str]:
    """Sentences, and the parts between semicolons and line ends."""
    return [part for part in _CLAUSE.split(normal(text)) if part and part.strip()]


def _turns(clause: str) -> bool:
    words = {token.said for token in tokens(clause)}
    return bool(words & _TURNS) or _TURNS_ZH.search(clause) is not None or _asks(clause)
