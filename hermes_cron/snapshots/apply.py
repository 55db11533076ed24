"""How do the files of the home become those of another tree, all of them or none?

First every new file is written beside its place and made durable; only then are they put into place, one after the
other, so that a full disk is met before anything changed. Folders are never swapped: watchers would go blind. What
somebody changed since the base was looked at stays as they made it and is named. Links are never followed, but for the
four roots. Doing it a second time after a crash changes nothing that was done.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hermes_cron import files
from hermes_cron.errors import SnapshotFailed
from hermes_cron.files import explained, write_all
from hermes_cron.snapshots import names
from hermes_cron.snapshots.durable import sync_all
from hermes_cron.snapshots.scan import OURS
from hermes_cron.snapshots.trees import (
    EMPTY_FOLDER,
    PLAIN,
    USUAL_BITS,
    Difference,
    Entry,
    Mode,
    Objects,
    blob_id,
    plain_entry,
)

_OTHER = Entry(Mode.SUBMODULE, b"")
"""Something lies there that is in neither tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """``changed`` paths, and those ``kept`` because they are neither as before nor as wanted."""

    changed: tuple[bytes, ...]
    kept: tuple[bytes, ...]


@dataclass(slots=True, kw_only=True)
class Staged:
    """New files that lie beside their places. ``enter`` puts them there, ``discard`` removes them."""

    home: bytes
    ledger: Path
    changes: list[Difference] = field(default_factory=list)
    kept: set[bytes] = field(default_factory=set)
    gone: list[bytes] = field(default_factory=list)
    waiting: dict[bytes, bytes] = field(default_factory=dict)
    _touched: set[bytes] = field(default_factory=set)
    _there: set[bytes] = field(default_factory=set)

    def enter(self) -> Applied:
        """Put into place; durable on return. What goes, goes first: its name may be needed."""
        changed: set[bytes] = set()
        for path, before, after in self.changes:
            goes = after is None or (before is not None and not _alike(before, after))
            if goes and self._take_away(path, before, after):
                changed.add(path)
        for path in self.gone:  # before a crash; the folder may still be there
            self._drop_empty(os.path.dirname(path))
        for path, before, after in reversed(self.changes):
            if after is not None and path not in self.kept and self._put(path, before, after):
                changed.add(path)
        with _half_way(self.home):
            sync_all(folder for folder in sorted(self._touched) if os.path.isdir(folder))
        self.discard()
        return Applied(changed=tuple(sorted(changed)), kept=tuple(sorted(self.kept)))

    def discard(self) -> None:
        """Nothing of it is left beside the places."""
        for temporary in self.waiting.values():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        self.waiting.clear()
        drop_new_folders(self.home, self.ledger)

    def look(self, objects: Objects, path: bytes, before: Entry | None, after: Entry | None) -> None:
        """Take it on, if the place is as before."""
        now = present(self.home, path, _sizes(objects, before, after))
        half_done = before is None and now == EMPTY_FOLDER and any(it.startswith(path + b"/") for it in self.gone)
        if now == after:
            self.gone += [path] if after is None else []
        elif now == before or half_done:
            self.changes.append((path, before, after))
        else:
            self.kept.add(path)

    def write(self, objects: Objects) -> None:
        """What is to come, beside its place. New folders are noted first: an empty one could be a person's."""
        coming = [(path, after) for path, before, after in self.changes if after is not None and _is_new(before, after)]
        new = sorted({folder for path, _ in coming for folder in self._missing(path)})
        if new:
            names_of = [os.fsdecode(os.path.relpath(folder, self.home)) for folder in new]
            files.write_atomic(self.ledger, json.dumps(names_of).encode(), mode=0o600)
        for path, after in coming:
            with explained(Path(os.fsdecode(place_of(self.home, path)))):
                self.waiting[path] = self._write(path, objects.read(after.oid), after)
        with explained(Path(os.fsdecode(self.home))):
            sync_all(self.waiting[path] for path, after in coming if after.mode is not Mode.LINK)

    def _missing(self, path: bytes) -> Iterator[bytes]:
        at = self.home
        for part in path.split(b"/")[:-1]:
            root, at = at == self.home, at + b"/" + part
            if at in self._there:
                continue
            if not os.path.lexists(at):
                yield at
            elif os.path.isdir(at) and _is_folder(at, root=root):
                self._there.add(at)
            else:
                return

    def _write(self, path: bytes, data: bytes, entry: Entry) -> bytes:
        """Made in one folder and moved beside its place: file systems look long for room in many folders."""
        name = OURS + secrets.token_hex(6).encode()
        beside = os.path.join(self._folder_for(path), name)
        if entry.mode is Mode.LINK:
            os.symlink(data, beside)
            return beside
        draft = os.path.join(os.fsencode(self.ledger.parent), name)
        _create(draft, data, _bits(entry))
        try:
            os.rename(draft, beside)
        except OSError as error:
            os.unlink(draft)
            if error.errno != errno.EXDEV:
                raise
            _create(beside, data, _bits(entry))
        return beside

    def _folder_for(self, path: bytes) -> bytes:
        """The folder that is to hold it, made if nothing is in its way; else the one above."""
        if path in names.ROOTS:
            return os.path.dirname(place_of(self.home, path))
        at = self.home
        for part in path.split(b"/")[:-1]:
            further = at + b"/" + part
            try:
                if not _is_folder(further, root=at == self.home):
                    break
            except FileNotFoundError:
                if os.path.lexists(further):  # one of the four, a link that leads nowhere
                    break
                _make_like(at, further)
                self._touched.add(at)
            at = further
        return at

    def _take_away(self, path: bytes, before: Entry | None, after: Entry | None) -> bool:
        place = place_of(self.home, path)
        now = present(self.home, path)
        if now == after:
            return False
        if now != before:
            self.kept.add(path)
            return False
        with _half_way(place), contextlib.suppress(FileNotFoundError):
            if before == EMPTY_FOLDER:
                with contextlib.suppress(OSError):  # what is to come may wait in it already
                    os.rmdir(place)
            else:
                os.unlink(place)
        self._touched.add(os.path.dirname(place))
        if after is None:
            self._drop_empty(os.path.dirname(path))
        return True

    def _drop_empty(self, folder: bytes) -> None:
        """A folder that a removal left empty goes, but never ``jobs/`` and its like."""
        stay = {path for path, _, after in self.changes if after == EMPTY_FOLDER}
        with contextlib.suppress(OSError):
            while b"/" in folder and folder not in stay:
                os.rmdir(os.path.join(self.home, folder))
                folder = os.path.dirname(folder)
                self._touched.add(os.path.join(self.home, folder))

    def _put(self, path: bytes, before: Entry | None, after: Entry) -> bool:
        place = place_of(self.home, path)
        now = present(self.home, path)
        if now == after:
            return False
        fresh = before is None or not _alike(before, after)
        if now != (None if fresh else before):
            self.kept.add(path)
            return False
        with _half_way(place):
            try:
                self._into_place(place, path, before, after, fresh=fresh)
            except (FileExistsError, NotADirectoryError, IsADirectoryError):  # made by hand within these moments
                self.kept.add(path)
                return False
        self._touched.add(os.path.dirname(place))
        return True

    def _into_place(self, place: bytes, path: bytes, before: Entry | None, after: Entry, *, fresh: bool) -> None:
        if _only_bits(before, after):
            _chmod(place, _bits(after))
            return
        folder = self._folder_for(path)
        if folder != os.path.dirname(place):
            raise FileExistsError(folder)
        if after.mode is Mode.FOLDER:
            _make_like(folder, place)
            return
        temporary = self.waiting[path]
        if fresh:
            _link_new(temporary, place)
        elif _took_the_place(temporary, place, before):
            del self.waiting[path]
        else:
            raise FileExistsError(place)


