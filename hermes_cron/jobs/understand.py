"""What does the store keep of a file: the job, or in one line why there is none, and what `list` prints of it?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.job import Job
from hermes_cron.domain.scan.finding import Kind, Purpose, Verdict
from hermes_cron.errors import JobFileError
from hermes_cron.jobs.files import name_of
from hermes_cron.jobs.load import Known, parse_job

if TYPE_CHECKING:
    from hermes_cron.domain.schedule.trigger import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """``job`` None: ``broken`` says why (``jobs/x.md:4 unknown key ...``). ``summary`` is JSON. ``security`` is what
    the scanner says of the prompt."""

    job: Job | None
    broken: str | None
    summary: str
    security: tuple[SecurityFinding, ...] = ()


def understand(data: bytes, file_name: str, now: datetime, *, host_zone: str, known: Known) -> Understanding:
    """Never raises for a bad file: one of them does not stop the others."""
    try:
        job = parse_job(
            data, path=f"jobs/{file_name}", name=name_of(file_name), now=now, host_zone=host_zone, known=known
        )
    except JobFileError as error:
        return Understanding(job=None, broken=error.message, summary="{}", security=blocked(error, file_name))
    from hermes_cron.jobs.screened import warned

    return Understanding(job=job, broken=None, summary=summary(job), security=warned(job, file_name))


def blocked(error: JobFileError, file_name: str) -> tuple[SecurityFinding, ...]:
    """What the scanner blocked in a file that was refused; nothing where it was refused for other faults."""
    found = error.details.get("blocked")
    return tuple(
        SecurityFinding(
            guard=Purpose.PROMPT,
            kind=Kind(each["class"]),
            verdict=Verdict.BLOCK,
            place=f"jobs/{file_name}:{each['line']}",
            job=name_of(file_name),
        )
        for each in (found if isinstance(found, list) else ())
    )


def summary(job: Job) -> str:
    """What `list` prints of the job itself, in both languages: made once a change, so that listing parses nothing."""
    when = {} if job.trigger is None else _when(job.trigger, ZoneInfo(job.timezone))
    return json.dumps(
        {
            "when": when,
            "schedule": list(job.schedule),
            "timezone": job.timezone,
            "description": job.description,
            "tags": list(job.tags),
            "paused": job.paused,
            "action": job.action,
        },
        ensure_ascii=False,
        sort_keys=True,
    )


def _when(trigger: Trigger, zone: ZoneInfo) -> dict[str, str]:
    """Short words; the Chinese ones are short by themselves, but for the beginning of an interval."""
    from hermes_cron.domain.schedule.words import short, words

    return {"en": short(trigger, zone), "zh": words(trigger, lang="zh", zone=zone).partition("，从")[0]}
