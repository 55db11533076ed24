"""What is the outcome of a run whose loop stopped, and what is kept of its text?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from hermes_cron.agent.stop import LoopResult
from hermes_cron.domain import when
from hermes_cron.domain.answer import Answer, read
from hermes_cron.domain.fault import of_the_model
from hermes_cron.domain.notice import language_of
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.domain.skill_use import given_in
from hermes_cron.domain.transcript import Header
from hermes_cron.errors import EmptyReply, ModelRefused


def outcome_of(result: LoopResult, header: Header) -> Outcome:
    """The loop's result in the words of the run. ``header`` is row 0 of the session."""
    fault = result.fault
    outcome = Outcome(
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
        model_fault=of_the_model(fault),
        retry_after_s=getattr(fault, "retry_after_s", None),
        progressed=result.progressed,
        parked=result.parked,
    )
    return outcome if header.playbook is not None else _understood(outcome)


def _understood(outcome: Outcome) -> Outcome:
    """A language model's last text as what it is: silence and refusals are no reports."""
    if outcome.state is not RunState.OK:
        return outcome
    match read(outcome.text, tool_calls=outcome.tool_calls):
        case Answer.REPORT:
            return outcome
        case Answer.SILENT:
            return replace(outcome, silent=True)
        case Answer.EMPTY:
            return _no_answer(outcome, EmptyReply.reason, "the model's last answer has no text")
        case Answer.REFUSAL:
            return _no_answer(
                outcome, ModelRefused.reason, f"the model refused: {' '.join(outcome.text.split())[:300]}"
            )


def _no_answer(outcome: Outcome, reason: str, said: str) -> Outcome:
    return replace(outcome, state=RunState.FAILED, reason=reason, error=said, model_fault=True)


def skills_of(header: Header) -> tuple[str, ...]:
    """The skills that the prompt holds, in order: read from row 0, so that a resumed run knows them too."""
    return given_in(header.system)


_NOT_OK = {
    "en": {"run": "Run {id}, {due}.", "by_hand": "by hand", "due": "due {at}"},
    "zh": {"run": "运行 {id}，{due}。", "by_hand": "手动", "due": "应于 {at} 执行"},
}


def report_text(taken: TakenRun, outcome: Outcome) -> str:
    """What ``outputs/`` keeps: the report, or what failed and what was known so far."""
    if outcome.state is RunState.OK:
        return outcome.text
    lang = language_of(taken.job)
    texts = _NOT_OK[lang]
    due = texts["by_hand"]
    if taken.scheduled_at is not None:
        zone = ZoneInfo(taken.job.timezone)
        due = texts["due"].format(at=f"{when.whole(taken.scheduled_at, zone, lang)} ({zone.key})")
    lines: Sequence[str] = [
        f"# {taken.job.name}: {outcome.state.value}" + (f" ({outcome.reason})" if outcome.reason else ""),
        texts["run"].format(id=taken.id, due=due),
        *([outcome.error] if outcome.error and outcome.error not in outcome.text else []),
        *(["", outcome.text] if outcome.text else []),
    ]
    return "\n".join(lines)
