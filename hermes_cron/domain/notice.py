"""What does a message to a person say? The texts of a report's footer, a failure and its end, a hold, a question.

Pure: what is known comes in, a title of one line and a whole body come out. Every body is complete without its title,
so that a chat shows the body alone. The report of an agent goes out whole; all other foreign text (errors, evidence,
arguments) is made one bounded line. The language is that of the job's own words, times are in the job's zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hermes_cron.domain import clip, when
from hermes_cron.domain.check import CheckResult, Verdict
from hermes_cron.domain.ending import Ending
from hermes_cron.domain.job import Job
from hermes_cron.domain.money import dollars
from hermes_cron.domain.notice_words import WORDS
from hermes_cron.domain.remedy import look
from hermes_cron.domain.run import Cause, ParkedEffect, RunState

LINE = 300
"""Characters of a foreign line; the whole text is one command away."""
EVIDENCE_LINES = 10
_GAP = " " * 5
_BLANK_START = re.compile(r"\A(?:[^\S\n]*\n)+")  # an indented first line stays indented


class Text(NamedTuple):
    """``title`` is one line, ``body`` Markdown."""

    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """An incident that a good run ended: ``failures`` runs since ``opened_at``."""

    number: int
    failures: int
    opened_at: datetime


def language_of(job: Job) -> str:
    """``zh`` when the prompt, or without one the schedule's phrases, hold a Chinese character; else ``en``."""
    from hermes_cron.domain.schedule.phrase import language

    return language(job.prompt if job.prompt else " ".join(job.schedule))


def one_line(text: str, limit: int = LINE) -> str:
    """Foreign text as ``clip.one_line`` shows it, no longer than a message's line."""
    return clip.one_line(text, limit)


def report(ending: Ending) -> Text:
    """The report, whole but for blank lines around it, and one line under it."""
    outcome = ending.outcome
    title = one_line(outcome.title or "") or ending.job.name
    return Text(title, f"{_BLANK_START.sub('', outcome.text).rstrip()}\n\n{_footer(ending)}")


def failure(ending: Ending, *, incident: int, last_good: datetime | None) -> Text:
    """The first failed run of an incident. ``last_good`` is when the job's last good run was due, else started."""
    saying = _Saying(ending)
    known = [*saying.before_and_after(last_good), saying.no_report(last_good), *saying.path("kept")]
    return saying.told(saying.what(), saying.sentence(known), saying.last_line(incident))


def check_failed(ending: Ending, *, incident: int, last_good: datetime | None) -> Text:
    """A run that says it is done, and whose checks failed or could not be made; with their evidence."""
    saying = _Saying(ending)
    lead = "false_done" if ending.outcome.verdict is Verdict.CHECK_FAILED else "unproved"
    known = [*saying.before_and_after(last_good), *saying.path("distrust")]
    return saying.told(saying.words[lead], *saying.evidence(), saying.sentence(known), saying.last_line(incident))


def recovery(ending: Ending, solved: Sequence[Solved]) -> Text:
    """The good run that ended these incidents, all in one line."""
    saying = _Saying(ending)
    failed = sum(each.failures for each in solved)
    since = min(each.opened_at for each in solved)
    line = saying.say(
        "recovered" if ending.scheduled_at is not None else "recovered_by_hand",
        job=ending.job.name,
        due=saying.due,
        verdict=saying.words["verified" if ending.outcome.verdict is Verdict.VERIFIED else "unchecked"],
        runs=saying.count("run", failed),
        span=when.length(ending.ended_at - since, saying.lang),
        ids=saying.words["join"].join(f"i{each.number}" for each in solved),
    )
    return Text(line, line)


def held(ending: Ending, *, failures: int) -> Text:
    """The job was held after ``failures`` failures in a row, the last of them this one."""
    saying = _Saying(ending)
    head = saying.say("held", job=ending.job.name, n=saying.count("failure", failures))
    return _stopped(saying, head)


def budget(ending: Ending) -> Text:
    """A cap of more than one run ended this one and holds the job: the only message about it."""
    saying = _Saying(ending)
    return _stopped(saying, saying.head())


def _stopped(saying: _Saying, head: str) -> Text:
    known = [saying.words["stays_held"], *saying.path("kept")]
    commands = [saying.say("look", command=saying.look()), saying.say("resume", job=saying.ending.job.name)]
    return Text(head, "\n".join([head, saying.what(), saying.sentence(known), _GAP.join(commands)]))


def approval(
    job: Job, effect: ParkedEffect, *, run_id: str, number: int, asked_at: datetime, expires_at: datetime
) -> Text:
    """A call that may have happened: what it was, what is known, what either answer means, and until when."""
    lang, zone, name = language_of(job), ZoneInfo(job.timezone), f"a{number}"
    words = WORDS[lang]
    head = words["asks"].format(id=name, job=job.name)
    until = when.whole(expires_at, zone, lang)
    pairs = [
        ("why", words["why_text"]),
        *(("known", one_line(line)) for line in effect.evidence[:EVIDENCE_LINES]),
        ("approve", words["approve_text"]),
        ("deny", words["deny_text"]),
        ("asked", words["asked_text"].format(run=run_id)),
        ("silence", words["silence_text"].format(at=until, span=when.length(expires_at - asked_at, lang))),
    ]
    columns = max(width(words[label]) for label, _ in pairs) + 1
    lines = [f"  {words[label]}{' ' * (columns - width(words[label]))}{text}" for label, text in pairs]
    asked = f"  {effect.tool} {one_line(effect.arguments, 2 * LINE)}"
    return Text(head, "\n".join([head, "", asked, "", *lines, "", words["answers"].format(id=name)]))


