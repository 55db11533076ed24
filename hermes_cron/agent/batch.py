"""Which tool calls of one reply may run at the same time, and how are their results kept?

Reads run together; writers that name their paths run together when no path is or contains another; everything else
runs alone. Groups follow one another in call order, so a read after a write sees it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hermes_cron.agent.workers import run_all
from hermes_cron.domain.command import OnSpawn, ProcessGroup
from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import PreparedCall, Probe, ToolOutput, error_text
from hermes_cron.domain.transcript import ToolCall, ToolResult
from hermes_cron.ports import Emit, Journal

MAX_WORKERS = 8
_HUNG = error_text("NotEnded", "given up: it had not ended some seconds after the run's time limit")


class Toolbox(Protocol):
    """The tools of one run. ``prepare`` and ``execute`` answer errors as output; only ``Fenced`` comes out of them."""

    def prepare(self, call: ToolCall) -> PreparedCall: ...

    def execute(self, prepared: PreparedCall, on_spawn: OnSpawn, *, key: str = "") -> ToolOutput: ...

    def probe(self, prepared: PreparedCall, *, key: str = "") -> Probe: ...

    def shown(self, call: ToolCall) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why no further group is begun. ``answer`` goes to the calls that are left; None leaves them open."""

    answer: ToolOutput | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRun:
    """One reply's calls with their reserved rows. ``started`` is the run's start on the monotonic clock.

    A read that has not ended at ``until`` (monotonic, some seconds after the run's end) is given up.
    """

    toolbox: Toolbox
    journal: Journal
    emit: Emit
    started: float
    until: float
    workers: int = MAX_WORKERS
    _speaking: threading.Lock = field(default_factory=threading.Lock)

    def execute(
        self,
        calls: Sequence[PreparedCall],
        seqs: Sequence[int],
        grouped: Sequence[Sequence[int]],
        stop: Callable[[], Stop | None],
    ) -> list[ToolResult]:
        """Results in call order, all of them journalled; ``grouped`` is ``groups(calls)``.

        ``stop`` is asked before each group; when it says so, the calls that are left are not run. A group that runs is
        never cut.
        """
        results: list[ToolResult] = []
        for group in grouped:
            if (why := stop()) is not None:
                return [*results, *self._unrun(calls[group[0] :], seqs[group[0] :], why.answer)]
            results += self.group([calls[at] for at in group], [seqs[at] for at in group])
        return results

    def _unrun(self, calls: Sequence[PreparedCall], seqs: Sequence[int], answer: ToolOutput | None) -> list[ToolResult]:
        if answer is None:
            effects = [seq for call, seq in zip(calls, seqs, strict=True) if call.effect != Effect.READ]
            if effects:
                self.journal.unbegun(*effects)
            return []
        rows = [self.row(call, seq, answer) for call, seq in zip(calls, seqs, strict=True)]
        self.journal.result(*rows)
        return rows

    def group(self, calls: Sequence[PreparedCall], seqs: Sequence[int]) -> list[ToolResult]:
        """The results of calls that may run together, in order, journalled."""
        if calls[0].effect != Effect.READ:
            return self._writers(calls, seqs)
        began = time.monotonic()
        done = run_all(lambda at: self._one(calls[at], seqs[at]), len(calls), workers=self.workers, until=self.until)
        rows = [self.row(calls[at], seqs[at], _HUNG, began) if row is None else row for at, row in enumerate(done)]
        self.journal.result(*rows)
        return rows

    def _writers(self, calls: Sequence[PreparedCall], seqs: Sequence[int]) -> list[ToolResult]:
        """Waited for however long they take: what a write that was given up does afterwards, nobody would know."""
        if len(calls) == 1:
            return [self._one(calls[0], seqs[0])]
        with ThreadPoolExecutor(min(self.workers, len(calls)), thread_name_prefix="tool") as pool:
            return list(pool.map(self._one, calls, seqs))

    def _one(self, prepared: PreparedCall, seq: int) -> ToolResult:
        """Runs one call; an effect's receipt is committed here, alone and at once."""
        began = time.monotonic()
        self._tell("tool_started", {"seq": seq, "tool": prepared.call.name})
        output = prepared.refusal or self.toolbox.execute(
            prepared, self._spawned(prepared, seq), key=f"{self.journal.session_id}/{seq}"
        )
        row = self.row(prepared, seq, output, began)
        if prepared.effect != Effect.READ:
            self.journal.result(row)
        self._tell(
            "tool_finished", {"seq": seq, "tool": prepared.call.name, "ok": row.ok, "elapsed_ms": row.elapsed_ms}
        )
        return row

    def _tell(self, event: str, facts: Mapping[str, object]) -> None:
        """One event at a time: listeners print lines and need no locks."""
        with self._speaking:
            self.emit(event, facts)

    def _spawned(self, prepared: PreparedCall, seq: int) -> OnSpawn:
        def note(group: ProcessGroup) -> None:
            if prepared.effect != Effect.READ:
                self.journal.spawned(seq, pgid=group.pgid, started=group.started, boot_id=group.boot_id)

        return note

    def row(self, prepared: PreparedCall, seq: int, output: ToolOutput, began: float | None = None) -> ToolResult:
        """The result as it is journalled; ``began`` None: it was not run."""
        began = time.monotonic() if began is None else began
        return ToolResult(
            seq=seq,
            message={"role": "tool", "tool_call_id": prepared.call.id, "content": output.text},
            ok=output.ok,
            elapsed_ms=round((time.monotonic() - began) * 1000),
            started_ms=round((began - self.started) * 1000),
            effect=prepared.effect,
            exit_code=output.exit_code,
        )


def groups(calls: Sequence[PreparedCall]) -> list[list[int]]:
    """Positions of calls that run together, group after group."""
    found: list[list[int]] = []
    for at, call in enumerate(calls):
        if found and all(_together(calls[other], call) for other in found[-1]):
            found[-1].append(at)
        else:
            found.append([at])
    return found


def _together(one: PreparedCall, other: PreparedCall) -> bool:
    if Effect.READ in (one.effect, other.effect):
        return one.effect == other.effect
    if one.paths is None or other.paths is None:
        return False
    return not any(_touch(mine, yours) for mine in one.paths for yours in other.paths)


def _touch(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
