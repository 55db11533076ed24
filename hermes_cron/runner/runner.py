"""What does one run do, from the moment it is owned to its outcome?"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from hermes_cron import files
from hermes_cron.agent.compaction_side import Beside
from hermes_cron.agent.context_files import find
from hermes_cron.agent.fitting import Fit
from hermes_cron.agent.loop import AgentRun, run_agent
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.check import CheckResult
from hermes_cron.domain.command import Flag, ProcessGroup, RunCommand
from hermes_cron.domain.compaction import said
from hermes_cron.domain.earlier import Report, fitted
from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.fault import failed
from hermes_cron.domain.job import Job, Work
from hermes_cron.domain.learning import NO_DOORS, Doors
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.domain.session import Lookup
from hermes_cron.domain.transcript import Header, Message
from hermes_cron.errors import DiskFull, HermesCronError, JobFileError, NotFound
from hermes_cron.experience.skill_index import name_of
from hermes_cron.experience.skills import SkillLibrary
from hermes_cron.home import Home
from hermes_cron.ports import Checks, Clock, Databases, Emit, Fenced, Journal, Model, Purse
from hermes_cron.runner import ended, outputs
from hermes_cron.runner.compacting import Compaction
from hermes_cron.runner.guidance import guidance
from hermes_cron.runner.prompt import (
    NOTHING_REMEMBERED,
    Block,
    LastRun,
    Remembered,
    SkillText,
    joined,
    rendered,
    system_blocks,
    task,
)
from hermes_cron.runner.proof import Proof, evidence, wants_more
from hermes_cron.runner.route import Route, route
from hermes_cron.runner.screened import screened
from hermes_cron.runner.script import run_script
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.choice import named, select
from hermes_cron.tools.connections import Connections
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Tool
from hermes_cron.tools.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookProgram:
    """A playbook ready for a header: ``data`` is ``Header.playbook``, ``tools`` are those its steps call."""

    data: Mapping[str, Any]
    model: str
    tools: tuple[str, ...]


class Playbooks(Protocol):
    """How a route's playbook becomes a header and a model."""

    def program(self, route: Route, job: Job, *, now: datetime, last: LastRun) -> PlaybookProgram: ...

    def model(self, emit: Emit) -> Model: ...


class OpenJournal(Protocol):
    """A new session of the run with its header and first messages, durable when it returns."""

    def __call__(self, taken: TakenRun, header: Header, messages: Sequence[Message] = ()) -> Journal: ...


class Remember(Protocol):
    """What was learned so far, for the prompt of a run that a model drives and that has these ``tools``."""

    def __call__(self, taken: TakenRun, route: Route, tools: Collection[str]) -> Remembered: ...


ResumeJournal = Callable[[TakenRun], Journal]
"""The session that the run goes on with (``TakenRun.session``)."""

