"""What lies in the home now, as a git tree, without reading what did not change?

Kept: files (bytes and mode bits), links (as links, never followed) and empty folders below ``jobs/ skills/ memories/``,
and ``config.toml``. These four themselves may be links, as people lay them who keep their settings elsewhere: what
they lead to is the home's. Named and left out: sockets, pipes, devices, the ``.git`` of nested repositories, files over
the size limit, files that hold a value of the vault, what cannot be read, names that git refuses.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hermes_cron.files import TEMP_PREFIX
from hermes_cron.snapshots import names
from hermes_cron.snapshots.aside import KEPT_ASIDE, Aside
from hermes_cron.snapshots.pack import BLOB, TREE, Oid
from hermes_cron.snapshots.trees import EMPTY_TREE, Entry, Mode, Objects, blob_id, encode, plain_entry

MAX_BYTES = 10_000_000
TEMPORARY = os.fsencode(TEMP_PREFIX)
"""Begins the names of all drafts; no look keeps one."""

OURS = os.fsencode(f"{TEMP_PREFIX}snapshot-")
"""Begins the names of files that only the holder of the lock makes: whoever has the lock may remove what it finds."""

_RACY_NS = 1_000_000_000  # a file changed this shortly before it was looked at may change again within its time stamp
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something in the home that a snapshot does not hold. ``path`` is for people."""

    path: str
    why: str


class Forbidden(Protocol):
    """Why these bytes must not be kept (a value of the vault), or None. Another ``stamp``, perhaps another answer."""

    stamp: str

    def __call__(self, data: bytes, /) -> str | None: ...


class _Nothing:
    stamp = ""

    def __call__(self, _data: bytes, /) -> str | None:
        return None


