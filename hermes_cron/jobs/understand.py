"""What does the store keep of a file: the job, or in one line why there is none, and what `list` prints of it?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from hermes_cron.domain.job import Job
from hermes_cron.errors import JobFileError
from hermes_cron.jobs.files import name_of
from hermes_cron.jobs.load import Known, parse_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """``job`` None: ``broken`` says why (``jobs/x.md:4 unknown key ...``). ``summary`` is JSON."""

    job: Job | None
    broken: str | None
    summary: str


def understand(data: bytes, file_name: str, now: datetime, *, host_zone: str, known: Known) -> Understanding:
    """Never raises for a bad file: one of them does not stop the others."""
    try:
        job = parse_job(
            data, path=f"jobs/{file_name}", name=name_of(file_name), now=now, host_zone=host_zone, known=known
        )
    except JobFileError as error:
        return Understanding(job=None, broken=error.message, summary="{}")
    return Understanding(job=job, broken=None, summary=summary(job))


def summary(job: Job) -> str:
    """What `list` prints of the job itself, in both languages: made once a change, so that listing parses nothing."""
    from hermes_cron.domain.words import short

    when = {language: short(job.trigger, language) if job.trigger else "-" for language in ("en", "zh")}
    return json.dumps(
        {
            "when": when,
            "schedule": list(job.schedule),
            "timezone": job.timezone,
            "description": job.description,
            "tags": list(job.tags),
            "paused": job.paused,
        },
        ensure_ascii=False,
        sort_keys=True,
    )
