"""How is a proposal to learn something carried out when a person says yes?

The recorded call is made once more, in the person's name and with the run as its source: what was proposed days ago
is judged by the rules and the files of now. What no longer fits is told, and the question stays open.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hermes_cron.domain.learning import Author, Kind, Learned, LearnedState
from hermes_cron.errors import Conflict

if TYPE_CHECKING:
    from hermes_cron.store.approvals import Approval
    from hermes_cron.wiring import App

YES = "/yes"
"""After the key of the call that proposed: the key of the call that did it."""


def approve(app: App, asked: Approval, *, by: str) -> Approval:
    """Raises ``Conflict`` for what was answered already, or what cannot be done any more."""
    from hermes_cron.desks import curator_second
    from hermes_cron.store import approvals, learned, proposals

    with app.store.read() as conn:
        approvals.to_answer(conn, asked.number, app.clock.now())
        change = proposals.of(conn, asked)
    if change.actor == curator_second.ACTOR:  # a change of several files, which no call of a tool makes
        curator_second.carry_out(app, asked, change, by=by)
    else:
        _carry_out(app, asked, change, by=by)
    with app.store.read() as conn:
        now = learned.one(conn, change.number)
    if now.state is LearnedState.PROPOSED:  # it was so already, and nothing had to be written
        app.store.write(lambda conn: proposals.accept(conn, change, by=by, now=app.clock.now()))
    with app.store.read() as conn:
        return approvals.one(conn, asked.number)


def _carry_out(app: App, asked: Approval, change: Learned, *, by: str) -> None:
    from hermes_cron.domain.clip import one_line

    author, key = _author(change, by), f"{change.key}{YES}"
    if app.learning.happened(author, key) is not None:  # a yes before this one died between the change and its row
        return
    doors = app.learning.of(author)
    door = doors.memory if change.kind is Kind.MEMORY else doors.skills
    write = None if door is None else door.write
    operations = change.details.get("operations")
    if write is None or not operations:
        raise Conflict(f"{asked.id} does not say what to do", hint=f"hermes-cron deny {asked.id}")
    done = write(operations, key)
    if not done.ok:
        why, code = _refusal(done.text)
        raise Conflict(
            f"{asked.id} cannot be done any more: {one_line(why, 300)}",
            hint=f"hermes-cron approvals show {asked.id}   or hermes-cron deny {asked.id}",
            details={"because": code} if code else None,
        )


def _refusal(answer: str) -> tuple[str, str | None]:
    """What the door's answer, which is made for a model, says to a person, and its code."""
    try:
        body = json.loads(answer)
    except json.JSONDecodeError:
        return answer, None
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return str(error.get("message")), error.get("code")
    return (error, body.get("code")) if isinstance(error, str) else (answer, None)


def _author(change: Learned, by: str) -> Author:
    return Author(
        actor="cli",
        by=by,
        run_id=change.run_id,
        job_uid=change.job_uid,
        job_name=change.job_name,
        session_id=change.session_id,
        review=change.review,
        proposal=change.number,
    )
