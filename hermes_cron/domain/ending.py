"""What is known of a run at the moment it ends? What follows from an end (messages, incidents, holds) reads this."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hermes_cron.domain.check import Verdict
from hermes_cron.domain.job import Job
from hermes_cron.domain.run import Cause, Outcome, RunState

GOOD = frozenset({RunState.OK, RunState.SKIPPED})
NOBODYS_FAULT = frozenset({RunState.CANCELLED})
_CAPS_OF_MANY_RUNS = ("budget.", "limits.cost_usd_per_day")
"""How the names of caps begin that more than one run uses up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A run's end. ``job_uid`` None: a prompt by hand. ``attempt`` counts from 1. ``next_due``: the job's next instant.

    ``cost_usd`` and ``tokens`` are those of the whole run, as its row has them.
    """

    run_id: str
    job_uid: str | None
    job: Job
    cause: Cause
    outcome: Outcome
    attempt: int
    scheduled_at: datetime | None
    started_at: datetime | None
    ended_at: datetime
    next_due: datetime | None = None
    tokens: int = 0
    cost_usd: float | None = None

    @property
    def good(self) -> bool:
        """It went well, checks included; a run that could not be checked is no good news."""
        bad_word = self.outcome.verdict in (Verdict.CHECK_FAILED, Verdict.NOT_CHECKABLE)
        return self.outcome.state in GOOD and not bad_word

    @property
    def failure(self) -> str | None:
        """The kind of failure that an incident is of: the reason, or what the checks said. None: no failure."""
        if self.good or self.outcome.state in NOBODYS_FAULT:
            return None
        if self.outcome.state in GOOD:
            return str(self.outcome.verdict)
        return self.outcome.reason or self.outcome.state.value

    @property
    def spent_for_many(self) -> bool:
        """A cap of a day or month ended it: the next run would find it used up too, so the job is held at once."""
        outcome = self.outcome
        return outcome.state is RunState.BUDGET_EXHAUSTED and (outcome.reason or "").startswith(_CAPS_OF_MANY_RUNS)
