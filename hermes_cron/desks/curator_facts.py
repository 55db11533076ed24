"""What does the curator know of each skill of the home, and of the jobs that name them?

From the files as they lie there, from what runs made of them, and from the history: who made a skill, and when it was
last another one. What cannot be read ends the run: nothing is moved on half of the facts.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.learning import Kind
from hermes_cron.domain.skill_use import later
from hermes_cron.errors import HermesCronError, NotFound
from hermes_cron.experience import lifecycle
from hermes_cron.experience.curation import Home, JobFacts
from hermes_cron.experience.lifecycle import Origin, Rule, SkillFacts
from hermes_cron.experience.skill_index import name_of, record_of
from hermes_cron.jobs.files import is_job
from hermes_cron.jobs.files import name_of as name_of_job

if TYPE_CHECKING:
    from hermes_cron.domain.skill_use import SkillRecord
    from hermes_cron.experience.skills import Skill, SkillLibrary
    from hermes_cron.snapshots.lives import Life
    from hermes_cron.wiring import App

_OWN_FILE = re.compile(r"(?<![\w./-])((?:references|templates|scripts|assets)/[\w.-]*\w\.\w+)")


def gathered(app: App, now: datetime) -> Home:
    """Raises what a job folder or a history that cannot be read raises."""
    library = app.skills_now()
    own = [skill for skill in library.all() if not skill.bundled]
    jobs, by_skill = _jobs(app, library, now)
    lives = _lives(app, own)
    edited, made = _edited(app), _made_by_runs(app)
    records, marks = app.skill_reading.records(), lifecycle.stale(app.home.skills)
    facts = []
    for skill in own:
        called = name_of(library, skill)
        name, life = skill.qualified, lives.get(skill.qualified)
        at = now if life is None else life.came.at  # in no snapshot yet: it came after the last
        facts.append(
            SkillFacts(
                name=name,
                called=called,
                origin=_origin(skill, life, made),
                created=min(at, now),
                changed=now if life is None or name in edited else min(life.last.at, now),
                record=_record(records, skill, called),
                pinned=skill.pinned,
                jobs=tuple(sorted(by_skill[name])),
                mark=marks.get(name),
                description=skill.description,
                text=skill.body,
                missing=tuple(_missing(skill)),
                fault=None if skill.fault is None else skill.fault.message,
            )
        )
    said = app.settings_now.curator
    rule = Rule(stale=timedelta(days=said.stale_days), archive=timedelta(days=max(said.archive_days, said.stale_days)))
    return Home(now=now, skills=tuple(facts), jobs=jobs, rule=rule)


def about(app: App, skill: Skill) -> dict[str, Any]:
    """``origin`` and ``jobs`` of one skill. Raises as ``gathered``."""
    _, by_skill = _jobs(app, app.read_skills(), app.clock.now())
    origin = _origin(skill, _lives(app, [skill]).get(skill.qualified), _made_by_runs(app))
    return {"origin": origin.value, "jobs": sorted(by_skill.get(skill.qualified, ()))}


# --- jobs -------------------------------------------------------------------------------------------------------------


def _jobs(app: App, library: SkillLibrary, now: datetime) -> tuple[tuple[JobFacts, ...], Mapping[str, set[str]]]:
    """The jobs, and which of them name each skill (by qualified name). A job's skill is also the one that its prompt
    asks for; of a broken file whatever name stands in it."""
    facts: list[JobFacts] = []
    by_skill: dict[str, set[str]] = defaultdict(set)
    _refuse_half(app)
    for name, data in _vanished(app, now):
        for skill in _named_anywhere(library, data):
            by_skill[skill.qualified].add(name)
    for file in app.jobs.scan():
        data = app.jobs.read(file.name)
        job = app.source.parse(data, file.file_name, now).job
        if job is None:
            for skill in _named_anywhere(library, data):
                by_skill[skill.qualified].add(file.name)
            facts.append(JobFacts(name=file.name))
            continue
        missing = []
        for name in job.skills:
            found = _found(library, name)
            if not found:
                missing.append(name)
            for skill in found:
                by_skill[skill.qualified].add(job.name)
        matched = None if job.skills or not job.prompt else library.match(job.prompt, databases=job.databases)
        if matched is not None:
            by_skill[matched.qualified].add(job.name)
        facts.append(JobFacts(name=job.name, paused=job.paused is not None, skills=job.skills, missing=tuple(missing)))
    return tuple(facts), by_skill


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


def _named_anywhere(library: SkillLibrary, data: bytes) -> Iterator[Skill]:
    words = set(re.findall(r"[\w./-]+", data.decode("utf-8", "replace")))
    yield from (skill for skill in library.all() if {skill.name, skill.qualified, skill.folder.name} & words)


# --- skills -----------------------------------------------------------------------------------------------------------


def _lives(app: App, skills: Collection[Skill]) -> Mapping[str, Life]:
    from hermes_cron.snapshots.lives import lives

    if app.snapshots.head() is None:
        return {}
    found = lives(app.snapshots.objects(), app.snapshots.log(), [f"skills/{skill.qualified}" for skill in skills])
    return {path.removeprefix("skills/"): life for path, life in found.items()}


def _edited(app: App) -> frozenset[str]:
    """Skills that lie in the home otherwise than in the last snapshot: somebody works on them."""
    from hermes_cron.experience.skills import SKILL_FILE

    head = app.snapshots.head()
    if head is None:
        return frozenset()
    found = set()
    for diff in app.history.here(head, paths=("skills",))[0]:
        parts = diff.path.split("/")[1:]
        folders = ["/".join(parts[:count]) for count in range(1, len(parts))]
        found |= {folder for folder in folders if (app.home.skills / folder / SKILL_FILE).exists()}
    return frozenset(found)


def _made_by_runs(app: App) -> frozenset[str]:
    """Qualified names of skills that runs, reviews or the curator created."""
    from hermes_cron.store import learned

    if not app.home.store.exists():
        return frozenset()
    with app.store.read() as conn:
        return frozenset(
            it.name
            for it in learned.done(conn)
            if it.kind is Kind.SKILL and it.change == "created" and it.actor != "cli"
        )


def _origin(skill: Skill, life: Life | None, made: Collection[str]) -> Origin:
    """Whatever is not known to be a run's is a person's."""
    if skill.shadows is not None:
        return Origin.SHIPPED
    if life is not None and life.came.actor == "user":  # put there with an editor, whatever was there before
        return Origin.HAND
    if skill.qualified in made or (life is not None and life.first.automated):
        return Origin.LEARNED
    return Origin.HAND


def _record(records: Mapping[str, SkillRecord], skill: Skill, called: str) -> SkillRecord:
    """Of two skills of one name nobody knows which one earlier runs used: then both were."""
    record, bare = record_of(records, skill, called), records.get(skill.name)
    if bare is None or called == skill.name:
        return record
    return replace(
        record, used_at=later(record.used_at, bare.used_at), viewed_at=later(record.viewed_at, bare.viewed_at)
    )


def _missing(skill: Skill) -> Iterator[str]:
    if skill.fault is None:
        for path in dict.fromkeys(_OWN_FILE.findall(skill.body)):
            if not (skill.folder / path).exists():
                yield path
