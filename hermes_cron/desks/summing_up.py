"""How does a person get what a search found in a few lines? By a run that asks the auxiliary model, once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.job import LIMITS, Job
from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.domain.run import Cause, Outcome, RunState
from hermes_cron.errors import DiskFull, HermesCronError, ModelNotConfigured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.domain.session import Hit
    from hermes_cron.wiring import App

NAME = "search"
"""Of the run, where another one has its job's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """``row`` is the run that made it, with what it cost."""

    text: str
    row: dict[str, Any]

    @property
    def ok(self) -> bool:
        return str(self.row["state"]) == RunState.OK


def summed_up(app: App, words: str, hits: Sequence[Hit]) -> Summary:
    """What the hits say together. Raises ``ModelNotConfigured`` before anything is begun, and ``Conflict``."""
    from hermes_cron.desks.one_answer import means
    from hermes_cron.runner.summing_up import question, sum_up
    from hermes_cron.scheduler.by_hand import Here, run_here
    from hermes_cron.store.runs import Start

    settings = app.settings_now
    model = settings.model.auxiliary or settings.model.name
    if model is None:
        raise ModelNotConfigured("a summary needs a model, and none is configured", hint="hermes-cron model set NAME")
    job = Job(
        name=NAME, timezone=settings.timezone, prompt=question(words, hits), model=model, tools=(),
        memory=MemoryMode.OFF, learn=Learn.OFF, limits=replace(app.home_limits, inherited=LIMITS),
    )  # fmt: skip
    ended: list[Outcome] = []

    def execute(taken: TakenRun, cancel: Flag) -> Outcome:
        ended.append(_kept(app, taken, sum_up(taken, cancel, means(app, model))))
        return ended[-1]

    here = Here(
        home=app.home,
        execute=execute,
        cancel=threading.Event(),
        begun=lambda _taken: None,
        answer_within=app.answer_within,
        limits=app.home_limits,
    )
    run_id = run_here(app.store, Start(job=job, job_uid=None, actor="cli", cause=Cause.SEARCH), app.clock, here)
    return Summary(text=ended[-1].text, row=app.runs.row(run_id))


def _kept(app: App, taken: TakenRun, outcome: Outcome) -> Outcome:
    """The summary on disk, as every report."""
    from hermes_cron.runner import outputs
    from hermes_cron.runner.ended import report_text

    text = app.redact(report_text(taken, outcome))
    error = None if outcome.error is None else app.redact(outcome.error)
    outcome = replace(outcome, text=app.redact(outcome.text), error=error)
    try:
        path = outputs.write(app.home, job_name=taken.job.name, run_id=taken.id, text=text)
    except HermesCronError as lost:
        reason = "disk_full" if isinstance(lost, DiskFull) else "output_not_written"
        return replace(outcome, state=RunState.FAILED, reason=reason, error=lost.message)
    return replace(outcome, output_path=path)
