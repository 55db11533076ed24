"""What is the outcome of a run, when its loop stopped or a fault came before it?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hermes_cron.agent.stop import LoopResult
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.domain.transcript import Header
from hermes_cron.errors import HermesCronError, ModelError, PlaybookFailed

_SKILL = re.compile(r'^<skill source="([^"\n]+)">$', re.MULTILINE)


def outcome_of(result: LoopResult, header: Header) -> Outcome:
    """The loop's result in the words of the run. ``header`` is row 0 of the session."""
    fault = result.fault
    return Outcome(
        state=result.stop.state,
        reason=result.reason,
        text=result.text,
        error=result.error,
        iterations=result.iterations,
        tool_calls=result.tool_calls,
        tool_errors=result.tool_errors,
        model=result.model,
        tokens_input=result.usage.input,
        tokens_output=result.usage.output,
        tokens_cached=result.usage.cached,
        result=result.state_json,
        skills=skills_of(header),
        passing=fault is not None and fault.passing,
        model_fault=_of_the_model(fault),
        retry_after_s=getattr(fault, "retry_after_s", None),
        progressed=result.progressed,
        parked=result.parked,
    )


def failed(error: HermesCronError) -> Outcome:
    """The outcome of a run that a fault ended before or outside its loop."""
    reason = error.reason if isinstance(error, ModelError) else _snake(error.code)
    said = error.message if error.hint is None else f"{error.message} ({error.hint})"
    return Outcome(
        state=RunState.FAILED,
        reason=reason,
        error=said,
        passing=bool(getattr(error, "passing", False)),
        model_fault=_of_the_model(error),
        retry_after_s=getattr(error, "retry_after_s", None),
    )


def skills_of(header: Header) -> tuple[str, ...]:
    """The skills that the prompt holds, in order: read from row 0, so that a resumed run knows them too."""
    return tuple(dict.fromkeys(_SKILL.findall(header.system)))  # nothing inside a fence can imitate one


def report_text(taken: TakenRun, outcome: Outcome) -> str:
    """What ``outputs/`` keeps: the report, or what failed and what was known so far."""
    if outcome.state is RunState.OK:
        return outcome.text
    due = "by hand" if taken.scheduled_at is None else f"due {taken.scheduled_at.isoformat()}"
    lines: Sequence[str] = [
        f"# {taken.job.name}: {outcome.state.value}" + (f" ({outcome.reason})" if outcome.reason else ""),
        f"Run {taken.id}, {due}.",
        *([outcome.error] if outcome.error and outcome.error not in outcome.text else []),
        *(["", outcome.text] if outcome.text else []),
    ]
    return "\n".join(lines)


def _of_the_model(fault: HermesCronError | None) -> bool:
    """A playbook's fault is no language model's: going on at the failed step would meet the same rows again."""
    return isinstance(fault, ModelError) and not isinstance(fault, PlaybookFailed)


def _snake(code: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in code).lstrip("_")
