"""Which job does a file declare, or what exactly is wrong with it?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hermes_cron.domain import template
from hermes_cron.domain.earlier import Earlier
from hermes_cron.domain.job import (
    KEEP,
    LIMITS,
    PAUSE_AFTER,
    TIMEOUT,
    CatchUp,
    Deliver,
    Job,
    Keep,
    Limits,
    OnCheckFailure,
    Overlap,
    PlaybookUse,
    Retries,
    Template,
    When,
    name_key,
)
from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.domain.self_restart import REMEDY, restarts_itself
from hermes_cron.errors import HermesCronError, ScheduleInPast
from hermes_cron.jobs import follow_up, forms, keys
from hermes_cron.jobs.frontmatter import Entry, Fault, FaultsFound, Parts, Table, read_table, refuse, split
from hermes_cron.jobs.names import name_fault
from hermes_cron.jobs.nearest import did_you_mean
from hermes_cron.jobs.plain_sight import spelled_out
from hermes_cron.jobs.resolve import databases_named, no_database
from hermes_cron.jobs.save import span_text

if TYPE_CHECKING:
    from hermes_cron.domain.schedule.trigger import Trigger
    from hermes_cron.jobs.checks import Placed

_LISTED_BY = {
    "skills": "hermes-cron skills list",
    "tools": "hermes-cron tools list",
}
"""The command that shows which names there are."""

_NO_REPORTS = "{{ context.* }} is for the prompt of a job with the key context, such as context: {own: last}"
_LONG_AGO = (datetime(1970, 1, 5, 12, tzinfo=UTC), datetime(1971, 3, 3, 7, tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a file may mention, and the home's defaults. ``None`` for a set: those names are not judged here.

    ``strict`` is for ``add``, ``edit`` and ``check``: names must exist, the working folder too. A scheduler reads
    with ``strict=False``: what is missing then fails the run, with a reason, and a later ``db add`` heals it.
    ``guard`` says why a database's query may not be sent, None where it may.
    """

    databases: frozenset[str] = frozenset()
    skills: Collection[str] | None = None
    tools: Collection[str] | None = None
    targets: Collection[str] | None = None
    jobs: Collection[str] | None = None
    guard: follow_up.Guard | None = None
    strict: bool = True
    limits: Limits = field(default_factory=Limits)
    keep: Keep = field(default_factory=Keep)


def parse_job(text: bytes, *, path: str | Path, name: str, now: datetime, host_zone: str, known: Known) -> Job:
    """The job of these bytes. ``path`` is how messages call the file, ``now`` what relative phrases count from.

    Raises JobFileError with every fault that can be found: the first in the message, all in ``details["faults"]``.
    """
    try:
        parts = split(text)
        table = read_table(parts)
    except FaultsFound as stopped:
        raise refuse(str(path), stopped.faults) from None
    reading = _Reading(parts, table, name=name, known=known)
    job = reading.job(now, host_zone)
    if reading.faults:
        raise refuse(str(path), reading.faults)
    return job


