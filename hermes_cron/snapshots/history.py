"""What would bring an old state back, what would take a change back, and which version is whose?

Plans only: nothing here changes the home. A later edit by hand is never lost: taking back is a three-way merge (the
change is the base, what lies there now is ours, what was before is theirs), and so is putting hand edits on top of a
restored state. What does not merge is a conflict with its versions, and then nothing is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hermes_cron.snapshots.repository import USER, Commit
from hermes_cron.snapshots.scan import KEPT_ASIDE
from hermes_cron.snapshots.trees import Entry, Objects, Oid, nest, paths_of

if TYPE_CHECKING:
    from pygit2 import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """A file whose later edit and the wanted state disagree. None: the version has no such file."""

    path: str
    now: Oid | None
    wanted: Oid | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would happen. ``base`` is the commit it was made for; ``tree`` the home's tree afterwards.

    ``changes`` are the paths that would differ, ``kept`` those of hand edits that stay. With ``clashes`` there is
    nothing to do but decide.
    """

    base: str
    tree: Oid
    changes: tuple[str, ...]
    kept: tuple[str, ...]
    clashes: tuple[Clash, ...]


def restore(
    repository: Repository, commits: Sequence[Commit], wanted: Commit, *, paths: Sequence[str] = (), exact: bool = False
) -> Plan:
    """Back to ``wanted``; ``commits`` are newest first. Hand edits made since stay unless ``exact``."""
    objects = Objects(repository)
    head = commits[0]
    tree = _only(objects, head.tree, wanted.tree, paths)
    kept: set[str] = set()
    clashes: list[Clash] = []
    if not exact:
        for commit in reversed(_since(commits, wanted)):
            if commit.actor != USER or commit.parent is None:
                continue
            parent = next(other for other in commits if other.id == commit.parent)
            edits = [it for it in paths_of(objects.changed(parent.tree, commit.tree)) if _wanted(it, paths)]
            kept |= {os.fsdecode(path) for path in edits if path != KEPT_ASIDE}
            tree, more = _merge(repository, parent.tree, tree, _only(objects, parent.tree, commit.tree, paths))
            clashes += more
    return _plan(objects, head, tree, kept, clashes)


def undo(repository: Repository, commits: Sequence[Commit], taken_back: Iterable[str]) -> Plan:
    """As if these commits had not been; everything else stays. ``commits`` are newest first."""
    objects = Objects(repository)
    head, tree = commits[0], commits[0].tree
    by_id = {commit.id: commit for commit in commits}
    wanted = set(taken_back)
    clashes: list[Clash] = []
    touched: set[bytes] = set()
    for commit in commits:
        if commit.id not in wanted or commit.parent is None:
            continue
        parent = by_id[commit.parent]
        touched |= set(paths_of(objects.changed(parent.tree, commit.tree)))
        tree, more = _merge(repository, commit.tree, tree, parent.tree)
        clashes += more
    kept = _edited_since(objects, commits, wanted, touched)
    return _plan(objects, head, tree, kept, clashes)


def versions(objects: Objects, commits: Sequence[Commit], path: str) -> Iterator[tuple[Commit, Entry | None]]:
    """Each commit that changed the file or folder, newest first, with the file's entry (None: removed, or a folder)."""
    place = os.fsencode(path)
    for newer, older in zip(commits, [*commits[1:], None], strict=True):
        now = objects.files(newer.tree, below=place)
        before = {} if older is None else objects.files(older.tree, below=place)
        if now != before:
            yield newer, now.get(place)


def _plan(objects: Objects, head: Commit, tree: Oid, kept: set[str], clashes: list[Clash]) -> Plan:
    changes = [os.fsdecode(path) for path in paths_of(objects.changed(head.tree, tree)) if path != KEPT_ASIDE]
    return Plan(base=head.id, tree=tree, changes=tuple(changes), kept=tuple(sorted(kept)), clashes=tuple(clashes))


def _since(commits: Sequence[Commit], wanted: Commit) -> list[Commit]:
    """Newer than ``wanted``, newest first."""
    ids = [commit.id for commit in commits]
    return list(commits[: ids.index(wanted.id)])


def _edited_since(objects: Objects, commits: Sequence[Commit], wanted: set[str], touched: set[bytes]) -> set[str]:
    """Hand edits of the touched files after the oldest of the commits that are taken back."""
    last = max(at for at, commit in enumerate(commits) if commit.id in wanted)
    found: set[str] = set()
    for newer, older in pairwise(commits[: last + 1]):
        if newer.actor == USER:
            edited = set(paths_of(objects.changed(older.tree, newer.tree))) & touched
            found |= {os.fsdecode(path) for path in edited if path != KEPT_ASIDE}
    return found


def _wanted(path: bytes, paths: Sequence[str]) -> bool:
    return not paths or any(path == os.fsencode(it) or path.startswith(os.fsencode(it) + b"/") for it in paths)


def _only(objects: Objects, base: Oid, wanted: Oid, paths: Sequence[str]) -> Oid:
    """``base`` with the chosen paths as ``wanted`` has them; all of ``wanted`` when none is chosen."""
    if not paths:
        return wanted
    files = {path: entry for path, entry in objects.files(base).items() if not _wanted(path, paths)}
    files |= {path: entry for path, entry in objects.files(wanted).items() if _wanted(path, paths)}
    root, trees = nest(files)
    objects.write_trees(trees)
    return root


def _merge(repository: Repository, base: Oid, ours: Oid, theirs: Oid) -> tuple[Oid, list[Clash]]:
    """The merged tree, or ``ours`` with what does not merge. Folders' mode bits and empty folders follow ``ours``."""
    import pygit2
    from pygit2.enums import MergeFlag

    if base == ours:
        return theirs, []
    if base == theirs:
        return ours, []
    index = repository.merge_trees(pygit2.Oid(base), pygit2.Oid(ours), pygit2.Oid(theirs), flags=MergeFlag(0))
    clashes = []
    for ancestor, one, other in index.conflicts or ():
        path = next(it.path for it in (ancestor, one, other) if it is not None)
        if os.fsencode(path) != KEPT_ASIDE:
            clashes.append(
                Clash(
                    path=path, now=None if one is None else one.id.raw, wanted=None if other is None else other.id.raw
                )
            )
    if clashes:
        return ours, clashes
    if index.conflicts is not None:
        del index.conflicts[KEPT_ASIDE.decode()]
    return bytes(index.write_tree(repository).raw), []
