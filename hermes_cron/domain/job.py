"""What is a job? The parsed, validated content of one job file."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.check import Check, CheckKind
from hermes_cron.domain.earlier import Earlier
from hermes_cron.domain.learning import Learn, MemoryMode

if TYPE_CHECKING:
    from hermes_cron.domain.schedule.trigger import Trigger

Scalar = str | int | float | bool | None

PAUSE_AFTER = 5
"""Failures in a row that hold a job which says nothing else."""

TIMEOUT = timedelta(seconds=60)
"""Of a script whose job says nothing else. No script runs longer than ``limits.minutes``, whatever its time-out."""

LIMITS = ("minutes", "iterations", "tokens", "cost_usd", "cost_usd_per_day")
KEEP = ("runs", "days")
"""What a job may leave to the home, key by key."""


class CatchUp(StrEnum):
    """What happens to instants of the last 24 h that nobody started in time."""

    LATEST = "latest"
    ALL = "all"
    NONE = "none"


class Overlap(StrEnum):
    """What happens to an instant whose job still runs."""

    SKIP = "skip"
    QUEUE = "queue"
    CANCEL_RUNNING = "cancel-running"
    ALLOW = "allow"


class Template(StrEnum):
    """How braces in the body are read (decision 11)."""

    PLAIN = "plain"
    JINJA = "jinja"


class PlaybookMode(StrEnum):
    """Whether a skill's playbook drives the run."""

    AUTO = "auto"
    ONLY = "only"
    NEVER = "never"


class Work(StrEnum):
    """What a run of the job executes."""

    PROMPT = "prompt"
    SCRIPT = "script"
    ACTION = "action"


class Action(StrEnum):
    """What the home does for itself, as a job like any other."""

    CURATE = "curate"
    CONSOLIDATE = "consolidate"


class When(StrEnum):
    """Which reports are sent. Failures and recoveries are always told."""

    ALWAYS = "always"
    CHANGE = "change"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use: ``minutes`` of wall time, ``iterations`` (model calls), ``tokens`` and ``cost_usd``.

    ``cost_usd_per_day`` bounds all runs of the job on one day of the home's zone. None: the home's caps alone hold.
    ``inherited`` names those that the job says nothing about: what stands here of them is the home's of the moment in
    which the job was read, and each run has the home's of its own moment (``under``).
    """

    minutes: float = 30
    iterations: int = 90
    tokens: int | None = None
    cost_usd: float | None = None
    cost_usd_per_day: float | None = None
    inherited: tuple[str, ...] = ()

    def under(self, home: Limits) -> Limits:
        """These, with what the job leaves to the home as ``home`` has it."""
        return replace(self, **{name: getattr(home, name) for name in self.inherited})


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """After a failed attempt: ``attempts`` more, the first ``backoff`` later, each wait twice the one before.

    ``on`` are reasons of failures (``exit_code``, ``interrupted``, ...); empty means those that pass by themselves.
    """

    attempts: int = 3
    backoff: timedelta = timedelta(minutes=5)
    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OnCheckFailure:
    """``attempts`` more tries of the agent with the evidence; ``notify`` are targets that hear of a failed check."""

    attempts: int = 0
    notify: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """``to`` names targets of config.toml. ``title`` may hold placeholders as the prompt does; None: the job's name."""

    to: tuple[str, ...] = ()
    when: When = When.ALWAYS
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Retention of runs: the newest ``runs`` and everything younger than ``days``. ``inherited`` as in ``Limits``."""

    runs: int = 200
    days: int = 90
    inherited: tuple[str, ...] = ()

    def under(self, home: Keep) -> Keep:
        """These, with what the job leaves to the home as ``home`` has it."""
        return replace(self, **{name: getattr(home, name) for name in self.inherited})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookUse:
    """``params`` override the playbook's own numbers."""

    mode: PlaybookMode = PlaybookMode.AUTO
    params: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job file, understood.

    ``schedule`` holds the phrases as written, ``trigger`` what they mean (None: nothing fires by itself).
    ``memory`` and ``learn`` say what its runs may keep, ``context`` which earlier reports they read.
    ``pause_after`` failures in a row hold the job, 0 never. ``ping`` is a URL or ``secret:NAME``.
    ``timezone`` is an IANA name. ``grace`` None means half the period within 2 min .. 2 h. Exactly one of ``prompt``,
    ``script`` and ``action`` is not None.
    """

    name: str
    description: str = ""
    schedule: tuple[str, ...] = ()
    trigger: Trigger | None = None
    timezone: str = "UTC"
    start: datetime | None = None
    until: datetime | None = None
    max_runs: int | None = None
    jitter: timedelta = timedelta(0)
    catch_up: CatchUp = CatchUp.LATEST
    grace: timedelta | None = None
    overlap: Overlap = Overlap.SKIP
    paused: str | None = None
    tags: tuple[str, ...] = ()
    prompt: str | None = None
    script: str | None = None
    action: str | None = None
    vars: Mapping[str, Scalar] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    skills: tuple[str, ...] = ()
    playbook: PlaybookUse = field(default_factory=PlaybookUse)
    databases: tuple[str, ...] = ()
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    limits: Limits = field(default_factory=Limits)
    timeout: timedelta = TIMEOUT
    retries: Retries = field(default_factory=Retries)
    pause_after: int = PAUSE_AFTER
    checks: tuple[Check, ...] = ()
    on_check_failure: OnCheckFailure = field(default_factory=OnCheckFailure)
    deliver: Deliver = field(default_factory=Deliver)
    ping: str | None = None
    keep: Keep = field(default_factory=Keep)
    template: Template = Template.PLAIN
    context: Earlier = field(default_factory=Earlier)
    memory: MemoryMode = MemoryMode.READ_WRITE
    learn: Learn = Learn.AUTO

    @property
    def work(self) -> Work:
        """What a run executes."""
        if self.script is not None:
            return Work.SCRIPT
        return Work.ACTION if self.action is not None else Work.PROMPT


def name_key(name: str) -> str:
    """Two names with one key are one name: NFC, without regard to case (decision 1)."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def dump_job(job: Job) -> str:
    """Canonical JSON of every field, defaults too: a run's copy must not change its meaning with ours.

    Durations are whole microseconds, instants ISO text with offset; ``load_job`` gives an equal value back.
    """
    from hermes_cron.domain.schedule.trigger import dump

    record: dict[str, object] = {name: getattr(job, name) for name in _PLAIN}
    record.update({name: list(getattr(job, name)) for name in _LISTS})
    record.update({name: dict(getattr(job, name)) for name in _MAPPINGS})
    record.update(
        trigger=None if job.trigger is None else dump(job.trigger),
        start=None if job.start is None else job.start.isoformat(),
        until=None if job.until is None else job.until.isoformat(),
        jitter=_micros(job.jitter),
        grace=None if job.grace is None else _micros(job.grace),
        timeout=_micros(job.timeout),
        tools=None if job.tools is None else list(job.tools),
        playbook={"mode": job.playbook.mode, "params": dict(job.playbook.params)},
        limits={name: getattr(job.limits, name) for name in LIMITS} | {"inherited": list(job.limits.inherited)},
        retries={"attempts": job.retries.attempts, "backoff": _micros(job.retries.backoff), "on": list(job.retries.on)},
        checks=[{"kind": check.kind, "params": dict(check.params)} for check in job.checks],
        on_check_failure={"attempts": job.on_check_failure.attempts, "notify": list(job.on_check_failure.notify)},
        deliver={"to": list(job.deliver.to), "when": job.deliver.when, "title": job.deliver.title},
        context=_dump_context(job.context),
        keep={name: getattr(job.keep, name) for name in KEEP} | {"inherited": list(job.keep.inherited)},
    )
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@lru_cache(maxsize=64)  # a due job is read when its instant is settled and again when its run is taken
def load_job(text: str) -> Job:
    """The job that ``dump_job`` wrote. A record of an older version may lack a field: its default then holds."""
    from hermes_cron.domain.schedule.trigger import load

    record = json.loads(text)
    given: dict[str, Any] = {name: record[name] for name in _PLAIN if name in record}
    given.update({name: tuple(record[name]) for name in _LISTS if name in record})
    given.update({name: record[name] for name in _MAPPINGS if name in record})
    given.update({name: read(record[name]) for name, read in _READERS.items() if record.get(name) is not None})
    trigger = record.get("trigger")
    return Job(**given, trigger=None if trigger is None else load(trigger))


