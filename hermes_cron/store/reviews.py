"""Which runs are to be looked back at, who does it, and what came of it?

A row comes into being in the transaction of its run's end, or of a person's word about the run. It has an owner, a
fence and a session as a run has, and is taken over as a run is: what a dead owner began is gone on with at its step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, exists, func, insert, select, update

from hermes_cron.domain.job import Job, Limits, Work, load_job
from hermes_cron.domain.learning import Learn
from hermes_cron.domain.review import Brief, Reviewed, ReviewState, TakenReview
from hermes_cron.domain.run import Cause, RunState, TakenRun
from hermes_cron.errors import Conflict, NotFound
from hermes_cron.store import counters, nudges, spending
from hermes_cron.store.ownership import ReviewClaim
from hermes_cron.store.tables import FeedbackRow, LearnedRow, MessageRow, ReviewRow, RunRow, SessionRow
from hermes_cron.store.takes import HOME, of_now

_reviews = ReviewRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]
_messages = MessageRow.__table__  # type: ignore[attr-defined]
_feedback = FeedbackRow.__table__  # type: ignore[attr-defined]
_learned = LearnedRow.__table__  # type: ignore[attr-defined]

AT_MOST = 3
"""A review whose process died so often is not gone on with: something in it kills its process."""

NOOP = "noop"
"""The outcome, as it is counted, of one that ended well and found nothing to keep."""

IS_OPEN = _reviews.c.ended_at.is_(None)
Row = dict[str, Any]


# --- how one comes into being ----------------------------------------------------------------------------------------


def queue(conn: Connection, run: TakenRun, brief: Brief, now: datetime) -> int:
    """For the transaction of the run's end; its number."""
    return _put(conn, run.id, run.job_uid, run.job.name, brief, now)


def request_review(conn: Connection, run_id: str, brief: Brief, now: datetime, *, feedback: int | None = None) -> int:
    """A person wants it; its number. ``feedback`` is the row with what they said.

    Raises ``NotFound``, and ``Conflict`` with what ``why_not`` says.
    """
    row = _run(conn, run_id)
    if (why := why_not(conn, run_id)) is not None:
        raise Conflict(f"run {run_id} is not looked back at: {why}", hint=f"hermes-cron runs show {run_id}")
    return _put(conn, run_id, row["job_uid"], row["job_name"], brief, now, feedback=feedback)


def why_not(conn: Connection, run_id: str) -> str | None:
    """Why nobody can look back at a run; None: it can be asked for. Raises ``NotFound``."""
    row = _run(conn, run_id)
    job = load_job(row["spec"])
    if not RunState(row["state"]).ended:
        return "it has not ended"
    if job.work is not Work.PROMPT:
        return "no model runs it"
    if row["cause"] == Cause.SEARCH:
        return "it summed up what a search found"
    if nudges.followed_a_playbook(conn, run_id, row["model"]):
        return "it followed a playbook"
    if job.learn is Learn.OFF:
        return "its job says learn: off"
    return None if _main(conn, run_id) else "no model answered in it"


def _run(conn: Connection, run_id: str) -> RowMapping:
    found = conn.execute(select(_runs).where(_runs.c.id == run_id)).mappings().first()
    if found is None:
        raise NotFound(f'no run "{run_id}"', hint="hermes-cron runs list")
    return found


def _put(  # noqa: PLR0913  # a row's columns
    conn: Connection, run_id: str, job_uid: str | None, job_name: str, brief: Brief, now: datetime, *,
    feedback: int | None = None,
) -> int:  # fmt: skip
    values = {
        "run_id": run_id, "job_uid": job_uid, "job_name": job_name, "brief": brief.value, "feedback": feedback,
        "state": ReviewState.QUEUED.value, "queued_at": now, "fence": 0, "takeovers": 0,
    }  # fmt: skip
    return int(conn.execute(insert(_reviews).values(values).returning(_reviews.c.number)).scalar_one())


# --- whose it is -----------------------------------------------------------------------------------------------------


def waiting(conn: Connection, *, only: str | None = None) -> bool:
    """Whether one is there to be taken; ``only`` of this run."""
    return conn.execute(_queued(only).limit(1)).first() is not None


