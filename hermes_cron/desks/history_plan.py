"""What would a restore or an undo do to the jobs, skills, memory and settings, in a person's words and not in paths?"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hermes_cron.domain.home_part import Kind, Part, part_of

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.history import Plan
    from hermes_cron.snapshots.pack import Oid
    from hermes_cron.snapshots.text import FileDiff
    from hermes_cron.snapshots.trees import Entry, Objects

SKILL_FILE = "/SKILL.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One state of a thing. ``number`` counts from 1, oldest first; with ``entry`` None it was removed then."""

    number: int
    commit: Commit
    entry: Entry | None

    @property
    def gone(self) -> bool:
        """Whether this is its removal."""
        return self.entry is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What happens to one part. Of a skill ``from_version`` and ``to_version`` are known versions, or None."""

    part: Part
    what: Literal["changes", "comes back", "goes"]
    added: int
    removed: int
    from_version: int | None = None
    to_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A later edit by hand that stays."""

    part: Part
    commit: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Clashing:
    """A file on which a later edit and the wanted state disagree. ``now_from`` is the commit of what lies there."""

    path: str
    now_from: Commit
    wanted_from: Commit
    diff: FileDiff


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The run that is taken back: its job, when it began, and what it did that no undo reaches."""

    id: str
    job: str
    at: datetime
    outside: tuple[tuple[Literal["message", "call"], str, int], ...] = ()
    """``("message", target, how many)`` and ``("call", tool, how many)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person wants. ``commit`` is the snapshot to restore, or the newest of ``undoes``.

    ``paths`` are the only ones that are restored; empty: all. ``exact``: edits by hand made since go too. ``rejects``:
    what is undone was learned, and is not wanted.
    """

    verb: Literal["restore", "undo"]
    commit: Commit
    undoes: tuple[str, ...] = ()
    run: RunFacts | None = None
    paths: tuple[str, ...] = ()
    exact: bool = False
    rejects: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A plan with everything that is shown before it is carried out.

    ``stays`` are (path, reason) of files that the plan would change and that stay as they are: no snapshot holds them,
    or they would bring a value of the vault back.
    """

    asked: Asked
    plan: Plan
    diffs: tuple[FileDiff, ...]
    rows: tuple[Row, ...]
    kept: tuple[Kept, ...]
    clashes: tuple[Clashing, ...]
    stays: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of it. ``after`` None: nothing was different. ``sha256`` is over path, mode and bytes of ``files``."""

    before: Commit
    after: Commit | None
    sha256: str
    files: int


def skills_of(objects: Objects, *trees: Oid) -> frozenset[str]:
    """Folders with a SKILL.md in any of the trees."""
    return frozenset(
        os.fsdecode(path).removesuffix(SKILL_FILE)
        for tree in trees
        for path in objects.files(tree, below=b"skills")
        if path.endswith(SKILL_FILE.encode())
    )


def parts_of(paths: Collection[str], skills: Collection[str]) -> dict[Part, list[str]]:
    """The parts that files belong to, each with its files, in the order of kinds and names."""
    found: dict[Part, list[str]] = {}
    for path in paths:
        found.setdefault(part_of(path, skills), []).append(path)
    order = list(Kind)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[0].kind), item[0].name, item[0].path)))


def rows(
    objects: Objects,
    now: Oid,
    wanted: Oid,
    diffs: Sequence[FileDiff],
    versions: dict[str, list[Version]],
    aim: set[str],
) -> Iterator[Row]:
    """``versions`` by the path of each skill among the parts, oldest first; ``aim``: commits up to the wanted state."""
    by_path = {diff.path: diff for diff in diffs}
    for part, paths in parts_of(by_path, skills_of(objects, now, wanted)).items():
        there, then = (objects.at(tree, os.fsencode(part.path)) for tree in (now, wanted))
        known = versions.get(part.path, [])
        yield Row(
            part=part,
            what="comes back" if there is None else "changes" if then is not None else "goes",
            added=sum(by_path[path].added for path in paths),
            removed=sum(by_path[path].removed for path in paths),
            from_version=_number(known, there),
            to_version=_number([it for it in known if it.commit.id in aim], then) or _number(known, then),
        )


def _number(known: Sequence[Version], entry: Entry | None) -> int | None:
    """The newest version that is exactly this."""
    return next((it.number for it in reversed(known) if entry is not None and it.entry == entry), None)
