"""What does a text say to the agent that will read it, and may it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hermes_cron.domain.scan.encoded import decoded
from hermes_cron.domain.scan.finding import Finding, Kind, Purpose, Scan, Verdict
from hermes_cron.domain.scan.fold import Folded
from hermes_cron.domain.scan.hidden import Hidden, hidden
from hermes_cron.domain.scan.place import Places, visible
from hermes_cron.domain.scan.rules import COMMANDS, WORDS, Command, Rule
from hermes_cron.domain.scan.stance import Around, Stance

_MOST = 50  # findings that are told; the worst are among them
_DEEPEST = 2  # an encoded text in an encoded text
_SAID = 120
_JOINED = re.compile(r"\\\r?\n")
_LINE_END = re.compile(r"[\n;]")
_QUOTES = re.compile(r"[\"'` ]*")
_LEAD_LENGTH = 200
_SPACED = re.compile(r"\b(?:[a-z][ .\-_*]{1,2}){5,}[a-z]\b")
_POSITION = re.compile(
    r"(?:\A|[;&|$({`:=]|\b(?:run|runs|execute|type|then|and|please|first|next|now|sudo|exec|with|by|using|use|via|bash|sh"
    r"|-c|command|must|do|to|always|eval|xargs|nohup|执行|运行|先|再|然后|并)[:,]?)\s*[\"'`]*\Z"
)
_LEAD = re.compile(r"\A\s*(?:(?:[-*+>#$%]|\d{1,3}[.)]|\w{1,20}[@\w.:~/-]{0,40}[$#])\s*)*[\"'`*]*")


@dataclass(frozen=True, slots=True)
class _Hit:
    """A match in the original text."""

    kind: Kind
    verdict: Verdict
    start: int
    end: int
    said: str | None = None


def scan(text: str, purpose: Purpose) -> Scan:
    """Findings of every class, each with its verdict for a text of this purpose. Time grows with the text."""
    places = Places(text)
    hits = sorted(_hits(text, purpose), key=lambda hit: (-hit.verdict.rank, hit.start))
    kept: list[_Hit] = []
    seen: set[tuple[Kind, int]] = set()
    for hit in hits:
        line = places.of(hit.start)[0]
        if (hit.kind, line) in seen:
            continue
        seen.add((hit.kind, line))
        kept.append(hit)
        if len(kept) == _MOST:
            break
    return Scan(purpose=purpose, findings=tuple(_finding(hit, places) for hit in kept))


def _finding(hit: _Hit, places: Places) -> Finding:
    line, column = places.of(hit.start)
    said = None if hit.said is None else visible(hit.said)
    return Finding(
        kind=hit.kind,
        verdict=hit.verdict,
        line=line,
        column=column,
        excerpt=places.excerpt(hit.start, hit.end),
        decoded=said if said is None or len(said) <= _SAID else said[: _SAID - 1] + "…",
    )


def _hits(text: str, purpose: Purpose, depth: int = 0) -> Iterator[_Hit]:
    folded = Folded(text)
    around = Around(folded.text)
    for rule, start, end, level in _matches(folded.text, around, purpose):
        yield _Hit(rule.kind, level, folded.origin(start), folded.origin(max(start, end - 1)) + 1)
    yield from _spaced(folded, around, purpose)
    for place in hidden(text):
        yield _shown(place, purpose)
    if depth == _DEEPEST:
        return
    known: dict[str, _Hit | None] = {}
    for part in decoded(text):
        if part.text not in known:
            inner = _hits(part.text, purpose, depth + 1)
            known[part.text] = max(inner, key=lambda hit: hit.verdict.rank, default=None)
        worst = known[part.text]
        if worst is None or worst.kind in (Kind.INVISIBLE_UNICODE, Kind.HOMOGLYPHS):
            continue
        stance = around.words(folded.place(part.start), folded.place(part.end))
        said = part.text if worst.said is None else worst.said
        yield _Hit(Kind.ENCODED_PAYLOAD, _lowered(worst.verdict, stance), part.start, part.end, said)


def _matches(text: str, around: Around, purpose: Purpose) -> Iterator[tuple[Rule, int, int, Verdict]]:
    for rule in WORDS:
        if rule.may_match(text):
            for match in rule.matcher.finditer(text):
                yield rule, match.start(), match.end(), _level(rule, match.start(), match.end(), around, purpose)
    joined = _JOINED.sub(lambda found: " " * len(found[0]), text)
    for rule in COMMANDS:
        if rule.may_match(text):
            for start, end, line_start in _commands(rule, joined):
                yield rule, start, end, _command_level(rule, joined[line_start:start], (start, end), around, purpose)


def _commands(rule: Command, text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end, and where the command line begins. The tail is searched once a line, from the first head on."""
    done = 0
    for head in rule.matcher.finditer(text):
        if head.start() < done:
            continue
        begin = _begin(text, head.start())
        within = len(text) if rule.shell else head.end() + _LEAD_LENGTH
        stop = _LINE_END.search(text, head.end(), within)
        line_end = stop.start() if stop else min(within, len(text))
        if not rule.shell:
            near = rule.tail_matcher.match(text, _QUOTES.match(text, head.end()).end(), line_end)  # type: ignore[union-attr]
            if near is not None:
                yield head.start(), near.end(), begin
            continue
        done = line_end
        tail = rule.tail_matcher.search(text, head.end(), line_end) if rule.tail else head
        if tail is not None:
            yield head.start(), tail.end(), begin