def take(
    conn: Connection, owner: str, now: datetime, home: Limits = HOME, *, only: str | None = None
) -> TakenReview | None:
    """The one that waits longest becomes ``owner``'s."""
    number = conn.execute(_queued(only).limit(1)).scalar()
    if number is None:
        return None
    conn.execute(
        update(_reviews)
        .where(_reviews.c.number == number)
        .values(
            state=ReviewState.RUNNING.value,
            owner=owner,
            fence=_reviews.c.fence + 1,
            started_at=func.coalesce(_reviews.c.started_at, now),
        )
    )
    return _taken(conn, number, home)


def _queued(only: str | None) -> Any:
    query = select(_reviews.c.number).where(IS_OPEN, _reviews.c.state == ReviewState.QUEUED.value)
    if only is not None:
        query = query.where(_reviews.c.run_id == only)
    return query.order_by(_reviews.c.queued_at, _reviews.c.number)


def _taken(conn: Connection, number: int, home: Limits) -> TakenReview:
    query = select(
        _reviews, _runs.c.spec, _runs.c.state.label("run_state"), _runs.c.verdict, _runs.c.error.label("run_error"),
        _feedback.c.text.label("said"),
    )  # fmt: skip
    joined = _reviews.join(_runs, _runs.c.id == _reviews.c.run_id).outerjoin(
        _feedback, _feedback.c.number == _reviews.c.feedback
    )
    row = conn.execute(query.select_from(joined).where(_reviews.c.number == number)).mappings().one()
    job: Job = of_now(load_job(row["spec"]), home)
    return TakenReview(
        number=number,
        run_id=row["run_id"],
        job_uid=row["job_uid"],
        job=job,
        brief=Brief(row["brief"]),
        owner=row["owner"],
        fence=row["fence"],
        main=_main(conn, row["run_id"]) or "",
        session=row["session_id"],
        correction=row["said"],
        state=RunState(row["run_state"]),
        verdict=row["verdict"],
        error=row["run_error"],
    )


def _main(conn: Connection, run_id: str) -> str | None:
    """The run's last transcript in which a model answered."""
    answered = exists().where(_messages.c.session_id == _sessions.c.id, _messages.c.role == "assistant")
    query = (
        select(_sessions.c.id)
        .where(_sessions.c.run_id == run_id, _sessions.c.kind == "main", answered)
        .order_by(_sessions.c.started_at.desc(), _sessions.c.id.desc())
        .limit(1)
    )
    found = conn.execute(query).scalar()
    return None if found is None else str(found)


def owners(conn: Connection, *, but: str) -> set[str]:
    """Of reviews that are done now, by others."""
    query = select(_reviews.c.owner).where(
        IS_OPEN, _reviews.c.state == ReviewState.RUNNING.value, _reviews.c.owner != but
    )
    return set(conn.execute(query).scalars())


def take_back(conn: Connection, dead: Collection[str], now: datetime) -> list[Row]:
    """What these owners, who died, were at waits again, at the step where it stands; or ends. The rows as they are."""
    mine = (IS_OPEN, _reviews.c.state == ReviewState.RUNNING.value, _reviews.c.owner.in_(dead))
    found = conn.execute(select(_reviews).where(*mine)).mappings().all()
    for row in found:
        times = row["takeovers"] + 1
        number = _reviews.c.number == row["number"]
        conn.execute(update(_reviews).where(number).values(takeovers=times))
        if times < AT_MOST:
            conn.execute(update(_reviews).where(number).values(state=ReviewState.QUEUED.value, owner=None))
            continue
        said = f"its process died {times} times; it is not gone on with"
        _end(conn, row, Reviewed(state=ReviewState.FAILED, reason="crashed", error=said), now)
    numbers = [row["number"] for row in found]
    again = select(_reviews).where(_reviews.c.number.in_(numbers)).order_by(_reviews.c.number)
    return [dict(row) for row in conn.execute(again).mappings()]


