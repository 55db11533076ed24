"""What does a message about something learned, or proposed to be learned, say?

Pure, as ``notice`` is. What an agent wrote is one bounded line a line; the whole change is one command away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from zoneinfo import ZoneInfo

from hermes_cron.domain import notice, when
from hermes_cron.domain.job import Job
from hermes_cron.domain.learning import Kind, Learned, LearnedState
from hermes_cron.domain.notice_words import LEARNED_WORDS

CHANGES = 5
"""That one message tells of."""
LINES = 10
"""Of one change."""
ARCHIVED = "archived"
SNAPSHOT = 7
"""Digits of a snapshot's id."""
_LABELS = ("changed", "from", "used", "see", "undo")
_WORTH_ZH = {
    "it took": "步骤多",
    "a way that was not obvious,": "办法不易想到",
    "errors were overcome,": "克服了错误",
    "a person's correction worked,": "人的纠正有效",
    "it was asked for,": "应人的要求",
}
_WORTH = re.compile(
    rf"(?P<word>{'|'.join(map(re.escape, _WORTH_ZH))}) (?P<calls>\d+) calls?, (?P<errors>\d+) errors?: (?P<said>.*)",
    re.DOTALL,
)
_VERBS = frozenset({"added", "removed", "created", "rewritten", "merged", ARCHIVED})
"""The words of ``Learned.change`` that stand so in a message; all others are ``changed``."""


def learned(job: Job, changes: Sequence[Learned]) -> notice.Text:
    """What was changed, oldest first, a block each; under one head what one run taught."""
    lang = notice.language_of(job)
    words, shown = LEARNED_WORDS[lang], changes[:CHANGES]
    parts = []
    for run_id, of_run in groupby(shown, key=lambda each: each.run_id):
        blocks = "\n\n".join("\n".join(_block(each, lang)) for each in of_run)
        parts.append(f"{words['head'].format(job=job.name, run=run_id or '-')}\n{blocks}")
    if len(changes) > len(shown):
        parts.append(words["more"].format(n=len(changes) - len(shown)))
    body = "\n\n".join(parts)
    return notice.Text(body.partition("\n")[0], body)


def proposed(job: Job, change: Learned, *, number: int, asked_at: datetime, expires_at: datetime) -> notice.Text:
    """A change that waits for a yes until then."""
    lang = notice.language_of(job)
    words = LEARNED_WORDS[lang]
    head = words["head"].format(job=job.name, run=change.run_id or "-")
    until = when.whole(expires_at, ZoneInfo(job.timezone), lang)
    silence = words["silence_text"].format(at=until, span=when.length(expires_at - asked_at, lang))
    pairs = [("proposed", what(change, lang)), ("from", source(change, lang)), ("silence", silence)]
    lines = _facts(change, lang, pairs)
    return notice.Text(head, "\n".join([head, *lines, "", words["answers"].format(id=f"a{number}")]))


def _block(change: Learned, lang: str) -> list[str]:
    verb = change.change if change.change in _VERBS else "changed"
    pairs = [
        (verb, what(change, lang)),
        ("from", source(change, lang)),
        ("used", LEARNED_WORDS[lang]["used_text"]),
        ("see", see(change)),
        ("undo", undo(change)),
    ]
    return _facts(change, lang, [(label, text) for label, text in pairs if text])


def _facts(change: Learned, lang: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The first fact, the lines that changed, the others; in one column."""
    words = LEARNED_WORDS[lang]
    columns = max(notice.width(words[label]) for label in (*_LABELS, *(label for label, _ in pairs))) + 2
    facts = [f"  {words[label]}{' ' * (columns - notice.width(words[label]))}{text}" for label, text in pairs]
    return [facts[0], *_changed(change, lang), *facts[1:]]


def _changed(change: Learned, lang: str) -> Iterator[str]:
    for line in change.lines[:LINES]:
        yield f"  {notice.one_line(line)}"
    if len(change.lines) > LINES:
        yield f"  {LEARNED_WORDS[lang]['more_lines'].format(n=len(change.lines) - LINES)}"


def what(change: Learned, lang: str) -> str:
    """``skill inspect-database, Pitfalls (+1 line)``, ``memory MEMORY.md (+1 entry)``, ``skill a into b (+1 line)``."""
    words = LEARNED_WORDS[lang]
    section = notice.one_line(str(change.details.get("section") or ""), 60)
    place = words["section"].format(section=section) if section else ""
    counted = words["counts"].format(counts=counts(change, lang)) if change.lines or change.change != ARCHIVED else ""
    source = notice.one_line(str(change.details.get("source") or ""), 100)
    merged = words["merged_from"].format(source=source) if source else ""
    done = change.state in (
        LearnedState.APPLIED,
        LearnedState.UNDONE,
        LearnedState.REJECTED,
    )  # "archived" stands before
    away = words["put_away"] if change.change == ARCHIVED and not done else ""
    return f"{words[change.kind.value]} {merged}{called(change)}{place}{counted}{away}"


def counts(change: Learned, lang: str) -> str:
    """``+1 line``, ``+2 -1 entries``."""
    words = LEARNED_WORDS[lang]
    plus = sum(line.startswith("+") for line in change.lines)
    minus = sum(line.startswith("-") for line in change.lines)
    one, many = ("entry", "entries") if change.kind is Kind.MEMORY else ("line", "lines")
    told = " ".join(f"{sign}{n}" for sign, n in (("+", plus), ("-", minus)) if n) or "0"
    return f"{told} {words[one if plus + minus == 1 else many]}"


def called(change: Learned) -> str:
    """The skill as commands may be told, or the memory's file: one line."""
    return notice.one_line(str(change.details.get("called") or change.name or "?"), 100)


def source(change: Learned, lang: str) -> str:
    """``step 7 of r7k2m (counters 0 days old)``: the call, or the review, that it came from, and why."""
    words = LEARNED_WORDS[lang]
    step = (change.key or "").rpartition("/")[2]
    actor = "cli" if change.actor == "run" and not step.isdecimal() else change.actor
    said = words.get(f"from_{actor}", words["from_cli"]).format(run=change.run_id or "-", step=step)
    because = notice.one_line(str(change.details.get("because") or ""))
    return said + (words["because"].format(why=_worth(because, lang)) if because else "")


def _worth(because: str, lang: str) -> str:
    """Why a new skill was worth it, which the record keeps in English before the agent's own words."""
    found = _WORTH.fullmatch(because) if lang == "zh" else None
    if found is None:
        return because
    return f"{_WORTH_ZH[found['word']]}，调用 {found['calls']} 次，错误 {found['errors']} 个：{found['said']}"


def see(change: Learned) -> str:
    """The command that shows the change; nothing where nothing was changed."""
    version = change.details.get("version")
    if change.kind is Kind.SKILL and version:
        return f"hermes-cron skills diff {called(change)}@{version}"
    return f"hermes-cron snapshots show {short(change)}" if change.after else ""


def undo(change: Learned) -> str:
    """The command that takes it back; nothing where nothing was changed, or nothing of it is left."""
    return f"hermes-cron undo {short(change)}" if change.after and change.state is LearnedState.APPLIED else ""


def short(change: Learned) -> str:
    """The snapshot that it made, as people say it."""
    return (change.after or "")[:SNAPSHOT]
