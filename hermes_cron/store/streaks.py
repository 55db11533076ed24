"""How many runs of a job failed in a row, and when is the job held for it?

A hold is the program's own, apart from ``paused``, which is a person's word in the file: it ends with ``resume`` alone.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select, update

from hermes_cron.domain import notice
from hermes_cron.domain.delivery import DeliveryKind
from hermes_cron.domain.ending import Ending
from hermes_cron.domain.run import Cause
from hermes_cron.store import outbox
from hermes_cron.store.tables import JobRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table


def note_end(conn: Connection, ending: Ending, now: datetime) -> None:
    """Counts failures in a row of scheduled runs; at the job's ``pause_after`` it is held, with one message.

    A run that a cap of a day or month ended holds the job at once. Any good run starts the count anew.
    """
    if ending.good:
        conn.execute(update(_jobs).where(_jobs.c.uid == ending.job_uid).values(failures=0))
        return
    if ending.failure is None or ending.cause is not Cause.SCHEDULE:
        return
    conn.execute(update(_jobs).where(_jobs.c.uid == ending.job_uid).values(failures=_jobs.c.failures + 1))
    job = conn.execute(select(_jobs.c.failures, _jobs.c.held_reason).where(_jobs.c.uid == ending.job_uid)).one()
    if job.held_reason is not None:
        return
    what = notice.one_line(ending.outcome.error or "") or ending.failure
    if ending.spent_for_many:
        _hold(conn, ending, what, notice.budget(ending), now)
    elif 0 < ending.job.pause_after <= job.failures:
        _hold(conn, ending, f"{_times(job.failures)} in a row: {what}", notice.held(ending, failures=job.failures), now)


def _times(failures: int) -> str:
    return "1 failure" if failures == 1 else f"{failures} failures"


def _hold(conn: Connection, ending: Ending, why: str, text: notice.Text, now: datetime) -> None:
    conn.execute(update(_jobs).where(_jobs.c.uid == ending.job_uid).values(held_reason=why, held_at=now))
    for target in ending.job.deliver.to:
        outbox.put(
            conn,
            kind=DeliveryKind.HELD,
            target=target,
            title=text.title,
            body=text.body,
            run_id=ending.run_id,
            job_uid=ending.job_uid,
            job_name=ending.job.name,
            now=now,
        )
