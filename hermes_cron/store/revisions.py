"""How is a job's timing kept, so that what was due on Monday can be proved on Friday?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib import metadata
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import RowMapping

from hermes_cron.domain.job import CatchUp, Job
from hermes_cron.domain.occurrence import Reason, Timing
from hermes_cron.domain.schedule.trigger import dump, load

TIMING = ("trigger", "timezone", "policy", "paused")
"""Two revisions that agree in these columns are one."""


def timing_columns(job: Job) -> dict[str, Any]:
    """The columns of ``job_revisions`` that the job file decides."""
    return {
        "name": job.name,
        "schedule": json.dumps(job.schedule, ensure_ascii=False),
        "trigger": None if job.trigger is None else _canonical(dump(job.trigger)),
        "timezone": job.timezone,
        "tzdata": tzdata_version(),
        "policy": _canonical(
            {
                "catch_up": job.catch_up.value,
                "grace_s": None if job.grace is None else job.grace.total_seconds(),
                "overlap": job.overlap.value,
                "jitter_s": job.jitter.total_seconds(),
                "start": None if job.start is None else job.start.isoformat(),
                "until": None if job.until is None else job.until.isoformat(),
                "max_runs": job.max_runs,
            }
        ),
        "paused": job.paused,
    }


def timing_of_row(row: RowMapping | Mapping[str, Any]) -> Timing:
    """The timing that a row of ``job_revisions`` declares."""
    policy = json.loads(row["policy"])
    return Timing(
        trigger=None if row["trigger"] is None else load(json.loads(row["trigger"])),
        zone=ZoneInfo(row["timezone"]),
        catch_up=CatchUp(policy["catch_up"]),
        grace=None if policy["grace_s"] is None else timedelta(seconds=policy["grace_s"]),
        jitter=timedelta(seconds=policy["jitter_s"]),
        start=None if policy["start"] is None else datetime.fromisoformat(policy["start"]),
        until=None if policy["until"] is None else datetime.fromisoformat(policy["until"]),
        max_runs=policy["max_runs"],
        blocked=None if row["paused"] is None else Reason.PAUSED,
    )


@cache
def tzdata_version() -> str:
    """The version of the zone rules in use; the operating system's rules have no version that can be asked for."""
    try:
        return metadata.version("tzdata")
    except metadata.PackageNotFoundError:
        return "system"


def _canonical(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
