"""How is a model asked beside a run, for its compaction? In a session of its own, bounded, on the run's money.

The session is kept as any other: one that a kill cut off is gone on with, and an answer that came and was not used yet
is used, not paid for twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_cron.agent.batch import Toolbox
from hermes_cron.agent.loop import AgentRun, run_agent
from hermes_cron.agent.stop import LoopResult, StopReason
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.command import Flag, OnSpawn
from hermes_cron.domain.compaction import Said
from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import PreparedCall, Probe, ToolOutput, arguments_hash, error_text
from hermes_cron.domain.transcript import Header, ToolCall
from hermes_cron.ports import Emit, Journal, Model, Purse

FLUSH, SUMMARY = "flush", "summary"
"""Kinds of sessions, and phases in the usage rows."""
FLUSH_CALLS, SUMMARY_CALLS = 3, 1

_STOPPED = frozenset({StopReason.CANCELLED, StopReason.RELEASED, StopReason.DEADLINE})


class NoTools:
    """Implements ``agent.batch.Toolbox`` for who may only speak."""

    def prepare(self, call: ToolCall) -> PreparedCall:
        refusal = error_text("InvalidArguments", f"no tool {call.name!r}: there are none here", "answer in words")
        hashed = arguments_hash(call.arguments)
        return PreparedCall(call=call, effect=Effect.READ, arguments_hash=hashed, refusal=refusal)

    def execute(self, prepared: PreparedCall, on_spawn: OnSpawn, *, key: str = "") -> ToolOutput:
        return prepared.refusal or error_text("InvalidArguments", "there are no tools here")

    def probe(self, prepared: PreparedCall, *, key: str = "") -> Probe:
        return Probe(happened=False, text="there are no tools here")

    def shown(self, call: ToolCall) -> str:
        return call.arguments


def _told_nobody(_event: str, _facts: Mapping[str, object]) -> None:
    """Steps of a session beside the run are no steps of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a session beside ``journal``'s is made of. ``name`` is the model that is asked; ``parameters`` go with it.

    ``models`` are asked in order when that one fails. ``memory`` is the memory tool alone, with its schema; None: the
    run may not write memory.
    """

    journal: Journal
    model: Model
    name: str
    parameters: Mapping[str, Any]
    deadline: float
    cancel: Flag
    emit: Emit
    timeout_s: float
    models: tuple[str, ...] = ()
    purse: Purse | None = None
    memory: tuple[Toolbox, tuple[Mapping[str, Any], ...]] | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def flush(self) -> Callable[[int, str, str], Said] | None:
        """``domain.compaction.Ask``; None without a memory to write to."""
        return None if self.memory is None else self._flush

    def summarise(self, at: int, system: str, text: str) -> Said:
        """``domain.compaction.Ask``: one call without tools."""
        result = self._ask(SUMMARY, at, Header(system=system, model=self.name, parameters=self.parameters), text)
        return self._said(result)

    def _flush(self, at: int, system: str, text: str) -> Said:
        assert self.memory is not None  # noqa: S101  # ``flush`` looked
        header = Header(system=system, tools=self.memory[1], model=self.name, parameters=self.parameters)
        result = self._ask(FLUSH, at, header, text)
        self.emit("memory_flushed", {"row": at, "calls": result.tool_calls, "errors": result.tool_errors})
        if result.stop is StopReason.BUDGET_EXHAUSTED and result.reason == "iterations":
            return Said(text=result.text)  # a bounded turn: what it saved until then is saved
        return self._said(result)

    def _ask(self, kind: str, at: int, header: Header, text: str) -> LoopResult:
        flush = self.memory is not None and kind == FLUSH
        return run_agent(
            AgentRun(
                model=self.model,
                toolbox=self.memory[0] if flush and self.memory is not None else NoTools(),
                journal=self.journal.side(kind, at, header, [{"role": "user", "content": text}]),
                budget=Budget(FLUSH_CALLS if flush else SUMMARY_CALLS),
                deadline=self.deadline,
                cancel=self.cancel,
                emit=_told_nobody,
                model_timeout_s=self.timeout_s,
                phase=kind,
                started=self.started,
                models=self.models,
                purse=self.purse,
                max_tokens=int(self.parameters.get("max_tokens") or 0),
            )
        )

    def _said(self, result: LoopResult) -> Said:
        if result.stop is StopReason.FINAL:
            return Said(text=result.text)
        return Said(why=result.error or str(result.stop), stopped=result.stop in _STOPPED)