Actions = Mapping[str, Callable[[TakenRun, Flag], Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a runner works with; wiring picks each.

    ``base_env`` is the environment of commands before the job's own ``env``; nothing of hermes-cron's secrets is in
    it. ``redact`` hides the vault's values in whatever is stored or sent. ``default_model`` None: no model.
    ``targets`` are the names of those that there are now. ``purse`` is None for a run that no cap applies to.
    ``keep_pins``, ``note_group`` and ``drift`` are those of ``Proof``. ``note_security`` makes known what was blocked.
    ``compaction`` None: requests grow as long as a run goes on.
    """

    home: Home
    clock: Clock
    databases: Databases
    targets: Callable[[], Collection[str]]
    library: Callable[[], SkillLibrary]
    registry: Callable[[], Registry]
    model: Callable[[], Model]
    default_model: str | None
    parameters: Mapping[str, Any]
    playbooks: Playbooks
    open_journal: OpenJournal
    resume_journal: ResumeJournal
    purse: Callable[[TakenRun], Purse | None]
    checks: Checks
    keep_pins: Callable[[TakenRun, str], None]
    note_group: Callable[[TakenRun, ProcessGroup], None]
    drift: Callable[[TakenRun], str | None]
    note_security: Callable[[Sequence[SecurityFinding]], None]
    last_run: Callable[[TakenRun], LastRun]
    earlier: Callable[[TakenRun], Sequence[Report]]
    run_command: RunCommand
    base_env: Mapping[str, str]
    redact: Callable[[str], str]
    model_timeout_s: float
    actions: Actions
    sessions: Lookup | None = None
    doors: Callable[[TakenRun], Doors] = lambda _: NO_DOORS
    compaction: Compaction | None = None
    remember: Remember = lambda taken, route, tools: NOTHING_REMEMBERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All of a run's first request, and the route it takes. What ``run --dry-run`` shows.

    ``blocks`` are the parts of the header's system prompt; ``blocked`` is what the scanner kept out of them.
    """

    route: Route
    header: Header
    blocks: tuple[Block, ...]
    task: str
    left_out: Mapping[str, str]
    toolbox: ToolBox
    blocked: tuple[SecurityFinding, ...] = ()


def _quiet(_event: str, _facts: Mapping[str, object]) -> None:
    """For runs that nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """A run that is executed: what stops it, who is told, and until when it may go on (of ``time.monotonic``).

    Measured once, at the beginning: a wall clock that jumps meanwhile neither ends a run nor gives it more time.
    """

    taken: TakenRun
    cancel: Flag
    emit: Emit
    end: float

    @classmethod
    def begin(cls, taken: TakenRun, cancel: Flag, emit: Emit = _quiet) -> Going:
        allowed = (taken.deadline_at - taken.started_at).total_seconds()
        return cls(taken=taken, cancel=cancel, emit=emit, end=time.monotonic() + allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """A transcript to work on, begun for this run or gone on with."""

    journal: Journal
    toolbox: ToolBox
    model: Model
    header: Header


_log = logging.getLogger(__name__)

_WITHOUT_FOLDER = frozenset({"clock", "databases", "memory", "recall", "sessions", "skills", "web"})
"""Toolsets whose tools never look at the run's folder."""


class Runner:
    """Executes owned runs. Thread-safe: a run's state lives in its own call."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._proof = Proof(
            checks=parts.checks,
            keep=parts.keep_pins,
            note=parts.note_group,
            drift=parts.drift,
            env=parts.base_env,
            redact=parts.redact,
            home=parts.home.root,
        )

    def execute(self, taken: TakenRun, cancel: Flag, emit: Emit = _quiet) -> Outcome:
        """The outcome, its report written to ``outputs/``. Raises ``Fenced``, and what is a bug of ours."""
        try:
            outcome = self._work(Going.begin(self._proof.pinned(taken), cancel, emit))
        except Fenced:
            raise
        except HermesCronError as error:
            outcome = failed(error)
        finally:
            self.leave(taken)
        return self._kept(taken, outcome) if outcome.state.ended else outcome

    def leave(self, taken: TakenRun) -> None:
        """Remove the run's scratch folder when nothing lies in it; what a run left there is kept."""
        with contextlib.suppress(OSError):
            (self._parts.home.work / taken.id).rmdir()

    def _work(self, going: Going) -> Outcome:
        taken = going.taken
        match taken.job.work:
            case Work.SCRIPT:
                return self._judged(going, self._script(taken, going.cancel))
            case Work.ACTION:
                return self._judged(going, self._parts.actions[taken.job.action or ""](taken, going.cancel))
            case Work.PROMPT:
                return self._prompt(going)

    def _judged(self, going: Going, outcome: Outcome) -> Outcome:
        left = max(0.0, going.end - time.monotonic())
        return self._proof.judged(going.taken, outcome, going.cancel, going.emit, seconds=left)

    def _script(self, taken: TakenRun, cancel: Flag) -> Outcome:
        parts = self._parts
        return run_script(
            taken,
            home=parts.home,
            cwd=self._make_workdir(taken),
            env=self._env(taken.job),
            cancel=cancel,
            run_command=parts.run_command,
            open_journal=parts.open_journal,
            resume_journal=parts.resume_journal,
            redact=parts.redact,
        )

    def _prompt(self, going: Going) -> Outcome:
        with ExitStack() as stack:
            begin = self._begun if going.taken.session is None else self._resumed
            session = begin(going, stack)
            failed_checks: tuple[CheckResult, ...] = ()
            while True:
                outcome = self._judged(going, self._agent(going, session))
                if (
                    not outcome.checks and outcome.state.ended
                ):  # another try that did not come to its end proves nothing
                    outcome = replace(outcome, checks=failed_checks)
                if not self._once_more(going, session, outcome):
                    return outcome
                failed_checks = outcome.checks
                session.journal.append(evidence(failed_checks))

    def _once_more(self, going: Going, session: _Session, outcome: Outcome) -> bool:
        """A playbook is told nothing: its steps say the same again."""
        if session.header.playbook is not None or going.cancel.is_set() or outcome.state is not RunState.OK:
            return False
        return wants_more(going.taken, outcome, lambda: said(session.journal.transcript()))

    def _agent(self, going: Going, session: _Session) -> Outcome:
        """The loop, from where the session stands to its end or its next pause. A playbook costs nothing."""
        header, taken = session.header, going.taken
        asks_a_model = header.playbook is None
        result = run_agent(
            AgentRun(
                model=session.model,
                toolbox=session.toolbox,
                journal=session.journal,
                budget=Budget(taken.job.limits.iterations),
                deadline=going.end,
                cancel=going.cancel,
                emit=going.emit,
                model_timeout_s=self._parts.model_timeout_s,
                models=taken.job.fallback_models if asks_a_model else (),
                purse=self._parts.purse(taken) if asks_a_model else None,
                max_tokens=int(header.parameters.get("max_tokens") or 0),
                fit=self._fit(going, session) if asks_a_model else None,
            )
        )
        return ended.outcome_of(result, header)

    def _fit(self, going: Going, session: _Session) -> Fit | None:
        """What keeps a long run within its model's window; what it asks beside the run, the run pays."""
        parts, header = self._parts, session.header
        if parts.compaction is None:
            return None
        beside = Beside(
            journal=session.journal,
            model=session.model,
            name=parts.compaction.asked(header.model),
            parameters=header.parameters,
            deadline=going.end,
            cancel=going.cancel,
            emit=going.emit,
            timeout_s=parts.model_timeout_s,
            models=() if parts.compaction.auxiliary else going.taken.job.fallback_models,
            purse=parts.purse(going.taken),
            memory=parts.compaction.memory(going.taken, session.toolbox),
        )
        return parts.compaction.fit(beside)

    def _begun(self, going: Going, stack: ExitStack) -> _Session:
        prepared = self.prepare(going, stack)
        header = prepared.header
        if prepared.blocked:
            self._parts.note_security(prepared.blocked)
            going.emit("blocked", {"findings": prepared.blocked})
        going.emit("prepared", {"route": prepared.route, "model": header.model})
        journal = self._parts.open_journal(going.taken, header, [{"role": "user", "content": prepared.task}])
        model = self._model(header, going.emit)
        return _Session(journal=journal, toolbox=prepared.toolbox, model=model, header=header)

    def _resumed(self, going: Going, stack: ExitStack) -> _Session:
        """What row 0 says, and nothing else: job file, skills and settings may be other ones by now."""
        taken = going.taken
        journal = self._parts.resume_journal(taken)
        header = journal.header()
        going.emit("resumed", {"model": header.model, "session": journal.session_id})
        context = self._context(going, stack)
        names = [schema["function"]["name"] for schema in header.tools]
        toolbox = self._equipped(taken, named(self._parts.registry(), names, context).tools, context)
        return _Session(journal=journal, toolbox=toolbox, model=self._model(header, going.emit), header=header)

    def prepare(self, going: Going, stack: ExitStack) -> Prepared:
        """Everything of the first request. ``stack`` closes what was opened for it.

        Raises what a missing database, target, skill, tool or model raises: before any model call.
        """
        parts, taken = self._parts, going.taken
        job = taken.job
        self._refuse_missing_targets(job)
        earlier = fitted(parts.earlier(taken), job.context.max_chars)
        engines = {name: parts.databases.engine(name) for name in job.databases}
        chosen_route = route(job, library=parts.library(), engines=engines, model=parts.default_model)
        looks_back = chosen_route.playbook is not None or "last" in (job.prompt or "")
        last = parts.last_run(taken) if looks_back else LastRun()
        program = None
        if chosen_route.playbook is not None:
            program = parts.playbooks.program(chosen_route, job, now=taken.started_at, last=last)
            if job.tools is None:
                job = replace(job, tools=program.tools)
        context = self._context(going, stack)
        chosen = select(parts.registry(), job, context)
        toolbox = self._equipped(taken, chosen.tools, context)
        blocks, blocked = self._blocks(taken, chosen_route, engines, None if program else toolbox.tools)
        header = Header(
            system=joined(blocks),
            tools=toolbox.schemas(),
            model=program.model if program else chosen_route.model or "",
            parameters={} if program else parts.parameters,
            playbook=program.data if program else None,
        )
        return Prepared(
            route=chosen_route,
            header=header,
            blocks=blocks,
            task=parts.redact(task(taken, last, earlier)),
            left_out=chosen.left_out,
            toolbox=toolbox,
            blocked=blocked,
        )

    def _refuse_missing_targets(self, job: Job) -> None:
        """Nothing is spent on a report that cannot arrive. A script runs all the same: its work is more than that."""
        there = self._parts.targets() if job.deliver.to else ()
        missing = [name for name in job.deliver.to if name not in there]
        if missing:
            raise NotFound(
                f'deliver: no target "{missing[0]}"; nothing was asked of a model',
                hint=f"hermes-cron targets add {missing[0]}, or take it out of jobs/{job.name}.md",
            )

    def _blocks(
        self, taken: TakenRun, chosen: Route, engines: Mapping[str, str], tools: Collection[str] | None
    ) -> tuple[tuple[Block, ...], tuple[SecurityFinding, ...]]:
        """The system prompt's parts, and what the scanner kept out of them. ``tools`` None: a playbook drives."""
        parts = self._parts
        workdir = None if taken.job.workdir is None else Path(taken.job.workdir)
        notes = None if workdir is None else find(workdir)
        blocked = screened(taken, chosen, notes)
        if notes is not None and notes.blocked is not None:
            notes = None
        remembered = NOTHING_REMEMBERED if tools is None else parts.remember(taken, chosen, tools)
        blocks = system_blocks(
            taken,
            databases=engines,
            guidance="" if tools is None else guidance(tools, taken.job.learn),
            remembered=remembered,
            skills=[SkillText(name=name_of(parts.library(), skill), body=skill.body) for skill in chosen.skills],
            context_file=None if notes is None else (notes.name, notes.text),
        )
        redacted = tuple(replace(block, text=parts.redact(block.text)) for block in blocks)
        return redacted, (*blocked, *remembered.blocked)

    def _context(self, going: Going, stack: ExitStack) -> ToolContext:
        parts, taken = self._parts, going.taken
        return ToolContext(
            run_id=taken.id,
            job_name=taken.job.name,
            workdir=self._workdir(taken),
            home=parts.home,
            clock=parts.clock,
            zone=ZoneInfo(taken.job.timezone),
            deadline=going.end,
            cancel=going.cancel,
            env=self._env(taken.job),
            run_command=parts.run_command,
            connections=stack.enter_context(Connections(parts.databases, taken.job.databases)),
            redact=parts.redact,
            sessions=parts.sessions,
            doors=parts.doors(taken),
        )

    def _equipped(self, taken: TakenRun, tools: Mapping[str, Tool], context: ToolContext) -> ToolBox:
        """The tools, and the run's folder where one of them looks at it."""
        if any(tool.toolset not in _WITHOUT_FOLDER for tool in tools.values()):
            self._make_workdir(taken)
        return ToolBox(tools, context)

    def _model(self, header: Header, emit: Emit) -> Model:
        return self._parts.playbooks.model(emit) if header.playbook is not None else self._parts.model()

    def _env(self, job: Job) -> dict[str, str]:
        return {**self._parts.base_env, **job.env}

    def _workdir(self, taken: TakenRun) -> Path:
        """The job's folder, else a scratch folder of the run, made when something needs it."""
        return self._parts.home.work / taken.id if taken.job.workdir is None else Path(taken.job.workdir)

    def _make_workdir(self, taken: TakenRun) -> Path:
        if taken.job.workdir is None:
            files.make_folder(self._parts.home.work / taken.id)
        return self._workdir(taken)

    def _title(self, taken: TakenRun) -> str | None:
        """``deliver.title``. One that does not render is no reason to lose a report: the job's name stands for it."""
        template = taken.job.deliver.title
        if template is None:
            return None
        last = self._parts.last_run(taken) if "last" in template else LastRun()
        try:
            return self._parts.redact(rendered(template, taken, last, where="deliver.title"))
        except JobFileError as error:
            _log.warning("run %s: %s", taken.id, error.message)
            return None

    def _kept(self, taken: TakenRun, outcome: Outcome) -> Outcome:
        """The report on disk. A run whose report could not be kept is not ok."""
        text = self._parts.redact(ended.report_text(taken, outcome))
        error = None if outcome.error is None else self._parts.redact(outcome.error)
        outcome = replace(outcome, text=text, error=error, title=self._title(taken))
        try:
            path = outputs.write(self._parts.home, job_name=taken.job.name, run_id=taken.id, text=text)
        except HermesCronError as lost:
            reason = "disk_full" if isinstance(lost, DiskFull) else "output_not_written"
            return replace(outcome, state=RunState.FAILED, reason=reason, error=lost.message)
        return replace(outcome, output_path=path)
