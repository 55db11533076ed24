"""What does the curator know of each skill of the home, and of the jobs that name them?

From the files as they lie there, from what runs made of them, and from the history: who made a skill, and when it was
last another one. What cannot be read ends the run: nothing is moved on half of the facts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from hermes_cron.desks.curator_jobs import jobs as jobs_of
from hermes_cron.domain.learning import Kind
from hermes_cron.domain.skill_use import later
from hermes_cron.experience import lifecycle
from hermes_cron.experience.curation import Home
from hermes_cron.experience.lifecycle import Origin, Rule, SkillFacts
from hermes_cron.experience.skill_index import name_of, record_of

if TYPE_CHECKING:
    from hermes_cron.domain.skill_use import SkillRecord
    from hermes_cron.experience.skills import Skill
    from hermes_cron.snapshots.lives import Life
    from hermes_cron.wiring import App

_OWN_FILE = re.compile(r"(?<![\w./-])((?:references|templates|scripts|assets)/[\w.-]*\w\.\w+)")


def gathered(app: App, now: datetime) -> Home:
    """Raises what a job folder or a history that cannot be read raises."""
    library = app.skills_now()
    own = [skill for skill in library.all() if not skill.bundled]
    jobs, by_skill = jobs_of(app, library, now)
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
    _, by_skill = jobs_of(app, app.read_skills(), app.clock.now())
    origin = _origin(skill, _lives(app, [skill]).get(skill.qualified), _made_by_runs(app))
    return {"origin": origin.value, "jobs": sorted(by_skill.get(skill.qualified, ()))}


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
