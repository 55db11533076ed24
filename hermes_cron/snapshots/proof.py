"""Is the home what a snapshot says, byte for byte? One hash over path, mode and bytes, made twice: from either side.

The files' side reads the disk and nothing else: neither the cache nor the ids by which changes are found.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_cron.snapshots import names
from hermes_cron.snapshots.pack import Oid
from hermes_cron.snapshots.trees import USUAL_BITS, Entry, Mode, Objects

_Line = tuple[bytes, str, bytes]
"""Path, mode, bytes."""


@dataclass(frozen=True, slots=True)
class Proof:
    """``files`` counts links and empty folders too."""

    sha256: str
    files: int


def of_tree(objects: Objects, tree: Oid) -> Proof:
    """What the snapshot says."""
    return _hashed(_said(objects, path, entry) for path, entry in sorted(_home_files(objects, tree)))


def of_home(root: Path, objects: Objects, tree: Oid) -> Proof:
    """What lies in the home at the snapshot's paths. A file that is missing or of another kind makes another hash."""
    home = os.fsencode(root)
    return _hashed(_found(home, path) for path, _ in sorted(_home_files(objects, tree)))


def _home_files(objects: Objects, tree: Oid) -> list[tuple[bytes, Entry]]:
    return [(path, entry) for path, entry in objects.files(tree).items() if names.below_roots(path)]


def _said(objects: Objects, path: bytes, entry: Entry) -> _Line:
    if entry.mode is Mode.FOLDER:
        return path, "empty folder", b""
    if entry.mode is Mode.LINK:
        return path, "link", objects.read(entry.oid)
    bits = entry.bits if entry.bits is not None else USUAL_BITS.get(entry.mode, 0)
    return path, f"{bits:04o}", objects.read(entry.oid)


def _found(home: bytes, path: bytes) -> _Line:
    place = os.path.join(home, path)
    try:
        found = os.stat(place) if path in names.ROOTS else os.lstat(place)
        if stat.S_ISLNK(found.st_mode):
            return path, "link", os.readlink(place)
        if stat.S_ISDIR(found.st_mode):
            return path, "folder" if os.listdir(place) else "empty folder", b""
        if not stat.S_ISREG(found.st_mode):
            return path, "no plain file", b""
        with open(place, "rb") as file:
            return path, f"{stat.S_IMODE(found.st_mode) & 0o777:04o}", file.read()
    except (FileNotFoundError, NotADirectoryError):
        return path, "nothing", b""


def _hashed(lines: Iterable[_Line] | Iterator[_Line]) -> Proof:
    whole, count = hashlib.sha256(), 0
    for path, mode, data in lines:
        whole.update(b"%s\0%s\0%s\n" % (path, mode.encode(), hashlib.sha256(data).hexdigest().encode()))
        count += 1
    return Proof(whole.hexdigest(), count)
