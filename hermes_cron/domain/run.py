"""What is a run, and in which states can it be?"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from hermes_cron.domain.check import CheckResult, Verdict, verdict_of

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
    """Why a run exists. ``search``: a person wants what a search found in a few lines, now."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    PROMPT = "prompt"
    SEARCH = "search"


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
    ``started_at`` is when this process took it, ``deadline_at`` leaves out the time in which nobody ran it.
    ``session`` is the open main session to go on with, None for a fresh transcript. ``waits`` counts the waits for the
    model at the failed step. ``check_inputs`` is what outcome checks compare with, pinned before the agent began.
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
    session: str | None = None
    waits: int = 0
    check_inputs: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedEffect:
    """A call that may have happened and has no receipt: a person decides.

    ``arguments`` is the call as the model wrote it, redacted; ``evidence`` are lines of what is known.
    """

    session_id: str
    seq: int
    tool: str
    arguments: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended, or why it goes on later. ``text`` is the report, ``error`` one line for people; tokens are sums
    over the run.

    ``cost_usd`` None is unknown, never 0. ``result`` is JSON that the job's next run compares itself with.
    ``output_path`` is relative to the home. ``title`` is ``deliver.title``, rendered; None: the job's name.
    ``silent``: it ended well and had nothing to say.

    A state that is no end: ``queued`` (released at a shutdown, any scheduler goes on with it) and
    ``waiting_approval`` (``parked`` names the effects that a person decides about).

    ``passing``: the failure may pass by itself, ``model_fault``: it was the language model's, so the session goes on
    at the failed step. ``retry_after_s`` is what the server asked for. ``progressed``: a model call succeeded since the
    run was taken. The store decides from them whether the run waits, is tried anew, or ends (``domain.retry``).
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
    title: str | None = None
    silent: bool = False
    checks: tuple[CheckResult, ...] = ()
    skills: tuple[str, ...] = ()
    passing: bool = False
    model_fault: bool = False
    retry_after_s: float | None = None
    progressed: bool = False
    parked: tuple[ParkedEffect, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """What the checks said, None without checks. A model that says nothing claims nothing: nothing to verify."""
        said = verdict_of(self.checks)
        return None if self.silent and self.iterations and said is Verdict.VERIFIED else said
