"""Was it true? The job's checks, judged after the run by code, and what the agent is told when one fails.

The checks are those of the run's own copy of the job, and what they compare with is pinned before the agent begins:
nothing that it changes in its run makes them say something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_cron.domain.check import ONCE_MORE, CheckResult, Trial, Verdict
from hermes_cron.domain.command import Flag, Halt, ProcessGroup, Why
from hermes_cron.domain.job import Work
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.domain.template import fence
from hermes_cron.domain.transcript import Message
from hermes_cron.ports import Checks, Emit

_WHAT_NOW = (
    "What was found is in the fence below. Do what is missing with your tools, then answer with the whole report "
    "again. If it can not be done, say so in the report."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """``keep`` stores what was pinned with the run, ``note`` the process group of a check's command. ``drift`` says in
    one line how the job file's checks differ now from the run's own, None when they do not. ``env`` is the environment
    of a check's commands.
    """

    checks: Checks
    keep: Callable[[TakenRun, str], None]
    note: Callable[[TakenRun, ProcessGroup], None]
    drift: Callable[[TakenRun], str | None]
    env: Mapping[str, str]
    redact: Callable[[str], str]
    home: Path

    def pinned(self, taken: TakenRun) -> TakenRun:
        """The run with what its checks compare with; what an earlier attempt pinned stays. Raises ``Fenced``."""
        if not taken.job.checks or taken.check_inputs is not None:
            return taken
        text = self.checks.pin(taken.job.checks, self._folder(taken), self.env)
        self.keep(taken, text)
        return replace(taken, check_inputs=text)

    def judged(self, taken: TakenRun, outcome: Outcome, cancel: Flag, emit: Emit, *, seconds: float) -> Outcome:
        """The outcome with what the checks say of it. Only a run that says it went well has something to prove."""
        if outcome.state is not RunState.OK or not taken.job.checks:
            return outcome
        emit("checking", {"checks": len(taken.job.checks)})
        trial = Trial(
            checks=taken.job.checks,
            folder=self._folder(taken),
            env=self.env,
            report=outcome.text,
            pinned=taken.check_inputs,
            seconds=seconds,
            on_spawn=lambda group: self.note(taken, group),
        )
        results = self.checks.judge(trial, cancel)
        if _process_ends(cancel) and taken.job.work is not Work.ACTION:
            return Outcome(state=RunState.QUEUED)  # whoever goes on finds the answer in the transcript and judges it
        return replace(outcome, checks=self._told(taken, results, emit))

    def _told(self, taken: TakenRun, results: Sequence[CheckResult], emit: Emit) -> tuple[CheckResult, ...]:
        drift = self.drift(taken)
        told = tuple(self._redacted(result, drift) for result in results)
        for result in told:
            emit("checked", {"says": result.says, "verdict": result.verdict, "detail": result.detail})
        return told

    def _redacted(self, result: CheckResult, drift: str | None) -> CheckResult:
        detail = result.detail if drift is None else f"{result.detail}; {drift}"
        return replace(result, says=self.redact(result.says), detail=self.redact(detail))

    def _folder(self, taken: TakenRun) -> Path:
        return self.home if taken.job.workdir is None else Path(taken.job.workdir)


def _process_ends(cancel: Flag) -> bool:
    return isinstance(cancel, Halt) and cancel.why in {Why.RELEASED, Why.SHUTDOWN}


def wants_more(taken: TakenRun, outcome: Outcome, messages: Callable[[], Iterable[Message]]) -> bool:
    """Whether the agent gets the evidence and another try: counted in the transcript, so that a crash forgets none.

    ``messages`` is asked only where a check failed.
    """
    if outcome.verdict is not Verdict.CHECK_FAILED:
        return False
    tries = [it for it in messages() if it["role"] == "user" and str(it["content"]).startswith(ONCE_MORE)]
    return len(tries) < taken.job.on_check_failure.attempts


def evidence(results: Iterable[CheckResult]) -> Message:
    """What the agent reads of the checks that failed."""
    failed = [f"{result.says}: {result.detail}" for result in results if result.verdict is Verdict.CHECK_FAILED]
    return {"role": "user", "content": f"{ONCE_MORE} {_WHAT_NOW}\n\n" + fence("\n".join(failed), source="checks")}
