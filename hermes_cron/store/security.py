"""What did the scanner find, and who must know? Rows for `status` and `runs show`, the counter, and for a block a
message, in one transaction.

A row says class and place, never the text. The targets of the job hear of a block, else those of ``security.notify``:
once a day for a class at a place, however often it is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from hermes_cron.domain import notice, notice_security
from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.job import Job, load_job
from hermes_cron.domain.scan import Verdict
from hermes_cron.store import counters, outbox
from hermes_cron.store.tables import DeliveryRow, JobRow, SecurityEventRow

_events = SecurityEventRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_jobs = JobRow.__table__  # type: ignore[attr-defined]
_deliveries = DeliveryRow.__table__  # type: ignore[attr-defined]

ONCE = timedelta(days=1)
"""In which a target hears of one class at one place."""
AT_ONCE = 5
"""Messages of one look; `status` has the others too."""
_KEPT = timedelta(days=90)
_PROMPT = "prompt"


def note(
    conn: Connection, findings: Sequence[SecurityFinding], now: datetime, *, tell: Sequence[str] = (), lang: str = "en"
) -> None:
    """Keep these, raise the counter and tell of blocks; what is older than three months goes.

    ``tell`` are the targets of what belongs to no job that has some, in ``lang``.
    """
    if not findings:
        return
    conn.execute(delete(_events).where(_events.c.noted_at < now - _KEPT))
    conn.execute(
        insert(_events),
        [
            {
                "noted_at": now,
                "guard": found.guard,
                "kind": found.kind,
                "verdict": found.verdict,
                "place": found.place,
                "job_name": found.job,
                "run_id": found.run_id,
            }
            for found in findings
        ],
    )
    labels = [{"guard": str(found.guard), "verdict": str(found.verdict)} for found in findings]
    counters.raise_by(conn, [(counters.SECURITY, each, 1) for each in labels])
    blocks = [found for found in findings if found.verdict is Verdict.BLOCK]
    for found in blocks[:AT_ONCE]:
        _tell(conn, found, now, tell, lang)


def _tell(conn: Connection, found: SecurityFinding, now: datetime, tell: Sequence[str], lang: str) -> None:
    uid, job = _job_of(conn, found)
    mine = job is not None and job.deliver.to
    text = notice_security.blocked(found, notice.language_of(job) if job is not None and mine else lang)
    for target in dict.fromkeys(job.deliver.to if job is not None and mine else tell):
        if not _told(conn, text.title, target, now):
            outbox.put(
                conn,
                kind=DeliveryKind.SECURITY,
                target=target,
                title=text.title,
                body=text.body,
                run_id=found.run_id,
                job_uid=uid if mine else None,
                job_name=found.job or "-",
                now=now,
            )


def _told(conn: Connection, title: str, target: str, now: datetime) -> bool:
    query = select(_deliveries.c.number).where(
        _deliveries.c.state.in_([state.value for state in DeliveryState]),  # so that the index of states is used
        _deliveries.c.created_at > now - ONCE,
        _deliveries.c.kind == DeliveryKind.SECURITY.value,
        _deliveries.c.title == title,
        _deliveries.c.target == target,
    )
    return conn.execute(query.limit(1)).first() is not None


def _job_of(conn: Connection, found: SecurityFinding) -> tuple[str | None, Job | None]:
    """The job as it was in the run, else as its file last was good."""
    spec = None if found.run_id is None else outbox.spec_of(conn, found.run_id)
    query = select(_jobs.c.uid, _jobs.c.spec).where(_jobs.c.name == found.job, _jobs.c.removed_at.is_(None))
    row = None if found.job is None else conn.execute(query).first()
    spec = spec or (None if row is None else row.spec)
    return None if row is None else row.uid, None if spec is None else load_job(spec)


def blocked(conn: Connection, since: datetime) -> list[dict[str, Any]]:
    """Blocks since then: a line for each class and place, with how often, when last, and a run of them.

    A job file that is broken for it says so itself.
    """
    broken = select(_jobs.c.name).where(_jobs.c.broken.is_not(None), _jobs.c.removed_at.is_(None))
    a_run = func.max(_events.c.run_id).label("run_id")
    columns = (_events.c.guard, _events.c.kind, _events.c.place, _events.c.job_name)
    query = (
        select(*columns, func.max(_events.c.noted_at).label("at"), func.count().label("times"), a_run)
        .where(
            _events.c.verdict == Verdict.BLOCK,
            _events.c.noted_at > since,
            ~((_events.c.guard == _PROMPT) & _events.c.job_name.in_(broken)),
        )
        .group_by(*columns)
        .order_by(func.max(_events.c.noted_at).desc(), _events.c.place)
    )
    return [dict(row) for row in conn.execute(query).mappings()]
