"""What does a look back at a run do? A second agent, with memory and skills as its only tools, reads a copy.

It has a session, a budget of model calls and a line of money of its own. Its answer is thrown away: what counts is
what it wrote through the doors, as any other author. It is looked back at by nobody.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from hermes_cron.agent.fitting import Fit
from hermes_cron.agent.loop import AgentRun, run_agent
from hermes_cron.agent.stop import LoopResult, StopReason
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.clip import one_line
from hermes_cron.domain.command import Flag, OnSpawn, RunCommand
from hermes_cron.domain.compaction import Bench, Row
from hermes_cron.domain.learning import Author, Doors, Learn, MemoryMode
from hermes_cron.domain.review import Reviewed, ReviewState, TakenReview
from hermes_cron.domain.tool_call import PreparedCall, Probe, ToolOutput
from hermes_cron.domain.transcript import Header, Message, ToolCall
from hermes_cron.errors import HermesCronError
from hermes_cron.home import Home
from hermes_cron.ports import Clock, Databases, Journal, Model, Purse
from hermes_cron.runner import review_brief, review_copy
from hermes_cron.runner.compacting import Compaction
from hermes_cron.runner.review_brief import LIST, MANAGE, MEMORY, VIEW
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.choice import named
from hermes_cron.tools.connections import Connections
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.registry import Registry

PHASE = "review"
UNKNOWN = "unknown"
"""What is noted of a tool that was asked for and that does not exist: its name is a model's words."""
_COPY_PERCENT = 40  # of the window; the rest is for what the review itself reads and says, and for wrong estimates
_ERROR = 500


class OpenJournal(Protocol):
    """The review's session with its header and first message, durable when it returns."""

    def __call__(self, taken: TakenReview, header: Header, messages: Sequence[Message]) -> Journal: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a look back works with; wiring picks each.

    ``transcript`` gives the run's header and rows, ``memory`` is memory as a prompt shows it now. ``compaction`` knows
    what models can read at once, and which one is asked for side work. ``iterations``: model calls that one may make.
    """

    home: Home
    clock: Clock
    databases: Databases
    registry: Callable[[], Registry]
    model: Callable[[], Model]
    parameters: Mapping[str, Any]
    transcript: Callable[[TakenReview], tuple[Header, Sequence[Row]]]
    memory: Callable[[TakenReview], str]
    open_journal: OpenJournal
    resume_journal: Callable[[TakenReview], Journal]
    doors: Callable[[Author], Doors]
    purse: Callable[[TakenReview], Purse | None]
    run_command: RunCommand
    redact: Callable[[str], str]
    model_timeout_s: float
    compaction: Compaction
    iterations: int


def tools_for(taken: TakenReview) -> tuple[str, ...]:
    """What the job lets a look back at its runs use."""
    memory = (MEMORY,) if taken.job.memory is MemoryMode.READ_WRITE else ()
    return memory if taken.job.learn is Learn.OFF else (*memory, LIST, VIEW, MANAGE)


class _Narrow:
    """The review's tools. A call of another one is refused as any unknown tool is, and ``refused`` is told."""

    def __init__(self, box: ToolBox, registry: Registry, refused: Callable[[str], None]) -> None:
        self._box = box
        self._registry = registry
        self._refused = refused

    def prepare(self, call: ToolCall) -> PreparedCall:
        if call.name not in self._box.tools:
            self._refused(call.name if call.name in self._registry.tools else UNKNOWN)
        return self._box.prepare(call)

    def execute(self, prepared: PreparedCall, on_spawn: OnSpawn, *, key: str = "") -> ToolOutput:
        return self._box.execute(prepared, on_spawn, key=key)

    def probe(self, prepared: PreparedCall, *, key: str = "") -> Probe:
        return self._box.probe(prepared, key=key)

    def shown(self, call: ToolCall) -> str:
        return self._box.shown(call)


