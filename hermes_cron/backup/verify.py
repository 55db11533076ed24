"""Is a backup what it says, and would it work? Answered by opening it, not by trusting it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from hermes_cron.backup import store_copy
from hermes_cron.backup.history import HistoryFacts, look
from hermes_cron.backup.manifest import HISTORY, STORE, Kind, Manifest, StoreFacts
from hermes_cron.backup.staging import remove_tree, scratch
from hermes_cron.backup.unpack import unpack
from hermes_cron.errors import BackupDamaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was looked at and found as written. ``packed`` is the archive's size, ``size`` that of its files."""

    manifest: Manifest
    sha256: str
    packed: int
    history: HistoryFacts | None

    @property
    def files(self) -> int:
        return sum(entry.kind is Kind.FILE for entry in self.manifest.entries)

    @property
    def links(self) -> int:
        return sum(entry.kind is Kind.LINK for entry in self.manifest.entries)

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.manifest.entries)

    @property
    def store(self) -> StoreFacts | None:
        return self.manifest.store


def verify(archive: Path) -> Verified:
    """Raises ``NotFound``, ``BackupDamaged``, ``ImportUnsafePath``; ``DiskFull`` where the store cannot be unpacked."""
    with scratch(archive.absolute().parent) as aside:
        return verify_in(archive, aside / "proof")


def verify_in(archive: Path, aside: Path) -> Verified:
    """The same in a folder of the caller's, which must not exist and is gone afterwards."""
    try:
        unpacked = unpack(archive, aside, only=_opened)
        found = check(archive, aside, unpacked.manifest)
    finally:
        if aside.exists():
            remove_tree(aside)
    return Verified(manifest=unpacked.manifest, sha256=unpacked.sha256, packed=archive.stat().st_size, history=found)


def check(archive: Path, home: Path, manifest: Manifest) -> HistoryFacts | None:
    """The store and the history of an unpacked home. Raises ``BackupDamaged``."""
    _check_store(archive, home / STORE, manifest)
    git = home / HISTORY
    if not (git / "HEAD").is_file():
        return None
    try:
        return look(git)
    except ValueError as error:
        raise BackupDamaged(
            f"{archive}: the history in it is damaged: {error}", hint="hermes-cron snapshots verify"
        ) from error


def _opened(path: str) -> bool:
    return path in (STORE, HISTORY) or path.startswith(f"{HISTORY}/")


def _check_store(archive: Path, store: Path, manifest: Manifest) -> None:
    if (manifest.store is not None) != store.is_file():
        raise BackupDamaged(f"{archive}: its manifest is wrong about {STORE}", hint="take another backup")
    if manifest.store is None:
        return
    wrong = store_copy.faults(store)
    try:
        if not wrong and store_copy.facts(store) != manifest.store:
            wrong = ["other counts of rows than the manifest has"]
    except sqlite3.DatabaseError as error:
        wrong = [str(error)]
    if wrong:
        raise BackupDamaged(
            f"{archive}: the store in it is damaged", hint="use an older backup: hermes-cron backup verify FILE",
            details={"wrong": wrong},
        )  # fmt: skip
