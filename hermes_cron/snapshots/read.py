"""What is in the history?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

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
    """The branch's commit."""
    import pygit2

    reference = repository.references.get(BRANCH)
    return None if reference is None else commits.decode(reference.peel(pygit2.Commit))


def differences(objects: Objects, commit: Commit, parent: Commit | None, paths: Iterable[str] = ()) -> list[Difference]:
    """What a commit changed, at or below the paths."""
    found = objects.changed(None if parent is None else parent.tree, commit.tree)
    return list(below(found, tuple(os.fsencode(path) for path in paths)))
