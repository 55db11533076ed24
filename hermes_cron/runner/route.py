"""Who drives a run: a language model, or the playbook of a skill?

A skill is named by the job, or is the one that the prompt plainly asks for. With a model configured the model drives
and reads the skill; without one, or with ``playbook: only``, the skill's playbook does. Nothing fits: the run fails
with both remedies named, before any call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_cron.domain.job import Job, PlaybookMode
from hermes_cron.errors import ModelNotConfigured
from hermes_cron.experience.skill_screen import SkillFinding
from hermes_cron.experience.skills import Skill, SkillLibrary


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """``playbook`` is the file that drives the run, None when ``model`` does. ``skills`` go into the prompt.

    ``database`` and ``engine`` are what the playbook looks at; None for one that looks at the host. ``blocked`` are
    skills that would have been used, and what the scanner found in them.
    """

    skills: tuple[Skill, ...] = ()
    model: str | None = None
    playbook: Path | None = None
    database: str | None = None
    engine: str | None = None
    blocked: tuple[tuple[Skill, SkillFinding], ...] = ()

    @property
    def skill(self) -> Skill | None:
        """The skill whose playbook drives, or that the model reads first."""
        return self.skills[0] if self.skills else None


def route(job: Job, *, library: SkillLibrary, engines: Mapping[str, str], model: str | None) -> Route:
    """``engines`` maps the job's databases to their engine; ``model`` is the home's, None when there is none.

    Raises ``ModelNotConfigured``, or what the library raises for a skill that is named and missing or broken.
    """
    skills, blocked = _usable(_skills(job, library, engines), library)
    wanted = job.model or model
    if wanted is not None and job.playbook.mode is not PlaybookMode.ONLY:
        return Route(skills=skills, model=wanted, blocked=blocked)
    if job.playbook.mode is not PlaybookMode.NEVER:
        for skill in skills:
            found = _playbook(skill, library, engines)
            if found is not None:
                return replace(found, blocked=blocked)
    raise ModelNotConfigured(
        _why(job, skills, wanted, blocked), hint=_REMEDIES, details={"remedies": list(_REMEDY_LIST)}
    )


_REMEDY_LIST = ("hermes-cron model set NAME", "name a skill with a playbook: hermes-cron edit JOB --skill NAME")
_REMEDIES = f"a model: {_REMEDY_LIST[0]}   or a playbook: {_REMEDY_LIST[1].split(': ', 1)[1]}"


def _skills(job: Job, library: SkillLibrary, engines: Mapping[str, str]) -> tuple[Skill, ...]:
    if job.skills:
        return tuple(library.get(name) for name in job.skills)
    matched = library.match(job.prompt or "", databases=tuple(engines))
    return () if matched is None else (matched,)


def _usable(
    skills: tuple[Skill, ...], library: SkillLibrary
) -> tuple[tuple[Skill, ...], tuple[tuple[Skill, SkillFinding], ...]]:
    """Those that may be used, and those that the scanner blocks. The run goes on without the latter."""
    found = [(skill, library.blocked(skill)) for skill in skills]
    return (
        tuple(skill for skill, finding in found if finding is None),
        tuple((skill, finding) for skill, finding in found if finding is not None),
    )


def _playbook(skill: Skill, library: SkillLibrary, engines: Mapping[str, str]) -> Route | None:
    for database, engine in engines.items():
        path = library.playbook(skill, engine)
        if path is not None:
            return Route(skills=(skill,), playbook=path, database=database, engine=engine)
    path = library.playbook(skill)
    return None if path is None else Route(skills=(skill,), playbook=path)


def _why(
    job: Job, skills: tuple[Skill, ...], wanted: str | None, blocked: tuple[tuple[Skill, SkillFinding], ...]
) -> str:
    if blocked:
        skill, found = blocked[0]
        return f"skill {skill.name} is blocked ({found.finding.kind.words} in {found.place}), and nothing else fits"
    if wanted is not None:
        return f"{job.name} says `playbook: only`, and no playbook fits it"
    if skills:
        return f"no model is configured, and skill {skills[0].name} has no playbook for this"
    return "no model is configured, and no skill's playbook fits the prompt"