_PLAIN = (
    "name", "description", "timezone", "max_runs", "paused", "prompt", "script", "action", "workdir", "model",
    "catch_up", "overlap", "template", "pause_after", "ping", "memory", "learn",
)  # fmt: skip
_LISTS = ("schedule", "tags", "skills", "databases", "fallback_models")
_MAPPINGS = ("vars", "env")


def _left_to_the_home(record: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """A record of an older version does not say it: there, what has no value."""
    said = record.get("inherited")
    return tuple(said) if said is not None else tuple(name for name in names if record.get(name) is None)


def _dump_context(context: Earlier) -> dict[str, object]:
    since = None if context.since is None else _micros(context.since)
    return {"own": context.own, "jobs": list(context.jobs), "since": since, "max_chars": context.max_chars}


def _load_context(record: Mapping[str, Any]) -> Earlier:
    since = None if record["since"] is None else _span(record["since"])
    return Earlier(own=record["own"], jobs=tuple(record["jobs"]), since=since, max_chars=record["max_chars"])


def load_keep(record: Mapping[str, Any]) -> Keep:
    """The ``keep`` of a record of ``dump_job``."""
    return Keep(**{**record, "inherited": _left_to_the_home(record, KEEP)})


def _micros(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def _span(micros: int) -> timedelta:
    return timedelta(microseconds=micros)


_READERS: Mapping[str, Callable[[Any], object]] = {
    "start": datetime.fromisoformat,
    "until": datetime.fromisoformat,
    "jitter": _span,
    "grace": _span,
    "timeout": _span,
    "tools": tuple,
    "catch_up": CatchUp,
    "overlap": Overlap,
    "template": Template,
    "memory": MemoryMode,
    "learn": Learn,
    "playbook": lambda it: PlaybookUse(mode=PlaybookMode(it["mode"]), params=it["params"]),
    "limits": lambda it: Limits(**{**it, "inherited": _left_to_the_home(it, LIMITS)}),
    "keep": load_keep,
    "context": _load_context,
    "retries": lambda it: Retries(attempts=it["attempts"], backoff=_span(it["backoff"]), on=tuple(it["on"])),
    "checks": lambda it: tuple(Check(kind=CheckKind(each["kind"]), params=each["params"]) for each in it),
    "on_check_failure": lambda it: OnCheckFailure(attempts=it["attempts"], notify=tuple(it["notify"])),
    "deliver": lambda it: Deliver(to=tuple(it["to"]), when=When(it["when"]), title=it["title"]),
}
