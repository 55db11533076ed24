"""How does a folder become a git tree, byte for byte, and come back?

Trees are written and read here and not by libgit2's index: a skill's own ``.gitignore``, ``.gitattributes`` or nested
``.git`` must not change what is kept, and names are bytes (a name that is not UTF-8 is kept as it is). The format is
git's own: ``MODE NAME\\0`` and 20 bytes of object id, sorted as git sorts (a folder as if its name ended in ``/``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hermes_cron.snapshots import aside
from hermes_cron.snapshots.aside import KEPT_ASIDE, Aside
from hermes_cron.snapshots.pack import BLOB, TREE, Kind, Oid, object_id, write_pack

if TYPE_CHECKING:
    from pygit2 import Repository


class Mode(IntEnum):
    """What an entry is. A submodule is only ever in a history from elsewhere."""

    FILE = 0o100644
    EXECUTABLE = 0o100755
    LINK = 0o120000
    FOLDER = 0o040000
    SUBMODULE = 0o160000


PLAIN = frozenset({Mode.FILE, Mode.EXECUTABLE})
USUAL_BITS = {Mode.FILE: 0o644, Mode.EXECUTABLE: 0o755}


class Entry(NamedTuple):
    """One name in a folder. ``oid`` is that of its blob, or of its tree.

    ``bits`` are a file's mode bits where they are not the usual ones. An empty folder of the home is an entry of mode
    ``FOLDER`` with ``EMPTY_TREE``.
    """

    mode: Mode
    oid: Oid
    bits: int | None = None


Difference = tuple[bytes, Entry | None, Entry | None]
"""Path, before, after."""


def blob_id(data: bytes) -> Oid:
    """The id that git gives to a file of these bytes."""
    return object_id(BLOB, data)


EMPTY_TREE = object_id(TREE, b"")
EMPTY_FOLDER = Entry(Mode.FOLDER, EMPTY_TREE)

_SPELLED = {mode: b"%o" % mode for mode in Mode}
_MODES = {spelled: mode for mode, spelled in _SPELLED.items()}
_ENTRY = re.compile(rb"([0-7]+) ([^\0/]+)\0(.{20})", re.DOTALL)
_MANY_ENTRIES = 500
_REMEMBERED = 4
_NAMED = re.compile(rb"([0-7]+) [^\0/]+\0(.{20})", re.DOTALL)
_BUFFER = 32_000_000  # bytes of new objects that are held before they are written


def plain_entry(found_mode: int, oid: Oid) -> Entry:
    """A regular file's entry by the mode that ``stat`` gives."""
    bits = found_mode & 0o777
    mode = Mode.EXECUTABLE if bits & 0o100 else Mode.FILE
    return Entry(mode, oid, None if bits in (0o644, 0o755) else bits)


def encode(entries: Mapping[bytes, Entry]) -> bytes:
    """A tree object's content."""
    ordered = [(name + b"/" if it.mode is Mode.FOLDER else name, name, it) for name, it in entries.items()]
    ordered.sort()
    return b"".join([b"%b %b\0%b" % (_SPELLED[it.mode], name, it.oid) for _, name, it in ordered])


def _raw(data: bytes) -> Iterator[re.Match[bytes]]:
    at = 0
    for found in _ENTRY.finditer(data):
        if found.start() != at:
            break
        at = found.end()
        yield found
    if at != len(data):
        raise ValueError("not a tree as git writes them")


def decode(data: bytes) -> dict[bytes, Entry]:
    """The entries of a tree object. Raises ValueError for what git would not write."""
    return {found[2]: _entry(found) for found in _raw(data)}


def named(data: bytes) -> set[Oid]:
    """The objects that a tree needs, without a look at their names: a history has millions of entries."""
    return {oid for mode, oid in _NAMED.findall(data) if mode != _SPELLED[Mode.SUBMODULE]}


def _entry(found: re.Match[bytes]) -> Entry:
    try:
        return Entry(_MODES[found[1]], found[3])
    except KeyError as error:
        raise ValueError(f"a tree has an entry of mode {found[1].decode()}") from error