def stage(root: Path, objects: Objects, changes: Iterable[Difference], ledger: Path) -> Staged:
    """Write what is new beside its place. Raises ``DiskFull``, ``NotWritable``; nothing is changed then.

    ``ledger`` is where new folders are noted until everything is in place.
    """
    staged = Staged(home=os.fsencode(root), ledger=ledger)
    try:
        for path, before, after in reversed(list(changes)):  # what is in a folder before the folder
            if names.below_roots(path):
                _refuse_unfit(path, before, after)
                with explained(root / os.fsdecode(path)):
                    staged.look(objects, path, before, after)
        staged.write(objects)
    except BaseException:
        staged.discard()
        raise
    return staged


def drop_new_folders(home: bytes, ledger: Path) -> None:
    """Remove the noted folders that nothing came into, with the drafts in them."""
    try:
        noted = json.loads(ledger.read_bytes())
    except FileNotFoundError:
        return
    for name in reversed(noted):
        folder = os.path.join(home, os.fsencode(name))
        with contextlib.suppress(OSError):
            for inside in os.listdir(folder):
                if inside.startswith(OURS):
                    os.unlink(os.path.join(folder, inside))
            os.rmdir(folder)
    ledger.unlink(missing_ok=True)


def _refuse_unfit(path: bytes, *entries: Entry | None) -> None:
    modes = {it.mode for it in entries if it is not None}
    if not names.sane(path) or Mode.SUBMODULE in modes or not names.fits(path, link=Mode.LINK in modes):
        raise SnapshotFailed(f"{os.fsdecode(path)!r} is nothing that a home may hold; nothing was changed")


