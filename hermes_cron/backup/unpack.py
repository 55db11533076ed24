"""How does an archive become files, when it may be a stranger's?

Nothing of tarfile's own extraction is used. Every name is checked before anything is made of it; every file is a new
one (O_EXCL) below folders that were made here; links are made at the very end, so that no name can lead through one;
modes of folders come last, so that a folder nobody may write can still be filled. Links keep where they lead to, as a
home may have links out of itself, but nothing is ever written or read through them.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from hermes_cron.backup.archive import CHUNK, HOME, MANIFEST, check_seal, members
from hermes_cron.backup.manifest import Entry, Kind, Manifest, from_json
from hermes_cron.errors import BackupDamaged, ImportUnsafePath

_KINDS = {tarfile.REGTYPE: Kind.FILE, tarfile.DIRTYPE: Kind.FOLDER, tarfile.SYMTYPE: Kind.LINK}
_MANIFEST_BYTES = 1 << 30
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """``sha256`` is the seal's."""

    manifest: Manifest
    sha256: str


def unpack(archive: Path, into: Path, *, only: Callable[[str], bool] = lambda _: True) -> Unpacked:
    """Write the home into ``into``, which must not exist; every member is read and compared with the manifest.

    ``only`` chooses by path what is written; the rest is only read. Raises ``BackupDamaged`` (with what differs),
    ``ImportUnsafePath``, OSError.
    """
    digest = check_seal(archive)
    work = _Unpacking(archive, os.fsencode(into), only)
    for member, data in members(archive):
        work.take(member, data)
    if work.manifest is None:
        raise BackupDamaged(f"{archive} has no manifest", hint="take another backup")
    _compare(archive, work.manifest, work.found)
    work.finish()
    return Unpacked(manifest=work.manifest, sha256=digest)


@dataclass(slots=True)
class _Unpacking:
    archive: Path
    into: bytes
    only: Callable[[str], bool]
    manifest: Manifest | None = None
    found: dict[str, Entry] = field(default_factory=dict)
    links: list[tuple[bytes, bytes]] = field(default_factory=list)
    folders: list[tuple[bytes, int, int]] = field(default_factory=list)

    def take(self, member: tarfile.TarInfo, data: IO[bytes] | None) -> None:
        if self.manifest is not None:
            raise self._unsafe(member, "comes after the manifest")
        if member.name == MANIFEST and data is not None:
            self.manifest = self._manifest(member, data)
            return
        path = self._path(member)
        kind = _KINDS.get(member.type)
        if kind is None:
            raise self._unsafe(member, "is no file, folder or link")
        if path in self.found:
            raise self._unsafe(member, "is there twice")
        parent = kind if not path else self._kind(os.path.dirname(path))
        if parent is not Kind.FOLDER:
            raise self._unsafe(member, "lies in no folder of the archive")
        self.found[path] = self._made(path, kind, member, data)

    def _kind(self, path: str) -> Kind | None:
        return None if path not in self.found else self.found[path].kind

    def finish(self) -> None:
        """Links, then times and modes of folders, innermost first."""
        for place, target in self.links:
            os.symlink(target, place)
        for place, mode, mtime in reversed(self.folders):
            os.utime(place, (mtime, mtime))
            os.chmod(place, mode)

    def _made(self, path: str, kind: Kind, member: tarfile.TarInfo, data: IO[bytes] | None) -> Entry:
        place = os.path.join(self.into, path.encode("utf-8", "surrogateescape")) if path else self.into
        wanted = not path or self.only(path)
        mode = member.mode & (0o7777 if kind is Kind.FOLDER else 0o777)
        if kind is Kind.FOLDER:
            if wanted:
                os.mkdir(place, 0o700)
                self.folders.append((place, mode, int(member.mtime)))
            return Entry(path=path, kind=kind, mode=mode)
        if kind is Kind.LINK:
            target = member.linkname.encode("utf-8", "surrogateescape")
            if wanted:
                self.links.append((place, target))
            return Entry(path=path, kind=kind, mode=mode, sha256=hashlib.sha256(target).hexdigest())
        if data is None:
            raise self._unsafe(member, "has no bytes")
        size, digest = _write(place, data, mode, int(member.mtime)) if wanted else _read(data)
        return Entry(path=path, kind=kind, mode=mode, size=size, sha256=digest)

    def _path(self, member: tarfile.TarInfo) -> str:
        """Relative to the home."""
        first, *parts = member.name.removeprefix(HOME).split("/")
        if not member.name.startswith(HOME) or first or {"", ".", ".."} & set(parts) or "\0" in member.name:
            raise self._unsafe(member, f"leads out of {HOME}/")
        return "/".join(parts)

    def _manifest(self, member: tarfile.TarInfo, data: IO[bytes]) -> Manifest:
        if member.size > _MANIFEST_BYTES:
            raise self._unsafe(member, f"is larger than {_MANIFEST_BYTES:,} bytes")
        try:
            return from_json(data.read())
        except ValueError as error:
            raise BackupDamaged(f"{self.archive}: {error}", hint="install the hermes-cron that made it") from error

    def _unsafe(self, member: tarfile.TarInfo, why: str) -> ImportUnsafePath:
        return ImportUnsafePath(
            f"{self.archive}: {member.name!a} {why}; nothing was unpacked",
            hint=f"this is no backup that hermes-cron made; look: tar tzvf {self.archive}",
        )


def _write(place: bytes, data: IO[bytes], mode: int, mtime: int) -> tuple[int, str]:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        size, digest = _read(data, file)
        os.fchmod(descriptor, mode)
    os.utime(place, (mtime, mtime))
    return size, digest


def _read(data: IO[bytes], to: IO[bytes] | None = None) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    while chunk := data.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
        if to is not None:
            to.write(chunk)
    return size, digest.hexdigest()


def _compare(archive: Path, manifest: Manifest, found: dict[str, Entry]) -> None:
    wanted = {entry.path: entry for entry in manifest.entries}
    wrong = [f"{path} is missing" for path in wanted if path not in found]
    wrong += [f"{path} is not in the manifest" for path in found if path not in wanted]
    wrong += [f"{path} is not as it was" for path, entry in found.items() if wanted.get(path) not in (None, entry)]
    if wrong:
        more = [f"and {len(wrong) - _SHOWN:,} more"] if len(wrong) > _SHOWN else []
        raise BackupDamaged(
            f"{archive} is not what its manifest says; {len(wrong):,} members differ",
            hint="take another backup",
            details={"wrong": [ascii(each)[1:-1] for each in wrong[:_SHOWN]] + more},
        )
