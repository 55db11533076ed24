"""What is a job? The parsed, validated content of one job file."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_cron.domain.trigger import Trigger

Scalar = str | int | float | bool | None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """``minutes`` of wall time and ``iterations`` (model calls) a run may use."""

    minutes: float = 30
    iterations: int = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Retention of runs: the newest ``runs`` and everything younger than ``days``."""

    runs: int = 200
    days: int = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookUse:
    """``params`` override the playbook's own numbers."""

    mode: PlaybookMode = PlaybookMode.AUTO
    params: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job file, understood.

    ``schedule`` holds the phrases as written, ``trigger`` what they mean (None: nothing fires by itself).
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
    tools: tuple[str, ...] | None = None
    limits: Limits = field(default_factory=Limits)
    timeout: timedelta = timedelta(seconds=60)
    keep: Keep = field(default_factory=Keep)
    template: Template = Template.PLAIN

    @property
    def work(self) -> Work:
        """What a run executes."""
        if self.script is not None:
            return Work.SCRIPT
        return Work.ACTION if self.action is not None else Work.PROMPT


def name_key(name: str) -> str:
    """Two names with one key are one name: NFC, without regard to case (decision 1)."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
