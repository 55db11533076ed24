"""What would bring an old state back, what would take a change back, and which version is whose?

A plan changes nothing in the home. A later edit by hand is never lost: taking back is a three-way merge (the change is
the base, what lies there now is ours, what was before is theirs), and so is putting hand edits on top of a restored
state. What does not merge is a clash with its versions, and then nothing is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hermes_cron.errors import Conflict, NotFound
from hermes_cron.snapshots import names
from hermes_cron.snapshots.commits import RESTORE, USER, Commit, Why
from hermes_cron.snapshots.held import BY_HAND, Changed, Held
from hermes_cron.snapshots.merge import below, put
from hermes_cron.snapshots.pack import Kind, Oid
from hermes_cron.snapshots.read import differences, walk
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.snapshots.scan import LeftOut
from hermes_cron.snapshots.trees import Difference, Entry, Objects


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """A file whose later edit and the wanted state disagree. None: the version has no such file."""

    path: str
    now: Entry | None
    wanted: Entry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would happen. ``base`` is the commit it was made for; ``tree`` the home's tree afterwards.

    ``changes`` are the paths that would differ, before and after, ``kept`` those of hand edits that stay. With
    ``clashes`` there is nothing to do but decide. ``left_out`` is in no snapshot and stays as it is.
    """

    base: str
    tree: Oid
    changes: tuple[Difference, ...]
    kept: tuple[str, ...]
    clashes: tuple[Clash, ...]
    left_out: tuple[LeftOut, ...]
    new: Mapping[Oid, tuple[Kind, bytes]] = field(repr=False)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that would differ."""
        return tuple(os.fsdecode(path) for path, _, _ in self.changes)


def plan_restore(
    snapshots: SnapshotRepository, wanted: Commit, *, paths: Sequence[str] = (), exact: bool = False
) -> Plan:
    """Back to ``wanted``, or some paths of it. Hand edits made since stay unless ``exact``.

    What lies in the home is committed first. Raises ``NotFound`` for a path that neither state has.
    """
    with snapshots.alone() as held:
        found = held.present(BY_HAND)
        head = found.newest
        objects = held.objects
        chosen = tuple(os.fsencode(path) for path in paths)
        for path in chosen:
            if objects.at(wanted.tree, path) is None and objects.at(head.tree, path) is None:
                raise NotFound(
                    f"snapshot {wanted.id[:8]} has no {os.fsdecode(path)}",
                    hint=f"hermes-cron snapshots show {wanted.id[:8]}",
                )
        back = _of_the_home(below(objects.changed(head.tree, wanted.tree), chosen))
        tree = objects.edited(head.tree, {path: after for path, _, after in back})
        edits = [] if exact else _hand_edits(held, snapshots, wanted)
        tree, kept, failed = _replayed(objects, tree, edits, chosen)
        return _plan(found, objects, tree, kept, {path: objects.at(wanted.tree, path) for path in failed})


def plan_undo(snapshots: SnapshotRepository, taken_back: Iterable[str], *, paths: Sequence[str] = ()) -> Plan:
    """As if these commits had not been; everything else stays. What lies in the home is committed first."""
    with snapshots.alone() as held:
        found = held.present(BY_HAND)
        head = found.newest
        objects = held.objects
        commits = list(walk(held.repository))
        by_id = {commit.id: commit for commit in commits}
        wanted = set(taken_back)
        tree = head.tree
        failed: set[bytes] = set()
        aims: dict[bytes, Entry | None] = {}
        for commit in commits:
            if commit.id not in wanted or commit.parent is None:
                continue
            forth = _of_the_home(differences(objects, commit, by_id[commit.parent], paths))
            aims |= {path: before for path, before, _ in forth}
            done = put(
                objects,
                tree,
                objects.changed(commit.tree, tree),
                [(path, after, before) for path, before, after in forth],
            )
            tree = done.tree
            failed |= set(done.clashes)
        there = {path: now for path in failed if (now := objects.at(head.tree, path)) == aims[path]}
        if there:  # somebody brought them back before: one commit after another they do not merge
            tree = objects.edited(tree, there)
            failed -= there.keys()
        kept = _edited_since(objects, commits, wanted, set(aims))
        return _plan(found, objects, tree, kept, {path: aims[path] for path in failed})


def carry_out(snapshots: SnapshotRepository, plan: Plan, why: Why) -> Changed:
    """Do what was shown. Raises ``Conflict`` when something was changed since, or when the plan has clashes."""
    if plan.clashes:
        names = [clash.path for clash in plan.clashes]
        raise Conflict(
            f"{len(names)} file(s) changed by hand since do not merge: {', '.join(names[:5])}; nothing was done",
            hint="hermes-cron diff",
            details={"conflicts": names},
        )
    with snapshots.alone() as held:
        found = held.present(BY_HAND)
        before = found.newest
        if before.id != plan.base:
            raise Conflict("something was changed meanwhile; nothing was done", hint="look again, then repeat")
        held.objects.new.update(plan.new)
        return held.move(before, plan.tree, why, found.left_out)


def _hand_edits(held: Held, snapshots: SnapshotRepository, wanted: Commit) -> list[tuple[Commit, Commit]]:
    """(edit, the state before it), oldest first: those since ``wanted`` that nobody took back."""
    everything = {commit.id: commit for commit in walk(held.repository)}
    moved = snapshots.moved()
    dropped: set[str] = set()
    found: list[tuple[Commit, Commit]] = []
    for commit in walk(held.repository, hide=wanted.id):
        if commit.id in dropped:
            continue
        dropped |= {moved.get(it, it) for it in commit.undoes}
        if commit.actor == RESTORE and commit.exact and commit.restores is not None and commit.parent is not None:
            target = moved.get(commit.restores, commit.restores)
            if target in everything:
                dropped |= {it.id for it in everything.values() if it.id != commit.id} & _between(
                    held, commit.parent, target
                )
        if commit.actor == USER and commit.parent is not None:
            found.append((commit, everything[commit.parent]))
    return found[::-1]


def _between(held: Held, newest: str, hidden: str) -> set[str]:
    from pygit2.enums import SortMode

    walker = held.repository.walk(newest, SortMode.NONE)
    walker.hide(hidden)
    return {str(found.id) for found in walker}


def _replayed(
    objects: Objects, tree: Oid, edits: Sequence[tuple[Commit, Commit]], chosen: tuple[bytes, ...]
) -> tuple[Oid, set[str], set[bytes]]:
    kept: set[str] = set()
    failed: set[bytes] = set()
    for commit, parent in edits:
        edit = list(below(objects.changed(parent.tree, commit.tree), chosen))
        kept |= {os.fsdecode(path) for path, _, _ in edit}
        done = put(objects, tree, objects.changed(parent.tree, tree), edit)
        tree = done.tree
        failed |= set(done.clashes)
    return tree, kept, failed


def _of_the_home(changes: Iterable[Difference]) -> list[Difference]:
    """Other files of a shared history stay in it: they are the team's, and a push would take them from everybody."""
    return [it for it in changes if names.below_roots(it[0])]


def _plan(found: Changed, objects: Objects, tree: Oid, kept: set[str], clashes: Mapping[bytes, Entry | None]) -> Plan:
    """``clashes`` by path, with what was wanted there."""
    head = found.newest
    return Plan(
        base=head.id,
        tree=tree,
        changes=tuple(objects.changed(head.tree, tree)),
        kept=tuple(sorted(kept)),
        clashes=tuple(
            Clash(path=os.fsdecode(path), now=objects.at(head.tree, path), wanted=clashes[path])
            for path in sorted(clashes)
        ),
        left_out=found.left_out,
        new=dict(objects.new),
    )


def _edited_since(objects: Objects, commits: Sequence[Commit], wanted: set[str], touched: set[bytes]) -> set[str]:
    """Hand edits of the touched files after the oldest of the commits that are taken back."""
    by_id = {commit.id: commit for commit in commits}
    last = max((at for at, commit in enumerate(commits) if commit.id in wanted), default=-1)
    found: set[str] = set()
    for commit in commits[: last + 1]:
        if commit.actor == USER and commit.id not in wanted and commit.parent is not None:
            edits = differences(objects, commit, by_id[commit.parent])
            found |= {os.fsdecode(path) for path, _, _ in edits if path in touched}
    return found
