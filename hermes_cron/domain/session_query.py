"""What does a person, or a model, look for when they type this?

``a b`` both; ``a OR b`` one of them, binding closer than the blank; ``"a b"`` in this order; ``-a`` without; ``wor*``
whatever begins so. ``AND`` and ``NOT`` in capitals are what they say. Everything else is words: nothing that is typed
is a mistake. ``can't``, ``app/run.py`` and ``上海`` are phrases of their words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from hermes_cron.domain.words import words

MOST_WORDS = 64
_TYPED = str.maketrans("“”„‟«»\u2212", '""""""-')
"""Quotes and a minus as keyboards and editors make them."""

_PART = re.compile(r'(?P<minus>(?<!\S)-(?!-))?(?:"(?P<phrase>[^"]*)(?:"|$)|(?P<plain>[^\s"]+))(?P<star>\*)?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Words that stand one after the other; ``begins``: the last of them is a beginning."""

    words: tuple[str, ...]
    begins: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Every group must be there by one of its phrases, and none of ``without``.

    ``left_out``: words beyond ``MOST_WORDS``, which are not looked for.
    """

    groups: tuple[tuple[Phrase, ...], ...]
    without: tuple[Phrase, ...] = ()
    left_out: int = 0

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """Those that a hit may show."""
        return tuple(phrase for group in self.groups for phrase in group)


def parse(text: str) -> Query:
    """Never raises. Without any group there is nothing to look for."""
    groups: list[list[Phrase]] = []
    without: list[Phrase] = []
    joins = negated = False
    count = left_out = 0
    for part in _PART.finditer(unicodedata.normalize("NFKC", text).translate(_TYPED)):
        if part["plain"] in {"OR", "AND", "NOT"} and not part["minus"]:
            joins, negated = part["plain"] == "OR", part["plain"] == "NOT"
            continue
        phrase = _phrase(part)
        if phrase is None:
            continue
        if count + len(phrase.words) > MOST_WORDS:
            left_out += len(phrase.words)
            continue
        count += len(phrase.words)
        if part["minus"] or negated:
            without.append(phrase)
        elif joins and groups:
            groups[-1].append(phrase)
        else:
            groups.append([phrase])
        joins = negated = False
    return Query(groups=tuple(map(tuple, groups)), without=tuple(without), left_out=left_out)


def _phrase(part: re.Match[str]) -> Phrase | None:
    text = part["plain"] if part["phrase"] is None else part["phrase"]
    found = tuple(words(text))
    if not found:
        return None
    starred = bool(part["star"]) or (part["phrase"] is None and text.rstrip(")]},.;:").endswith("*"))
    return Phrase(words=found, begins=starred)


def expression(query: Query) -> str:
    """For FTS5, of quoted words alone: no part of it can be taken for syntax."""
    wanted = " AND ".join(_any(group) for group in query.groups)
    return f"({wanted}) NOT {_any(query.without)}" if query.without else wanted


def _any(phrases: Iterable[Phrase]) -> str:
    return "(" + " OR ".join(f'"{" ".join(phrase.words)}"{" *" if phrase.begins else ""}' for phrase in phrases) + ")"
