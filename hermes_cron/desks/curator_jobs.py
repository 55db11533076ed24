"""Which jobs use each skill of the home? What a job uses, paused or not, is never moved.

A file that the store has understood as it lies there is not read again: a home may have 10,000. What cannot be read
ends the run: nobody knows what it names.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_cron.errors import HermesCronError, NotFound
from hermes_cron.experience.curation import JobFacts
from hermes_cron.jobs.files import is_job
from hermes_cron.jobs.files import name_of as name_of_job

if TYPE_CHECKING:
    from hermes_cron.experience.skills import Skill, SkillLibrary
    from hermes_cron.jobs.files import JobFile
    from hermes_cron.wiring import App

_WORD = re.compile(r"[\w./-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What of a job leads to skills. ``data`` is all of a file that cannot be understood."""

    name: str
    paused: bool = False
    skills: tuple[str, ...] = ()
    prompt: str = ""
    databases: tuple[str, ...] = ()
    data: bytes | None = None


def jobs(app: App, library: SkillLibrary, now: datetime) -> tuple[tuple[JobFacts, ...], Mapping[str, set[str]]]:
    """The jobs, and which of them use each skill (by qualified name): it is named, or their prompt asks for it; of a
    broken file, or one that vanished today, whatever name stands in it. Raises ``NotFound``, ``OSError``."""
    facts: list[JobFacts] = []
    by_skill: dict[str, set[str]] = defaultdict(set)
    matched: dict[tuple[str, tuple[str, ...]], Skill | None] = {}
    _refuse_half(app)
    for name, data in _vanished(app, now):
        for skill in _named_anywhere(library, data):
            by_skill[skill.qualified].add(name)
    for job in _known(app, now):
        used: list[Skill] = []
        missing: list[str] = []
        for name in job.skills:
            found = _found(library, name)
            used += found or _meant(library, name)
            missing += [] if found else [name]
        if job.data is not None:
            used += _named_anywhere(library, job.data)
        elif job.prompt and not job.skills:
            asks = (job.prompt, job.databases)
            if asks not in matched:
                matched[asks] = library.match(job.prompt, databases=job.databases)
            used += [skill for skill in (matched[asks],) if skill is not None]
        for skill in used:
            by_skill[skill.qualified].add(job.name)
        facts.append(JobFacts(name=job.name, paused=job.paused, skills=job.skills, missing=tuple(missing)))
    return tuple(facts), by_skill


def _known(app: App, now: datetime) -> Iterator[_Job]:
    specs = _specs(app)
    for file in app.jobs.scan():
        spec = specs.get((file.file_name, file.stat))
        yield _read(app, file, now) if spec is None else _of(file.name, json.loads(spec))


def _specs(app: App) -> Mapping[tuple[str, str], str]:
    """By file and its stat, what the store understood of it."""
    from hermes_cron.store import curator

    if not app.home.store.exists():
        return {}
    with app.store.read() as conn:
        return {(name, stat): spec for name, stat, spec in curator.understood(conn)}


def _of(name: str, spec: Mapping[str, Sequence[str] | str | None]) -> _Job:
    return _Job(
        name=name,
        paused=spec.get("paused") is not None,
        skills=tuple(spec.get("skills") or ()),
        prompt=str(spec.get("prompt") or ""),
        databases=tuple(spec.get("databases") or ()),
    )


def _read(app: App, file: JobFile, now: datetime) -> _Job:
    data = app.jobs.read(file.name)
    job = app.source.parse(data, file.file_name, now).job
    if job is None:
        return _Job(name=file.name, data=data)
    return _Job(
        name=file.name, paused=job.paused is not None, skills=job.skills, prompt=job.prompt or "",
        databases=job.databases,
    )  # fmt: skip


def _refuse_half(app: App) -> None:
    """Raises ``NotFound`` where a folder or a link leads nowhere: nobody knows what lies behind it names."""
    if not app.home.jobs.is_dir():
        raise NotFound("jobs/ is not there: which skills its jobs name is not known", hint="hermes-cron doctor")
    known = {file.file_name for file in app.jobs.scan()}
    for path in app.home.jobs.iterdir():
        if is_job(path.name) and path.name not in known and not path.is_dir():
            raise NotFound(
                f"jobs/{path.name} cannot be read: which skills it names is not known", hint="mend it, or remove it"
            )


def _vanished(app: App, now: datetime) -> Iterator[tuple[str, bytes]]:
    """Jobs whose files went within a day, though nobody removed them by a command."""
    from hermes_cron.lost_jobs import lost_jobs

    lost = lost_jobs(app.snapshots, app.home, now)
    if lost is not None:
        objects = app.snapshots.objects()
        for name in lost.files:
            entry = objects.at(lost.snapshot.tree, os.fsencode(f"jobs/{name}"))
            if entry is not None:
                yield name_of_job(name), objects.read(entry.oid)


def _found(library: SkillLibrary, name: str) -> list[Skill]:
    """A broken one and each of several that a name may mean are named too."""
    try:
        return [library.get(name)]
    except HermesCronError:
        return [skill for skill in library.all() if name in (skill.name, skill.qualified)]


def _meant(library: SkillLibrary, name: str) -> list[Skill]:
    """What a name that finds nothing says in other letters (capitals, accents in two parts): the job is told to be
    wrong, and what it means stays until somebody has put it right."""
    said = _folded(name)
    return [skill for skill in library.all() if said in (_folded(skill.name), _folded(skill.qualified))]


def _named_anywhere(library: SkillLibrary, data: bytes) -> Iterator[Skill]:
    words = {_folded(word) for word in _WORD.findall(unicodedata.normalize("NFKC", data.decode("utf-8", "replace")))}
    for skill in library.all():
        if {_folded(name) for name in (skill.name, skill.qualified, skill.folder.name)} & words:
            yield skill


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
