"""What lies in the home now, as a git tree, without reading what did not change?

Kept: files (bytes and executable bit) and links (as links, never followed) below ``jobs/ skills/ memories/`` and
``config.toml``. Named and left out: sockets, pipes, devices, the ``.git`` of nested repositories, files over the size
limit, files that hold a value of the vault, what cannot be read. git keeps no empty folder and no other mode bits:
they go into ``KEPT_ASIDE``, a file of the tree that is written only when there is something to say.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hermes_cron.files import TEMP_PREFIX
from hermes_cron.snapshots.trees import Entry, Files, Mode, Oid, blob_id, nest

ROOTS = (b"jobs", b"skills", b"memories", b"config.toml")
KEPT_ASIDE = b".hermes-cron-modes.json"
MAX_BYTES = 10_000_000
_RACY_NS = 1_000_000_000  # a file changed this shortly before it was looked at may change again within its time stamp
_USUAL = {Mode.FILE: 0o644, Mode.EXECUTABLE: 0o755}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something in the home that a snapshot does not hold. ``path`` is for people."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """``files`` hold ``KEPT_ASIDE`` too. ``fresh`` are bytes of blobs that may not be in the repository yet."""

    files: Files
    left_out: tuple[LeftOut, ...]
    fresh: dict[Oid, bytes]

    def tree(self) -> tuple[Oid, dict[Oid, bytes]]:
        """The root's id and the tree objects."""
        return nest(self.files)


@dataclass(slots=True)
class StatCache:
    """What each file was when it was last read: unchanged by stat means unchanged. Lives in one file, made anew."""

    path: Path
    known: dict[bytes, tuple[tuple[int, ...], Oid]] = field(default_factory=dict)
    changed: bool = False

    @classmethod
    def load(cls, path: Path) -> StatCache:
        """An unreadable or foreign file is an empty cache."""
        cache = cls(path)
        try:
            rows = path.read_bytes().split(b"\0\n")
        except OSError:
            return cache
        for row in rows:
            name, _, rest = row.partition(b"\0")
            parts = rest.split(b" ")
            if len(parts) == 6 and len(parts[5]) == 40:
                cache.known[name] = (tuple(int(part) for part in parts[:5]), bytes.fromhex(parts[5].decode()))
        return cache

    def save_if_changed(self) -> None:
        """Not durable, but whole: a lost cache costs one full read."""
        if not self.changed:
            return
        data = b"".join(
            b"%s\0%s %s\0\n" % (name, b" ".join(b"%d" % part for part in stamp), oid.hex().encode())
            for name, (stamp, oid) in self.known.items()
        )
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        temporary.write_bytes(data)
        temporary.replace(self.path)


class Forbidden(Protocol):
    """Why these bytes must not be kept (a value of the vault), or None. Another ``stamp``, perhaps another answer."""

    stamp: str

    def __call__(self, data: bytes, /) -> str | None: ...


class _Nothing:
    stamp = ""

    def __call__(self, _data: bytes, /) -> str | None:
        return None


NOTHING: Forbidden = _Nothing()


def scan(root: Path, cache: StatCache, *, forbidden: Forbidden = NOTHING, max_bytes: int = MAX_BYTES) -> Scan:
    """Look at the home. ``cache`` is brought up to date in memory; save it when the snapshot is made."""
    look = _Look(os.fsencode(root), cache, forbidden, max_bytes)
    for name in ROOTS:
        look.at(name)
    look.finish()
    return Scan(files=look.files, left_out=tuple(look.left_out), fresh=look.fresh)


class _Look:
    def __init__(self, root: bytes, cache: StatCache, forbidden: Forbidden, max_bytes: int) -> None:
        self.files: dict[bytes, Entry] = {}
        self.left_out: list[LeftOut] = []
        self.fresh: dict[Oid, bytes] = {}
        self._root = root
        self._cache = cache
        self._forbidden = forbidden
        self._max_bytes = max_bytes
        self._seen: dict[bytes, tuple[tuple[int, ...], Oid]] = {}
        self._modes: dict[str, str] = {}
        self._empty: list[str] = []
        self._edge_ns = time.time_ns() - _RACY_NS  # compared with the files' own time stamps

    def at(self, path: bytes) -> None:
        try:
            found = os.lstat(os.path.join(self._root, path))
        except FileNotFoundError:
            return
        self._one(path, found)

    def _one(self, path: bytes, found: os.stat_result) -> None:
        if stat.S_ISDIR(found.st_mode):
            self._folder(path)
        elif stat.S_ISLNK(found.st_mode):
            if path in ROOTS:
                self._leave(path, "a link: kept as a link, what it leads to is not")
            self._keep(path, found, Mode.LINK, os.readlink(os.path.join(self._root, path)))
        elif not stat.S_ISREG(found.st_mode):
            self._leave(path, "no plain file")
        elif found.st_size > self._max_bytes:
            self._leave(path, f"larger than {self._max_bytes:,} bytes")
        else:
            self._file(path, found)

    def _folder(self, path: bytes) -> None:
        try:
            names = sorted(os.listdir(os.path.join(self._root, path)))
        except OSError as error:
            self._leave(path, f"cannot be listed: {error.strerror}")
            return
        names = [name for name in names if not name.startswith(os.fsencode(TEMP_PREFIX))]
        if not names:
            self._empty.append(os.fsdecode(path))
        for name in names:
            if name.lower() == b".git":
                self._leave(path + b"/" + name, "the history of a git repository of its own; its files are kept")
            else:
                self.at(path + b"/" + name)

    def _file(self, path: bytes, found: os.stat_result) -> None:
        mode = Mode.EXECUTABLE if found.st_mode & 0o100 else Mode.FILE
        if stat.S_IMODE(found.st_mode) != _USUAL[mode]:
            self._modes[os.fsdecode(path)] = f"{stat.S_IMODE(found.st_mode):04o}"
        known = self._cache.known.get(path)
        if known is not None and known[0] == _stamp(found):
            self.files[path] = Entry(mode, known[1])
            self._seen[path] = known
            return
        try:
            with open(os.path.join(self._root, path), "rb") as file:
                data = file.read()
        except OSError as error:
            self._leave(path, f"cannot be read: {error.strerror}")
            return
        self._keep(path, found, mode, data)

    def _keep(self, path: bytes, found: os.stat_result, mode: Mode, data: bytes) -> None:
        why = self._forbidden(data)
        if why is not None:
            self._leave(path, why)
            return
        oid = blob_id(data)
        self.fresh[oid] = data
        self.files[path] = Entry(mode, oid)
        if mode is not Mode.LINK and max(found.st_mtime_ns, found.st_ctime_ns) < self._edge_ns:
            self._seen[path] = (_stamp(found), oid)

    def _leave(self, path: bytes, why: str) -> None:
        self.left_out.append(LeftOut(path=os.fsdecode(path), why=why))

    def finish(self) -> None:
        self._cache.changed = self._cache.known != self._seen
        self._cache.known = self._seen
        if self._modes or self._empty:
            aside = {"modes": self._modes, "empty_folders": self._empty}
            data = json.dumps(aside, indent=1, sort_keys=True).encode()
            oid = blob_id(data)
            self.fresh[oid] = data
            self.files[KEPT_ASIDE] = Entry(Mode.FILE, oid)


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)


def walk_paths(files: Files) -> Iterator[str]:
    """Paths as people read them."""
    yield from (os.fsdecode(path) for path in sorted(files))