def width(label: str) -> int:
    """Columns of a label: ours are ASCII, or Chinese characters of two columns each."""
    return len(label) if label.isascii() else 2 * len(label)


def _footer(ending: Ending) -> str:
    saying = _Saying(ending)
    return saying.say(
        "footer" if ending.good else "footer_bad",
        job=ending.job.name,
        run=ending.run_id,
        verdict=saying.verdict(),
        usage=saying.words["join"].join(saying.usage()),
        look=saying.look(),
    )


class _Saying:
    """One ending in the words of its job's language."""

    def __init__(self, ending: Ending) -> None:
        self.ending = ending
        self.lang = language_of(ending.job)
        self.words = WORDS[self.lang]
        self._zone = ZoneInfo(ending.job.timezone)

    def say(self, key: str, **values: object) -> str:
        return self.words[key].format(**values)

    def count(self, key: str, n: int) -> str:
        return self.words[key] if n == 1 else self.say(f"{key}s", n=f"{n:,}")

    def sentence(self, parts: Iterable[str]) -> str:
        return self.words["space"].join(parts)

    @property
    def due(self) -> str:
        return when.whole(self._instant, self._zone, self.lang)

    @property
    def _instant(self) -> datetime:
        """When it was due; by hand, when it started."""
        return self.ending.scheduled_at or self.ending.started_at or self.ending.ended_at

    def head(self) -> str:
        outcome = self.ending.outcome
        if outcome.state is RunState.OK:
            word = self.words[outcome.verdict or "failed"]
        else:
            word = self.words["budget_exhausted" if outcome.state is RunState.BUDGET_EXHAUSTED else "failed"]
        key = "head" if self.ending.cause is Cause.SCHEDULE else "head_by_hand"
        return self.say(key, word=word, job=self.ending.job.name, due=self.due)

    def told(self, *lines: str) -> Text:
        head = self.head()
        return Text(head, "\n".join([head, *lines]))

    def what(self) -> str:
        """Why it failed, in one line, with how often it was tried."""
        ending, outcome = self.ending, self.ending.outcome
        said = one_line(outcome.error or "") or self._unsaid()
        if ending.attempt == 1 or ending.started_at is None:
            return said
        span = when.length(ending.ended_at - ending.started_at, self.lang)
        return self.say("tries", what=said, n=ending.attempt, span=span)

    def _unsaid(self) -> str:
        state, reason = self.ending.outcome.state, self.ending.outcome.reason
        if reason in _EXPLAINED:
            return self.words[reason]
        return self.say("unexplained_reason" if reason else "unexplained", state=state, reason=reason)

    def before_and_after(self, last_good: datetime | None) -> list[str]:
        ending = self.ending
        said = [self.say("last_good", at=self._near(last_good))]
        paused = ending.job.paused is not None
        return [*said, self.words["paused"] if paused else self.say("next", at=self._near(ending.next_due))]

    def _near(self, instant: datetime | None) -> str:
        if instant is None:
            return self.words["never"]
        return when.near(instant, self._zone, self.lang, now=self.ending.ended_at)

    def no_report(self, last_good: datetime | None) -> str:
        """An earlier run of the same day may have left a report: then only this run has none."""
        if last_good is not None and when.same_day(last_good, self._instant, self._zone):
            return self.words["no_report_run"]
        if when.same_day(self._instant, self.ending.ended_at, self._zone):
            return self.words["no_report_today"]
        return self.say("no_report_day", day=when.day(self._instant, self._zone, self.lang))

    def path(self, key: str) -> list[str]:
        kept = self.ending.outcome.output_path
        return [] if kept is None else [self.say(key, path=kept)]

    def look(self) -> str:
        ending = self.ending
        return look(
            ending.outcome.reason, run_id=ending.run_id, databases=ending.job.databases, error=ending.outcome.error
        )

    def last_line(self, incident: int) -> str:
        return _GAP.join([self.say("look", command=self.look()), self.say("quiet", id=f"i{incident}")])

    def evidence(self) -> list[str]:
        bad = self._bad_checks()
        lines = [f"- {_evidence(check)}" for check in bad[:EVIDENCE_LINES]]
        left = len(bad) - len(lines)
        return [*lines, f"- {self.say('more', n=left)}"] if left else lines

    def _bad_checks(self) -> list[CheckResult]:
        """The failed ones first."""
        checks = self.ending.outcome.checks
        return [each for verdict in _BAD for each in checks if each.verdict is verdict]

    def verdict(self) -> str:
        verdict = self.ending.outcome.verdict
        if verdict is None:
            return self.words["unchecked"]
        if verdict is Verdict.VERIFIED:
            return self.words["verified"]
        first, *others = self._bad_checks()
        what = [_evidence(first), *([self.say("more", n=len(others))] if others else [])]
        return self.say("bad_check", word=self.words[verdict], what=self.words["list"].join(what))

    def usage(self) -> list[str]:
        """Nothing is shown as 0 for want of knowledge: a model that reported no usage has unknown tokens."""
        ending = self.ending
        unknown = ending.cost_usd is None
        if not ending.tokens and unknown:
            return [self.words["tokens_unknown"], self.words["cost_unknown"]]
        tokens = self.say("tokens", n=f"{ending.tokens:,}")
        if ending.cost_usd is None:
            return [tokens, self.words["cost_unknown"]]
        free = not ending.tokens and not ending.cost_usd
        return [tokens] if free else [tokens, self.say("cost", usd=dollars(ending.cost_usd))]


_BAD = (Verdict.CHECK_FAILED, Verdict.NOT_CHECKABLE)
_EXPLAINED = frozenset({"owner_died", "shutdown", "overlong", "crashed", "denied", "expired"})


def _evidence(check: CheckResult) -> str:
    return one_line(f"{check.says}: {check.detail}" if check.detail else check.says)
