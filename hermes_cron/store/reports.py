"""Which targets get a run's report?"""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection

from hermes_cron.domain import notice
from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.domain.ending import Ending
from hermes_cron.domain.job import When
from hermes_cron.domain.run import RunState
from hermes_cron.store import outbox


class Silence(StrEnum):
    """Why a report was sent to nobody."""

    SAID_NOTHING = "said_nothing"  # no output, or [SILENT]
    ONLY_FAILURES = "only_failures"  # deliver.when: failure
    UNCHANGED = "unchanged"  # deliver.when: change, and the target has this very report


def put_report(conn: Connection, ending: Ending, now: datetime) -> None:
    """One delivery row for each target of ``deliver.to``: queued, or silent with its reason.

    Also for a report whose checks failed: its footer says so. A run that did not end ok has no report to send; what
    is said of it is its incident's (``store.incidents``).
    """
    targets = tuple(dict.fromkeys(ending.job.deliver.to))
    if ending.outcome.state is not RunState.OK or not targets:
        return
    text, digest = notice.report(ending), hash_of(ending.outcome.text)
    for target in targets:
        why = _silence(conn, ending, target, digest)
        outbox.put(
            conn,
            kind=DeliveryKind.REPORT,
            target=target,
            title=text.title,
            body=text.body if why is None else "",  # the report itself is in outputs/
            run_id=ending.run_id,
            job_uid=ending.job_uid,
            job_name=ending.job.name,
            now=now,
            state=DeliveryState.QUEUED if why is None else DeliveryState.SILENT,
            reason=why,
            text_hash=digest if why is None else None,
        )


def hash_of(report: str) -> str:
    """Of the text alone, without the white space around it: the footer differs at every run."""
    return hashlib.sha256(report.strip().encode("utf-8", "surrogatepass")).hexdigest()


def _silence(conn: Connection, ending: Ending, target: str, digest: str) -> Silence | None:
    if ending.outcome.silent:
        return Silence.SAID_NOTHING
    wanted = ending.job.deliver.when
    if wanted is When.FAILURE:
        return Silence.ONLY_FAILURES
    if wanted is When.CHANGE and ending.job_uid and outbox.last_hash(conn, ending.job_uid, target) == digest:
        return Silence.UNCHANGED
    return None
