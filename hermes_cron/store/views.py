"""How does a run look to whoever asks: its row, its steps, its place in the list?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select, text

from hermes_cron.domain.run import RunState
from hermes_cron.errors import NameAmbiguous, NotFound
from hermes_cron.store import outbox, spending
from hermes_cron.store.outbox import DeliveryView
from hermes_cron.store.tables import (
    ApprovalRow,
    AttemptRow,
    EffectRow,
    MessageRow,
    RunRow,
    SecurityEventRow,
    SessionRow,
)

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_messages = MessageRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]
_effects = EffectRow.__table__  # type: ignore[attr-defined]
_attempts = AttemptRow.__table__  # type: ignore[attr-defined]
_approvals = ApprovalRow.__table__  # type: ignore[attr-defined]
_security = SecurityEventRow.__table__  # type: ignore[attr-defined]

Row = dict[str, Any]
_MANY = 500
COMPACTION = "compaction"
"""The role of a row that stands for others."""

SCRIPT = "script"
"""The model of a script's session: its call is journalled like a model's, and no model asked for it."""


def run(conn: Connection, word: str) -> Row:
    """The run with this id, or the only one whose id begins so. Raises ``NotFound``, ``NameAmbiguous``."""
    exact = conn.execute(select(_runs).where(_runs.c.id == word)).mappings().first()
    if exact is not None:
        return dict(exact)
    like = select(_runs).where(_runs.c.id.startswith(word, autoescape=True)).order_by(_runs.c.id).limit(6)
    found = [dict(row) for row in conn.execute(like).mappings()] if word else []
    if len(found) > 1:
        raise NameAmbiguous(
            f'several runs begin with "{word}": {", ".join(row["id"] for row in found)}', hint="write more of the id"
        )
    if not found:
        raise NotFound(f'no run "{word}"', hint="hermes-cron runs list")
    return found[0]


def runs(conn: Connection, *, job_uid: str | None = None, states: Sequence[str] = (), limit: int = 20) -> list[Row]:
    """Newest first."""
    query = select(_runs).order_by(_runs.c.queued_at.desc(), _runs.c.id.desc()).limit(limit)
    if job_uid is not None:
        query = query.where(_runs.c.job_uid == job_uid)
    if states:
        query = query.where(_runs.c.state.in_(states))
    return [dict(row) for row in conn.execute(query).mappings()]


def so_far(conn: Connection, row: Row) -> Row:
    """The row; of a run that goes on with what its journal says it used, as its own row will say it at the end."""
    if row["state"] != RunState.RUNNING.value:
        return row
    known = [each for each in sessions(conn, row["id"]) if each["kind"] == "main"]
    if not known:
        return row
    made = rows(conn, known[-1]["id"])
    header: Row = next((each["body"] for each in made if each["role"] == "header" and each["body"]), {})
    calls = [each for each in made if each["role"] == "tool" and each["body"] is not None]
    used = spending.used(conn, row["id"])
    return row | {
        "model": header.get("model"),
        "iterations": sum(each["role"] == "assistant" for each in made) if header.get("model") != SCRIPT else 0,
        "tool_calls": len(calls),
        "tool_errors": sum(not each["ok"] for each in calls),
        "tokens_input": sum(each.input for each in used),
        "tokens_output": sum(each.output for each in used),
        "tokens_cached": sum(each.cached for each in used),
        "cost_usd": sum(each.cost_usd or 0.0 for each in used)
        if all(each.priced == each.calls for each in used)
        else None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What belongs to a run and is not in its row, oldest first: its messages, its attempts, its questions, and what
    the scanner kept from it."""

    deliveries: Sequence[DeliveryView] = ()
    attempts: Sequence[Row] = ()
    approvals: Sequence[Row] = ()
    security: Sequence[Row] = ()

    @property
    def questions(self) -> list[Row]:
        """Those that nobody has answered; the run waits for them."""
        return [row for row in self.approvals if row["decision"] is None]


def around(conn: Connection, run_ids: Sequence[str]) -> dict[str, Around]:
    """For each of these runs."""
    deliveries = outbox.of_runs(conn, run_ids)
    attempts = _by_run(conn, select(_attempts).order_by(_attempts.c.number), run_ids)
    of_calls = select(_approvals).where(_approvals.c.learned.is_(None))  # a proposal is what the run learned
    approvals = _by_run(conn, of_calls.order_by(_approvals.c.number), run_ids)
    security = _by_run(conn, select(_security).order_by(_security.c.id), run_ids)
    return {
        run_id: Around(
            deliveries=deliveries.get(run_id, ()),
            attempts=attempts.get(run_id, ()),
            approvals=approvals.get(run_id, ()),
            security=security.get(run_id, ()),
        )
        for run_id in run_ids
    }


def _by_run(conn: Connection, query: Select[Any], run_ids: Sequence[str]) -> dict[str, list[Row]]:
    table = query.get_final_froms()[0]
    found: dict[str, list[Row]] = {}
    for at in range(0, len(run_ids), _MANY):
        for row in conn.execute(query.where(table.c.run_id.in_(run_ids[at : at + _MANY]))).mappings():
            found.setdefault(row["run_id"], []).append(dict(row))
    return found


