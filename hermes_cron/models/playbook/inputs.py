"""What does a playbook run start from? All of it lies in the run's header, so that a resume needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from hermes_cron.domain.job import Job
from hermes_cron.errors import PlaybookOneDatabase
from hermes_cron.models.playbook.load import override, read
from hermes_cron.models.playbook.program import Program, Scalar

_SQL_TOOLS = frozenset({"sql_query", "sql_schema"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """The last good run of the same job: ``at`` is its start, ``result`` what its playbook left behind."""

    at: datetime
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """``language`` is en or zh. ``database`` None: the steps look at the host. ``now`` is aware."""

    skill: str
    program: Program
    language: str = "en"
    database: str | None = None
    engine: str | None = None
    zone: str = "UTC"
    now: datetime
    last: Last | None = None

    @property
    def model(self) -> str:
        return f"playbook:{self.skill}"


def database_for(program: Program, database: str | None, *, skill: str, job: Job) -> str | None:
    """The database a run of the playbook is about; None for a playbook that looks at none, whatever the job names.

    Raises ``PlaybookOneDatabase``: a report on the first of several would read as if the others were well.
    """
    if not _SQL_TOOLS.intersection(program.tools()):
        return None
    if len(job.databases) > 1:
        named = ", ".join(job.databases)
        raise PlaybookOneDatabase(
            f"playbook {skill} looks at one database a run, and {job.name} names {len(job.databases)}: {named}",
            hint="a job for each database, or a model that looks at all of them: hermes-cron model set NAME",
            details={"skill": skill, "databases": list(job.databases)},
        )
    return database


def header(inputs: Inputs, params: Mapping[str, Scalar] | None = None) -> dict[str, Any]:
    """``Header.playbook``: plain JSON values. Raises ``PlaybookInvalid`` when ``params`` do not fit."""
    program = override(inputs.program, params or {})
    return {
        "skill": inputs.skill,
        "program": dict(program.data),
        "params": dict(program.params),
        "language": inputs.language,
        "database": inputs.database,
        "engine": inputs.engine,
        "zone": inputs.zone,
        "now": inputs.now.isoformat(),
        "last": None if inputs.last is None else {"at": inputs.last.at.isoformat(), "result": dict(inputs.last.result)},
    }


def from_header(data: Mapping[str, Any]) -> Inputs:
    """What ``header`` made. Raises ``PlaybookInvalid``."""
    last = data.get("last")
    return Inputs(
        skill=data["skill"],
        program=override(read(data["program"], where=f"playbook {data['skill']}", expressions=False), data["params"]),
        language=data["language"],
        database=data["database"],
        engine=data["engine"],
        zone=data["zone"],
        now=datetime.fromisoformat(data["now"]),
        last=None if last is None else Last(at=datetime.fromisoformat(last["at"]), result=last["result"]),
    )


def last_of(result: str | None, at: datetime | None, *, skill: str, database: str | None) -> Last | None:
    """A stored result to compare with; None unless the same playbook made it about the same database."""
    if result is None or at is None:
        return None
    try:
        said = json.loads(result)
    except ValueError:
        return None
    fits = isinstance(said, dict) and said.get("playbook") == skill and said.get("database") == database
    return Last(at=at, result=said) if fits else None


def zone_of(name: str) -> ZoneInfo:
    """Raises ``ZoneInfoNotFoundError`` for a name that is none."""
    return ZoneInfo(name)


def local(instant: datetime, zone: str) -> datetime:
    """The instant on the wall clock of ``zone``."""
    return instant.astimezone(ZoneInfo(zone))
