"""What is a run, and in which states can it be?"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_cron.domain.job import Job, Scalar


class RunState(StrEnum):
    """One enum for the store, ``--json``, metric labels and text."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    WAITING_RETRY = "waiting_retry"
    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    BUDGET_EXHAUSTED = "budget_exhausted"
    DENIED = "denied"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"

    @property
    def ended(self) -> bool:
        """An ended run never changes its state again."""
        return self not in ACTIVE


ACTIVE = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.WAITING_APPROVAL, RunState.WAITING_RETRY})


class OccurrenceState(StrEnum):
    """What became of a due instant."""

    RAN = "ran"
    SKIPPED = "skipped"
    MERGED = "merged"
    MISSED = "missed"


class Cause(StrEnum):
    """Why a run exists."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    PROMPT = "prompt"


class Verdict(StrEnum):
    """What outcome checks said; a run without checks has none."""

    VERIFIED = "verified"
    CHECK_FAILED = "check_failed"
    NOT_CHECKABLE = "not_checkable"


class Effect(StrEnum):
    """What a tool does to the world, and so what may happen to it after a crash (decision 4)."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    VERIFIABLE = "verifiable"
    EFFECT = "effect"


_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford: nothing that is misread aloud


def new_run_id() -> str:
    """``r`` and seven random characters (35 bits); the store's primary key settles the rest."""
    return "r" + "".join(secrets.choice(_ALPHABET) for _ in range(7))


def occurrence_name(job_name: str, scheduled_at: datetime) -> str:
    """``job@2026-12-01T09:00:00Z``: for people; the store's key is (uid, instant)."""
    return f"{job_name}@{scheduled_at:%Y-%m-%dT%H:%M:%S}Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRun:
    """A run that this process owns and must end. ``job`` is the job as it was when the run was queued.

    ``fence`` rose when it was taken: every write for the run is conditional on it. ``arguments`` are ``--set`` values.
    """

    id: str
    job_uid: str | None
    job: Job
    cause: Cause
    owner: str
    fence: int
    attempt: int
    started_at: datetime
    deadline_at: datetime
    scheduled_at: datetime | None = None
    late: bool = False
    arguments: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended. ``text`` is the report, ``error`` one line for people; tokens are sums over the run.

    ``cost_usd`` None is unknown, never 0. ``result`` is JSON that the job's next run compares itself with.
    ``output_path`` is relative to the home. ``silent``: it ended well and had nothing to say.
    """

    state: RunState
    reason: str | None = None
    text: str = ""
    error: str | None = None
    iterations: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    model: str | None = None
    tokens_input: int = 0
    tokens_output: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = None
    result: str | None = None
    output_path: str | None = None
    silent: bool = False
