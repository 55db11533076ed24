"""How well does each skill fit what is to be done?

BM25 (Robertson and Zaragoza, 2009) over the words of name, category, match rule and description, each of its own
weight. Beside its words a text has the concepts they stand for (``concepts``), which match across synonyms and between
English and Chinese, for less than the word itself. Chinese, Japanese and Korean are matched by pairs of characters.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

from hermes_cron.domain.words import words
from hermes_cron.experience import concepts
from hermes_cron.experience.matching import MATCH_KEY

if TYPE_CHECKING:
    from hermes_cron.experience.skills import Skill

_NAME, _CATEGORY, _RULE, _DESCRIPTION = 3.0, 1.0, 2.0, 1.0
_CONCEPT = 0.5  # of what a word itself counts
_K, _B = 1.2, 0.4
_PROMPT = 20_000  # characters of a prompt: what stands in its beginning says what it is about
_TERMS = 400

_SPLIT = re.compile(r"[_]+")  # other signs part words anyway
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
_STOP = frozenset(
    """
    a about after again all also an and any are as at be been before being between both but by can could did do does
    doing done each else every etc for from get give go had has have having he her here his how i if in into is it its
    just let like look made make may me more most my need new no not now of off on one only or other our out over
    please same see should so some such than that the their them then there these they thing this those to too under
    up us use used using very via want was we well were what when where which while who why will with would you your
    skill job run today whenever asks asked somebody someone user
    """.split()  # noqa: SIM905  a list of so many quoted words is harder to read
)
_STOP_CJK = re.compile(
    "[的了和与或在是有把被对为从到请帮我你他她它们这那个些一下并且以及吧吗呢就都也还再当时要用于进行]"
)

Terms = Mapping[str, float]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """``deploy``, ``deploys``, ``deployed`` and ``deployment`` are one word. Only for English; numbers stay."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    for suffix, left in (("ment", 4), ("ing", 3), ("ion", 4), ("ity", 4), ("ed", 3), ("ly", 4)):
        if word.endswith(suffix) and len(word) - len(suffix) >= left:
            word = word[: -len(suffix)]
            if suffix in ("ing", "ed") and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    word = word.removesuffix("e") if len(word) > 4 else word
    word = word[:-2] if len(word) > 6 and word.endswith("at") else word
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > 3 else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def terms(text: str) -> Terms:
    """What a text says and how often: stems, pairs of characters where there are no blanks, and ``#concept``."""
    found: dict[str, float] = {}
    _say(found, text, 1.0)
    return found


def _say(found: dict[str, float], text: str, weight: float) -> None:
    for word in words(text):
        senses = _senses(word)
        if senses is None:
            continue
        root, its_concepts = senses
        found[root] = found.get(root, 0.0) + weight
        for concept in its_concepts:
            found[concept] = found.get(concept, 0.0) + weight * _CONCEPT
    if not text.isascii():
        for term in _chinese(text):
            found[term] = found.get(term, 0.0) + weight * _CONCEPT  # two pairs are one word of three characters


@lru_cache(maxsize=50_000)
def _senses(word: str) -> tuple[str, tuple[str, ...]] | None:
    """The stem and its concepts; None for a word that says nothing. A Chinese character says something in a pair."""
    if word in _STOP or (len(word) == 1 and not word.isdigit()):
        return None
    root = stem(word)
    return root, _concepts_of_stems().get(root, ())


@lru_cache(maxsize=1)
def _concepts_of_stems() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for word, numbers in concepts.of_words().items():
        root = stem(word)
        found[root] = tuple(dict.fromkeys((*found.get(root, ()), *(f"#{number}" for number in numbers))))
    return found


def _chinese(text: str) -> Iterator[str]:
    for run in _CJK.findall(text):
        for part in _STOP_CJK.split(run):
            yield from (part[at : at + 2] for at in range(len(part) - 1))
    yield from (f"#{number}" for number in concepts.in_chinese(text))


def said_by(skill: Skill) -> Terms:
    """The terms by which a skill is found."""
    found: dict[str, float] = {}
    _say(found, _SPLIT.sub(" ", skill.name), _NAME)
    _say(found, _SPLIT.sub(" ", skill.category), _CATEGORY)
    _say(found, skill.description, _DESCRIPTION)
    if rule := skill.metadata.get(MATCH_KEY):
        _say(found, rule.replace("|", " ").replace("+", " "), _RULE)
    return found


class Fit:
    """Skills as a prompt is compared with them. Made once for a set of skills; asked often."""

    def __init__(self, said: Sequence[Terms]) -> None:
        self._count = len(said)
        lengths = [sum(each.values()) for each in said]
        mean = sum(lengths) / self._count if said else 0.0
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, each in enumerate(said):
            norm = _K * (1 - _B + _B * lengths[number] / mean) if mean else _K
            for term, count in each.items():
                self._postings[term].append((number, count * (_K + 1) / (count + norm)))

    def scores(self, prompt: str) -> list[float]:
        """For each skill, in the order in which they were given; 0 where nothing fits."""
        scores = [0.0] * self._count
        for term, count in _first(terms(prompt[:_PROMPT]).items(), _TERMS):
            postings = self._postings.get(term)
            if postings is None:
                continue
            rarity = log(1 + (self._count - len(postings) + 0.5) / (len(postings) + 0.5))
            weight = rarity * (1 + log(1 + count)) * (_CONCEPT if term[0] == "#" else 1.0)
            for number, share in postings:
                scores[number] += weight * share
        return scores


def _first(items: Iterable[tuple[str, float]], count: int) -> Iterable[tuple[str, float]]:
    return (item for item, _ in zip(items, range(count), strict=False))
