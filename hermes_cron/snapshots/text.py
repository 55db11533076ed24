"""How are two states shown beside each other? As ``git diff`` shows them, so that ``patch`` and people can read it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hermes_cron.snapshots.blame import is_binary
from hermes_cron.snapshots.commits import Commit
from hermes_cron.snapshots.faults import reading
from hermes_cron.snapshots.read import differences
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.snapshots.trees import USUAL_BITS, Difference, Entry, Mode, Objects

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One path that differs. ``text`` is unified, with its header; of a binary file only that it differs."""

    path: str
    before: Entry | None
    after: Entry | None
    binary: bool
    added: int
    removed: int
    text: str


def diff(snapshots: SnapshotRepository, old: Commit | None, new: Commit, paths: Sequence[str] = ()) -> list[FileDiff]:
    """From one snapshot to another; ``old`` None is a home with nothing in it."""
    with reading():
        objects = snapshots.objects()
        return list(shown(objects, differences(objects, new, old, paths)))


def shown(objects: Objects, changes: Iterable[Difference]) -> Iterator[FileDiff]:
    """The same of differences at hand, as a ``Plan`` has them (its objects: ``snapshots.objects(plan.new)``)."""
    for path, before, after in changes:
        yield _file(objects, path, before, after)


def _file(objects: Objects, path: bytes, before: Entry | None, after: Entry | None) -> FileDiff:
    import pygit2

    one, other = (_content(objects, entry) for entry in (before, after))
    binary = is_binary(one) or is_binary(other)
    old, new = (_quoted(side + os.fsdecode(path)) for side in ("a/", "b/"))
    head = [f"diff --git {old} {new}", *_modes(before, after)]
    old, new = old if before is not None else "/dev/null", new if after is not None else "/dev/null"
    body, added, removed = "", 0, 0
    if one != other and binary:
        head.append(f"Binary files {old} and {new} differ")
    elif one != other:
        head += [f"--- {old}", f"+++ {new}"]
        patch = pygit2.Patch.create_from(one, other)
        data = patch.data
        body = data[data.index(b"\n@@ ") + 1 :].decode("utf-8", "replace")
        _, added, removed = patch.line_stats
    return FileDiff(
        path=os.fsdecode(path), before=before, after=after, binary=binary, added=added, removed=removed,
        text="\n".join(head) + "\n" + body,
    )  # fmt: skip


def _content(objects: Objects, entry: Entry | None) -> bytes:
    if entry is None or entry.mode in (Mode.FOLDER, Mode.SUBMODULE):
        return b""
    return objects.read(entry.oid)


def _modes(before: Entry | None, after: Entry | None) -> list[str]:
    if before is None:
        return [f"new {_mode(after)}"]
    if after is None:
        return [f"deleted {_mode(before)}"]
    one, other = _mode(before), _mode(after)
    return [] if one == other else [f"old {one.removeprefix('file ')}", f"new {other.removeprefix('file ')}"]


def _mode(entry: Entry | None) -> str:
    if entry is None or entry.mode is Mode.FOLDER:
        return "empty folder"
    usual = entry.bits is None or entry.mode not in USUAL_BITS
    return f"file mode {entry.mode:06o}" if usual else f"file mode {0o100000 | (entry.bits or 0):06o}"


def _quoted(name: str) -> str:
    """A name on one line, as git writes it: quoted when it has what a line cannot hold."""
    if not any(ch in _ESCAPES or not ch.isprintable() for ch in name):
        return name
    parts = (_ESCAPES.get(ch) or (ch if ch.isprintable() else _octal(ch)) for ch in name)
    return f'"{"".join(parts)}"'


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))
