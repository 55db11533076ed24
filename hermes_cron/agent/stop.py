"""Why did the loop stop? A returned value, never an exception."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from hermes_cron.domain.run import ParkedEffect, RunState
from hermes_cron.domain.transcript import Usage
from hermes_cron.errors import ModelError


class StopReason(StrEnum):
    """Every way out of the loop."""

    FINAL = "final"
    BUDGET_EXHAUSTED = "budget_exhausted"
    LOOP_DETECTED = "loop_detected"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"
    MODEL_ERROR = "model_error"
    RELEASED = "released"
    PARKED = "parked"

    @property
    def state(self) -> RunState:
        """The state of a run whose loop stopped so: an end, or one in which it waits to be gone on with."""
        return _STATES[self]


_STATES = {
    StopReason.FINAL: RunState.OK,
    StopReason.BUDGET_EXHAUSTED: RunState.BUDGET_EXHAUSTED,
    StopReason.LOOP_DETECTED: RunState.FAILED,
    StopReason.CANCELLED: RunState.CANCELLED,
    StopReason.DEADLINE: RunState.TIMEOUT,
    StopReason.MODEL_ERROR: RunState.FAILED,
    StopReason.RELEASED: RunState.QUEUED,
    StopReason.PARKED: RunState.WAITING_APPROVAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult:
    """``text`` is the model's last word at ``final``, else a partial summary that names what stopped the run.

    ``reason`` is the run's word (``loop_detected``, ``model_auth``, ``iterations``), None at ``final``. ``error`` is
    one line for people. ``iterations`` counts the session's model calls, those of this loop that failed included;
    ``usage`` sums the calls of this loop (the usage rows know the rest). ``fault`` is the model error that stopped it.
    ``progressed``: a model call of this loop succeeded. ``parked`` are the effects that a person decides about.
    """

    stop: StopReason
    text: str
    reason: str | None = None
    error: str | None = None
    iterations: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    state_json: str | None = None
    fault: ModelError | None = None
    progressed: bool = False
    parked: tuple[ParkedEffect, ...] = ()
