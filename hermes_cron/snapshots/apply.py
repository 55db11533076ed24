"""How do the files of the home become those of another tree, all of them or none?

First every new file is written beside its place and made durable; only then are they renamed into place, one after the
other, so that a full disk is met before anything changed. Folders are never swapped: watchers would go blind. A file
that somebody changed since the base was looked at stays as they made it and is named. Doing it a second time after a
crash changes nothing that was done.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hermes_cron.files import TEMP_PREFIX, explained
from hermes_cron.snapshots.scan import KEPT_ASIDE
from hermes_cron.snapshots.trees import Entry, Mode, Objects, Oid, blob_id

_USUAL = {Mode.FILE: 0o644, Mode.EXECUTABLE: 0o755}


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """``changed`` paths, and those ``kept`` because they are neither as before nor as wanted."""

    changed: tuple[bytes, ...]
    kept: tuple[bytes, ...]


@dataclass(slots=True, kw_only=True)
class Staged:
    """New files that lie beside their places. ``enter`` puts them there, ``discard`` removes them."""

    root: bytes
    base: Mapping[bytes, Entry | None]
    target: Mapping[bytes, Entry | None]
    modes: Mapping[bytes, int]
    before_modes: Mapping[bytes, int]
    folders: tuple[bytes, ...]
    kept: tuple[bytes, ...]
    waiting: dict[bytes, bytes] = field(default_factory=dict)

    def enter(self) -> Applied:
        """Rename and unlink; durable on return."""
        touched: set[bytes] = set()
        changed: list[bytes] = []
        for path, entry in self.target.items():
            place = os.path.join(self.root, path)
            now = present(place)
            if now == entry:
                self._drop(path)
                continue
            if now != self.base[path]:  # changed within these moments: their version stays
                self._drop(path)
                continue
            with explained(Path(os.fsdecode(place))):
                self._place(place, path, entry)
            touched.add(os.path.dirname(place))
            changed.append(path)
        self._modes_only()
        for folder in self.folders:
            os.makedirs(os.path.join(self.root, folder), exist_ok=True)
        for folder in touched:
            _sync(folder)
        return Applied(changed=tuple(changed), kept=self.kept)

    def discard(self) -> None:
        """Nothing of it happened."""
        for path in list(self.waiting):
            self._drop(path)

    def _place(self, place: bytes, path: bytes, entry: Entry | None) -> None:
        if entry is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place)
            self._drop_empty(os.path.dirname(path))
            return
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(place).st_mode):
                os.rmdir(place)  # an empty folder where a file is to be
        os.replace(self.waiting[path], place)
        del self.waiting[path]

    def _drop(self, path: bytes) -> None:
        temporary = self.waiting.pop(path, None)
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)

    def _drop_empty(self, folder: bytes) -> None:
        """git has no empty folders: one that a removal left empty goes, but never ``jobs/`` and its like."""
        with contextlib.suppress(OSError):
            while b"/" in folder:
                os.rmdir(os.path.join(self.root, folder))
                folder = os.path.dirname(folder)

    def _modes_only(self) -> None:
        """Files whose bytes are the same and whose mode bits are not."""
        for path in self.before_modes.keys() | self.modes.keys():
            if self.before_modes.get(path) == self.modes.get(path):
                continue
            place = os.path.join(self.root, path)
            now = present(place)
            if now is not None and now.mode is not Mode.LINK:
                os.chmod(place, self.modes.get(path, _USUAL[now.mode]))


def stage(root: Path, objects: Objects, base: Oid, target: Oid) -> Staged:
    """Write what is new beside its place. Raises ``DiskFull``, ``NotWritable``; nothing is changed then."""
    before_modes, _ = _aside(objects, base)
    modes, folders = _aside(objects, target)
    old: dict[bytes, Entry | None] = {}
    new: dict[bytes, Entry | None] = {}
    kept: list[bytes] = []
    home = os.fsencode(root)
    for path, before, after in objects.changed(base, target):
        if path == KEPT_ASIDE:
            continue
        now = present(os.path.join(home, path))
        if now not in (before, after):
            kept.append(path)
        elif now != after:
            old[path], new[path] = before, after
    staged = Staged(
        root=home, base=old, target=new, modes=modes, before_modes=before_modes, folders=folders, kept=tuple(kept)
    )
    try:
        for path, entry in new.items():
            if entry is not None:
                with explained(Path(os.fsdecode(os.path.join(home, path)))):
                    staged.waiting[path] = _beside(home, path, objects.blob(entry.oid), entry.mode, modes.get(path))
    except BaseException:
        staged.discard()
        raise
    return staged


def _beside(home: bytes, path: bytes, data: bytes, mode: Mode, bits: int | None) -> bytes:
    """The temporary file. It lies in the nearest folder that exists, so that a new folder appears with its file."""
    folder = os.path.dirname(os.path.join(home, path))
    os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, os.fsencode(f"{TEMP_PREFIX}{secrets.token_hex(6)}"))
    if mode is Mode.LINK:
        os.symlink(data, temporary)
        return temporary
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fchmod(fd, bits or _USUAL[mode])
        os.fsync(fd)
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        os.close(fd)
    return temporary


def present(place: bytes) -> Entry | None:
    """What lies there now, as a tree would keep it; None for nothing and for what no tree keeps."""
    try:
        found = os.lstat(place)
        if stat.S_ISLNK(found.st_mode):
            return Entry(Mode.LINK, blob_id(os.readlink(place)))
        if not stat.S_ISREG(found.st_mode):
            return None
        with open(place, "rb") as file:
            return Entry(Mode.EXECUTABLE if found.st_mode & 0o100 else Mode.FILE, blob_id(file.read()))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _aside(objects: Objects, tree: Oid) -> tuple[dict[bytes, int], tuple[bytes, ...]]:
    """Mode bits and empty folders that the tree keeps beside git's own."""
    entry = objects.at(tree, KEPT_ASIDE)
    if entry is None or entry.mode is Mode.FOLDER:
        return {}, ()
    try:
        data = json.loads(objects.blob(entry.oid))
        modes = {os.fsencode(path): int(mode, 8) & 0o777 for path, mode in data["modes"].items()}
        return modes, tuple(os.fsencode(path) for path in data["empty_folders"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}, ()  # a file that a person made under this name: nothing of ours


def _sync(folder: bytes) -> None:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
