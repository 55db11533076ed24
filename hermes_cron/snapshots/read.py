"""What is in the history?"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.errors import SnapshotFailed
from hermes_cron.snapshots import commits
from hermes_cron.snapshots.commits import Commit
from hermes_cron.snapshots.merge import below
from hermes_cron.snapshots.trees import Difference, Objects

if TYPE_CHECKING:
    from pygit2 import Repository

BRANCH = "refs/heads/main"


def walk(repository: Repository, *, hide: str | None = None) -> Iterator[Commit]:
    """Newest first, never a commit before its children; without ``hide`` and what was before it."""
    from pygit2.enums import SortMode

    head = head_of(repository)
    if head is None:
        return
    walker = repository.walk(head.id, SortMode.TOPOLOGICAL)
    if hide is not None:
        walker.hide(hide)
    for found in walker:
        yield commits.decode(found)


def head_of(repository: Repository) -> Commit | None:
    """The branch's commit; None where nothing was ever kept. Raises ``SnapshotFailed`` when the branch is lost."""
    import pygit2

    try:
        reference = repository.references.get(BRANCH)
    except pygit2.GitError as error:  # an empty file, as a power cut may leave it
        raise _lost(repository, f"cannot be read: {error}") from error
    if reference is not None:
        return commits.decode(reference.peel(pygit2.Commit))
    if _newest(repository) is not None:
        raise _lost(repository, "is gone")
    return None


def _lost(repository: Repository, what: str) -> SnapshotFailed:
    """A new history must not begin beside the one that is there: ``gc`` would remove that."""
    place = Path(repository.path) / BRANCH
    newest = _newest(repository)
    if newest is None:
        mend = f"rm {shlex.quote(str(place))}" if place.is_file() else "hermes-cron doctor"
        return SnapshotFailed(f"the branch main of the history {what}", hint=mend)
    return SnapshotFailed(
        f"the branch main of the history {what}; its newest snapshot is {newest[:7]}",
        hint=f"echo {newest} > {shlex.quote(str(place))}",
    )


def _newest(repository: Repository) -> str | None:
    """Which commit the branch had: by its log; else the newest of those that came after another.

    A first commit that stands alone is no history: a kill before the branch was made leaves one, and its line.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        *older, last = (Path(repository.path) / "logs" / BRANCH).read_bytes().splitlines()
        newest = last.split(b" ")[1].decode("ascii")
        if older and newest in repository:
            return newest
    from pygit2.enums import ObjectType

    everything = [commits.decode(it) for it in (repository[oid] for oid in repository) if it.type == ObjectType.COMMIT]
    theirs = _pulled(repository)
    later = [it for it in everything if it.parents and it.id not in theirs]
    parents = {parent for it in later for parent in it.parents}
    tips = [it for it in later if it.id not in parents]
    return max(tips, key=lambda it: it.at).id if tips else None


def _pulled(repository: Repository) -> set[str]:
    """What came from elsewhere, or lies there too: before the first snapshot there is that only."""
    from pygit2.enums import SortMode

    references = repository.references
    places = [name for name in references if name.startswith("refs/remotes/")]
    found = (repository.walk(references[name].peel().id, SortMode.NONE) for name in places)
    return {str(commit.id) for walker in found for commit in walker}


def differences(objects: Objects, commit: Commit, parent: Commit | None, paths: Iterable[str] = ()) -> list[Difference]:
    """What a commit changed, at or below the paths."""
    found = objects.changed(None if parent is None else parent.tree, commit.tree)
    return list(below(found, tuple(os.fsencode(path) for path in paths)))