def present(home: bytes, path: bytes, sizes: frozenset[int] | None = None) -> Entry | None:
    """What lies there now, as a tree would keep it; None for nothing. A file of none of the ``sizes`` is not read."""
    place = os.path.join(home, path)
    try:
        if not _on_folders(home, path):
            return None
        found = os.stat(place) if path in names.ROOTS else os.lstat(place)
        if stat.S_ISLNK(found.st_mode):
            return Entry(Mode.LINK, blob_id(os.readlink(place)))
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(place) as inside:
                return EMPTY_FOLDER if all(entry.name.startswith(OURS) for entry in inside) else None
        if not stat.S_ISREG(found.st_mode) or (sizes is not None and found.st_size not in sizes):
            return _OTHER
        with open(place, "rb") as file:
            return plain_entry(found.st_mode, blob_id(file.read()))
    except (FileNotFoundError, NotADirectoryError):
        return None


def place_of(home: bytes, path: bytes) -> bytes:
    """Where it lies. ``config.toml`` may be a link, and then it is what it leads to."""
    place = os.path.join(home, path)
    return os.path.realpath(place) if path in names.ROOTS else place


def _chmod(place: bytes, bits: int) -> None:
    fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(fd, bits)
        os.fsync(fd)
    finally:
        os.close(fd)


def _on_folders(home: bytes, path: bytes) -> bool:
    """Whether every folder on the way is one, and no link to one elsewhere."""
    parts = path.split(b"/")
    return all(_is_folder(home + b"/" + b"/".join(parts[:at]), root=at == 1) for at in range(1, len(parts)))


def _is_folder(place: bytes, *, root: bool) -> bool:
    """Raises FileNotFoundError, NotADirectoryError."""
    return stat.S_ISDIR((os.stat if root else os.lstat)(place).st_mode)


def _create(place: bytes, data: bytes, bits: int) -> None:
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, data)
        os.fchmod(fd, bits)
    except BaseException:
        os.unlink(place)
        raise
    finally:
        os.close(fd)


def _make_like(parent: bytes, place: bytes) -> None:
    """A folder with the mode of the one it is in: git keeps none."""
    os.mkdir(place)
    os.chmod(place, stat.S_IMODE(os.stat(parent).st_mode))


def _link_new(temporary: bytes, place: bytes) -> None:
    """Fails when somebody made that name meanwhile; a rename would replace what they made."""
    try:
        os.link(temporary, place, follow_symlinks=False)
    except OSError as error:
        if error.errno not in files.NO_LINKS or os.path.lexists(place):
            raise
        os.rename(temporary, place)


def _took_the_place(temporary: bytes, place: bytes, before: Entry | None) -> bool:
    """False when somebody saved between the last look and this step: their file stands, and ours is the draft again."""
    if before is None or before.mode not in PLAIN or not files.exchange(temporary, place):
        os.replace(temporary, place)
        return True
    if _plain(temporary) == before:
        os.unlink(temporary)
        return True
    files.exchange(temporary, place)
    return False


def _plain(place: bytes) -> Entry | None:
    found = os.lstat(place)
    if not stat.S_ISREG(found.st_mode):
        return None
    with open(place, "rb") as file:
        return plain_entry(found.st_mode, blob_id(file.read()))


def _alike(before: Entry, after: Entry) -> bool:
    """Whether one can take the other's place in one step."""
    return (before.mode is Mode.FOLDER) == (after.mode is Mode.FOLDER)


def _is_new(before: Entry | None, after: Entry) -> bool:
    """Whether its bytes have to be written."""
    return after.mode is not Mode.FOLDER and not _only_bits(before, after)


def _only_bits(before: Entry | None, after: Entry) -> bool:
    return before is not None and {before.mode, after.mode} <= PLAIN and before.oid == after.oid


def _bits(entry: Entry) -> int:
    return USUAL_BITS[entry.mode] if entry.bits is None else entry.bits


def _sizes(objects: Objects, *entries: Entry | None) -> frozenset[int]:
    return frozenset(objects.size(it.oid) for it in entries if it is not None and it.mode in PLAIN)


@contextlib.contextmanager
def _half_way(place: bytes) -> Iterator[None]:
    """The branch has moved already: whoever comes next finishes what is left."""
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise
    except OSError as error:
        raise SnapshotFailed(
            f"the change stopped at {os.fsdecode(place)}: {error.strerror}; the next command finishes it",
            hint="hermes-cron doctor",
        ) from error
