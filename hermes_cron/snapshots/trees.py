"""How does a folder become a git tree, byte for byte, and come back?

Trees are written and read here and not by libgit2's index: a skill's own ``.gitignore``, ``.gitattributes`` or nested
``.git`` must not change what is kept, and names are bytes (a name that is not UTF-8 is kept as it is). The format is
git's own: ``MODE NAME\\0`` and 20 bytes of object id, sorted as git sorts (a folder as if its name ended in ``/``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygit2 import Repository

Oid = bytes
"""The 20 raw bytes of an object's id."""


class Mode(IntEnum):
    """What an entry is."""

    FILE = 0o100644
    EXECUTABLE = 0o100755
    LINK = 0o120000
    FOLDER = 0o040000


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder. ``oid`` is that of its blob, or of its tree."""

    mode: Mode
    oid: Oid


_ONE_BY_ONE = 40  # objects that are written as files of their own

Files = Mapping[bytes, Entry]
"""Every file and link of a tree by its path, parts separated by ``/``; no folders."""


def blob_id(data: bytes) -> Oid:
    """The id that git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()


def tree_id(data: bytes) -> Oid:
    """The id of an encoded tree."""
    return hashlib.sha1(b"tree %d\0" % len(data) + data, usedforsecurity=False).digest()


EMPTY_TREE = tree_id(b"")


def encode(entries: Mapping[bytes, Entry]) -> bytes:
    """A tree object's content."""
    ordered = sorted(entries.items(), key=lambda item: item[0] + (b"/" if item[1].mode is Mode.FOLDER else b""))
    return b"".join(b"%o %s\0%s" % (entry.mode, name, entry.oid) for name, entry in ordered)


def decode(data: bytes) -> dict[bytes, Entry]:
    """The entries of a tree object. Raises ValueError for what git or we would not write (a submodule)."""
    found: dict[bytes, Entry] = {}
    at = 0
    while at < len(data):
        space, zero = data.index(b" ", at), data.index(b"\0", at)
        found[data[space + 1 : zero]] = Entry(Mode(int(data[at:space], 8)), data[zero + 1 : zero + 21])
        at = zero + 21
    return found


def nest(files: Files) -> tuple[Oid, dict[Oid, bytes]]:
    """The root tree's id, and every tree object by its id. An empty mapping is the empty tree."""
    objects: dict[Oid, bytes] = {}

    def build(items: list[tuple[list[bytes], Entry]]) -> Oid:
        here: dict[bytes, Entry] = {}
        below: dict[bytes, list[tuple[list[bytes], Entry]]] = {}
        for parts, entry in items:
            if len(parts) == 1:
                here[parts[0]] = entry
            else:
                below.setdefault(parts[0], []).append((parts[1:], entry))
        for name, inner in below.items():
            here[name] = Entry(Mode.FOLDER, build(inner))
        data = encode(here)
        oid = tree_id(data)
        objects[oid] = data
        return oid

    return build([(path.split(b"/"), entry) for path, entry in files.items()]), objects


