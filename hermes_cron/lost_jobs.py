"""Which jobs vanished from the files within a day, though nobody removed them by a command?

Names are compared, not numbers: of eighteen jobs one that is left hides the loss of seventeen. A file that has another
name now is not lost. Nothing is restored by itself: files are the truth, and whoever deleted them may have meant it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.errors import HermesCronError
from hermes_cron.jobs.files import is_job

if TYPE_CHECKING:
    from hermes_cron.home import Home
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.repository import SnapshotRepository
    from hermes_cron.snapshots.trees import Objects
    from hermes_cron.wiring import App

WINDOW = timedelta(days=1)
MANY = 2
"""So many at once are more than somebody's tidying hand: they need a person to look."""

_NAMED = 3

_Jobs = Mapping[bytes, bytes]
"""Blob ids by file name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """``files`` by name, in the snapshot that has them."""

    files: tuple[str, ...]
    snapshot: Commit

    @property
    def command(self) -> str:
        """What brings them back, after it was shown and somebody said yes. ``--exact``: their loss is an edit too."""
        paths = [f"jobs/{name}" for name in self.files] if len(self.files) <= _NAMED else ["jobs"]
        return shlex.join(["hermes-cron", "snapshots", "restore", self.snapshot.id[:7], *paths, "--exact"])


def lost_jobs(snapshots: SnapshotRepository, home: Home, now: datetime) -> Lost | None:
    """None when all is there, and where there is no history. Raises ``SnapshotFailed``."""
    from hermes_cron.snapshots.faults import reading

    with reading():
        return _lost(snapshots, home, now)


def _lost(snapshots: SnapshotRepository, home: Home, now: datetime) -> Lost | None:
    head = snapshots.head()
    if head is None:
        return None
    objects = snapshots.objects()
    there = _files(home.jobs)
    recent = list(_recent(snapshots, now - WINDOW))
    gone = _gone(_jobs(objects, head), there, home.jobs)
    had = dict.fromkeys(gone, head)
    for commit, parent in recent:
        if _by_hand(commit) and _differ(objects, commit, parent):
            before, after = _jobs(objects, parent), _jobs(objects, commit)
            moved = {oid for name, oid in after.items() if name not in before}
            for name in before.keys() - after.keys() - there - had.keys():
                if before[name] not in moved:
                    had[name] = parent
    if not had:
        return None
    meant = _removed_by_command(objects, recent, had.keys() - gone)
    return _told(objects, {name: commit for name, commit in had.items() if name not in meant})


def problem(app: App) -> tuple[str, Lost | None]:
    """What is wrong with the history at first sight, ``""`` for nothing; and the lost jobs if they are many."""
    if not app.home.history.exists():
        return "", None
    try:
        lost = lost_jobs(app.snapshots, app.home, app.clock.now())
    except HermesCronError as error:
        return error.message, None
    unfinished = "a change of the home is not finished" if app.home.unfinished_change.exists() else ""
    return unfinished, lost if lost is not None and len(lost.files) >= MANY else None


def _by_hand(commit: Commit) -> bool:
    """Found in the files. A snapshot that a person made says that what lies there is meant."""
    return commit.actor == "user" and commit.by is None


def _recent(snapshots: SnapshotRepository, edge: datetime) -> Iterable[tuple[Commit, Commit]]:
    """Commits with the state before each, newest first, as long as they are younger than ``edge``."""
    child: Commit | None = None
    for commit in snapshots.log():
        if child is not None and child.parent == commit.id:
            yield child, commit
        child = commit
        if commit.at < edge:
            return


def _removed_by_command(
    objects: Objects, recent: Iterable[tuple[Commit, Commit]], names: Collection[bytes]
) -> set[bytes]:
    """Names of which the last word was a command's."""
    decided: set[bytes] = set()
    meant: set[bytes] = set()
    for commit, parent in recent:
        if not _differ(objects, commit, parent):
            continue
        gone = ((_jobs(objects, parent).keys() - _jobs(objects, commit).keys()) & set(names)) - decided
        decided |= gone
        if not _by_hand(commit):
            meant |= gone
    return meant


def _told(objects: Objects, had: Mapping[bytes, Commit]) -> Lost | None:
    """The snapshot that has the most of them, the newest of several."""
    best: tuple[Commit, set[bytes]] | None = None
    for commit in sorted({it.id: it for it in had.values()}.values(), key=lambda it: it.at, reverse=True):
        names = _jobs(objects, commit).keys() & had.keys()
        if best is None or len(names) > len(best[1]):
            best = commit, names
    if best is None:
        return None
    return Lost(files=tuple(os.fsdecode(name) for name in sorted(best[1])), snapshot=best[0])


def _gone(known: _Jobs, there: set[bytes], folder: Path) -> set[bytes]:
    """Names of the newest snapshot that have no file now, under no other name either."""
    gone = known.keys() - there
    if not gone:
        return gone
    from hermes_cron.snapshots.trees import blob_id

    found: set[bytes] = set()
    for name in there - known.keys():
        try:
            found.add(blob_id((folder / os.fsdecode(name)).read_bytes()))
        except OSError:  # it says nothing about the others
            continue
    return {name for name in gone if known[name] not in found}


def _differ(objects: Objects, commit: Commit, parent: Commit) -> bool:
    return objects.at(commit.tree, b"jobs") != objects.at(parent.tree, b"jobs")


def _jobs(objects: Objects, commit: Commit) -> dict[bytes, bytes]:
    folder = objects.at(commit.tree, b"jobs")
    if folder is None:
        return {}
    return {name: entry.oid for name, entry in objects.entries(folder.oid).items() if is_job(os.fsdecode(name))}


def _files(folder: Path) -> set[bytes]:
    try:
        return {name for name in os.listdir(os.fsencode(folder)) if is_job(os.fsdecode(name))}  # noqa: PTH208  # names as bytes
    except FileNotFoundError:
        return set()
