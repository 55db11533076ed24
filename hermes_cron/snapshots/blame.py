"""Line by line: who wrote it, when, in which run, and why?

Each version is compared with the one before it, oldest first; a line that stayed keeps its commit. Where two histories
were brought together a line keeps the commit that it has in the first of them that has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_cron.errors import NotFound, Usage
from hermes_cron.snapshots.commits import Commit
from hermes_cron.snapshots.faults import reading
from hermes_cron.snapshots.pack import Oid
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.snapshots.trees import PLAIN, Objects

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_LOOKED_AT = 8000  # bytes in which git looks for a zero byte


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """``data`` is the line with its end, as it stands in the file."""

    number: int
    data: bytes
    commit: Commit

    @property
    def text(self) -> str:
        """The line for people, without its end."""
        return self.data.decode("utf-8", "replace").rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class _Version:
    oid: Oid | None
    origins: Sequence[Commit]


def blame(snapshots: SnapshotRepository, path: str) -> list[Line]:
    """The lines of a file in the newest snapshot. Raises ``NotFound``; ``Usage`` for what is no text."""
    with reading():
        everything = list(snapshots.log())
        objects = snapshots.objects()
        known: dict[str, _Version] = {}
        for commit in reversed(everything):
            known[commit.id] = _version(objects, commit, path, [known[it] for it in commit.parents if it in known])
        newest = known[everything[0].id]
        if newest.oid is None:
            raise NotFound(f"there is no file {path} in the newest snapshot", hint=f"hermes-cron log {path}")
        data = objects.read(newest.oid)
    if is_binary(data):
        raise Usage(f"{path} is no text", hint=f"hermes-cron log {path}")
    return [
        Line(number=number, data=line, commit=commit)
        for number, (line, commit) in enumerate(zip(lines_of(data), newest.origins, strict=True), 1)
    ]


def is_binary(data: bytes) -> bool:
    """Whether git would call it so."""
    return b"\0" in data[:_LOOKED_AT]


def lines_of(data: bytes) -> list[bytes]:
    """With their ends. Only a line feed ends a line."""
    return _LINE.findall(data)


def _version(objects: Objects, commit: Commit, path: str, before: Sequence[_Version]) -> _Version:
    entry = objects.at(commit.tree, os.fsencode(path))
    if entry is None or entry.mode not in PLAIN:
        return _Version(None, ())
    same = next((it for it in before if it.oid == entry.oid), None)
    if same is not None:
        return same
    data = objects.read(entry.oid)
    origins: list[Commit | None] = [None] * len(lines_of(data))
    for version in before:
        older = () if version.oid is None else _kept(objects.read(version.oid), data, version.origins)
        origins = [known or other for known, other in zip(origins, older or origins, strict=True)]
    return _Version(entry.oid, [known or commit for known in origins])


def _kept(old: bytes, new: bytes, origins: Sequence[Commit]) -> list[Commit | None]:
    """For each new line the commit of the old one that it is; None for one that is new."""
    import pygit2

    found: list[Commit | None] = []
    at = 0
    if is_binary(old) or is_binary(new):
        return [None] * len(lines_of(new))
    for hunk in pygit2.Patch.create_from(old, new, context_lines=0, interhunk_lines=0).hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        found += origins[at:start]
        found += [None] * hunk.new_lines
        at = start + hunk.old_lines
    found += origins[at:]
    return found
