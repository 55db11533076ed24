"""What does a file hold, when others may write it at this moment?

It is copied aside and its stat compared before and after; different, it is read again. A file that never holds still is
taken as it was read last, and said so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hermes_cron.backup.archive import CHUNK

_TRIES = 3
_IN_MEMORY = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """``data`` stands at its beginning. ``calm``: nobody wrote the file while it was read."""

    data: IO[bytes]
    size: int
    sha256: str
    calm: bool


class Unreadable(Exception):
    """The file is there and cannot be read; the text says why."""


@contextlib.contextmanager
def steady(place: bytes, aside: Path) -> Iterator[Steady]:
    """The file's bytes; large ones lie in the folder ``aside`` meanwhile. Never follows a link.

    Raises ``FileNotFoundError`` where there is no file any more, ``Unreadable``, and OSError for ``aside``.
    """
    for left in reversed(range(_TRIES)):
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(aside)) as spool:
            size, digest, calm = _read(place, spool)
            if calm or not left:
                spool.seek(0)
                yield Steady(data=spool, size=size, sha256=digest, calm=calm)
                return


def _read(place: bytes, spool: IO[bytes]) -> tuple[int, str, bool]:
    digest, size = hashlib.sha256(), 0
    with _opened(place) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise FileNotFoundError(place)
        while data := _some(file):
            spool.write(data)
            digest.update(data)
            size += len(data)
        after = os.fstat(file.fileno())
    calm = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and size == after.st_size
    return size, digest.hexdigest(), calm


def _opened(place: bytes) -> IO[bytes]:
    """A pipe in the file's place does not block: it is found to be none by its stat."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(error.strerror) from error
    return os.fdopen(descriptor, "rb", buffering=0)


def _some(file: IO[bytes]) -> bytes:
    try:
        return file.read(CHUNK)
    except OSError as error:
        raise Unreadable(error.strerror) from error