def sessions(conn: Connection, run_id: str) -> list[Row]:
    """Oldest first."""
    query = select(_sessions).where(_sessions.c.run_id == run_id).order_by(_sessions.c.started_at, text("rowid"))
    return [dict(row) for row in conn.execute(query).mappings()]


def rows(conn: Connection, session_id: str) -> list[Row]:
    """A session's rows in order; ``body`` decoded, None while a result is awaited."""
    query = select(_messages).where(_messages.c.session_id == session_id).order_by(_messages.c.seq)
    return [
        {**row, "body": None if row["body"] is None else json.loads(row["body"])}
        for row in conn.execute(query).mappings()
    ]


def effects(conn: Connection, run_id: str) -> dict[tuple[str, int], Row]:
    """Intents by (session, seq)."""
    query = select(_effects).where(_effects.c.run_id == run_id)
    return {(row["session_id"], row["seq"]): dict(row) for row in conn.execute(query).mappings()}


def steps(conn: Connection, run_id: str) -> list[Row]:
    """Model and tool calls in order, and what the agent was told between them: what ``runs trace`` shows.

    Every call stands with its result. A tool step's ``arguments`` are the text of the call; ``result_bytes`` is None
    while no result came; ``receipt`` is whether an effect reported back (None for reads). Before a compaction stand
    the steps of the sessions that worked for it.
    """
    known = sessions(conn, run_id)
    beside: dict[tuple[str, int], list[Row]] = {}
    for session in known:
        if session["parent_seq"] is not None:
            beside.setdefault((session["parent_id"], session["parent_seq"]), []).append(session)
    intents = effects(conn, run_id)
    found: list[Row] = []
    for session in known:
        if session["parent_seq"] is None:
            found += _of_session(conn, session, intents, beside)
    for left in beside.values():  # of a compaction that did not come about
        for session in left:
            found += _of_session(conn, session, intents, {})
    return found


def _of_session(
    conn: Connection,
    session: Row,
    intents: dict[tuple[str, int], Row],
    beside: dict[tuple[str, int], list[Row]],
) -> list[Row]:
    found: list[Row] = []
    calls: dict[str, Row] = {}
    asked_a_model, given = True, False
    for row in rows(conn, session["id"]):
        if row["role"] == "header":
            asked_a_model = row["body"]["model"] != SCRIPT
        elif row["role"] == "user" and given:
            found.append(_told_step(session, row))
        elif row["role"] == "user":
            given = True  # the task itself, which is the report's head and no step
        elif row["role"] == "assistant" and row["body"] is not None:
            if asked_a_model:
                found.append(_model_step(session, row))
            calls |= {call["id"]: call["function"] for call in row["body"].get("tool_calls") or ()}
        elif row["role"] == "tool":
            intent = intents.get((session["id"], row["seq"]))
            found.append(_tool_step(session, row, calls.get(row["call_id"]) or {}, intent))
        elif row["role"] == COMPACTION:
            for worker in beside.pop((session["id"], row["covers_to"]), ()):
                found += _of_session(conn, worker, intents, {})
            found.append(_compaction_step(session, row))
    return found


def _compaction_step(session: Row, row: Row) -> Row:
    """A row that stands for others from here on."""
    return {
        "session": session["id"],
        "phase": session["kind"],
        "seq": row["seq"],
        "step": "compaction",
        "ms": None,
        "how": row["tool"],
        "ok": row["ok"],
        "covers": [row["covers_from"], row["covers_to"]],
        "text_bytes": len(str(row["body"].get("content") or "").encode()),
        "at": row["at"],
    }


def _told_step(session: Row, row: Row) -> Row:
    """Something that was said to the agent while it worked: by a person, or what checks found."""
    text = str(row["body"].get("content") or "")
    return {
        "session": session["id"],
        "phase": session["kind"],
        "seq": row["seq"],
        "step": "told",
        "ms": None,
        "text": text,
        "text_bytes": len(text.encode()),
        "at": row["at"],
    }


def _model_step(session: Row, row: Row) -> Row:
    body = row["body"]
    return {
        "session": session["id"],
        "phase": session["kind"],
        "seq": row["seq"],
        "step": "model",
        "ms": row["elapsed_ms"],
        "calls": len(body.get("tool_calls") or ()),
        "text_bytes": len(str(body.get("content") or "").encode()),
        "at": row["at"],
    }


def _tool_step(session: Row, row: Row, call: Row, intent: Row | None) -> Row:
    content = None if row["body"] is None else str(row["body"].get("content") or "")
    return {
        "session": session["id"],
        "phase": session["kind"],
        "seq": row["seq"],
        "step": "tool",
        "id": row["call_id"],
        "tool": row["tool"],
        "arguments": call.get("arguments", ""),
        "arguments_hash": row["arguments_hash"],
        "ok": row["ok"],
        "exit_code": row["exit_code"],
        "started_ms": row["started_ms"],
        "ms": row["elapsed_ms"],
        "result_bytes": None if content is None else len(content.encode()),
        "effect": intent["effect"] if intent else "read",
        "receipt": None if intent is None else intent["receipt_at"] is not None,
        "at": row["at"],
    }
