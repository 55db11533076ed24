"""What does an outside dead man's switch hear of a run?

It watches the schedule, so runs by hand say nothing: a good one must not hide that nothing starts by itself any more.
The address is looked up when a signal is sent (``scheduler.sending``); what waits here is the signal and one line.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from hermes_cron.domain.delivery import PING_TARGET, DeliveryKind
from hermes_cron.domain.ending import Ending
from hermes_cron.domain.run import Cause, TakenRun
from hermes_cron.store import outbox
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import DeliveryRow

START = "start"
SUCCESS = "success"
FAIL = "fail"

_LINE = 400
_rows = DeliveryRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_STARTED = Prepared(
    select(_rows.c.number).where(
        _rows.c.run_id == bindparam("b_run"), _rows.c.kind == DeliveryKind.PING.value, _rows.c.title == START
    )
)


def note_start(conn: Connection, taken: TakenRun, now: datetime) -> None:
    """Queues the start signal of a job with ``ping:``, once a run: one that goes on after a wait began before."""
    if taken.job.ping is None or taken.cause is not Cause.SCHEDULE:
        return
    if _STARTED.first(conn, {"b_run": taken.id}) is None:
        _put(conn, START, "", _Of(taken.id, taken.job_uid, taken.job.name), now)


def note_end(conn: Connection, ending: Ending, now: datetime) -> None:
    """Queues the success or fail signal of a job with ``ping:``. A cancelled run did not do its work: fail."""
    if ending.job.ping is None or ending.cause is not Cause.SCHEDULE:
        return
    signal = SUCCESS if ending.good else FAIL
    _put(conn, signal, _line(ending), _Of(ending.run_id, ending.job_uid, ending.job.name), now)


def _line(ending: Ending) -> str:
    outcome = ending.outcome
    words = [outcome.state.value, *(word for word in (outcome.verdict, outcome.reason) if word)]
    said = f"{ending.job.name} {ending.run_id}: {', '.join(words)}"
    told = f"{said}; {outcome.error}" if outcome.error else said
    return " ".join(told.split())[:_LINE]


class _Of(NamedTuple):
    run_id: str
    job_uid: str | None
    job_name: str


def _put(conn: Connection, signal: str, body: str, of: _Of, now: datetime) -> None:
    outbox.put(
        conn,
        kind=DeliveryKind.PING,
        target=PING_TARGET,
        title=signal,
        body=body,
        run_id=of.run_id,
        job_uid=of.job_uid,
        job_name=of.job_name,
        now=now,
    )