class Objects:
    """The object database, as far as trees and blobs go."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._database = repository.odb

    def has(self, oid: Oid) -> bool:
        """Whether the object is there."""
        return self._id(oid) in self._database

    def blob(self, oid: Oid) -> bytes:
        """A file's bytes."""
        return bytes(self._repository.read(self._id(oid))[1])

    def write_blob(self, data: bytes) -> Oid:
        """Durable on return; nothing is written that is there already."""
        oid = blob_id(data)
        if not self.has(oid):
            self._repository.create_blob(data)
        return oid

    def write_trees(self, objects: Mapping[Oid, bytes]) -> None:
        """Those that are missing."""
        from pygit2.enums import ObjectType

        for oid, data in objects.items():
            if not self.has(oid):
                self._repository.write(ObjectType.TREE, data)

    def write_many(self, blobs: Mapping[Oid, bytes], trees: Mapping[Oid, bytes]) -> None:
        """All that are missing; many of them as one pack."""
        from hermes_cron.snapshots.pack import BLOB, TREE, write_pack

        missing = [(oid, BLOB, data) for oid, data in blobs.items() if not self.has(oid)]
        missing += [(oid, TREE, data) for oid, data in trees.items() if not self.has(oid)]
        if len(missing) > _ONE_BY_ONE:
            write_pack(Path(self._repository.path), missing)
            return
        for oid, kind, data in missing:
            if kind == BLOB:
                self._repository.create_blob(data)
            else:
                self.write_trees({oid: data})

    def files(self, root: Oid, *, below: bytes = b"") -> dict[bytes, Entry]:
        """Every file and link of a tree; ``below`` keeps those of one path only (a file, or a folder)."""
        return {
            path: entry
            for path, entry in self._walk(root, b"")
            if not below or path == below or path.startswith(below + b"/")
        }

    def at(self, root: Oid, path: bytes) -> Entry | None:
        """What a tree has at a path: a file, a link or a folder."""
        entry = Entry(Mode.FOLDER, root)
        for part in path.split(b"/"):
            found = self._entries(entry.oid).get(part) if entry.mode is Mode.FOLDER else None
            if found is None:
                return None
            entry = found
        return entry

    def edited(self, root: Oid, edits: Mapping[bytes, Entry | None]) -> Oid:
        """The tree with these paths set, or gone (None); only the folders on their ways are written anew."""
        below: dict[bytes, dict[bytes, Entry | None]] = {}
        here = self._entries(root)
        for path, entry in edits.items():
            name, slash, rest = path.partition(b"/")
            if slash:
                below.setdefault(name, {})[rest] = entry
            elif entry is None:
                here.pop(name, None)
            else:
                here[name] = entry
        for name, inner in below.items():
            folder = here.get(name)
            base = folder.oid if folder is not None and folder.mode is Mode.FOLDER else self._empty()
            oid = self.edited(base, inner)
            if oid == EMPTY_TREE:
                here.pop(name, None)
            else:
                here[name] = Entry(Mode.FOLDER, oid)
        data = encode(here)
        self.write_trees({tree_id(data): data})
        return tree_id(data)

    def _empty(self) -> Oid:
        self.write_trees({EMPTY_TREE: b""})
        return EMPTY_TREE

    def changed(self, old: Oid, new: Oid) -> Iterator[tuple[bytes, Entry | None, Entry | None]]:
        """(path, before, after) of what differs; whole folders that are the same are not looked into."""
        yield from self._differences(old, new, b"")

    def _walk(self, oid: Oid, prefix: bytes) -> Iterator[tuple[bytes, Entry]]:
        for name, entry in self._entries(oid).items():
            if entry.mode is Mode.FOLDER:
                yield from self._walk(entry.oid, prefix + name + b"/")
            else:
                yield prefix + name, entry

    def _differences(
        self, old: Oid | None, new: Oid | None, prefix: bytes
    ) -> Iterator[tuple[bytes, Entry | None, Entry | None]]:
        if old == new:
            return
        before = {} if old is None else self._entries(old)
        after = {} if new is None else self._entries(new)
        for name in sorted(before.keys() | after.keys()):
            one, other = before.get(name), after.get(name)
            if one == other:
                continue
            folders = [e.oid if e is not None and e.mode is Mode.FOLDER else None for e in (one, other)]
            if any(folders):
                yield from self._differences(folders[0], folders[1], prefix + name + b"/")
            files = [e if e is not None and e.mode is not Mode.FOLDER else None for e in (one, other)]
            if any(files):
                yield prefix + name, files[0], files[1]

    def _entries(self, oid: Oid) -> dict[bytes, Entry]:
        return decode(bytes(self._repository.read(self._id(oid))[1]))

    @staticmethod
    def _id(oid: Oid) -> str:
        return oid.hex()


def paths_of(changes: Iterable[tuple[bytes, Entry | None, Entry | None]]) -> list[bytes]:
    """Only the paths, in order."""
    return [path for path, _, _ in changes]