def zone_of(name: str) -> ZoneInfo | None:
    """The IANA zone, None when there is none of this name (the names are case-sensitive)."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


class _Reading:
    """One file being read: the values that are good so far, and the faults."""

    def __init__(self, parts: Parts, table: Table, *, name: str, known: Known) -> None:
        self.faults: list[Fault] = []
        self._parts = parts
        self._table = table
        self._name = name
        self._known = known
        self._lines = {entry.key: entry.line for entry in table.entries}
        self._given: dict[str, Any] = {}
        for entry in table.entries:
            self._read(entry)

    def _read(self, entry: Entry) -> None:
        if entry.key in keys.NOT_YET:
            self.faults.append(forms.not_yet(entry))
        elif entry.key not in keys.KEYS:
            self.faults.append(forms.unknown_key(entry, frozenset(keys.KEYS) | keys.NOT_YET))
        else:
            try:
                self._given[entry.key] = keys.KEYS[entry.key](entry.value, entry.key)
            except FaultsFound as stopped:
                self.faults.extend(stopped.faults)

    def _fault(self, key: str, message: str, line: int | None = None, *, hint: str | None = None) -> None:
        self.faults.append(Fault(line=line or self._lines.get(key, self._table.line), message=message, hint=hint))

    def job(self, now: datetime, host_zone: str) -> Job:
        """Judges everything, then builds; a job built beside faults is thrown away by the caller."""
        wrong_name = name_fault(self._name)
        if wrong_name:
            self._fault("", wrong_name, line=1)
        zone_name, zone = self._zone(host_zone)
        trigger = self._trigger(now, zone)
        start, until = self._instant("start", zone), self._instant("until", zone)
        if start and until and until <= start:
            self._fault("until", "until is not after start")
        self._check_jitter(trigger, zone, now)
        prompt = self._prompt()
        given = self._given
        said, kept = given.get("limits", {}), given.get("keep", {})
        limits = replace(self._known.limits, **said, inherited=tuple(name for name in LIMITS if name not in said))
        keep = replace(self._known.keep, **kept, inherited=tuple(name for name in KEEP if name not in kept))
        return Job(
            name=self._name,
            description=given.get("description")
            or _first_line(prompt or given.get("script") or given.get("action") or ""),
            schedule=tuple(text for text, _ in given.get("schedule", ())),
            trigger=trigger,
            timezone=zone_name,
            start=start,
            until=until,
            max_runs=given.get("max_runs"),
            jitter=given.get("jitter", timedelta(0)),
            catch_up=given.get("catch_up", CatchUp.LATEST),
            grace=given.get("grace"),
            overlap=given.get("overlap", Overlap.SKIP),
            paused=given.get("paused"),
            tags=_texts(given, "tags"),
            prompt=prompt,
            script=given.get("script"),
            action=given.get("action"),
            vars=given.get("vars", {}),
            env=given.get("env", {}),
            workdir=self._workdir(),
            skills=self._names("skills", self._known.skills),
            playbook=given.get("playbook", PlaybookUse()),
            databases=self._databases(prompt),
            model=given.get("model"),
            fallback_models=_texts(given, "fallback_models"),
            tools=self._names("tools", self._known.tools) if "tools" in given else None,
            limits=limits,
            timeout=self._timeout(limits),
            retries=given.get("retries", Retries()),
            pause_after=given.get("pause_after", PAUSE_AFTER),
            checks=tuple(placed.check for placed in self._checks()),
            on_check_failure=self._on_check_failure(),
            deliver=self._deliver(),
            ping=given.get("ping"),
            keep=keep,
            template=given.get("template", Template.PLAIN),
            context=self._context(),
            memory=given.get("memory", MemoryMode.READ_WRITE),
            learn=given.get("learn", Learn.AUTO),
        )

    # --- time ---------------------------------------------------------------------------------------------------

    def _zone(self, host_zone: str) -> tuple[str, ZoneInfo]:
        name, line = self._given.get("timezone", (host_zone, None))
        zone = zone_of(name)
        if zone is None:
            wrong = f'timezone: no zone "{name}"{near_zone(name)}'
            self._fault("timezone", wrong, line, hint="an IANA name such as Asia/Shanghai")
        return (name, zone) if zone else ("UTC", ZoneInfo("UTC"))

    def _trigger(self, now: datetime, zone: ZoneInfo) -> Trigger | None:
        from hermes_cron.domain.schedule.trigger import any_of

        if "schedule" not in self._lines and not self.faults:  # beside "shedule" it would only repeat
            self._fault("", "schedule is missing")
        found = []
        for phrase, line in self._given.get("schedule", ()):
            try:
                found.append(read_phrase(phrase, now, zone))
            except HermesCronError as error:
                self._fault("schedule", f"schedule: {error.message}{_more(error)}", line)
        return any_of(tuple(found)) if found else None

    def _instant(self, key: str, zone: ZoneInfo) -> datetime | None:
        if key not in self._given:
            return None
        text, line = self._given[key]
        try:
            found = datetime.fromisoformat(text)
            found = (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)
        except (ValueError, OverflowError):  # the first and the last hours of the calendar have no UTC
            found = None
        if found is None or len(text) <= len("2026-12-01"):
            self._fault(key, f'{key}: expected an instant such as "2026-12-01T09:00", not "{text}"', line)
            return None
        return found

    def _check_jitter(self, trigger: Trigger | None, zone: ZoneInfo, now: datetime) -> None:
        from hermes_cron.domain.schedule.trigger import period

        jitter: timedelta = self._given.get("jitter", timedelta(0))
        if not jitter or trigger is None:
            return
        gap = period(trigger, zone, now)
        if gap is not None and jitter >= gap / 2:
            self._fault("jitter", f"jitter: must be less than half the period of {span_text(gap)}")

    # --- work ---------------------------------------------------------------------------------------------------

    def _prompt(self) -> str | None:
        text = self._parts.prompt
        self._secrets(text)
        self._screen(text)
        if "action" in self._lines:
            self._refuse_beside_action(text)
            return None
        if "script" in self._lines:
            if text:
                self._fault("script", "script: excludes a prompt below the keys")
            self._refuse_a_models_keys()
            return None
        if not text:
            self._fault("", 'the prompt below the second "---" is empty', self._parts.body_line)
        else:
            self._check_braces(text, self._body_line, reports=self._reports_asked_for())
        return text

    def _refuse_a_models_keys(self) -> None:
        """What a script's job may not say, for it would do nothing."""
        for key in ("skills", "model", "fallback_models", "context", "memory", "learn"):
            if key in self._lines:
                self._fault(key, f"{key}: not with script, which runs without a model")
        for key in ("tokens", "cost_usd", "cost_usd_per_day"):
            if key in self._given.get("limits", {}):
                message = f"limits.{key}: not with script, which runs without a model"
                self._fault("limits", message, self._line_of("limits", key))
        if self._given.get("on_check_failure", {}).get("attempts"):
            message = "on_check_failure.attempts: not with script, which has no agent to ask again"
            self._fault("on_check_failure", message, self._line_of("on_check_failure", "attempts"))

    def _refuse_beside_action(self, text: str) -> None:
        """A job of the home itself has no agent, no text and no command; when it runs and who hears of it, it says."""
        if text:
            self._fault("action", "action: excludes a prompt below the keys")
        for key in keys.NOT_WITH_ACTION:
            if key in self._lines:
                self._fault(key, f"{key}: not with action, which says by itself what is done")
        if self._given.get("on_check_failure", {}).get("attempts"):
            message = "on_check_failure.attempts: not with action, which has no agent to ask again"
            self._fault("on_check_failure", message, self._line_of("on_check_failure", "attempts"))

    def _check_braces(self, text: str, place: Callable[[int], int], *, reports: bool) -> None:
        """``place`` turns a line of the text into one of the file. ``reports``: it may name earlier ones."""
        if self._given.get("template") is Template.JINJA:
            self._check_jinja(text, place, reports=reports)
            return
        variables: Mapping[str, object] = self._given.get("vars", {})
        for placeholder in template.placeholders(text):
            wrong = template.fault(placeholder, variables)
            if wrong is None and placeholder.name == "context" and not reports:
                wrong = _NO_REPORTS
            if wrong:
                self._fault("", wrong, place(placeholder.line))

    def _reports_asked_for(self) -> bool:
        given: Mapping[str, Any] = self._given.get("context", {})
        return bool(given.get("own") or given.get("from"))

    def _secrets(self, prompt: str | None) -> None:
        if secret := spelled_out(prompt or ""):
            self._fault("", _in_plain_sight("prompt", secret[0]), self._body_line(secret[1]))
        script = str(self._given.get("script") or "")
        if secret := spelled_out(script):
            self._fault("script", _in_plain_sight("script", secret[0]))
        if words := restarts_itself(script):
            self._fault("script", f"script: {words} would end the service that runs it, and the run", hint=REMEDY)

    def _screen(self, prompt: str | None) -> None:
        from hermes_cron.jobs import screened

        if prompt and not {"script", "action"} & self._lines.keys():
            self.faults.extend(screened.blocked(prompt, first_line=self._body_line(1)))
            self.faults.extend(screened.inserted(self._given.get("vars", {}), self._lines.get("vars", 1)))

    def _check_jinja(self, text: str, place: Callable[[int], int], *, reports: bool) -> None:
        from jinja2 import TemplateSyntaxError, meta
        from jinja2.sandbox import SandboxedEnvironment

        try:
            tree = SandboxedEnvironment().parse(text)
        except TemplateSyntaxError as error:
            self._fault("", f"template: {error.message}", place(error.lineno))
            return
        known = set(template.NAMES) - (set() if reports else {"context"})
        for unknown in sorted(meta.find_undeclared_variables(tree) - known):
            at = next((number for number, line in enumerate(text.split("\n"), 1) if unknown in line), 1)
            self._fault("", _NO_REPORTS if unknown == "context" else f'template: unknown name "{unknown}"', place(at))

    def _body_line(self, line: int) -> int:
        body = self._parts.body
        blank = body[: len(body) - len(body.lstrip())].count("\n")
        return self._parts.body_line + blank + line - 1

    def _timeout(self, limits: Limits) -> timedelta:
        most = timedelta(minutes=limits.minutes)
        given: timedelta | None = self._given.get("timeout")
        if given is not None and given > most:
            self._fault("timeout", f"timeout: longer than limits.minutes ({limits.minutes:g})")
        return given if given is not None else TIMEOUT

    def _workdir(self) -> str | None:
        if "workdir" not in self._given:
            return None
        text, line = self._given["workdir"]
        if not Path(text).is_absolute():
            self._fault("workdir", f'workdir: "{text}" is not an absolute path', line)
        elif self._known.strict and not Path(text).is_dir():
            self._fault("workdir", f'workdir: no folder "{text}"', line)
        return str(text)

    def _context(self) -> Earlier:
        """``from`` names jobs by the names they have now, and another job than this one: ``own`` says that."""
        given = dict(self._given.get("context", {}))
        words: forms.Words = given.pop("from", ())
        for name, line in words:
            if name_key(name) == name_key(self._name):
                self._fault("context", f'context.from: "{name}" is this job itself; write own: last', line)
        if self._known.strict and self._known.jobs is not None:
            others = [(name, line) for name, line in words if name_key(name) != name_key(self._name)]
            self.faults.extend(follow_up.unknown_jobs("context.from", others, self._known.jobs))
        return Earlier(**given, jobs=tuple(name for name, _ in words))

    # --- what follows a run -----------------------------------------------------------------------------------------

    def _checks(self) -> tuple[Placed, ...]:
        checks: tuple[Placed, ...] = self._given.get("checks", ())
        self.faults.extend(follow_up.secrets_in_sight(checks))
        if self._known.strict:
            self.faults.extend(follow_up.wrong_queries(checks, self._known.databases, self._known.guard))
        return checks

    def _on_check_failure(self) -> OnCheckFailure:
        given: Mapping[str, Any] = self._given.get("on_check_failure", {})
        if given and "checks" not in self._lines:
            self._fault("on_check_failure", "on_check_failure: the job has no checks")
        self._known_targets("on_check_failure.notify", given.get("notify", ()))
        return OnCheckFailure(attempts=given.get("attempts", 0), notify=_texts(given, "notify"))

    def _deliver(self) -> Deliver:
        given: Mapping[str, Any] = self._given.get("deliver", {})
        self._known_targets("deliver", given.get("to", ()))
        title, line = given.get("title", (None, 1))
        if title is not None:
            self._check_braces(title, lambda _: line, reports=False)
        return Deliver(to=_texts(given, "to"), when=given.get("when", When.ALWAYS), title=title)

    def _known_targets(self, key: str, words: forms.Words) -> None:
        if self._known.strict and self._known.targets is not None:
            self.faults.extend(follow_up.unknown_targets(key, words, self._known.targets))

    def _line_of(self, key: str, member: str) -> int | None:
        """The line of a member of a mapping."""
        value = next(entry.value for entry in self._table.entries if entry.key == key)
        members = value.entries if isinstance(value, Table) else ()
        return next((entry.line for entry in members if entry.key == member), None)

    # --- names --------------------------------------------------------------------------------------------------

    def _names(self, key: str, known: Collection[str] | None) -> tuple[str, ...]:
        if self._known.strict and known is not None:
            for name, line in self._given.get(key, ()):
                if name not in known:
                    wrong = f'{key}: no {key[:-1]} "{name}"{did_you_mean(name, known)}'
                    self._fault(key, wrong, line, hint=_LISTED_BY.get(key))
        return _texts(self._given, key)

    def _databases(self, prompt: str | None) -> tuple[str, ...]:
        """As listed, else as the prompt names them."""
        if "databases" in self._lines:
            words: forms.Words = self._given.get("databases", ())
            if self._known.strict:
                self.faults.extend(follow_up.unknown_databases("databases", words, self._known.databases))
            return _texts(self._given, "databases")
        named = databases_named(prompt or "", self._known.databases)
        if self._known.strict and self._known.databases and named.unknown:
            error = no_database(named.unknown[0], sorted(self._known.databases))
            near = did_you_mean(named.unknown[0], self._known.databases)
            self._fault("", f"{error.message}{near}", self._body_line(1))
        return named.known


