"""Which skill does a prompt plainly ask for?

Two facts decide, neither a guess: the skill's own words are all there, and hardly anything else is. "inspect prod db"
is the inspection; "inspect prod db and mail me the ten best customers" is not, since a skill that did half of what was
asked would look like one that did it all.

A skill says its words in ``metadata: {hermes-cron.match: "inspect|check|巡检 + db|database|数据库"}``: every group
must be met. Without it, the words of its name must all be there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

MATCH_KEY = "hermes-cron.match"
_DATABASE = "database"
_ENOUGH = 0.65  # share of the prompt's words that the skill explains

_LATIN = re.compile(r"[a-z0-9_]+(?:[-.][a-z0-9_]+)*")
_CJK = re.compile(r"[\u3400-\u9fff]+")
_STOP = frozenset(
    """
    a all an and any at by can could do every everything for from give go i if in into is it its just let look make me
    my now of on our please quick quickly report run s see show that the their this to today up us we with you your
    again whole full daily morning weekly nightly
    """.split()  # noqa: SIM905  a list of fifty quoted words is harder to read
)
_STOP_CJK = re.compile(
    "请|帮我|帮忙|一下|我们|我的|一次|进行|做个|做|对|的|并|和|给我|报告|今天|每天|例行|日常|全面|下|把"
)
_SUFFIXES = ("ions", "ion", "ing", "ies", "ed", "es", "s", "e", "y")


class Matchable(Protocol):
    """What of a skill is looked at."""

    @property
    def name(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, str]: ...


M = TypeVar("M", bound=Matchable)


@dataclass(frozen=True, slots=True)
class _Words:
    """``latin`` stems and ``cjk`` text of a prompt, stop words gone."""

    latin: tuple[str, ...]
    cjk: str

    @property
    def size(self) -> float:
        """Words; two Chinese characters count as one."""
        return len(self.latin) + len(self.cjk) / 2


@dataclass(frozen=True, slots=True)
class _Explained:
    """What one skill makes of a prompt: ``share`` of its words, and what is ``left`` unexplained."""

    share: float
    terms: frozenset[str]
    left: _Words


def best(skills: Sequence[M], prompt: str, *, databases: Sequence[str] = ()) -> M | None:
    """The one that explains enough of the prompt. None on a tie, and when another one explains what this one leaves:
    then two things were asked for.
    """
    words = _words(prompt, databases)
    found = [(said, skill) for skill in skills if (said := _explain(skill, words)) is not None]
    if not found:
        return None
    found.sort(key=lambda pair: pair[0].share, reverse=True)
    (first, skill), others = found[0], [said for said, _ in found[1:]]
    if first.share < _ENOUGH or any(other.share == first.share or _adds(other, first) for other in others):
        return None
    return skill


def _adds(other: _Explained, first: _Explained) -> bool:
    return any(_has(first.left, term) for term in other.terms)


def _explain(skill: Matchable, words: _Words) -> _Explained | None:
    """None when one of the skill's groups is not met."""
    rule = skill.metadata.get(MATCH_KEY)
    groups = _groups(rule) if rule else [[part] for part in skill.name.replace("_", "-").split("-")]
    if not words.size or not all(any(_has(words, term) for term in group) for group in groups):
        return None
    terms = frozenset(term for group in groups for term in group)
    stems = {stem for term in terms for stem in _stems(term)}
    cjk = words.cjk
    for term in sorted((t for t in terms if _CJK.search(t)), key=len, reverse=True):
        cjk = cjk.replace(term, " ")
    left = _Words(tuple(word for word in words.latin if word not in stems), cjk)
    unexplained = len(left.latin) + len(cjk.replace(" ", "")) / 2
    return _Explained(1 - unexplained / words.size, terms, left)


def _groups(rule: str) -> list[list[str]]:
    return [[term.strip().lower() for term in group.split("|") if term.strip()] for group in rule.split("+")]


def _has(words: _Words, term: str) -> bool:
    if _CJK.search(term):
        return term in words.cjk
    stems = _stems(term)
    return bool(stems) and all(stem in words.latin for stem in stems)


def _stems(term: str) -> tuple[str, ...]:
    return tuple(_stem(word) for word in _LATIN.findall(term))


def _stem(word: str) -> str:
    """``inspection``, ``inspecting`` and ``inspect`` are one word; ``databases`` and ``database`` too."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


def _words(prompt: str, databases: Sequence[str]) -> _Words:
    text = prompt.lower()
    for name in sorted(databases, key=len, reverse=True):
        text = re.sub(rf"(?<![a-z0-9_-]){re.escape(name.lower())}(?![a-z0-9_-])", f" {_DATABASE} ", text)
    latin = tuple(_stem(word) for word in _LATIN.findall(text) if word not in _STOP)
    cjk = _STOP_CJK.sub("", "".join(_CJK.findall(text)))
    return _Words(latin, cjk)