def _begin(text: str, at: int) -> int:
    floor = max(0, at - _LEAD_LENGTH)
    return max(text.rfind("\n", floor, at), text.rfind(";", floor, at), floor - 1) + 1


def _level(rule: Rule, start: int, end: int, around: Around, purpose: Purpose) -> Verdict:
    level = _lowered(rule.level(purpose), around.words(start, end))
    if rule.kind is Kind.CONCEALMENT and level is not Verdict.ALLOW:
        return around.on_condition(start, level)
    return level


def _command_level(rule: Command, before: str, span: tuple[int, int], around: Around, purpose: Purpose) -> Verdict:
    level = _lowered(rule.level(purpose), around.command(*span))
    lead = _LEAD.sub("", before, count=1)
    if rule.kind is Kind.CREDENTIAL_ACCESS and not _POSITION.search(lead):
        # "a child process could cat ~/.hermes/.env" tells what happened; nobody is asked to.
        return min(level, Verdict.ALLOW if purpose in (Purpose.SKILL, Purpose.CONTEXT) else Verdict.WARN, key=_rank)
    return level


def _lowered(level: Verdict, stance: Stance) -> Verdict:
    if stance is Stance.ABOUT:
        return Verdict.ALLOW
    return min(level, Verdict.WARN, key=_rank) if stance is Stance.MENTIONED else level


def _rank(verdict: Verdict) -> int:
    return verdict.rank


def _spaced(folded: Folded, around: Around, purpose: Purpose) -> Iterator[_Hit]:
    """``i g n o r e  p r e v i o u s``: letters set apart, read together."""
    runs = list(_SPACED.finditer(folded.text))
    if len(runs) == 0:
        return
    text = _SPACED.sub(lambda run: " " + re.sub(r"[ .\-_*]", "", run[0]), folded.text)
    glued = _SPACED.sub(lambda run: re.sub(r"([a-z])[ .\-_*](?=[a-z])", r"\1", run[0]), folded.text)
    for reading in (text, glued):
        inner = Around(reading)
        for rule, _, _, level in _matches(reading, inner, purpose):
            yield _Hit(rule.kind, level, folded.origin(runs[0].start()), folded.origin(runs[-1].end() - 1) + 1)


def _shown(place: Hidden, purpose: Purpose) -> _Hit:
    """A memory entry is short and written by a program: it needs nothing invisible."""
    level = Verdict.BLOCK if purpose is Purpose.MEMORY else place.verdict
    return _Hit(place.kind, level, place.start, place.end, place.said)