def read_phrase(phrase: str, now: datetime, zone: ZoneInfo) -> Trigger:
    """What a phrase in a file means.

    A date that has passed is still what the file says and just never fires: a one-shot that is done must not turn its
    file into a broken one. Only an absolute one, which reads the same at any time; "yesterday" stays an error.
    """
    from hermes_cron.domain.schedule.phrase import parse

    try:
        return parse(phrase, now=now, zone=zone)
    except ScheduleInPast as error:
        try:
            once, again = (parse(phrase, now=long_ago, zone=zone) for long_ago in _LONG_AGO)
        except HermesCronError:
            raise error from None
        if once != again:
            raise
        return once


def _more(error: HermesCronError) -> str:
    """What is left over, or the two spellings, or what would be right: the shortest that helps."""
    left_over = error.details.get("left_over")
    if left_over:
        return f", left over: {left_over}"
    return f" ({error.hint})" if error.hint else ""


def _texts(given: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(text for text, _ in given.get(key, ()))


def _in_plain_sight(where: str, kind: str) -> str:
    return f"the {where} holds {kind}; secrets do not belong in job files"


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= forms.LINE_MAX else line[: forms.LINE_MAX - 1] + "…"


def near_zone(name: str) -> str:
    from zoneinfo import available_timezones

    zones = available_timezones()
    ends = [zone for zone in zones if zone.rpartition("/")[2].casefold() == name.strip().replace(" ", "_").casefold()]
    return f', did you mean "{min(ends)}"?' if ends else did_you_mean(name, zones)
