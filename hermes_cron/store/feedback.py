"""What did people say of a run that ended? Their words, and the review that is to learn from them, in one transaction.

Said after a run's end it is a turn of its conversation as any other: it counts as one, and it starts a review whatever
the counters say and however the run ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select

from hermes_cron.domain.job import Job, load_job
from hermes_cron.domain.learning import Learn
from hermes_cron.domain.review import Brief
from hermes_cron.domain.run import Cause, RunState
from hermes_cron.errors import Conflict, Usage
from hermes_cron.store import nudges, reviews, views
from hermes_cron.store.tables import FeedbackRow

_feedback = FeedbackRow.__table__  # type: ignore[attr-defined]  # SQLModel's table

LONGEST = 4_000
"""Characters of one word about a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One person's words about a run. ``review`` is the number of the look back that they started."""

    number: int
    run_id: str
    text: str
    by: str
    at: datetime
    review: int | None = None


def give(conn: Connection, run_id: str, words: str, *, by: str, now: datetime) -> Said:
    """Keep the words and start a review with them. Raises ``NotFound``; ``Conflict`` for a run that nobody can learn
    from, and why; ``Usage`` for no words, or too many."""
    row = views.run(conn, run_id)
    run_id = row["id"]
    _refuse_unusable(words, run_id)
    job = load_job(row["spec"])
    if (why := reviews.why_not(conn, run_id)) is not None:
        hint = _hint(job, run_id, RunState(row["state"]), row["cause"])
        raise Conflict(f"nothing can be learned from run {run_id}: {why}", hint=hint)
    values = {"run_id": run_id, "job_uid": row["job_uid"], "text": words.strip(), "by_whom": by, "at": now}
    number = int(conn.execute(insert(_feedback).values(values).returning(_feedback.c.number)).scalar_one())
    nudges.note_turn(conn, row["job_uid"], job)
    review = reviews.request_review(conn, run_id, Brief.CORRECTION, now, feedback=number)
    return Said(number=number, run_id=run_id, text=words.strip(), by=by, at=now, review=review)


def of_runs(conn: Connection, run_ids: Sequence[str]) -> dict[str, list[Said]]:
    """Oldest first; a run of which nobody said anything is not in the answer."""
    query = select(_feedback).where(_feedback.c.run_id.in_(run_ids)).order_by(_feedback.c.number)
    found: dict[str, list[Said]] = {}
    for row in conn.execute(query).mappings():
        said = Said(
            number=row["number"], run_id=row["run_id"], text=row["text"], by=row["by_whom"], at=row["at"]
        )  # fmt: skip
        found.setdefault(said.run_id, []).append(said)
    return found


def _refuse_unusable(words: str, run_id: str) -> None:
    if not words.strip():
        raise Usage("nothing was said of the run", hint=f'hermes-cron runs feedback {run_id} "TEXT"')
    if len(words) > LONGEST:
        raise Usage(f"{len(words):,} characters are more than {LONGEST:,}", hint="say it shorter, or in two parts")


def _hint(job: Job, run_id: str, state: RunState, cause: str) -> str:
    if not state.ended:
        return f'hermes-cron runs steer {run_id} "TEXT"'
    if cause == Cause.SEARCH:
        return f"hermes-cron runs show {run_id}"
    if job.learn is Learn.OFF:
        return f"learn: auto in its file lets its next runs learn: hermes-cron edit {job.name}"
    return f"say it in the job: hermes-cron edit {job.name}"