class Objects:
    """The object database, as far as trees and blobs go. What is put waits in memory until ``flush``."""

    def __init__(self, repository: Repository, new: Mapping[Oid, tuple[Kind, bytes]] | None = None) -> None:
        self._repository = repository
        self._database = repository.odb
        self.new: dict[Oid, tuple[Kind, bytes]] = dict(new or {})
        self._waiting = 0
        self._asides: dict[Oid, Aside] = {}
        self._large: dict[Oid, dict[bytes, Entry]] = {}

    def has(self, oid: Oid) -> bool:
        """Whether the object is there."""
        return oid in self.new or oid.hex() in self._database

    def read(self, oid: Oid) -> bytes:
        """An object's content. Raises KeyError. The empty tree is in no database and everybody knows it."""
        if oid == EMPTY_TREE:
            return b""
        return self.new[oid][1] if oid in self.new else bytes(self._repository.read(oid.hex())[1])

    def size(self, oid: Oid) -> int:
        """The length of its content. Raises KeyError."""
        return len(self.new[oid][1]) if oid in self.new else int(self._database.read_header(oid.hex())[1])

    def put(self, kind: Kind, data: bytes) -> Oid:
        """Its id; durable after ``flush``."""
        oid = object_id(kind, data)
        if oid not in self.new:
            self.new[oid] = (kind, data)
            self._waiting += len(data)
            if self._waiting > _BUFFER:
                self.flush()
        return oid

    def flush(self) -> None:
        """Durable on return; as one pack, since a file an object would cost an fsync or two each."""
        missing = {oid: it for oid, it in self.new.items() if oid.hex() not in self._database}
        write_pack(Path(self._repository.path), missing)
        self.new.clear()
        self._waiting = 0

    # --- looking ----------------------------------------------------------------------------------------------------

    def entries(self, tree: Oid) -> dict[bytes, Entry]:
        """A folder's entries as git has them."""
        if tree == EMPTY_TREE:
            return {}
        if tree not in self._large:
            found = decode(self.read(tree))
            if len(found) < _MANY_ENTRIES:
                return found
            self._remember(tree, found)
        return dict(self._large[tree])

    def _remember(self, tree: Oid, entries: dict[bytes, Entry]) -> None:
        """A change of one file in ten thousand asks for the same two folders again and again."""
        if len(self._large) == _REMEMBERED:
            del self._large[next(iter(self._large))]
        self._large[tree] = entries

    def aside(self, root: Oid) -> Aside:
        """Mode bits and empty folders that the tree keeps beside git's own."""
        entry = None if root == EMPTY_TREE else self._find(root, KEPT_ASIDE)
        if entry is None or entry.mode not in PLAIN:
            return Aside()
        if entry.oid not in self._asides:
            self._asides[entry.oid] = aside.decode(self.read(entry.oid))
        return self._asides[entry.oid]

    def at(self, root: Oid, path: bytes) -> Entry | None:
        """What a tree has at a path: a file, a link or a folder."""
        entry = self._way(root, path)
        if entry is None:
            return EMPTY_FOLDER if path in self.aside(root).empty else None
        return _with(entry, self.aside(root), path) if entry.mode in PLAIN else entry

    def files(self, root: Oid, *, below: bytes = b"") -> dict[bytes, Entry]:
        """Every file, link and empty folder of a tree; ``below`` keeps those of one path only (a file, a folder)."""
        return {
            path: after
            for path, _, after in self.changed(None, root)
            if after is not None and (not below or path == below or path.startswith(below + b"/"))
        }

    def changed(self, old: Oid | None, new: Oid | None) -> list[Difference]:
        """What differs, by path; whole folders that are the same are not looked into. None is a tree of nothing."""
        raw = {path: (before, after) for path, before, after in self._differences(old, new, b"")}
        raw.pop(KEPT_ASIDE, None)
        one, other = (Aside() if root is None else self.aside(root) for root in (old, new))
        if one != other:
            for path in {path for path, _ in one.bits.items() ^ other.bits.items()} - raw.keys():
                raw[path] = (self._file(old, path), self._file(new, path))
        found = {path: (_with(old, one, path), _with(new, other, path)) for path, (old, new) in raw.items()}
        for path in one.empty ^ other.empty:
            before, after = found.get(path, (None, None))
            if path in one.empty:
                found[path] = (before or EMPTY_FOLDER, after)
            else:
                found[path] = (before, after or EMPTY_FOLDER)
        return [(path, *found[path]) for path in sorted(found) if found[path][0] != found[path][1]]

    def _file(self, root: Oid | None, path: bytes) -> Entry | None:
        entry = None if root is None else self._way(root, path)
        return None if entry is None or entry.mode is Mode.FOLDER else entry

    def _way(self, root: Oid, path: bytes) -> Entry | None:
        entry = Entry(Mode.FOLDER, root)
        for part in path.split(b"/"):
            found = self._find(entry.oid, part) if entry.mode is Mode.FOLDER else None
            if found is None:
                return None
            entry = found
        return entry

    def _find(self, tree: Oid, name: bytes) -> Entry | None:
        if tree in self._large:
            return self._large[tree].get(name)
        data = self.read(tree)
        if len(data) > _MANY_ENTRIES * 100:
            return self.entries(tree).get(name)
        return next((_entry(it) for it in _raw(data) if it[2] == name), None)

    def _differences(self, old: Oid | None, new: Oid | None, prefix: bytes) -> Iterator[Difference]:
        if old == new:
            return
        before = {} if old is None else self.entries(old)
        after = {} if new is None else self.entries(new)
        for name in before.keys() | after.keys():
            one, other = before.get(name), after.get(name)
            if one == other:
                continue
            folders = [e.oid if e is not None and e.mode is Mode.FOLDER else None for e in (one, other)]
            if any(folders):
                yield from self._differences(folders[0], folders[1], prefix + name + b"/")
            files = [e if e is not None and e.mode is not Mode.FOLDER else None for e in (one, other)]
            if any(files):
                yield prefix + name, files[0], files[1]

    # --- making -----------------------------------------------------------------------------------------------------

    def edited(self, root: Oid, edits: Mapping[bytes, Entry | None]) -> Oid:
        """The tree with these paths set, or gone (None: files, links and empty folders only).

        Only the folders on their ways are made anew. A file takes the place of a folder and of all that is in it.
        """
        known = self.aside(root)
        bits, empty = dict(known.bits), set(known.empty)
        plain: dict[bytes, Entry | None] = {}
        for path, entry in edits.items():
            empty.discard(path)
            bits.pop(path, None)
            if entry is not None:
                empty -= set(_parents(path))
                _forget_below(path, bits, empty)
                if entry.bits is not None:
                    bits[path] = entry.bits
            plain[path] = None if entry == EMPTY_FOLDER else entry
            if entry == EMPTY_FOLDER:
                empty.add(path)
        data = Aside(bits, frozenset(empty)).encode()
        plain[KEPT_ASIDE] = None if data is None else Entry(Mode.FILE, self.put(BLOB, data))
        return self._set(root, plain)

    def _set(self, tree: Oid, edits: Mapping[bytes, Entry | None]) -> Oid:
        below: dict[bytes, dict[bytes, Entry | None]] = {}
        here = self.entries(tree)
        for path, entry in edits.items():
            name, slash, rest = path.partition(b"/")
            if slash:
                below.setdefault(name, {})[rest] = entry
            elif entry is not None:
                here[name] = entry
            elif name in here and here[name].mode is not Mode.FOLDER:
                del here[name]
        for name, inner in below.items():
            folder = here.get(name)
            is_folder = folder is not None and folder.mode is Mode.FOLDER
            if not is_folder and all(entry is None for entry in inner.values()):
                continue
            oid = self._set(folder.oid if folder is not None and is_folder else EMPTY_TREE, inner)
            if oid == EMPTY_TREE:
                here.pop(name, None)
            else:
                here[name] = Entry(Mode.FOLDER, oid)
        made = self.put(TREE, encode(here))
        if len(here) >= _MANY_ENTRIES:
            self._remember(made, here)
        return made


def _with(entry: Entry | None, known: Aside, path: bytes) -> Entry | None:
    if entry is None or entry.mode not in PLAIN:
        return entry
    return Entry(entry.mode, entry.oid, known.bits.get(path))


def _parents(path: bytes) -> Iterator[bytes]:
    at = path.rfind(b"/")
    while at > 0:
        yield path[:at]
        at = path.rfind(b"/", 0, at)


def _forget_below(path: bytes, bits: dict[bytes, int], empty: set[bytes]) -> None:
    start = path + b"/"
    for known in [it for it in bits if it.startswith(start)]:
        del bits[known]
    empty.difference_update([it for it in empty if it.startswith(start)])
