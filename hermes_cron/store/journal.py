"""How is a transcript kept, step by step, so that nothing that happened can be lost or done twice?

Implements ``ports.Journal`` (design decision 4). Row 0 is the header; an assistant message commits together with the
reserved rows of its results and the intents of its effects; a result fills its reserved row, and where the call had
an intent that same commit is its receipt.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, and_, bindparam, func, insert, or_, select, update

from hermes_cron.domain.compaction import Compacted, How, Row, as_row, sent
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
    calls_of,
    evidence,
)
from hermes_cron.ports import Clock
from hermes_cron.store.engine import Store
from hermes_cron.store.ownership import Claim, ReviewClaim, RunClaim
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import ApprovalRow, EffectRow, MessageRow, RunRow, SessionRow, UsageRow

T = TypeVar("T")
COPY = "copy"
"""The role of a row whose message only repeats what another session says. It is sent as any other."""
COMPACTION = "compaction"
"""The role of a row that stands for others."""
NOT_BEGUN = "not_begun"
"""The verdict of an effect without a receipt that was certainly not begun."""

_messages = MessageRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_effects = EffectRow.__table__  # type: ignore[attr-defined]
_usage = UsageRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]
_approvals = ApprovalRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]

_FILL = Prepared(
    update(_messages)
    .where(
        _messages.c.session_id == bindparam("session"),
        _messages.c.seq == bindparam("at_seq"),
        _messages.c.body.is_(None),
    )
    .values(
        body=bindparam("new_body"),
        ok=bindparam("new_ok"),
        exit_code=bindparam("new_exit"),
        started_ms=bindparam("new_started"),
        elapsed_ms=bindparam("new_elapsed"),
        at=bindparam("new_at"),
    )
)
_RECEIPT = Prepared(
    update(_effects)
    .where(_effects.c.session_id == bindparam("session"), _effects.c.seq == bindparam("at_seq"))
    .values(receipt_at=bindparam("new_at"), verdict=bindparam("new_verdict"))
)
_ASKED = Prepared(select(_runs.c.cancel_requested_at, _runs.c.steer).where(_runs.c.id == bindparam("run")))
_BEGIN = Prepared(insert(_sessions), ("id", "run_id", "kind", "parent_id", "parent_seq", "started_at"))
_SAID = Prepared(insert(_messages), ("session_id", "seq", "role", "body", "ok", "elapsed_ms", "at"))
_COMPACT = Prepared(
    insert(_messages), ("session_id", "seq", "role", "body", "tool", "ok", "covers_from", "covers_to", "at")
)
_RESERVE = Prepared(insert(_messages), ("session_id", "seq", "role", "call_id", "tool", "arguments_hash"))
_INTEND = Prepared(
    insert(_effects),
    ("session_id", "seq", "run_id", "tool", "effect", "key", "arguments_hash", "intent_at", "batch", "gated"),
)
_USE = Prepared(
    insert(_usage),
    (
        "session_id", "seq", "run_id", "phase", "model", "input", "output", "cached", "cache_write", "estimated",
        "cost_usd", "elapsed_ms", "at",
    ),
)  # fmt: skip


def _shallow(value: Header | Usage) -> dict[str, Any]:
    """The fields in their order; ``asdict`` would copy every tool schema of the header, key by key."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def encode(value: object) -> bytes:
    """JSON as stored and as sent: no escapes for Chinese, no blanks, keys in the order they were given."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class SqlJournal:
    """One session of one run. Used by one thread, except ``result`` and ``spawned`` (any worker thread).

    ``claim`` is in whose name it is written. ``side``: it works for a compaction and is not told what is said to the
    run.
    """

    def __init__(
        self, store: Store, clock: Clock, *, session_id: str, claim: Claim, next_seq: int, side: bool = False
    ) -> None:
        self.session_id = session_id
        self._store = store
        self._clock = clock
        self._claim = claim
        self._run_id = claim.run_id
        self._next = next_seq
        self._side = side
        self._begun: tuple[Header, list[Message]] | None = None  # as written here, until something is added

    @classmethod
    def begin(  # noqa: PLR0913  # a session's first rows are one commit
        cls,
        store: Store,
        clock: Clock,
        *,
        run_id: str,
        fence: int,
        header: Header,
        messages: Sequence[Message] = (),
        kind: str = "main",
        parent: str | None = None,
        review: int | None = None,
    ) -> SqlJournal:
        """A new session with its row 0 and first messages, in one commit; ``parent`` is the session it belongs to.

        With ``review`` it is that review's, and the fence too. Its first message repeats what another session says and
        is not searched: that is what its row's role is for.
        """
        place = _Place(kind=kind, parent=parent, copied=review is not None)
        return cls._begin(store, clock, _claim(run_id, fence, review), place, header, messages)

    @classmethod
    def _begin(
        cls, store: Store, clock: Clock, claim: Claim, place: _Place, header: Header, messages: Sequence[Message]
    ) -> SqlJournal:
        session_id = uuid.uuid4().hex
        now = clock.now()
        rows = [
            ("header", _shallow(header)),
            *((COPY if place.copied else message["role"], message) for message in messages),
        ]
        values = [
            {"session_id": session_id, "seq": seq, "role": role, "body": encode(body), "at": now}
            for seq, (role, body) in enumerate(rows)
        ]

        def work(conn: Connection) -> None:
            claim.require(conn)
            _BEGIN.run(
                conn,
                {
                    "id": session_id,
                    "run_id": claim.run_id,
                    "kind": place.kind,
                    "parent_id": place.parent,
                    "parent_seq": place.at,
                    "started_at": now,
                },
            )
            _SAID.run_all(conn, values)
            claim.begun(conn, session_id)

        store.write(work)
        made = cls(store, clock, session_id=session_id, claim=claim, next_seq=len(values), side=place.at is not None)
        made._begun = (header, list(messages))
        return made

    @classmethod
    def open(
        cls, store: Store, clock: Clock, *, run_id: str, fence: int, session_id: str, review: int | None = None
    ) -> SqlJournal:
        """A session that was begun before, to go on with. Raises ``Fenced`` when the run, or review, is another's."""
        return cls._open(store, clock, _claim(run_id, fence, review), session_id)

    @classmethod
    def _open(cls, store: Store, clock: Clock, claim: Claim, session_id: str, *, side: bool = False) -> SqlJournal:
        with store.read() as conn:
            claim.require(conn)
            last = conn.execute(
                select(func.max(_messages.c.seq)).where(_messages.c.session_id == session_id)
            ).scalar_one()
        return cls(store, clock, session_id=session_id, claim=claim, next_seq=last + 1, side=side)

    def side(self, kind: str, at: int, header: Header, messages: Sequence[Message]) -> SqlJournal:
        """The session that works for a compaction up to row ``at``. Its messages repeat what is said here, so they are
        not searched; a summary that was made and not used yet is not paid for again."""
        with self._store.read() as conn:
            found = conn.execute(
                select(_sessions.c.id).where(
                    _sessions.c.parent_id == self.session_id,
                    _sessions.c.parent_seq == at,
                    _sessions.c.kind == kind,
                    _sessions.c.ended_at.is_(None),
                )
            ).scalar()
        if found is not None:
            return self._open(self._store, self._clock, self._claim, found, side=True)
        place = _Place(kind=kind, parent=self.session_id, at=at, copied=True)
        return self._begin(self._store, self._clock, self._claim, place, header, messages)

    def _write(self, work: Callable[[Connection, datetime], T]) -> T:
        now = self._clock.now()
        self._begun = None

        def fenced(conn: Connection) -> T:
            self._claim.require(conn)
            return work(conn, now)

        return self._store.write(fenced)

    def header(self) -> Header:
        """Row 0 as stored."""
        if self._begun is not None:
            return self._begun[0]
        with self._store.read() as conn:
            return header_of(conn, self.session_id)

    def messages(self) -> list[Message]:
        """What is sent of the rows 1.., in order. A reserved result that never came is left out, and a last word that
        was cut.
        """
        return [placed.message for placed in sent(self.transcript())]

    def transcript(self) -> list[Row]:
        """Rows 1.. in order, those that came."""
        if self._begun is not None:
            return [Row(seq=seq, message=message) for seq, message in enumerate(self._begun[1], 1)]
        with self._store.read() as conn:
            return transcript_of(conn, self.session_id)

    def compact(self, made: Sequence[Compacted]) -> None:
        """Rows that stand for others, in one commit."""
        seq = self._next
        values = [
            {
                "session_id": self.session_id,
                "seq": at,
                "role": COMPACTION,
                "body": encode(each.message),
                "tool": each.how.value,
                "ok": each.ok,
                "covers_from": each.first,
                "covers_to": each.last,
            }
            for at, each in enumerate(made, seq)
        ]
        self._write(lambda conn, now: _COMPACT.run_all(conn, [{**row, "at": now} for row in values]))
        self._next = seq + len(values)

    def append(self, message: Message) -> int:
        """A user message or one made by hermes-cron itself; returns its seq."""
        seq = self._next
        row = {"session_id": self.session_id, "seq": seq, "role": message["role"], "body": encode(message)}
        self._write(lambda conn, now: _SAID.run(conn, {**row, "at": now}))
        self._next = seq + 1
        return seq

    def assistant(self, reply: ModelReply, planned: Sequence[PlannedResult], *, phase: str = "main") -> tuple[int, ...]:
        """The reply, its usage, the seqs of its results in call order and the intents of its effects: one commit.

        A last word that was cut is kept, not ok, for people: it is asked for again and never sent.
        """
        seq = self._next
        seqs = tuple(range(seq + 1, seq + 1 + len(planned)))
        body = encode(reply.message)

        def work(conn: Connection, now: datetime) -> None:
            _SAID.run(
                conn,
                {
                    "session_id": self.session_id,
                    "seq": seq,
                    "role": "assistant",
                    "body": body,
                    "ok": False if reply.cut and not planned else None,
                    "elapsed_ms": reply.elapsed_ms,
                    "at": now,
                },
            )
            if planned:
                _RESERVE.run_all(conn, [self._reserved(at, plan) for at, plan in zip(seqs, planned, strict=True)])
            intents = [
                self._intent(at, plan, now)
                for at, plan in zip(seqs, planned, strict=True)
                if plan.effect != Effect.READ
            ]
            if intents:
                _INTEND.run_all(conn, intents)
            if reply.usage is not None:
                _USE.run(conn, self._usage_row(reply, seq, phase, now))

        self._write(work)
        self._next = seq + 1 + len(planned)
        return seqs

    def _reserved(self, seq: int, plan: PlannedResult) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "seq": seq,
            "role": "tool",
            "call_id": plan.call.id,
            "tool": plan.call.name,
            "arguments_hash": plan.arguments_hash,
        }

    def _intent(self, seq: int, plan: PlannedResult, now: datetime) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "seq": seq,
            "run_id": self._run_id,
            "tool": plan.call.name,
            "effect": plan.effect,
            "key": self._key(seq),
            "arguments_hash": plan.arguments_hash,
            "intent_at": now,
            "batch": plan.batch,
            "gated": plan.gated,
        }

    def _usage_row(self, reply: ModelReply, seq: int, phase: str, now: datetime) -> dict[str, Any]:
        usage = reply.usage
        assert usage is not None  # noqa: S101  # the caller looked
        return {
            **_shallow(usage),
            "session_id": self.session_id,
            "seq": seq,
            "run_id": self._run_id,
            "phase": phase,
            "model": reply.model,
            "cost_usd": reply.cost_usd,
            "elapsed_ms": reply.elapsed_ms,
            "at": now,
        }

    def result(self, *results: ToolResult) -> None:
        """Fill the reserved rows, all in one commit. Raises ``Fenced``; a row that is filled already stays as it is."""

        def work(conn: Connection, now: datetime) -> None:
            for result in results:
                key = {"session": self.session_id, "at_seq": result.seq}
                _FILL.run(
                    conn,
                    {
                        **key,
                        "new_body": encode(result.message),
                        "new_ok": result.ok,
                        "new_exit": result.exit_code,
                        "new_started": result.started_ms,
                        "new_elapsed": result.elapsed_ms,
                        "new_at": now,
                    },
                )
                if result.effect != Effect.READ:
                    _RECEIPT.run(conn, {**key, "new_at": now, "new_verdict": "ok" if result.ok else "failed"})

        self._write(work)

    def spawned(self, seq: int, *, pgid: int, started: str, boot_id: str) -> None:
        """Which process group works for the effect at ``seq``."""
        self._write(
            lambda conn, _now: conn.execute(
                update(_effects)
                .where(_effects.c.session_id == self.session_id, _effects.c.seq == seq)
                .values(pgid=pgid, pg_started=started, boot_id=boot_id)
            )
        )

    def pending(self) -> list[PendingResult]:
        """Calls of the last assistant message without a result, in call order, with what is known of each."""
        if self._begun is not None:
            return []
        with self._store.read() as conn:
            found = open_calls(conn, self.session_id)
            answers = open_answers(conn, self.session_id) if found else {}
        return [
            PendingResult(
                seq=call.seq,
                call=call.call,
                effect=call.effect,
                begun=begun(call, found),
                batch=call.batch,
                key=self._key(call.seq),
                evidence=evidence(call),
                **answers.get(call.seq, {}),
            )
            for call in found
        ]

    def unbegun(self, *seqs: int) -> None:
        """Kept as their verdict until they are begun."""
        self._write(
            lambda conn, _now: conn.execute(
                update(_effects)
                .where(
                    _effects.c.session_id == self.session_id, _effects.c.seq.in_(seqs), _effects.c.receipt_at.is_(None)
                )
                .values(verdict=NOT_BEGUN)
            )
        )

    def redo(self, seq: int) -> None:
        """The effect at ``seq`` begins anew: when, by which group; an approval of it is used up."""

        def work(conn: Connection, now: datetime) -> None:
            conn.execute(
                update(_effects)
                .where(_effects.c.session_id == self.session_id, _effects.c.seq == seq)
                .values(pgid=None, pg_started=None, boot_id=None, verdict=None, intent_at=now)
            )
            conn.execute(
                update(_approvals)
                .where(
                    _approvals.c.session_id == self.session_id,
                    _approvals.c.seq == seq,
                    _approvals.c.decision == "approved",
                    _approvals.c.used_at.is_(None),
                )
                .values(used_at=now)
            )

        self._write(work)

    def spent(self, usage: Usage, *, model: str, cost_usd: float | None, phase: str = "main") -> None:
        """Its row has a seq below 0: no message came of it, and it may be of another model than the next reply."""

        def work(conn: Connection, now: datetime) -> None:
            lowest = conn.execute(
                select(func.min(_usage.c.seq)).where(_usage.c.session_id == self.session_id, _usage.c.seq < 0)
            ).scalar_one()
            lost = ModelReply(message={}, text="", usage=usage, model=model, cost_usd=cost_usd)
            _USE.run(conn, self._usage_row(lost, (lowest or 0) - 1, phase, now))

        self._write(work)

    def asked(self) -> Asked:
        """What people asked of this run."""
        if not self._claim.hears:
            return Asked()
        with self._store.look() as conn:
            row = _ASKED.first(conn, {"run": self._run_id})
        return Asked() if row is None else Asked(cancel=row[0] is not None, steer=row[1] is not None and not self._side)

    def steered(self) -> list[Message]:
        """The texts that wait, kept as user messages; none of them can be taken twice or lost in between."""
        seq = self._next

        def work(conn: Connection, now: datetime) -> list[Message]:
            waiting = conn.execute(select(_runs.c.steer).where(_runs.c.id == self._run_id)).scalar_one()
            messages: list[Message] = [{"role": "user", "content": text} for text in json.loads(waiting or "[]")]
            if messages:
                rows = [
                    {"session_id": self.session_id, "seq": at, "role": "user", "body": encode(message), "at": now}
                    for at, message in enumerate(messages, seq)
                ]
                _SAID.run_all(conn, rows)
                conn.execute(update(_runs).where(_runs.c.id == self._run_id).values(steer=None))
            return messages

        messages = self._write(work)
        self._next = seq + len(messages)
        return messages

    def _key(self, seq: int) -> str:
        return f"{self.session_id}/{seq}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What a new session is, and whose; ``at``: the last row of ``parent`` that it works for a compaction of."""

    kind: str
    parent: str | None = None
    at: int | None = None
    copied: bool = False


