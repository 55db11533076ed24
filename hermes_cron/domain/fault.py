"""What is the outcome of a run that a fault ended, wherever it came up?"""

from __future__ import annotations

from dataclasses import replace

from hermes_cron.domain.command import Flag, Why
from hermes_cron.domain.occurrence import Reason
from hermes_cron.domain.run import Outcome, RunState
from hermes_cron.errors import HermesCronError, ModelError, PlaybookFailed


def failed(error: Exception) -> Outcome:
    """A fault with a remedy, told as it tells itself; anything else is a bug of ours."""
    if not isinstance(error, HermesCronError):
        return crashed(error)
    reason = error.reason if isinstance(error, ModelError) else _snake(error.code)
    said = error.message if error.hint is None else f"{error.message} ({error.hint})"
    return Outcome(
        state=RunState.FAILED,
        reason=reason,
        error=said,
        passing=bool(getattr(error, "passing", False)),
        model_fault=of_the_model(error),
        retry_after_s=getattr(error, "retry_after_s", None),
    )


def crashed(error: Exception) -> Outcome:
    """A bug of ours, as the run's row says it; its traceback is the caller's to log or to raise."""
    return Outcome(state=RunState.FAILED, reason="crashed", error=f"{type(error).__name__}: {error}"[:500])


def stopped(outcome: Outcome, halt: Flag) -> Outcome:
    """Work that was told to stop says ``cancelled``; this is why it was told to, where nobody cancelled it."""
    why = getattr(halt, "why", None)
    if outcome.state is not RunState.CANCELLED or why not in _NOT_CANCELLED:
        return outcome
    state, reason, error = _NOT_CANCELLED[why]
    return replace(outcome, state=state, reason=reason, error=error)


_NOT_CANCELLED: dict[Why | None, tuple[RunState, str, str]] = {
    Why.SHUTDOWN: (RunState.INTERRUPTED, Reason.SHUTDOWN, "the scheduler stopped before it ended"),
    Why.OVERDUE: (RunState.TIMEOUT, "deadline", "the run's time limit passed"),
}


def of_the_model(fault: HermesCronError | None) -> bool:
    """A playbook's fault is no language model's: going on at the failed step would meet the same rows again."""
    return isinstance(fault, ModelError) and not isinstance(fault, PlaybookFailed)


def _snake(code: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in code).lstrip("_")