NOTHING: Forbidden = _Nothing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What may be kept."""

    forbidden: Forbidden = NOTHING
    max_bytes: int = MAX_BYTES


@dataclass(slots=True)
class Known:
    """Files as they were when they were last read, and folders of which nothing but these is to be known.

    Unchanged by stat means unchanged. A folder is as it was when all in it are, and no more and no fewer.
    """

    files: dict[bytes, tuple[Stamp, Oid]] = field(default_factory=dict)
    folders: dict[bytes, tuple[Oid, int]] = field(default_factory=dict)


@dataclass(slots=True)
class StatCache:
    """What is known of the home by the last snapshot. Lives in one file, made anew; all of it is in the history."""

    path: Path
    stamp: str
    known: Known = field(default_factory=Known)
    changed: bool = False

    @classmethod
    def load(cls, path: Path, rules: Rules) -> StatCache:
        """Empty when the file is missing, damaged, or was made under other rules."""
        cache = cls(path, f"2 {rules.max_bytes} {rules.forbidden.stamp}")
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            digest, _, body = path.read_bytes().partition(b"\n")
            found = json.loads(body) if digest == _digest(body) else {}
            if found.get("stamp") == cache.stamp:
                encode_name, from_hex = os.fsencode, bytes.fromhex
                cache.known = Known(
                    {encode_name(name): (tuple(stamp), from_hex(oid)) for name, oid, stamp in found["files"]},
                    {encode_name(name): (from_hex(oid), count) for name, oid, count in found["folders"]},
                )
        return cache

    def save_if_changed(self) -> None:
        """Not durable, but whole: a lost cache costs one full read."""
        if not self.changed:
            return
        found = {
            "stamp": self.stamp,
            "files": [(os.fsdecode(name), oid.hex(), stamp) for name, (stamp, oid) in self.known.files.items()],
            "folders": [(os.fsdecode(name), oid.hex(), count) for name, (oid, count) in self.known.folders.items()],
        }
        body = json.dumps(found).encode()
        temporary = self.path.with_name(f"{self.path.name}.new")  # under the lock there is one
        temporary.write_bytes(_digest(body) + b"\n" + body)
        temporary.replace(self.path)


def _digest(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """``tree`` and what it needs is in the ``Objects`` that were given, unless it was known from the cache."""

    tree: Oid
    left_out: tuple[LeftOut, ...]


def not_of_the_home(objects: Objects, tree: Oid | None) -> dict[bytes, Entry]:
    """Names at the root of the last snapshot that a shared history brought, and that stay in it."""
    entries = {} if tree is None else objects.entries(tree)
    return {name: entry for name, entry in entries.items() if name not in names.ROOTS and name != KEPT_ASIDE}


def scan(
    root: Path, objects: Objects, cache: StatCache, rules: Rules, others: Mapping[bytes, Entry], *, now_ns: int
) -> Scan:
    """Look at the home. ``cache`` is brought up to date in memory; save it when the snapshot is made.

    ``others`` stay at the root of the tree. ``now_ns`` is the file system's time. Drafts that a dead holder of the lock
    left are removed.
    """
    look = _Look(os.fsencode(root), objects, cache.known, rules, now_ns - _RACY_NS)
    look.sweep_beside_settings()
    here = dict(others)
    for name in names.ROOTS:
        entry = look.root(name)
        if entry is not None and entry.oid != EMPTY_TREE:  # git has no empty folders
            here[name] = entry
    data = Aside(look.bits, frozenset(look.empty)).encode()
    if data is not None:
        here[KEPT_ASIDE] = Entry(Mode.FILE, objects.put(BLOB, data))
    cache.changed = cache.known != look.seen
    cache.known = look.seen
    return Scan(tree=objects.put(TREE, encode(here)), left_out=tuple(sorted(look.left_out, key=lambda it: it.path)))


def look_at(root: Path, objects: Objects, path: bytes, rules: Rules) -> tuple[Entry | None, LeftOut | None]:
    """One path as a full look would find it: a file or link; None for nothing and for a folder."""
    look = _Look(os.fsencode(root), objects, Known(), rules, 0)
    found = look.alone(path)
    return found, look.left_out[0] if look.left_out else None


def why_not(path: bytes, mode: Mode, data: bytes, rules: Rules) -> str | None:
    """Why no snapshot keeps this file or link; None when it does."""
    if names.refused(os.path.basename(path), link=mode is Mode.LINK, data=data):
        return "git refuses what it says"
    return rules.forbidden(data)


class _Look:
    def __init__(
        self, root: bytes, objects: Objects, known: Known, rules: Rules,
        edge_ns: int,
    ) -> None:  # fmt: skip
        self.left_out: list[LeftOut] = []
        self.seen = Known()
        self.bits: dict[bytes, int] = {}
        self.empty: set[bytes] = set()
        self._root = root
        self._objects = objects
        self._known = known
        self._rules = rules
        self._edge_ns = edge_ns

    def root(self, name: bytes) -> Entry | None:
        place = os.path.join(self._root, name)
        try:
            found = os.stat(place)
        except OSError as error:
            if os.path.lexists(place):
                self._leave(name, f"cannot be read: {error.strerror}")
            return None
        if name == b"config.toml":
            return self._file(name, found) if stat.S_ISREG(found.st_mode) else self._leave(name, "no plain file")
        if not stat.S_ISDIR(found.st_mode):
            return self._leave(name, "no folder")
        return self._folder(name)

    def alone(self, path: bytes) -> Entry | None:
        parts = path.split(b"/")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for at in range(1, len(parts)):
                place = os.path.join(self._root, *parts[:at])
                if not stat.S_ISDIR((os.stat if at == 1 else os.lstat)(place).st_mode):
                    return None
            found = (os.lstat if len(parts) > 1 else os.stat)(os.path.join(self._root, path))
            return None if stat.S_ISDIR(found.st_mode) else self._one(path, found)
        return None

    def _folder(self, path: bytes) -> Entry | None:
        if path.count(b"/") >= names.MAX_DEPTH:
            return self._leave(path, "too deep")
        here: dict[bytes, Entry] = {}
        there, as_it_was = False, 0
        prefix = path + b"/"
        try:
            with os.scandir(self._root + b"/" + path) as inside:
                for entry in inside:
                    name = entry.name
                    if name.startswith(TEMPORARY):
                        self._sweep(entry)
                        continue
                    there = True
                    inner = prefix + name
                    kept = self._entry(inner, entry)
                    if kept is not None and kept.oid != EMPTY_TREE:
                        here[name] = kept
                        as_it_was += self._as_it_was(inner)
        except OSError as error:
            return self._leave(path, f"cannot be listed: {error.strerror}")
        if not there and path not in names.ROOTS:
            self.empty.add(path)
        known = self._known.folders.get(path)
        if known is None or not known[1] == len(here) == as_it_was:
            made = (self._objects.put(TREE, encode(here)) if here else EMPTY_TREE, len(here))
            known = known if known == made else made
        self.seen.folders[path] = known
        return Entry(Mode.FOLDER, known[0])

    def _as_it_was(self, path: bytes) -> bool:
        file = self.seen.files.get(path)
        if file is not None:
            return file is self._known.files.get(path)
        folder = self.seen.folders.get(path)
        return folder is not None and folder is self._known.folders.get(path)

    def _entry(self, path: bytes, entry: os.DirEntry[bytes]) -> Entry | None:
        if names.is_dotgit(entry.name):
            return self._leave(path, "git allows no such name; what a nested repository has beside it is kept")
        try:
            if entry.is_dir(follow_symlinks=False):
                return self._folder(path)
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # gone since the folder was read
            return None
        except OSError as error:
            return self._leave(path, f"cannot be read: {error.strerror}")
        known = self._known.files.get(path)
        if known is not None and known[0] == _stamp(found):  # nearly all of them
            self.seen.files[path] = known
            kept = plain_entry(found.st_mode, known[1])
            return kept if kept.bits is None else self._noted(path, kept)
        return self._one(path, found)

    def _one(self, path: bytes, found: os.stat_result) -> Entry | None:
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(os.path.join(self._root, path))
            return self._keep(path, Entry(Mode.LINK, blob_id(target)), target)
        if not stat.S_ISREG(found.st_mode):
            return self._leave(path, "no plain file")
        return self._file(path, found)

    def _file(self, path: bytes, found: os.stat_result) -> Entry | None:
        if found.st_size > self._rules.max_bytes:
            return self._leave(path, f"larger than {self._rules.max_bytes:,} bytes")
        try:
            found, data = self._read(path)
        except OSError as error:
            return self._leave(path, f"cannot be read: {error.strerror}")
        if len(data) > self._rules.max_bytes or not stat.S_ISREG(found.st_mode):
            return self._leave(path, "it changes while it is read")
        entry = self._keep(path, plain_entry(found.st_mode, blob_id(data)), data)
        if entry is not None and max(found.st_mtime_ns, found.st_ctime_ns) < self._edge_ns:
            self.seen.files[path] = (_stamp(found), entry.oid)
        return entry

    def _read(self, path: bytes) -> tuple[os.stat_result, bytes]:
        follow = 0 if path in names.ROOTS else os.O_NOFOLLOW
        fd = os.open(os.path.join(self._root, path), _OPEN | follow)
        with os.fdopen(fd, "rb") as file:
            return os.fstat(fd), file.read(self._rules.max_bytes + 1)

    def _keep(self, path: bytes, entry: Entry, data: bytes) -> Entry | None:
        why = why_not(path, entry.mode, data, self._rules)
        if why is not None:
            return self._leave(path, why)
        self._objects.put(BLOB, data)
        return self._noted(path, entry)

    def _noted(self, path: bytes, entry: Entry) -> Entry:
        if entry.bits is not None:
            self.bits[path] = entry.bits
        return entry

    def sweep_beside_settings(self) -> None:
        """Where a draft of ``config.toml`` lies."""
        for folder in {self._root, os.path.dirname(os.path.realpath(os.path.join(self._root, b"config.toml")))}:
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):
                    if name.startswith(OURS):
                        os.unlink(os.path.join(folder, name))

    def _sweep(self, entry: os.DirEntry[bytes]) -> None:
        if entry.name.startswith(OURS):
            with contextlib.suppress(OSError):
                os.unlink(entry.path)

    def _leave(self, path: bytes, why: str) -> Entry | None:
        """Always None, so that it can be returned."""
        self.left_out.append(LeftOut(path=os.fsdecode(path), why=why))
        return None


def _stamp(found: os.stat_result) -> Stamp:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)
