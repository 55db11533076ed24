"""May a model's text stand in the place of entries? Only if no fact of theirs is lost, and none is made up.

Every number, name, path, URL and host of the old entries is in the new text, or is listed as dropped with a reason that
can be seen to hold: it expired by the entry's own words, or another value of its kind takes its place and stands in a
later one of these entries and in the new text. What is refused leaves the old entries as they are, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.entries import size
from hermes_cron.experience.consolidation import Left, Step, Why
from hermes_cron.experience.facts import Fact, Kind, Token, missing, required, tokens
from hermes_cron.experience.memory import Target, shown
from hermes_cron.experience.memory_lint import Fault as Lint
from hermes_cron.experience.memory_lint import remarks
from hermes_cron.experience.same import clauses, content, said
from hermes_cron.experience.validity import ended

_KEPT_WORDS = 0.7
_SHOWN = 6
_SHORT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A fact that the model says it left out, and why."""

    what: str
    reason: str
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """What a model would put in the place of entries, in the order of the file."""

    sources: tuple[str, ...]
    text: str
    dropped: tuple[Claim, ...] = ()


class Fault(StrEnum):
    """Why a text may not stand in the place of entries. ``form``: the answer is none that was asked for."""

    LOST = "lost"
    INVENTED = "invented"
    MIXED_UP = "mixed_up"
    LONGER = "longer"
    WORDS = "words"
    ORDER = "order"
    UNFIT = "unfit"
    SAME = "same"
    FORM = "form"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Entries that stay as they are, and why. ``detail`` are the facts, or what else there is to say."""

    sources: tuple[str, ...]
    fault: Fault
    detail: str = ""


def judged(rewrite: Rewrite, target: Target, today: date) -> Step | Refusal:
    """The step, or why the old text stays."""
    sources = tuple(map(shown, rewrite.sources))
    gone = missing(sources, rewrite.text)
    left = [(fact, _allowed(fact, rewrite, sources, today)) for fact in gone]
    lost = tuple(fact for fact, why in left if why is None)
    if lost:
        return Refusal(sources=rewrite.sources, fault=Fault.LOST, detail=_told(lost))
    for fault, detail in _faults(rewrite.text, sources, target, has_left=bool(left)):
        return Refusal(sources=rewrite.sources, fault=fault, detail=detail)
    listed = tuple(why for _, why in left if why is not None)
    if len(sources) == 1 and sorted(said(sources[0])) == sorted(said(rewrite.text)):  # in another order, at best
        return Refusal(sources=rewrite.sources, fault=Fault.SAME)
    if rewrite.text not in rewrite.sources:
        return Step(sources=rewrite.sources, why=Why.REWRITTEN, text=rewrite.text, left=listed)
    others = tuple(source for source in rewrite.sources if source != rewrite.text)
    if len(others) + 1 != len(rewrite.sources) or not others:
        return Refusal(sources=rewrite.sources, fault=Fault.SAME)
    return Step(sources=others, why=listed[0].why if listed else Why.NEARLY, by=rewrite.text, left=listed)


def _told(facts: Sequence[Fact]) -> str:
    words = [f"{fact.kind} {one_line(fact.text, _SHORT)}" for fact in facts[:_SHOWN]]
    return ", ".join(words) + (f" and {len(facts) - _SHOWN} more" if len(facts) > _SHOWN else "")


# --- what may be left out ---------------------------------------------------------------------------------------------


def _allowed(fact: Fact, rewrite: Rewrite, sources: Sequence[str], today: date) -> Left | None:
    for claim in rewrite.dropped:
        if not _is_of(claim, fact):
            continue
        if claim.reason == Why.EXPIRED and _ended_with(fact, sources, today):
            return Left(fact=fact, why=Why.EXPIRED)
        if claim.reason == Why.SUPERSEDED and _replaced(fact, claim.by, rewrite.text, sources):
            return Left(fact=fact, why=Why.SUPERSEDED, by=claim.by)
    return None


def _is_of(claim: Claim, fact: Fact) -> bool:
    return claim.what.strip() == fact.text or fact.key in {it.key for it in required(claim.what)}


def _ended_with(fact: Fact, sources: Sequence[str], today: date) -> bool:
    """Every place where it stands says of itself that it is past."""
    places = [part for source in sources for part in clauses(source) if not missing([fact.text], part)]
    return bool(places) and all(ended(part, today) is not None for part in places)


def _replaced(fact: Fact, by: str, text: str, sources: Sequence[str]) -> bool:
    """``by`` is a value of the same kind in a later entry that has the old value no more."""
    values = [it for it in required(by) if it.kind is fact.kind]
    if fact.kind is Kind.NEGATION or not values or missing([by], text):
        return False
    has_old = [at for at, source in enumerate(sources) if not missing([fact.text], source)]
    return any(not missing([by], source) and at > max(has_old, default=-1) for at, source in enumerate(sources))


# --- what may not be written ------------------------------------------------------------------------------------------


def _faults(text: str, sources: Sequence[str], target: Target, *, has_left: bool) -> Iterator[tuple[Fault, str]]:
    invented = missing([text], "\n".join(sources))
    mixed = next((value for source in sources if (value := mixed_up(source, text)) is not None), None)
    found = {remark.fault for remark in remarks(text, target)}
    if invented:
        yield Fault.INVENTED, _told(invented)
    if mixed is not None:
        yield Fault.MIXED_UP, one_line(mixed, _SHORT)
    if len(text) > size(sources):
        yield Fault.LONGER, f"{len(text)} > {size(sources)}"
    if not has_left and _share(text, sources) < _KEPT_WORDS:
        yield Fault.WORDS, ""
    if Lint.METHOD in found or (Lint.ORDER in found and not any(_orders(source, target) for source in sources)):
        yield Fault.ORDER, ""


def _orders(source: str, target: Target) -> bool:
    return any(remark.fault in (Lint.ORDER, Lint.METHOD) for remark in remarks(source, target))


def _share(text: str, sources: Sequence[str]) -> float:
    """Of the entry of which least is left: how much of its words."""
    new = content(text)
    words = [content(source) for source in sources]
    return min((len(it & new) / len(it) for it in words if it), default=1.0)


_BEFORE, _BEHIND = 4, 2
_VALUES = frozenset({"number", "time", "date", "ip", "ip6", "host", "path", "windows", "url"})


def mixed_up(old: str, new: str) -> str | None:
    """A value that stands beside the words of another one of its kind now; None when all stand where they belong.

    ``primary db1, replica db2`` has two names that end in a digit: each has words of its own before it, up to the last
    such name. A value is mixed up when none of its own words stand there any more and another one's do.
    """
    for values in (_is_value, _is_numbered):
        for side in (_before, _behind):
            near, again = _beside(old, values, side), _beside(new, values, side)
            own = {
                it: words - set().union(*(near[other] for other in near if other != it)) for it, words in near.items()
            }
            for value, words in own.items():
                others = set().union(*(own[other] for other in own if other != value))
                if words and value in again and not words & again[value] and others & again[value]:
                    return value
    return None


def _is_value(token: Token) -> bool:
    return token.what in _VALUES


def _is_numbered(token: Token) -> bool:
    return token.what == "word" and token.said[-1:].isdecimal()


def _before(words: tuple[str, ...], at: int, values: set[str]) -> Iterator[str]:
    for word in words[max(0, at - _BEFORE) : at][::-1]:
        if word in values:
            return
        yield word


def _behind(words: tuple[str, ...], at: int, values: set[str]) -> Iterator[str]:
    for word in words[at + 1 : at + 1 + _BEHIND]:
        if word in values:
            return
        yield word


def _beside(
    text: str, values: Callable[[Token], bool], side: Callable[[tuple[str, ...], int, set[str]], Iterator[str]]
) -> dict[str, set[str]]:  # fmt: skip
    """By value: the words on one side of it, wherever it stands."""
    words, wanted = said(text), {token.said for token in tokens(text) if values(token)}
    found: dict[str, set[str]] = {}
    for at, word in enumerate(words):
        if word in wanted:
            found.setdefault(word, set()).update(side(words, at, wanted))
    return found
