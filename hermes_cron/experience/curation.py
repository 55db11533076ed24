"""What is to be done with the skills tonight, and on what evidence? Plans are values: nothing is changed here.

Phase 1 needs no model: who fell out of use, who came back, what is put away; what is there twice; what is broken. The
same facts at the same instant give the same plan, in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hermes_cron.experience.alike import pairs
from hermes_cron.experience.lifecycle import Cause, Origin, Rule, SkillFacts, SkillState, step


class Move(StrEnum):
    """What may be done. ``note`` is only told; the others change the home, or are proposed. ``restore``, out of the
    archive, is no night's: a person is asked when a run wanted the skill."""

    ACTIVE = "active"
    STALE = "stale"
    ARCHIVE = "archive"
    MERGE = "merge"
    PATCH = "patch"
    CREATE = "create"
    RESTORE = "restore"
    NOTE = "note"


ORDER = tuple(Move)
"""In which moves are planned, carried out and told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """One change, with its reason in a line and what it rests on.

    ``skill`` is a qualified name; of a merge the source, and ``into`` is where it goes. ``asks``: it waits for a
    person's yes (or the policy that stands for one). ``parts`` are the skills that a new one is made of. ``details``
    is what carries it out: of a patch, the operations.
    """

    kind: Move
    skill: str
    why: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    into: str | None = None
    asks: bool = False
    parts: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """A job as far as skills go. ``skills`` are the names in its file, ``missing`` those of them that are no skill."""

    name: str
    paused: bool = False
    skills: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """All that a plan rests on. ``skills`` are those of the home, good and broken ones."""

    now: datetime
    skills: tuple[SkillFacts, ...]
    jobs: tuple[JobFacts, ...] = ()
    rule: Rule = field(default_factory=Rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """What the auxiliary model proposed, judged: ``intended`` all ask. ``said`` are lines of the report: what was
    refused, or why nothing came of it. ``model`` None: none was asked."""

    intended: tuple[Intended, ...] = ()
    said: tuple[str, ...] = ()
    model: str | None = None
    iterations: int = 0
    tokens_input: int = 0
    tokens_output: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = None


NOBODY_ASKED = Second()


def plan(home: Home) -> tuple[Intended, ...]:
    """Phase 1."""
    steps = list(_steps(home))
    put_away = {it.skill for it in steps if it.kind is Move.ARCHIVE}
    return ordered([*steps, *_twice(home, put_away), *_notes(home)])


def ordered(intended: Iterable[Intended]) -> tuple[Intended, ...]:
    """By move, then by name: equal plans are equal texts."""
    return tuple(sorted(intended, key=lambda it: (ORDER.index(it.kind), it.skill, it.into or "", it.why)))


def _steps(home: Home) -> Iterator[Intended]:
    for skill in home.skills:
        entered = step(skill, home.now, home.rule)
        if entered is None:
            continue
        state, cause = entered
        move = {SkillState.ACTIVE: Move.ACTIVE, SkillState.STALE: Move.STALE, SkillState.ARCHIVED: Move.ARCHIVE}[state]
        yield Intended(
            kind=move, skill=skill.name, why=_why(skill, state, cause, home.now), evidence=_evidence(skill),
            details={} if cause is None else {"cause": cause.value},
        )  # fmt: skip


def _why(skill: SkillFacts, state: SkillState, cause: Cause | None, now: datetime) -> str:
    if state is SkillState.ACTIVE:
        return skill.exempt or "in use again"
    if cause is Cause.FAILING:
        badly, of = skill.record.against
        return f"went badly in {badly} of its last {of} runs"
    days = (now - skill.activity).days
    return f"not used for {days} days" if skill.record.used_at is not None else f"not used in its {days} days"


def _evidence(skill: SkillFacts) -> dict[str, Any]:
    record = skill.record
    return {
        "activity": skill.activity, "created": skill.created, "changed": skill.changed, "used": record.used_at,
        "viewed": record.viewed_at, "uses": record.uses, "views": record.views, "well": record.well,
        "badly": record.badly, "stale_since": None if skill.mark is None else skill.mark.since,
    }  # fmt: skip


# --- what is there twice ----------------------------------------------------------------------------------------------


def _twice(home: Home, put_away: Collection[str]) -> Iterator[Intended]:
    """A merge to decide on, where one of the two may go and the other may be written; else a note."""
    by_name = {it.name: it for it in home.skills if it.fault is None and it.name not in put_away}
    gone: set[str] = set()
    for pair in pairs({name: f"{skill.description}\n{skill.text}" for name, skill in by_name.items()}):
        if {pair.one, pair.other} & gone:
            continue
        one, other = by_name[pair.one], by_name[pair.other]
        evidence = {"likeness": pair.likeness, "uses": {one.name: one.record.uses, other.name: other.record.uses}}
        said = "the same text" if pair.likeness == 1 else f"{pair.likeness:.0%} of the text is the same"
        chosen = _source_and_target(one, other)
        if chosen is None:
            yield Intended(
                kind=Move.NOTE, skill=one.name, into=other.name, why=f"{said} as in {other.name}", evidence=evidence
            )
            continue
        source, target = chosen
        gone.add(source.name)
        yield Intended(
            kind=Move.MERGE, skill=source.name, into=target.name, asks=True, why=f"{said} as in {target.name}",
            evidence=evidence,
        )  # fmt: skip


def _source_and_target(one: SkillFacts, other: SkillFacts) -> tuple[SkillFacts, SkillFacts] | None:
    """The one that goes and the one that stays: what is used more, then what is older, stays."""
    first, second = sorted((one, other), key=lambda it: (it.record.uses, -it.created.timestamp(), it.name))
    for source, target in ((first, second), (second, first)):
        if source.origin is Origin.LEARNED and not source.pinned and may_be_written(target):
            return source, target
    return None


def may_be_written(skill: SkillFacts) -> bool:
    """Whether something may be merged into it."""
    return not skill.pinned and skill.fault is None and skill.origin is not Origin.SHIPPED


# --- what a person should look at -------------------------------------------------------------------------------------


def _notes(home: Home) -> Iterator[Intended]:
    for skill in home.skills:
        if skill.fault is not None:
            yield Intended(kind=Move.NOTE, skill=skill.name, why=f"broken: {skill.fault}")
        if skill.missing:
            names = ", ".join(skill.missing)
            yield Intended(
                kind=Move.NOTE, skill=skill.name, why=f"its text names files that are not there: {names}",
                evidence={"missing": list(skill.missing)},
            )  # fmt: skip
    for job in home.jobs:
        for name in job.missing:
            yield Intended(
                kind=Move.NOTE, skill=name, why=f"job {job.name} names it, and there is no such skill",
                evidence={"job": job.name},
            )  # fmt: skip


# --- as JSON ----------------------------------------------------------------------------------------------------------


def dumped(it: Intended) -> dict[str, Any]:
    """For a report, a proposal's row, and a run that is gone on with. Instants become text."""
    return {
        "kind": it.kind.value, "skill": it.skill, "into": it.into, "why": it.why, "asks": it.asks,
        "parts": list(it.parts), "evidence": _plain(it.evidence), "details": _plain(it.details),
    }  # fmt: skip


def loaded(record: Mapping[str, Any]) -> Intended:
    """What ``dumped`` wrote."""
    return Intended(
        kind=Move(record["kind"]), skill=record["skill"], into=record["into"], why=record["why"], asks=record["asks"],
        parts=tuple(record["parts"]), evidence=record["evidence"], details=record["details"],
    )  # fmt: skip


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.isoformat() if isinstance(value, datetime) else value for key, value in values.items()}