class Reviews:
    """Looks back at runs. Thread-safe: what one look back knows lives in its own call."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def execute(self, taken: TakenReview, cancel: Flag, refused: Callable[[str], None]) -> Reviewed:
        """How it ended, or that it was given up between two steps. Raises ``Fenced``, and what is a bug of ours."""
        end = time.monotonic() + taken.longest.total_seconds()
        with ExitStack() as stack:
            context = self._context(taken, cancel, end, stack)
            journal = self._begun(taken, context) if taken.session is None else self._parts.resume_journal(taken)
            if journal is None:
                said = "the job's runs may write neither memory nor skills"
                return Reviewed(state=ReviewState.FAILED, reason="no_tools", error=said)
            header = journal.header()
            registry = self._parts.registry()
            names = [schema["function"]["name"] for schema in header.tools]
            context = replace(context, doors=self._parts.doors(_author(taken, journal.session_id)))
            box = ToolBox(named(registry, names, context).tools, context)
            result = run_agent(
                AgentRun(
                    model=self._parts.model(),
                    toolbox=_Narrow(box, registry, refused),
                    journal=journal,
                    budget=Budget(self._parts.iterations),
                    deadline=end,
                    cancel=cancel,
                    emit=lambda _event, _facts: None,
                    model_timeout_s=self._parts.model_timeout_s,
                    phase=PHASE,
                    models=() if self._parts.compaction.auxiliary else taken.job.fallback_models,
                    purse=self._parts.purse(taken),
                    max_tokens=int(header.parameters.get("max_tokens") or 0),
                    fit=self._fit(),
                )
            )
        return self._reviewed(result)

    def _fit(self) -> Fit:
        """What it reads of skills may be long, too; no model is asked to shorten that."""
        compaction = self._parts.compaction
        engine = compaction.engine(Bench(ends=compaction.ends))
        return Fit(engine=engine, window=compaction.window, ends=compaction.ends)

    def _begun(self, taken: TakenReview, context: ToolContext) -> Journal | None:
        """None: there is no tool that it could save anything with."""
        parts = self._parts
        box = ToolBox(named(parts.registry(), tools_for(taken), context).tools, context)
        if not {MEMORY, MANAGE} & set(box.tools):
            return None
        header, rows = parts.transcript(taken)
        model = parts.compaction.asked(header.model)
        room = parts.compaction.window.of(model) * _COPY_PERCENT // 100
        prompt = review_copy.prompt(header.system, room)
        told = review_copy.transcript(rows, room - room // 4)
        text = review_brief.message(taken, prompt, told, memory=parts.memory(taken) if MEMORY in box.tools else "")
        own = Header(
            system=review_brief.order(taken.brief, box.tools),
            tools=box.schemas(),
            model=model,
            parameters=parts.parameters,
        )
        return parts.open_journal(taken, own, [{"role": "user", "content": parts.redact(text)}])

    def _context(self, taken: TakenReview, cancel: Flag, end: float, stack: ExitStack) -> ToolContext:
        parts = self._parts
        return ToolContext(
            run_id=taken.run_id,
            job_name=taken.job.name,
            workdir=Path(parts.home.work / taken.run_id),  # which none of its tools looks at
            home=parts.home,
            clock=parts.clock,
            zone=ZoneInfo(taken.job.timezone),
            deadline=end,
            cancel=cancel,
            env={},
            run_command=parts.run_command,
            connections=stack.enter_context(Connections(parts.databases, ())),
            redact=parts.redact,
            doors=parts.doors(_author(taken, taken.session)),
        )

    def _reviewed(self, result: LoopResult) -> Reviewed:
        state = _state(result)
        error = None if result.error is None else one_line(self._told(result.error), _ERROR)
        if state is ReviewState.OK:
            return Reviewed(state=state, iterations=result.iterations)
        return Reviewed(state=state, reason=result.reason, error=error, iterations=result.iterations)

    def _told(self, text: str) -> str:
        try:
            return self._parts.redact(text)
        except HermesCronError:
            return "what it says is not shown: the vault cannot be opened, so it cannot be redacted"


def _author(taken: TakenReview, session: str | None) -> Author:
    return Author(
        actor="review",
        run_id=taken.run_id,
        job_uid=taken.job_uid,
        job_name=taken.job.name,
        session_id=session,
        review=taken.number,
        learn=taken.job.learn,
        memory=taken.job.memory,
        methods=taken.methods,
    )


def _state(result: LoopResult) -> ReviewState:
    if result.stop is StopReason.BUDGET_EXHAUSTED:
        return ReviewState.EXHAUSTED if result.reason == "iterations" else ReviewState.REFUSED
    return _STATES.get(result.stop, ReviewState.FAILED)


_STATES = {
    StopReason.FINAL: ReviewState.OK,
    StopReason.DEADLINE: ReviewState.EXHAUSTED,
    StopReason.RELEASED: ReviewState.QUEUED,
}
