"""How is a home that runs put into one file?

The store first, as one moment's state, then the files: a report is written before the row that names it, so every
report that the copied store names is there. What the history keeps is read with the history, while nobody changes
either. The file is opened and proved before it gets its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from hermes_cron.backup import history, parts, store_copy
from hermes_cron.backup.archive import MANIFEST, Writer, name_of
from hermes_cron.backup.manifest import HISTORY, STORE, Entry, Key, Kind, LeftOut, Manifest, StoreFacts
from hermes_cron.backup.parts import Found, shown
from hermes_cron.backup.staging import staging
from hermes_cron.backup.steady import Unreadable, steady
from hermes_cron.backup.verify import Verified, verify_in
from hermes_cron.errors import BackupDamaged, Conflict
from hermes_cron.files import explained, sync_folder

SUFFIX = ".tar.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """``proof`` is what opening the finished file showed."""

    file: Path
    proof: Verified


def default_name(home: Path, at: datetime) -> str:
    """``hermes-cron-HOME-2026-11-30T120000Z.tar.gz``: sorts by time, and no name that a shell or a share minds."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in home.name).strip(".-")
    name = plain if plain.startswith("hermes-cron") else f"hermes-cron-{plain}".rstrip("-")
    return f"{name}-{at.astimezone(UTC):%Y-%m-%dT%H%M%SZ}{SUFFIX}"


def create(home: Path, file: Path, *, at: datetime, version: str, with_key: bool = False) -> Created:
    """Back ``home`` up to ``file``, mode 0600, which must not exist.

    Raises ``Conflict``, ``DiskFull``, ``NotWritable``, ``StoreDamaged``, ``BackupDamaged``; there is no file then.
    """
    _free(file)
    with staging(file.parent) as aside, explained(file):
        made = aside / "backup"
        with made.open("xb") as out:
            made.chmod(0o600)
            filling = _Filling(home=os.fsencode(home), aside=aside, writer=Writer(out))
            manifest = filling.fill(at=at, version=version, with_key=with_key)
            filling.end(manifest)
            out.flush()
            os.fsync(out.fileno())
        proof = _proved(made, aside / "proof")
        _free(file)
        made.rename(file)
        sync_folder(file.parent)
    return Created(file=file, proof=proof)


def _proved(made: Path, aside: Path) -> Verified:
    """What is wrong now was wrong in the home: bytes were read right a moment ago."""
    try:
        return verify_in(made, aside)
    except BackupDamaged as error:
        fault = error.message.removeprefix(f"{made}: ")
        raise BackupDamaged(f"no backup was made: {fault}", hint=error.hint, details=error.details) from error


def _free(file: Path) -> None:
    if os.path.lexists(file):
        raise Conflict(
            f"{file} is there already; nothing was written", hint=f"name another file, or look: ls -l {file}"
        )


@dataclass(slots=True, kw_only=True)
class _Filling:
    home: bytes
    aside: Path
    writer: Writer
    entries: list[Entry] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def fill(self, *, at: datetime, version: str, with_key: bool) -> Manifest:
        root = os.stat(self.home)
        self._keep(Entry(path="", kind=Kind.FOLDER, mode=root.st_mode & 0o7777), mtime=int(root.st_mtime))
        store = self._store()
        with history.kept_still(Path(os.fsdecode(self.home)) / HISTORY):
            self._take(parts.FIRST)
        self._take(parts.rest(self.home, with_key=with_key))
        self.left_out += parts.left_at_the_top(self.home)
        return Manifest(
            version=version,
            at=at,
            home=shown(os.path.basename(self.home)),
            key=self._key(with_key=with_key),
            store=store,
            entries=tuple(self.entries),
            left_out=tuple(self.left_out),
            changed=tuple(self.changed),
        )

    def end(self, manifest: Manifest) -> None:
        """The manifest is last: only then is known what the files were."""
        data = manifest.to_json()
        entry = Entry(path="", kind=Kind.FILE, mode=0o600, size=len(data))
        self.writer.add(MANIFEST, entry, mtime=int(manifest.at.timestamp()), data=io.BytesIO(data))
        self.writer.close()

    def _store(self) -> StoreFacts | None:
        live = Path(os.fsdecode(os.path.join(self.home, STORE.encode())))
        if not live.exists():
            return None
        copy = self.aside / STORE
        mode, mtime = live.stat().st_mode & 0o777, int(live.stat().st_mtime)
        facts = store_copy.copy(live, copy)
        found = Found(path=STORE.encode(), kind=Kind.FILE, mode=mode, mtime=mtime)
        self._file(found, place=os.fsencode(copy))
        copy.unlink()
        return facts

    def _take(self, names: Iterable[bytes]) -> None:
        for name in names:
            for found in parts.walk(self.home, name):
                if isinstance(found, LeftOut):
                    self.left_out.append(found)
                else:
                    self._one(found)

    def _one(self, found: Found) -> None:
        if found.kind is Kind.FILE:
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile: it is not in the home
                self._file(found, place=os.path.join(self.home, found.path))
            return
        digest = hashlib.sha256(found.target).hexdigest() if found.kind is Kind.LINK else ""
        entry = Entry(path=shown(found.path), kind=found.kind, mode=found.mode, sha256=digest)
        self._keep(entry, mtime=found.mtime, target=shown(found.target))

    def _file(self, found: Found, *, place: bytes) -> None:
        path = shown(found.path)
        try:
            with steady(place, self.aside) as read:
                entry = Entry(path=path, kind=Kind.FILE, mode=found.mode, size=read.size, sha256=read.sha256)
                self.writer.add(name_of(path), entry, mtime=found.mtime, data=read.data)
        except Unreadable as error:
            self.left_out.append(LeftOut(path=path, why=f"cannot be read: {error}", fault=True))
            return
        self.entries.append(entry)
        if not read.calm:
            self.changed.append(path)

    def _keep(self, entry: Entry, *, mtime: int, target: str = "") -> None:
        self.writer.add(name_of(entry.path), entry, mtime=mtime, target=target)
        self.entries.append(entry)

    def _key(self, *, with_key: bool) -> Key:
        names = {entry.path for entry in self.entries}
        if shown(parts.VAULT) not in names:
            return Key.NONE
        if not os.path.exists(os.path.join(self.home, parts.KEY)):
            return Key.ELSEWHERE
        return Key.INCLUDED if with_key else Key.LEFT_OUT
