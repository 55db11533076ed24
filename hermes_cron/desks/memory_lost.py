"""Did an editor save over entries that it had never seen?

Nobody can hinder an editor from saving what it read a minute ago. Such a save stands: it may be meant. But what it
took away within minutes of its being written is said to whoever writes next and to whoever looks; the history has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from hermes_cron.domain.entries import texts
from hermes_cron.experience.memory import Target

if TYPE_CHECKING:
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.repository import SnapshotRepository
    from hermes_cron.snapshots.trees import Objects

UNSEEN = timedelta(minutes=15)
"""How long a file is thought to lie open in an editor."""
TOLD = timedelta(hours=24)
_COMMITS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """``snapshot`` is the newest one that has the entry; None ``at``: the file was saved and no snapshot has it yet."""

    entry: str
    snapshot: str
    at: datetime | None


def lost_now(snapshots: SnapshotRepository, target: Target, data: bytes | None, *, now: datetime) -> tuple[str, ...]:
    """Of the file as it lies there, before it is in the history."""
    head = snapshots.head()
    if head is None:
        return ()
    objects = snapshots.objects()
    before, there = _entries(objects, head, target), texts(data or b"")
    gone = [entry for entry in before if entry not in there]
    if not gone:
        return ()
    earlier = _at(objects, snapshots.log(), target, now - UNSEEN)
    return tuple(entry for entry in gone if entry not in earlier)


def lost_lately(
    snapshots: SnapshotRepository, target: Target, data: bytes | None, *, now: datetime
) -> tuple[Lost, ...]:
    """By saves of the last day, the newest first, each entry once and without what is there again."""
    from hermes_cron.snapshots.commits import USER

    log = list(islice(snapshots.log(), _COMMITS))
    if not log:
        return ()
    objects, there = snapshots.objects(), texts(data or b"")
    found = [Lost(entry=entry, snapshot=log[0].id, at=None) for entry in lost_now(snapshots, target, data, now=now)]
    for at, (commit, parent) in enumerate(pairwise(log)):
        if commit.at < now - TOLD:
            break
        if commit.actor == USER and commit.parent == parent.id:
            found += _lost_by(objects, log[at:], target)
    newest: dict[str, Lost] = {}
    for each in found:
        if each.entry not in there:
            newest.setdefault(each.entry, each)
    return tuple(newest.values())


def _lost_by(objects: Objects, log: Sequence[Commit], target: Target) -> Iterator[Lost]:
    commit, parent = log[:2]
    after = _entries(objects, commit, target)
    gone = [entry for entry in _entries(objects, parent, target) if entry not in after]
    if gone:
        earlier = _at(objects, iter(log), target, commit.at - UNSEEN)
        yield from (Lost(entry=entry, snapshot=parent.id, at=commit.at) for entry in gone if entry not in earlier)


def _at(objects: Objects, log: Iterator[Commit], target: Target, instant: datetime) -> tuple[str, ...]:
    """What the file held then."""
    commit = next((it for it in islice(log, _COMMITS) if it.at <= instant), None)
    return () if commit is None else _entries(objects, commit, target)


def _entries(objects: Objects, commit: Commit, target: Target) -> tuple[str, ...]:
    entry = objects.at(commit.tree, os.fsencode(target.path))
    return () if entry is None else texts(objects.read(entry.oid))
