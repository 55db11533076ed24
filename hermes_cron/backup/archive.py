"""How is a backup written and read as one file that `tar` opens and that notices any changed byte?

A gzipped tar, then the seal: an empty gzip member whose comment is the SHA-256 of every byte before it. gzip reads
several members as one, so the usual tools see a plain ``.tar.gz``; gzip's own checksum covers neither its header nor
the bits that pad its blocks, the seal covers all. It tells damage, not forgery: whoever can write the file can seal it.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from hermes_cron.backup.manifest import Entry, Kind
from hermes_cron.errors import BackupDamaged, NotFound

TOP = "hermes-cron-backup"
"""The one folder that `tar` makes."""
HOME = f"{TOP}/home"
MANIFEST = f"{TOP}/manifest.json"

CHUNK = 1 << 20
_LEVEL = 4  # of zlib: twice as fast as its default for 3 % more bytes
_TYPES = {Kind.FILE: tarfile.REGTYPE, Kind.FOLDER: tarfile.DIRTYPE, Kind.LINK: tarfile.SYMTYPE}
_SEAL_HEAD = b"\x1f\x8b\x08\x10" + bytes(4) + b"\x00\xff"  # RFC 1952: deflate, FCOMMENT, no time, unknown system
_SEAL_TAIL = b"\0\x03\x00" + bytes(8)  # the comment's end, an empty block, the checksum and length of nothing


def seal_of(digest: str) -> bytes:
    """The bytes that end a backup whose bytes before have this SHA-256."""
    return _SEAL_HEAD + f"sha256:{digest}".encode("ascii") + _SEAL_TAIL


_SEAL_BYTES = len(seal_of("0" * 64))


def name_of(path: str) -> str:
    """The member's name for a path of the home ("" is the home)."""
    return f"{HOME}/{path}" if path else HOME


class Writer:
    """Writes members in order to ``file``; ``close`` ends and seals it. Memory does not grow with what is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._sealing = _Sealing(file)
        self._gzip = gzip.GzipFile(filename="", mode="wb", fileobj=self._sealing, compresslevel=_LEVEL, mtime=0)
        self._tar = tarfile.TarFile(
            fileobj=self._gzip, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
        )

    def add(self, name: str, entry: Entry, *, mtime: int, data: IO[bytes] | None = None, target: str = "") -> None:
        """``data`` are a file's bytes, ``target`` is where a link leads to. Owners are not kept."""
        member = tarfile.TarInfo(name)
        member.type, member.mode, member.size = _TYPES[entry.kind], entry.mode, entry.size
        member.mtime, member.linkname = mtime, target
        self._tar.addfile(member, data)
        self._tar.members.clear()  # type: ignore[attr-defined]  # tarfile keeps them all otherwise

    def close(self) -> str:
        """The SHA-256 that the seal holds."""
        self._tar.close()
        self._gzip.close()
        digest = self._sealing.digest()
        self._sealing.write(seal_of(digest))
        return digest


class _Sealing(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # gzip hands over bytes
        self._hash.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def digest(self) -> str:
        return self._hash.hexdigest()


def check_seal(path: Path) -> str:
    """Read the whole file and return its SHA-256. Raises ``NotFound``, ``BackupDamaged``."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            left = path.stat().st_size - _SEAL_BYTES
            begins = file.read(2)
            file.seek(0)
            while left > 0 and (data := file.read(min(CHUNK, left))):
                digest.update(data)
                left -= len(data)
            ends = file.read()
    except FileNotFoundError as error:
        raise NotFound(f"{path}: no such file", hint=f"ls -l {path.parent}") from error
    except OSError as error:
        raise BackupDamaged(f"{path} cannot be read: {error.strerror}", hint=f"ls -l {path}") from error
    if begins != b"\x1f\x8b":
        raise BackupDamaged(f"{path} is no backup: it does not begin as a .tar.gz", hint="hermes-cron backup --help")
    if ends != seal_of(digest.hexdigest()):
        raise BackupDamaged(
            f"{path} is damaged, cut, or was not made by `hermes-cron backup create`: its seal does not fit its bytes",
            hint="copy it again from where it came, or take another backup",
        )
    return digest.hexdigest()


def members(path: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Each member, with its bytes where it is a file, in order; the whole archive is read. Raises ``BackupDamaged``."""
    with _readable(path), path.open("rb") as file, gzip.GzipFile(fileobj=file, mode="rb") as unzipped:
        with tarfile.open(fileobj=unzipped, mode="r|", encoding="utf-8", errors="surrogateescape") as tar:
            while (member := tar.next()) is not None:
                yield member, tar.extractfile(member) if member.isreg() else None
                tar.members.clear()  # type: ignore[attr-defined]  # tarfile keeps them all otherwise
        while unzipped.read(CHUNK):
            pass  # gzip compares its checksum at the very end


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BackupDamaged(f"{path} cannot be read as a .tar.gz: {error}", hint="take another backup") from error
