"""What may a test put in place of the store's journal? A double that keeps rows in memory.

It passes the contract suite of ``store.journal.SqlJournal`` (tests/contract/test_journal.py).
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hermes_cron.domain.command import ProcessGroup
from hermes_cron.domain.compaction import Compacted, Row, as_row, sent
from hermes_cron.domain.run import Effect
from hermes_cron.domain.transcript import (
    Asked,
    Header,
    Message,
    ModelReply,
    OpenCall,
    PendingResult,
    PlannedResult,
    ToolResult,
    Usage,
    begun,
    evidence,
)
from hermes_cron.ports import Fenced


@dataclass(slots=True, kw_only=True)
class MemoryRow:
    """``body`` None: reserved for a result that has not come. ``cut``: a last word that is asked for again."""

    role: str
    body: str | None
    plan: PlannedResult | None = None
    result: ToolResult | None = None
    cut: bool = False
    compacted: Compacted | None = None


class MemoryJournal:
    """Implements ``ports.Journal``. Thread-safe.

    For assertions: ``rows`` by seq, ``intents`` and ``receipts`` of effects, ``groups`` (seq to process group),
    ``usages``, ``commits`` (what each commit held, in order). ``fence()`` takes the run away, ``cancel()`` asks it to
    stop, ``steer()`` tells it something, ``answer()`` is a person's word about an effect. ``sides`` are the sessions
    that worked for its compactions, by kind and row.
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
        self.answers: dict[int, tuple[str | None, str | None]] = {}
        self._fenced = self._cancel = False
        self._steer: list[str] = []
        self._unbegun: set[int] = set()
        self._lock = threading.RLock()
        self.sides: dict[tuple[str, int], MemoryJournal] = {}
        self._parent: MemoryJournal | None = None
        for message in messages:
            self.append(message)

    def fence(self) -> None:
        """Another process took the run over."""
        self._fenced = True

    def cancel(self) -> None:
        """Someone asked the run to stop."""
        self._cancel = True

    def steer(self, text: str) -> None:
        """Someone told the run something."""
        self._steer.append(text)

    def answer(self, seq: int, decision: str | None, reason: str | None = None) -> None:
        """A person was asked about the effect at ``seq``, and said so; None: has not answered."""
        self.answers[seq] = (decision, reason)

    def header(self) -> Header:
        return self._header

    def messages(self) -> list[Message]:
        return [placed.message for placed in sent(self.transcript())]

    def transcript(self) -> list[Row]:
        with self._lock:
            return [_row(seq, row) for seq, row in sorted(self.rows.items()) if row.body is not None and not row.cut]

    def compact(self, made: Sequence[Compacted]) -> None:
        with self._lock:
            self._owned()
            seqs = tuple(range(self._next(), self._next() + len(made)))
            for seq, each in zip(seqs, made, strict=True):
                self.rows[seq] = MemoryRow(role="compaction", body=json.dumps(each.message), compacted=each)
            self.commits.append(("compact", seqs))

    def side(self, kind: str, at: int, header: Header, messages: Sequence[Message]) -> MemoryJournal:
        with self._lock:
            if (kind, at) not in self.sides:
                self._owned()
                made = self.sides[kind, at] = MemoryJournal(header, messages)
                made._parent = self
            return self.sides[kind, at]

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
            cut = reply.cut and not planned
            self.rows[seq] = MemoryRow(role="assistant", body=json.dumps(reply.message), cut=cut)
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
        with self._lock:
            found = self._open_calls()
            return [
                PendingResult(
                    seq=call.seq,
                    call=call.call,
                    effect=call.effect,
                    begun=begun(call, found),
                    batch=call.batch,
                    key=f"{self.session_id}/{call.seq}",
                    evidence=evidence(call),
                    **self._answer(call.seq),
                )
                for call in found
            ]

    def _open_calls(self) -> list[OpenCall]:
        last = max((seq for seq, row in self.rows.items() if row.role == "assistant"), default=0)
        found = []
        for seq, row in sorted(self.rows.items()):
            if row.plan is None or row.body is not None or seq < last:
                continue
            if seq not in self.intents:
                found.append(OpenCall(seq=seq, call=row.plan.call))
                continue
            group = self.groups.get(seq)
            found.append(
                OpenCall(
                    seq=seq,
                    call=row.plan.call,
                    effect=row.plan.effect,
                    batch=row.plan.batch,
                    gated=row.plan.gated,
                    pgid=None if group is None else group.pgid,
                    unbegun=seq in self._unbegun,
                )
            )
        return found

    def _answer(self, seq: int) -> dict[str, Any]:
        if seq not in self.answers:
            return {}
        decision, reason = self.answers[seq]
        return {"asked": decision is None, "decision": decision, "reason": reason}

    def unbegun(self, *seqs: int) -> None:
        with self._lock:
            self._owned()
            self._unbegun.update(seqs)
            self.commits.append(("unbegun", seqs))

    def redo(self, seq: int) -> None:
        with self._lock:
            self._owned()
            self.groups.pop(seq, None)
            self._unbegun.discard(seq)
            if self.answers.get(seq, (None, None))[0] == "approved":
                del self.answers[seq]
            self.commits.append(("redo", (seq,)))

    def spent(self, usage: Usage, *, model: str, cost_usd: float | None, phase: str = "main") -> None:
        with self._lock:
            self._owned()
            self.usages.append((phase, usage))
            self.commits.append(("spent", ()))

    def asked(self) -> Asked:
        if self._parent is not None:
            return Asked(cancel=self._parent.asked().cancel)
        return Asked(cancel=self._cancel, steer=bool(self._steer))

    def steered(self) -> list[Message]:
        with self._lock:
            self._owned()
            messages: list[Message] = [{"role": "user", "content": text} for text in self._steer]
            for message in messages:
                self.append(message)
            self._steer.clear()
            return messages

    def _next(self) -> int:
        return max(self.rows, default=0) + 1

    def _owned(self) -> None:
        if self._fenced:
            raise Fenced("the run is no longer owned")
        if self._parent is not None:
            self._parent._owned()


def _row(seq: int, row: MemoryRow) -> Row:
    if row.compacted is not None:
        return as_row(row.compacted, seq)
    message = json.loads(row.body or "")
    if row.plan is None:
        return Row(seq=seq, message=message)
    effect = None if row.plan.effect == Effect.READ else row.plan.effect
    ok = None if row.result is None else row.result.ok
    return Row(seq=seq, message=message, tool=row.plan.call.name, ok=ok, effect=effect)