def _claim(run_id: str, fence: int, review: int | None) -> Claim:
    if review is None:
        return RunClaim(run_id=run_id, fence=fence)
    return ReviewClaim(run_id=run_id, fence=fence, review=review)


def _header(row: dict[str, Any]) -> Header:
    """Of another version's row 0: what it does not have is as it is by default, what is not known here is left out."""
    known = {field.name: row[field.name] for field in fields(Header) if field.name in row}
    return Header(**{**known, "tools": tuple(known.get("tools") or ())})


def header_of(conn: Connection, session_id: str) -> Header:
    """Row 0 of a session."""
    row = select(_messages.c.body).where(_messages.c.session_id == session_id, _messages.c.seq == 0)
    return _header(json.loads(conn.execute(row).scalar_one()))


def transcript_of(conn: Connection, session_id: str) -> list[Row]:
    """Rows 1.. of a session as they are kept, those that came and are sent or stood for."""
    found = conn.execute(
        select(
            _messages.c.seq,
            _messages.c.role,
            _messages.c.body,
            _messages.c.tool,
            _messages.c.ok,
            _messages.c.covers_from,
            _messages.c.covers_to,
            _effects.c.effect,
        )
        .select_from(
            _messages.outerjoin(
                _effects, and_(_effects.c.session_id == _messages.c.session_id, _effects.c.seq == _messages.c.seq)
            )
        )
        .where(
            _messages.c.session_id == session_id,
            _messages.c.seq > 0,
            _messages.c.body.is_not(None),
            or_(_messages.c.role != "assistant", _messages.c.ok.is_not(False)),
        )
        .order_by(_messages.c.seq)
    )
    return [_row(each) for each in found]


