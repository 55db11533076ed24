"""What does a commit say of a call whose process died before its row was written? What the row would have said."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hermes_cron.domain.entries import texts
from hermes_cron.domain.home_part import skill_of
from hermes_cron.domain.learning import Kind
from hermes_cron.experience.memory import Target, shown
from hermes_cron.experience.skills import ARCHIVE

if TYPE_CHECKING:
    from hermes_cron.desks.lesson import Lesson
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.text import FileDiff
    from hermes_cron.snapshots.trees import Objects
    from hermes_cron.wiring import App

_MEMORY_CHANGES = {"add": "added", "replace": "replaced", "remove": "removed"}


def as_committed(app: App, commit: Commit) -> Lesson:
    """The lesson that the commit carried out; it has no edits any more."""
    from hermes_cron.desks.lesson import Lesson

    parent = app.history.parent(commit)
    diffs = app.history.between(parent, commit)
    target = next((each for each in Target if any(it.path == each.path for it in diffs)), None)
    objects = app.snapshots.objects()
    _, *words = commit.reason.partition(":")[0].split() or [""]  # "memory add: ...", "skill NAME patched: ..."
    said = words[-1] if words else "changed"
    if target is not None:
        lines = tuple(_entries(objects, parent, commit, target))
        change, name, kind = _MEMORY_CHANGES.get(said, "changed"), target.file, Kind.MEMORY
    else:
        lines, change, kind = tuple(_lines(diffs)), said, Kind.SKILL
        name = _skill(objects, [it for it in (parent, commit) if it is not None], diffs)
    return Lesson(kind=kind, name=name, change=change, reason=commit.reason, lines=lines, edits=dict)


def _entries(objects: Objects, parent: Commit | None, commit: Commit, target: Target) -> Iterator[str]:
    before, after = (() if it is None else _read(objects, it, target) for it in (parent, commit))
    yield from (f"- {shown(entry)}" for entry in before if entry not in after)
    yield from (f"+ {shown(entry)}" for entry in after if entry not in before)


def _read(objects: Objects, commit: Commit, target: Target) -> tuple[str, ...]:
    entry = objects.at(commit.tree, os.fsencode(target.path))
    return () if entry is None else texts(objects.read(entry.oid))


def _skill(objects: Objects, commits: Sequence[Commit], diffs: Sequence[FileDiff]) -> str:
    from hermes_cron.desks.history_plan import skills_of

    skills = skills_of(objects, *(it.tree for it in commits))
    found = [folder.removeprefix("skills/") for it in diffs if (folder := skill_of(it.path, skills)) is not None]
    return min(found, key=lambda name: name.startswith(f"{ARCHIVE}/"), default="")  # where it lay, not where it went


def _lines(diffs: Sequence[FileDiff]) -> Iterator[str]:
    for diff in diffs:
        for line in diff.text.splitlines():
            if line.startswith(("+", "-")) and not line.startswith(("+++", "---")):
                yield f"{line[0]} {line[1:]}"
