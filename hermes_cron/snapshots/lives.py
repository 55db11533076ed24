"""When did each of some folders come into the home, by whom, and when was it last another one?"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from hermes_cron.snapshots.commits import Commit
from hermes_cron.snapshots.trees import Entry, Mode, Objects


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """``first`` is the commit with which it came first, ``came`` that with which it came last, ``last`` the newest that
    changed anything in it."""

    first: Commit
    came: Commit
    last: Commit


def lives(objects: Objects, commits: Iterable[Commit], folders: Collection[str]) -> dict[str, Life]:
    """``commits`` are newest first. Folders that no commit has are left out. Of each commit only what it changed below
    the folders' common parents is looked at."""
    found: dict[str, Life] = {}
    tree = _Tree(folders)
    everything = list(commits)
    trees = {commit.id: commit.tree for commit in everything}
    for commit in reversed(everything):
        old = None if commit.parent is None else trees.get(commit.parent)
        for folder, is_new in tree.changed(objects, old, commit.tree):
            known = found.get(folder)
            if known is None:
                found[folder] = Life(first=commit, came=commit, last=commit)
            else:
                found[folder] = replace(known, last=commit, came=commit if is_new else known.came)
    return found


class _Tree:
    """The folders by the parts of their paths: what is the same in two trees is never descended into."""

    def __init__(self, folders: Collection[str]) -> None:
        self._wanted = {os.fsencode(folder): folder for folder in folders}
        self._parents = {
            path[:at] for path in self._wanted for at in range(len(path)) if path[at : at + 1] == b"/"
        }  # fmt: skip

    def changed(self, objects: Objects, old: bytes | None, new: bytes) -> Iterable[tuple[str, bool]]:
        """Those that are there after it and differ; with whether they came."""
        yield from self._below(objects, old, new, b"")

    def _below(self, objects: Objects, old: bytes | None, new: bytes, above: bytes) -> Iterable[tuple[str, bool]]:
        if old == new:
            return
        before = {} if old is None else objects.entries(old)
        for name, entry in objects.entries(new).items():
            path = above + name
            was = before.get(name)
            if was == entry or entry.mode is not Mode.FOLDER:
                continue
            if path in self._wanted:
                yield self._wanted[path], not _is_folder(was)
            if path in self._parents:
                yield from self._below(
                    objects, was.oid if was is not None and _is_folder(was) else None, entry.oid, path + b"/"
                )


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.mode is Mode.FOLDER