def excuse(conn: Connection, numbers: Collection[int], owner: str) -> None:
    """A shutdown that could not wait for these is no sign that they kill their process: their count starts anew."""
    mine = (_reviews.c.number.in_(numbers), _reviews.c.owner == owner, _reviews.c.state == ReviewState.RUNNING.value)
    conn.execute(update(_reviews).where(*mine).values(takeovers=0))


# --- how it ends -----------------------------------------------------------------------------------------------------


def stop(conn: Connection, taken: TakenReview, reviewed: Reviewed, now: datetime) -> int:
    """Its end, or that it waits again; how many things it changed or proposed. Raises ``Fenced``."""
    ReviewClaim(run_id=taken.run_id, fence=taken.fence, review=taken.number).require(conn)
    row = conn.execute(select(_reviews).where(_reviews.c.number == taken.number)).mappings().one()
    if reviewed.state.ended:
        return _end(conn, row, reviewed, now)
    conn.execute(
        update(_reviews).where(_reviews.c.number == taken.number).values(state=ReviewState.QUEUED.value, owner=None)
    )
    return changes(conn, taken.number)


def changes(conn: Connection, number: int) -> int:
    """How many things a review changed or proposed."""
    return int(conn.execute(select(func.count()).where(_learned.c.review == number)).scalar_one())


def _end(conn: Connection, row: RowMapping, reviewed: Reviewed, now: datetime) -> int:
    session = row["session_id"]
    used = [] if session is None else spending.used_in(conn, session)
    iterations = max(reviewed.iterations, _replies(conn, session))
    # A call that nobody answered may have been paid for all the same.
    known = all(each.priced == each.calls for each in used) and bool(used or not iterations)
    conn.execute(
        update(_reviews)
        .where(_reviews.c.number == row["number"])
        .values(
            state=reviewed.state.value,
            reason=reviewed.reason,
            error=reviewed.error,
            ended_at=now,
            owner=None,
            iterations=iterations,
            tokens_input=sum(each.input for each in used),
            tokens_output=sum(each.output for each in used),
            cost_usd=sum(each.cost_usd or 0.0 for each in used) if known else None,
        )
    )
    if session is not None:
        conn.execute(update(_sessions).where(_sessions.c.id == session).values(ended_at=now))
    made = changes(conn, row["number"])
    noop = reviewed.state is ReviewState.OK and not made
    raises: list[counters.Raise] = [(counters.REVIEWS, {"outcome": NOOP if noop else reviewed.state.value}, 1)]
    if noop:
        raises.append((counters.NOOPS, {}, 1))
    counters.raise_by(conn, [*raises, *spending.totals(used)])
    return made


def _replies(conn: Connection, session: str | None) -> int:
    query = select(func.count()).where(_messages.c.session_id == session, _messages.c.role == "assistant")
    return int(conn.execute(query).scalar_one())


# --- what is known of them -------------------------------------------------------------------------------------------


def of_runs(conn: Connection, run_ids: Sequence[str]) -> dict[str, list[Row]]:
    """Oldest first, with ``changes``: how many things each changed or proposed."""
    made = select(func.count()).where(_learned.c.review == _reviews.c.number).scalar_subquery()
    query = select(_reviews, made.label("changes")).where(_reviews.c.run_id.in_(run_ids)).order_by(_reviews.c.number)
    found: dict[str, list[Row]] = {}
    for row in conn.execute(query).mappings():
        found.setdefault(row["run_id"], []).append(dict(row))
    return found


def since(conn: Connection, instant: datetime) -> tuple[int, int]:
    """How many came to no end of their own from then on, by a fault or a cap; and how many have not ended now."""
    lost = _reviews.c.state.in_([ReviewState.FAILED.value, ReviewState.REFUSED.value])
    failed = select(func.count()).where(lost, _reviews.c.ended_at >= instant)
    return (
        int(conn.execute(failed).scalar_one()),
        int(conn.execute(select(func.count()).where(IS_OPEN)).scalar_one()),
    )


def open_of(run_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Of a run: a look back at it has not ended, so its transcript is needed."""
    return exists().where(_reviews.c.run_id == run_id, IS_OPEN)
