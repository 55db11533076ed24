"""What is a look back at a run, and what became of it?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from hermes_cron.domain.check import Verdict
from hermes_cron.domain.run import RunState

if TYPE_CHECKING:
    from hermes_cron.domain.job import Job

LONGEST = timedelta(minutes=10)
"""What a review may take, or as long as its run might, whichever is less."""


def by_a_playbook(model: str | None) -> bool:
    """Whether a run's model is a playbook: its steps are data, and there is nobody who could learn."""
    return model is not None and model.startswith("playbook:")


class Brief(StrEnum):
    """What a review looks for. ``correction``: what a person said of the run."""

    MEMORY = "memory"
    SKILL = "skill"
    BOTH = "both"
    CORRECTION = "correction"


class ReviewState(StrEnum):
    """``exhausted`` and ``refused`` are ends by a limit: of its own model calls, and of money or tokens."""

    QUEUED = "queued"
    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    EXHAUSTED = "exhausted"
    REFUSED = "refused"

    @property
    def ended(self) -> bool:
        return self not in OPEN


OPEN = frozenset({ReviewState.QUEUED, ReviewState.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenReview:
    """A review that this process owns. ``job`` is the job as it was when its run was queued.

    ``session`` is the review's own, None before it has begun; ``main`` the session it looks at. ``correction`` is what
    a person said. ``state``, ``verdict`` and ``error`` are the run's.
    """

    number: int
    run_id: str
    job_uid: str | None
    job: Job
    brief: Brief
    owner: str
    fence: int
    main: str
    session: str | None = None
    correction: str | None = None
    state: RunState = RunState.OK
    verdict: str | None = None
    error: str | None = None

    @property
    def methods(self) -> bool:
        """Whether the run ended so well that its way of working may be kept as one that works."""
        return self.state is RunState.OK and self.verdict != Verdict.CHECK_FAILED

    @property
    def longest(self) -> timedelta:
        return min(LONGEST, timedelta(minutes=self.job.limits.minutes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """How a review stopped. ``queued``: it was given up between two steps, and whoever takes it goes on there."""

    state: ReviewState
    reason: str | None = None
    error: str | None = None
    iterations: int = 0
