"""What do two changes of one state give together?

File by file: a side that did not change a file gives way to the one that did; text that both changed is merged as
``git merge-file`` would, and where that does not do, the memory's files entry by entry. What does not merge is a clash,
and then there is no merged tree. libgit2's merge of trees is not used: it knows neither empty folders nor mode bits,
and not every name is text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from hermes_cron.domain import entries
from hermes_cron.snapshots.pack import BLOB, Oid
from hermes_cron.snapshots.trees import EMPTY_FOLDER, PLAIN, Difference, Entry, Mode, Objects


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """``tree`` is ``ours`` with what merges of ``theirs``; ``clashes`` are the paths that do not."""

    tree: Oid
    clashes: tuple[bytes, ...]


def merge(objects: Objects, base: Oid, ours: Oid, theirs: Oid) -> Merged:
    """Put the change from ``base`` to ``theirs`` on top of ``ours``."""
    return put(objects, ours, objects.changed(base, ours), objects.changed(base, theirs))


def put(objects: Objects, ours: Oid, mine: list[Difference], wanted: list[Difference]) -> Merged:
    """The same with the two changes at hand, perhaps only some paths of them."""
    if not mine:
        return Merged(tree=objects.edited(ours, {path: after for path, _, after in wanted}), clashes=())
    here = {path: after for path, _, after in mine}
    edits: dict[bytes, Entry | None] = {}
    clashes: list[bytes] = []
    for path, before, after in wanted:
        now = here.get(path, before)
        if now == before:
            edits[path] = after
        elif now != after:
            both = _both(objects, before, now, after)
            if both is not None:
                edits[path] = both
            elif _is_memory(path) and (together := _entries(objects, before, now, after)) is not None:
                edits[path] = together.entry
            else:
                clashes.append(path)
    clashes += [path for path, entry in edits.items() if entry is not None and _in_the_way(objects, ours, path, edits)]
    fitting = {path: it for path, it in edits.items() if path not in clashes and not _filled(objects, ours, path, it)}
    return Merged(tree=objects.edited(ours, fitting), clashes=tuple(sorted(clashes)))


def _both(objects: Objects, before: Entry | None, now: Entry | None, after: Entry | None) -> Entry | None:
    if before is None or now is None or after is None or not {before.mode, now.mode, after.mode} <= PLAIN:
        return None
    was, here, there = ((it.mode, it.bits) for it in (before, now, after))
    if here != was and there not in (was, here):
        return None
    mode, bits = there if here == was else here
    if after.oid in (before.oid, now.oid):
        oid = now.oid
    elif now.oid == before.oid:
        oid = after.oid
    else:
        data = merged(objects.read(before.oid), objects.read(now.oid), objects.read(after.oid))
        if data is None:
            return None
        oid = objects.put(BLOB, data)
    return Entry(mode, oid, bits)


@dataclass(frozen=True, slots=True)
class _Together:
    entry: Entry | None


def _is_memory(path: bytes) -> bool:
    return path.startswith(b"memories/") and path.endswith(b".md")


def _entries(objects: Objects, before: Entry | None, now: Entry | None, after: Entry | None) -> _Together | None:
    """Of the memory: whole entries were added and taken away, and lines beside one another are no clash."""
    sides = [it for it in (before, now, after) if it is not None]
    if now is None or any(it.mode not in PLAIN for it in sides):
        return None
    base, ours, theirs = (() if it is None else entries.texts(objects.read(it.oid)) for it in (before, now, after))
    found = entries.merged(base, ours, theirs)
    if found is None:
        return None
    if not found and after is None:
        return _Together(None)
    return _Together(Entry(now.mode, objects.put(BLOB, entries.written(found)), now.bits))


def _in_the_way(objects: Objects, ours: Oid, path: bytes, edits: dict[bytes, Entry | None]) -> bool:
    """Whether ours has a file where a folder is to be, or a folder with files of its own where a file is to be."""
    parts = path.split(b"/")
    for at in range(1, len(parts)):
        above = b"/".join(parts[:at])
        entry = objects.at(ours, above)
        if entry is None:
            return False
        if entry.mode is not Mode.FOLDER:
            return above not in edits or edits[above] is not None
    entry = objects.at(ours, path)
    if entry is None or entry.mode is not Mode.FOLDER or edits[path] == EMPTY_FOLDER:
        return False
    return any(
        edits.get(inside, EMPTY_FOLDER) is not None for inside in objects.files(ours, below=path) if inside != path
    )


def _filled(objects: Objects, ours: Oid, path: bytes, entry: Entry | None) -> bool:
    """An empty folder that is wanted and has files in ours."""
    if entry != EMPTY_FOLDER:
        return False
    there = objects.at(ours, path)
    return there is not None and there.mode is Mode.FOLDER


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The text with both changes; None when they do not go together, or when it is no text."""
    import pygit2
    from pygit2.enums import MergeFlag, ObjectType

    with tempfile.TemporaryDirectory() as folder:
        database = pygit2.Odb()
        database.add_backend(pygit2.OdbBackendLoose(folder, 1, False), 1)  # what it writes with 0 it cannot read
        scratch = pygit2.Repository()
        scratch.set_odb(database)
        one, two, three = (
            scratch.write(ObjectType.TREE, b"100644 f\0" + scratch.write(ObjectType.BLOB, data).raw)
            for data in (base, ours, theirs)
        )
        index = scratch.merge_trees(one, two, three, flags=MergeFlag(0))
        return None if index.conflicts is not None else bytes(scratch.read(index["f"].id)[1])


def below(differences: list[Difference], paths: tuple[bytes, ...]) -> Iterator[Difference]:
    """Those at or below the paths; all when none is given."""
    for it in differences:
        if not paths or any(it[0] == path or it[0].startswith(path + b"/") for path in paths):
            yield it
