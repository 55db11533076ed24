"""What may a test put in place of the store's journal? A double that keeps rows in memory.

It passes the contract suite of ``store.journal.SqlJournal`` (tests/contract/test_journal.py).
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_cron.domain.command import ProcessGroup
from hermes_cron.domain.run import Effect
from hermes_cron.domain.transcript import (
    Asked,
    Header,
    Message,
    ModelReply,
    PendingResult,
    PlannedResult,
    ToolResult,
    Usage,
)
from hermes_cron.ports import Fenced


@dataclass(slots=True, kw_only=True)
class MemoryRow:
    """``body`` None: reserved for a result that has not come."""

    role: str
    body: str | None
    plan: PlannedResult | None = None
    result: ToolResult | None = None
    commit: int = 0


class MemoryJournal:
    """Implements ``ports.Journal``. Thread-safe.

    For assertions: ``rows`` by seq, ``intents`` and ``receipts`` of effects, ``groups`` (seq to process group),
    ``usages``, ``commits`` (what each commit held, in order). ``fence()`` takes the run away, ``cancel()`` asks it to
    stop.
    """

    def __init__(self, header: Header, messages: Sequence[Message] = ()) -> None:
        self.session_id = uuid.uuid4().hex
        self.rows: dict[int, MemoryRow] = {}
        self.intents: dict[int, PlannedResult] = {}
        self.receipts: dict[int, bool] = {}
        self.groups: dict[int, ProcessGroup] = {}
        self.usages: list[tuple[str, Usage]] = []
        self.commits: list[tuple[str, tuple[int, ...]]] = []
        self._header = header
        self._fenced = self._cancel = False
        self._lock = threading.RLock()
        for message in messages:
            self.append(message)

    def fence(self) -> None:
        """Another process took the run over."""
        self._fenced = True

    def cancel(self) -> None:
        """Someone asked the run to stop."""
        self._cancel = True

    def header(self) -> Header:
        return self._header

    def messages(self) -> list[Message]:
        with self._lock:
            return [json.loads(row.body) for _, row in sorted(self.rows.items()) if row.body is not None]

    def append(self, message: Message) -> int:
        with self._lock:
            self._owned()
            seq = self._next()
            self.rows[seq] = MemoryRow(role=message["role"], body=json.dumps(message))
            self.commits.append(("append", (seq,)))
            return seq

    def assistant(self, reply: ModelReply, planned: Sequence[PlannedResult], *, phase: str = "main") -> tuple[int, ...]:
        with self._lock:
            self._owned()
            seq = self._next()
            self.rows[seq] = MemoryRow(role="assistant", body=json.dumps(reply.message))
            seqs = tuple(range(seq + 1, seq + 1 + len(planned)))
            for at, plan in zip(seqs, planned, strict=True):
                self.rows[at] = MemoryRow(role="tool", body=None, plan=plan)
                if plan.effect != Effect.READ:
                    self.intents[at] = plan
            if reply.usage is not None:
                self.usages.append((phase, reply.usage))
            self.commits.append(("assistant", (seq, *seqs)))
            return seqs

    def result(self, *results: ToolResult) -> None:
        with self._lock:
            self._owned()
            for result in results:
                row = self.rows[result.seq]
                if row.body is None:
                    row.body, row.result = json.dumps(result.message), result
                if result.effect != Effect.READ:
                    self.receipts[result.seq] = result.ok
            self.commits.append(("result", tuple(result.seq for result in results)))

    def spawned(self, seq: int, *, pgid: int, started: str, boot_id: str) -> None:
        with self._lock:
            self._owned()
            self.groups[seq] = ProcessGroup(pgid=pgid, started=started, boot_id=boot_id)

    def pending(self) -> list[PendingResult]:
        return []

    def redo(self, seq: int) -> None:
        raise NotImplementedError

    def spent(self, usage: Usage, *, model: str, cost_usd: float | None, phase: str = "main") -> None:
        raise NotImplementedError

    def asked(self) -> Asked:
        return Asked(cancel=self._cancel)

    def steered(self) -> list[Message]:
        return []

    def _next(self) -> int:
        return max(self.rows, default=0) + 1

    def _owned(self) -> None:
        if self._fenced:
            raise Fenced("the run is no longer owned")
