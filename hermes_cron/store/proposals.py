"""What is proposed to be learned, who is asked, and what does the answer change?

A proposal is a row of ``learned`` and a question in ``approvals``, written together; its run does not wait for the
answer. A yes turns the row into what was done, in the transaction of the answer; a no, or silence, ends it.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from sqlalchemy import Connection, insert, select, update

from hermes_cron.domain import notice_learned
from hermes_cron.domain.clip import one_line
from hermes_cron.domain.learning import Learned, LearnedState
from hermes_cron.errors import NotFound, Refused
from hermes_cron.store import approvals, learned, learned_notices
from hermes_cron.store.approvals import Decision
from hermes_cron.store.learned_notices import When
from hermes_cron.store.tables import ApprovalRow, LearnedRow

_learned = LearnedRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_approvals = ApprovalRow.__table__  # type: ignore[attr-defined]

_NOT_DONE = tuple(state.value for state in (LearnedState.PROPOSED, LearnedState.DENIED, LearnedState.EXPIRED))

TOOL = "learn"
"""What stands as the tool of such a question."""
NO_JOB = "prompt"
NO_FOR = timedelta(days=90)
"""A no is kept to so long."""
_AGENTS = ("run", "review", "flush")
_REASONS = ("reason", "because")
_LOOK_BACK = 200
_REASON = 200


def propose(conn: Connection, change: Learned, *, when: When, answer_within: timedelta, now: datetime) -> Learned:
    """Keep the proposal and ask for it; with a message at once, unless nobody is to be told. Once for each key, and
    once as long as the same waits. Raises ``Refused`` for what a person said no to."""
    if change.run_id is None:
        raise ValueError("only runs propose")
    if change.key is not None and (known := learned.by_key(conn, change.key)) is not None:
        return known
    if (asked_before := _the_same(conn, change, now)) is not None:
        return asked_before
    kept = learned.note(conn, change)
    expires_at = now + answer_within
    number: int = conn.execute(
        insert(_approvals)
        .values(
            run_id=change.run_id,
            job_uid=change.job_uid,
            job_name=change.job_name or NO_JOB,
            # not the call's own place in the transcript: there an answer is one to the call
            session_id=change.key or f"learned/{kept.number}",
            seq=0,
            tool=TOOL,
            arguments=notice_learned.what(kept, "en"),
            evidence=json.dumps(list(kept.lines), ensure_ascii=False),
            asked_at=now,
            expires_at=expires_at,
            learned=kept.number,
        )
        .returning(_approvals.c.number)
    ).scalar_one()
    conn.execute(update(_learned).where(_learned.c.number == kept.number).values(approval=number))
    job = learned_notices.listening(conn, kept, when=when)
    if job is not None:
        text = notice_learned.proposed(job, kept, number=number, asked_at=now, expires_at=expires_at)
        learned_notices.asked(conn, kept, text, job, now)
    return learned.one(conn, kept.number)


def _the_same(conn: Connection, change: Learned, now: datetime) -> Learned | None:
    """What an earlier run of the job proposed in the same words and still waits for its answer: a job that comes to
    the same every day asks one question. Raises ``Refused`` where a person said no to it."""
    wanted = _words(change)
    if not wanted:
        return None
    rows = conn.execute(
        select(_learned.c.number, _approvals.c.reason, _approvals.c.expires_at, _approvals.c.decided_at)
        .join(_approvals, _approvals.c.number == _learned.c.approval)
        .where(
            _learned.c.kind == change.kind.value,
            _learned.c.name == change.name,
            _learned.c.state.in_((LearnedState.PROPOSED.value, LearnedState.DENIED.value)),
            _approvals.c.job_name == (change.job_name or NO_JOB),
        )
        .order_by(_learned.c.number.desc())
        .limit(_LOOK_BACK)
    ).mappings()
    for row in rows:
        known = learned.one(conn, row["number"])
        if _words(known) != wanted:
            continue
        if known.state is LearnedState.DENIED:
            if change.actor not in _AGENTS or row["decided_at"] < now - NO_FOR:
                continue
            said = f": {one_line(row['reason'], _REASON)}" if row["reason"] else ""
            raise Refused(
                f"a person said no to this very change (a{known.approval}{said})",
                hint="leave it, or propose what is different now",
            )
        if row["expires_at"] > now:
            return known
    return None


def _words(change: Learned) -> list[dict[str, object]]:
    """The operations without the reasons for them, which a model puts another way every time."""
    operations = change.details.get("operations") or []
    return [{name: value for name, value in each.items() if name not in _REASONS} for each in operations]


def of(conn: Connection, asked: approvals.Approval) -> Learned:
    """What a question proposes. Raises NotFound for a question about a call."""
    number = conn.execute(select(_learned.c.number).where(_learned.c.number == asked.learned)).scalar()
    if number is None:
        raise NotFound(f"{asked.id} proposes nothing", hint=f"hermes-cron approvals show {asked.id}")
    return learned.one(conn, number)


def accept(conn: Connection, change: Learned, *, by: str, now: datetime) -> Learned:
    """The change was made: ``before``, ``after`` and the details are those of now. With the answer that it is.

    Whoever says no, or whatever time runs out, while it is being made comes too late: what was done stands.
    """
    asked = None if change.approval is None else approvals.one(conn, change.approval)
    if asked is not None and asked.decision is None:
        approvals.answer(conn, asked, Decision.APPROVED, by=by, reason=None, now=now)
    conn.execute(
        update(_learned)
        .where(_learned.c.number == change.number, _learned.c.state.in_(_NOT_DONE))
        .values(
            state=LearnedState.APPLIED.value,
            at=now,
            before=change.before,
            after=change.after,
            lines=json.dumps(list(change.lines), ensure_ascii=False),
            details=json.dumps(dict(change.details), ensure_ascii=False),
            told_at=now,
        )
    )
    return learned.one(conn, change.number)
