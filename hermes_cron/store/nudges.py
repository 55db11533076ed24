"""How much did a job's runs go through since something was last learned? Counted in the transaction of a run's end."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import Connection, bindparam, case, null, select
from sqlalchemy.dialects.sqlite import insert

from hermes_cron.domain.check import ONCE_MORE
from hermes_cron.domain.job import Job, Work
from hermes_cron.domain.nudge import Nudge, Step, Tally, brief, counted, went
from hermes_cron.domain.review import Brief, by_a_playbook
from hermes_cron.domain.run import Outcome, TakenRun
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import MessageRow, NudgeRow, SessionRow

_nudges = NudgeRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_messages = MessageRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]

_MAIN = (_sessions.c.id == _messages.c.session_id, _sessions.c.run_id == bindparam("run"), _sessions.c.kind == "main")
_STEPS = Prepared(
    select(
        _messages.c.session_id, _messages.c.role, _messages.c.tool, _messages.c.ok,
        case((_messages.c.role == "user", _messages.c.body), else_=null()),
    )
    .where(*_MAIN, _messages.c.seq > 0, _messages.c.body.is_not(None))
    .order_by(_sessions.c.started_at, _sessions.c.id, _messages.c.seq)
)  # fmt: skip
_HEADER = Prepared(select(_messages.c.body).where(*_MAIN, _messages.c.seq == 0).limit(1))
_COUNT = Prepared(
    select(_nudges.c.count).where(_nudges.c.job_uid == bindparam("uid"), _nudges.c.kind == bindparam("tally"))
)
_PUT = insert(_nudges)
_SET = Prepared(
    _PUT.on_conflict_do_update(index_elements=["job_uid", "kind"], set_={"count": _PUT.excluded.count}),
    ("job_uid", "kind", "count"),
)
_NO_JOB = ""
"""Prompts without a job are counted together."""


def note_end(conn: Connection, taken: TakenRun, outcome: Outcome, nudge: Nudge | None) -> Brief | None:
    """Count what the run went through; what a review is to look for now, and then the counters begin anew.

    ``nudge`` None: nobody executes the run whose end is written. It is counted as far as ever, and the review comes
    with the job's next run.
    """
    job = taken.job
    tallies = counted(job.learn, job.memory, nudge or Nudge())
    if job.work is not Work.PROMPT or not tallies or followed_a_playbook(conn, taken.id, outcome.model):
        return None
    run = went(_steps(conn, taken.id))
    if run is None:
        return None
    key = taken.job_uid or _NO_JOB
    now = {tally: run.after(tally, count(conn, key, tally)) for tally in tallies}
    due = [] if nudge is None else [tally for tally, reached in now.items() if reached >= nudge.of(tally)]
    for tally, reached in now.items():
        put(conn, key, tally, 0 if tally in due else reached)
    return brief(due)


def note_turn(conn: Connection, job_uid: str | None, job: Job) -> None:
    """A person said something of a run after its end: a turn as any other."""
    key = job_uid or _NO_JOB
    if Tally.MEMORY in counted(job.learn, job.memory, Nudge()):
        put(conn, key, Tally.MEMORY, count(conn, key, Tally.MEMORY) + 1)


def count(conn: Connection, job_uid: str, tally: Tally) -> int:
    """Of a job; the empty uid is that of all prompts without one."""
    row = _COUNT.first(conn, {"uid": job_uid, "tally": tally.value})
    return 0 if row is None else int(row[0])


def put(conn: Connection, job_uid: str, tally: Tally, value: int) -> None:
    """From now on it stands at ``value``."""
    _SET.run(conn, {"job_uid": job_uid, "kind": tally.value, "count": value})


def followed_a_playbook(conn: Connection, run_id: str, model: str | None) -> bool:
    """``model``: what the run's outcome names. One that a fault made names none: then the transcript does."""
    if model is not None:
        return by_a_playbook(model)
    header = _HEADER.first(conn, {"run": run_id})
    return header is not None and json.loads(header[0]).get("playbook") is not None


def _steps(conn: Connection, run_id: str) -> Iterator[Step]:
    """Of all its transcripts, in order. The task that a fresh one begins with was given once."""
    first: str | None = None
    seen: set[str] = set()
    for session, role, tool, ok, body in _STEPS.all(conn, {"run": run_id}):
        first = first or session
        task_again = role == "user" and session != first and session not in seen
        if role == "user":
            seen.add(session)
        said = not task_again and (body is None or not str(json.loads(body).get("content")).startswith(ONCE_MORE))
        yield Step(role=role, tool=tool, ok=None if ok is None else bool(ok), said=said)
