"""What follows a failed attempt: a wait for the model, another attempt, or the end? Pure (design decision 4).

Waits for a model or network belong to one attempt: 5, 15, 30 minutes at one step, at least as long as the server asked
for. Attempts of the job's ``retries`` come after them, each wait twice the one before and at most the period. Nothing
waits past the job's next instant, and a run by hand does not wait: somebody is looking.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hermes_cron.domain.job import Retries
from hermes_cron.domain.run import Cause, Outcome, RunState

MODEL_WAITS = (timedelta(minutes=5), timedelta(minutes=15), timedelta(minutes=30))
LONGEST_WAIT = timedelta(days=1)
"""Of one wait, where neither the job's period nor its next instant bounds it. A server that asks for more is not waited
for."""


class Next(StrEnum):
    """What happens after the wait."""

    GO_ON = "go_on"  # the same attempt, at the failed step
    RESUME = "resume"  # a new attempt, same transcript
    FRESH = "fresh"  # a new attempt, fresh transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """``until`` is when the run may be taken again; ``waits`` is the new count of waits at this step."""

    next: Next
    until: datetime
    waits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a run stands when an attempt fails.

    ``attempt`` counts from 1. ``waits``: waits for the model at the failed step so far. ``next_due`` is the job's next
    instant, ``period`` its usual distance. ``effects``: an intent of the transcript exists.
    """

    cause: Cause
    attempt: int
    waits: int
    effects: bool
    script: bool
    next_due: datetime | None = None
    period: timedelta | None = None


def after_failure(outcome: Outcome, retries: Retries, standing: Standing, now: datetime) -> Wait | None:
    """None: the run ends with this outcome."""
    if not outcome.state.ended or not _may(outcome.reason, outcome.state):
        return None
    if standing.cause is not Cause.SCHEDULE:
        return None
    return _within(_model_wait(outcome, standing, now) or _attempt(outcome, retries, standing, now), standing)


_NEVER = frozenset({RunState.OK, RunState.CANCELLED, RunState.BUDGET_EXHAUSTED, RunState.DENIED, RunState.SKIPPED})
_NEVER_REASONS = frozenset(
    {"model_auth", "model_bad_request", "model_refused", "quota_exhausted", "context_length", "no_model", "crashed"}
)
"""The same request would be answered the same way, and paid for again; a crash of ours would come again too."""


def _model_wait(outcome: Outcome, standing: Standing, now: datetime) -> Wait | None:
    waits = 0 if outcome.progressed else standing.waits
    if not (outcome.passing and outcome.model_fault) or waits >= len(MODEL_WAITS):
        return None
    asked = _asked_for(outcome)
    if asked is None:
        return None
    return Wait(next=Next.GO_ON, until=now + max(MODEL_WAITS[waits], asked), waits=waits + 1)


def _attempt(outcome: Outcome, retries: Retries, standing: Standing, now: datetime) -> Wait | None:
    asked = _asked_for(outcome)
    again = wanted(outcome.reason, outcome.state, retries, passing=outcome.passing)
    if standing.attempt > retries.attempts or not again or asked is None:
        return None
    if outcome.model_fault:
        following = Next.RESUME
    elif standing.effects and not standing.script:
        return None  # a fresh transcript would do again what was done
    else:
        following = Next.FRESH
    wait = _doubled(retries.backoff, standing.attempt - 1, standing.period or LONGEST_WAIT)
    return Wait(next=following, until=now + max(wait, asked))


def _asked_for(outcome: Outcome) -> timedelta | None:
    """What the server asked for, 0 when it did not say; None when that is too long to be waited for."""
    seconds = outcome.retry_after_s or 0.0
    return timedelta(seconds=seconds) if 0 <= seconds <= LONGEST_WAIT.total_seconds() else None


def _doubled(wait: timedelta, times: int, most: timedelta) -> timedelta:
    for _ in range(times):
        if wait >= most:
            break
        wait *= 2
    return min(wait, most)


def wanted(reason: str | None, state: RunState, retries: Retries, *, passing: bool) -> bool:
    """Whether the job's ``retries`` are for a failure of this kind."""
    if not _may(reason, state):
        return False
    return bool({reason, state.value} & set(retries.on)) if retries.on else passing


def _may(reason: str | None, state: RunState) -> bool:
    """Whatever a job file says."""
    return state not in _NEVER and reason not in _NEVER_REASONS


def _within(wait: Wait | None, standing: Standing) -> Wait | None:
    if wait is None or (standing.next_due is not None and wait.until >= standing.next_due):
        return None
    return wait
