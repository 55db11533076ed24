"""Where is something made that must appear whole or not at all?

In a private folder beside its place, so that one rename puts it there. The folder is locked for as long as its maker
lives; what a killed maker left is removed by the next one who comes to the same place.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hermes_cron.errors import NotWritable
from hermes_cron.files import TEMP_PREFIX, explained, make_folder

_PREFIX = f"{TEMP_PREFIX}backup-"


@contextlib.contextmanager
def staging(beside: Path) -> Iterator[Path]:
    """A folder in ``beside`` (made if need be) that is gone afterwards. Raises ``DiskFull``, ``NotWritable``."""
    make_folder(beside)
    _remove_left(beside)
    with explained(beside):
        folder, lock = _made(beside)
    try:
        yield folder
    finally:
        remove_tree(folder)
        os.close(lock)


@contextlib.contextmanager
def scratch(beside: Path) -> Iterator[Path]:
    """As ``staging``, or in the system's folder for such things where ``beside`` cannot be written."""
    with contextlib.ExitStack() as stack:
        try:
            yield_here = stack.enter_context(staging(beside))
        except NotWritable:
            yield_here = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hermes-cron-")))
        yield yield_here


def remove_tree(folder: Path) -> None:
    """With everything in it, also below folders that nobody may write."""
    for inner, names, _ in os.walk(os.fsencode(folder)):
        for name in names:
            below = os.path.join(inner, name)
            if not os.path.islink(below):
                os.chmod(below, 0o700)
    shutil.rmtree(os.fsencode(folder))


def _made(beside: Path) -> tuple[Path, int]:
    """Whoever found it before it was locked took it for a dead process's and removed it: then it is made anew."""
    while True:
        folder = beside / f"{_PREFIX}{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.exists():
                return folder, lock
        os.close(lock)


def _remove_left(beside: Path) -> None:
    for left in beside.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or gone meanwhile: only space is at stake
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(left)
            finally:
                os.close(lock)