def _row(found: Any) -> Row:
    message = json.loads(found.body)
    if found.role == COMPACTION:
        made = Compacted(
            first=found.covers_from, last=found.covers_to, message=message, how=How(found.tool), ok=bool(found.ok)
        )
        return as_row(made, found.seq)
    return Row(seq=found.seq, message=message, tool=found.tool, ok=found.ok, effect=found.effect)


def open_calls(conn: Connection, session_id: str) -> list[OpenCall]:
    """The last reply's calls whose reserved rows are empty."""
    mine = _messages.c.session_id == session_id
    last = conn.execute(
        select(_messages.c.seq, _messages.c.body)
        .where(mine, _messages.c.role == "assistant")
        .order_by(_messages.c.seq.desc())
        .limit(1)
    ).first()
    if last is None:
        return []
    rows = conn.execute(
        select(
            _messages.c.seq,
            _effects.c.effect,
            _effects.c.batch,
            _effects.c.gated,
            _effects.c.intent_at,
            _effects.c.pgid,
            _effects.c.verdict,
        )
        .select_from(
            _messages.outerjoin(
                _effects, and_(_effects.c.session_id == _messages.c.session_id, _effects.c.seq == _messages.c.seq)
            )
        )
        .where(mine, _messages.c.role == "tool", _messages.c.seq > last.seq, _messages.c.body.is_(None))
        .order_by(_messages.c.seq)
    ).all()
    asked = calls_of(json.loads(last.body)) if rows else ()
    return [
        OpenCall(
            seq=row.seq,
            call=asked[row.seq - last.seq - 1],  # results are reserved right behind the message, in call order
            effect=row.effect or Effect.READ,
            batch=row.batch,
            gated=bool(row.gated),
            intent_at=row.intent_at,
            pgid=row.pgid,
            unbegun=row.verdict == NOT_BEGUN,
        )
        for row in rows
    ]


def open_answers(conn: Connection, session_id: str) -> dict[int, dict[str, Any]]:
    """What persons were asked and said about calls of this session, by seq: the newest question that is not used up."""
    rows = conn.execute(
        select(_approvals.c.seq, _approvals.c.decision, _approvals.c.reason, _approvals.c.used_at)
        .where(_approvals.c.session_id == session_id)
        .order_by(_approvals.c.number)
    )
    newest = {row.seq: row for row in rows}
    return {
        seq: {"asked": row.decision is None, "decision": row.decision, "reason": row.reason}
        for seq, row in newest.items()
        if row.used_at is None and row.decision != "withdrawn"
    }
