"""What must a person know before a restore or an undo is carried out?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_cron.desks.history_plan import Asked, Clashing, Kept, Task, Version, parts_of, rows, skills_of
from hermes_cron.domain.home_part import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.history import Plan
    from hermes_cron.snapshots.pack import Oid
    from hermes_cron.snapshots.repository import SnapshotRepository
    from hermes_cron.snapshots.trees import Objects


def described(
    snapshots: SnapshotRepository, asked: Asked, plan: Plan, *, secret: Callable[[bytes], str | None]
) -> Task:
    """The task, without what must stay as it is. ``secret`` says whose value stands in a file's bytes, if any."""
    from hermes_cron.snapshots import text

    objects = snapshots.objects(plan.new)
    plan, stays = _without(plan, objects, dict(_staying(plan, objects, secret)))
    commits = {it.id: it for it in snapshots.log()}
    now = commits[plan.base].tree
    diffs = tuple(text.shown(objects, plan.changes))
    parts = parts_of([it.path for it in diffs], skills_of(objects, now, plan.tree))
    known = versions(objects, commits, [it.path for it in parts if it.kind is Kind.SKILL])
    since = _since(commits, asked)
    aim = commits.keys() - set(asked.undoes) - {it.id for it in since}
    return Task(
        asked=asked,
        plan=plan,
        diffs=diffs,
        rows=tuple(rows(objects, now, plan.tree, diffs, known, aim)),
        kept=tuple(_kept(objects, plan.kept, since, commits)),
        clashes=tuple(_clashes(objects, asked, plan, commits)),
        stays=stays,
    )


def versions(objects: Objects, commits: Mapping[str, Commit], paths: Sequence[str]) -> dict[str, list[Version]]:
    """The versions of each file or folder, oldest first. ``commits`` are newest first, by id.

    One look at each commit's change for all paths: a restore of everything may touch a thousand skills.
    """
    found: dict[str, list[Version]] = {path: [] for path in paths}
    for commit in reversed(list(commits.values())):
        parents = [commits[it].tree for it in commit.parents if it in commits]
        for path in found.keys() & _touched(objects, parents[0] if parents else None, commit.tree):
            place = os.fsencode(path)
            entry = objects.at(commit.tree, place)
            if all(objects.at(tree, place) != entry for tree in parents) and (parents or entry is not None):
                found[path].append(Version(number=len(found[path]) + 1, commit=commit, entry=entry))
    return found


def _touched(objects: Objects, old: Oid | None, new: Oid) -> set[str]:
    """The paths that differ, with the folders they lie in."""
    found: set[str] = set()
    for path, _, _ in objects.changed(old, new):
        name = os.fsdecode(path)
        while name and name not in found:
            found.add(name)
            name = name.rpartition("/")[0]
    return found


def _staying(plan: Plan, objects: Objects, secret: Callable[[bytes], str | None]) -> Iterator[tuple[bytes, str]]:
    """The vault may have learned a value since a file was kept; what no snapshot holds could not be had back."""
    from hermes_cron.snapshots.trees import Mode

    outside = {os.fsencode(it.path): it.why for it in plan.left_out}
    for path, _, after in plan.changes:
        if path in outside:
            yield path, outside[path]
        elif after is not None and after.mode not in {Mode.FOLDER, Mode.SUBMODULE}:
            why = secret(objects.read(after.oid))
            if why is not None:
                yield path, why


def _without(plan: Plan, objects: Objects, staying: Mapping[bytes, str]) -> tuple[Plan, tuple[tuple[str, str], ...]]:
    if not staying:
        return plan, ()
    tree = objects.edited(plan.tree, {path: before for path, before, _ in plan.changes if path in staying})
    changes = tuple(it for it in plan.changes if it[0] not in staying)
    named = tuple((os.fsdecode(path), why) for path, why in staying.items())
    return replace(plan, tree=tree, changes=changes, new=dict(objects.new)), named


def _since(commits: Mapping[str, Commit], asked: Asked) -> list[Commit]:
    """Those after the snapshot that is restored, or after the oldest that is undone, newest first."""
    last = asked.undoes[-1] if asked.undoes else asked.commit.id
    newest_first = list(commits.values())
    at = next(at for at, it in enumerate(newest_first) if it.id == last)
    return [it for it in newest_first[:at] if it.id not in asked.undoes]


def _kept(
    objects: Objects, paths: Sequence[str], since: Sequence[Commit], commits: Mapping[str, Commit]
) -> Iterator[Kept]:
    """The newest edit by hand of each part that has some."""
    from hermes_cron.snapshots.commits import USER

    newest: dict[str, Commit] = {}
    for commit in since:
        if commit.actor == USER and commit.parent is not None:
            for path, _, _ in objects.changed(commits[commit.parent].tree, commit.tree):
                newest.setdefault(os.fsdecode(path), commit)
    edited = [path for path in paths if path in newest]
    if edited:
        for part, files in parts_of(edited, skills_of(objects, since[0].tree)).items():
            yield Kept(part=part, commit=max((newest[path] for path in files), key=lambda it: it.at))


def _clashes(objects: Objects, asked: Asked, plan: Plan, commits: Mapping[str, Commit]) -> Iterator[Clashing]:
    from hermes_cron.snapshots import text

    wanted = asked.commit
    if asked.verb == "undo":
        oldest = commits[asked.undoes[-1]]
        wanted = commits[oldest.parent] if oldest.parent is not None else oldest
    versions_of = versions(objects, commits, [it.path for it in plan.clashes])
    for it in plan.clashes:
        known = versions_of[it.path]
        yield Clashing(
            path=it.path,
            now_from=known[-1].commit if known else commits[plan.base],
            wanted_from=wanted,
            diff=next(iter(text.shown(objects, [(os.fsencode(it.path), it.now, it.wanted)]))),
        )
