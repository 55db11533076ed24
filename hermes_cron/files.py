"""How does a file change so that a reader, a crash or a second writer never meets half of it?

The order is always: write a temporary file beside the target, fsync it, put it in place in one step, fsync the
folder. A crash leaves the old file or the new one, and at most a stray temporary file, whose name begins with
``TEMP_PREFIX`` so that ``remove_strays`` finds it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hermes_cron.errors import Conflict, DiskFull, NotWritable

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMP_PREFIX = ".hermes-cron-tmp-"
"""Begins every temporary name. The rest is random and short, so a target of 255 bytes has room for its neighbour."""

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})

_CANNOT_EXCHANGE = frozenset({errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTSUP})
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def inside(path: Path, folder: Path) -> Path | None:
    """Where a path leads, links followed, if that lies in the folder. None for what leads out of it or nowhere: links
    in a circle, a name that no file system takes. What is not there yet may lie in it."""
    try:
        real = path.resolve()
        real.exists()
    except (OSError, RuntimeError, ValueError):
        return None
    return real if real.is_relative_to(folder.resolve()) else None


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Create or replace ``path``. ``mode`` None keeps the old file's, or follows the umask for a new one.

    A symbolic link is written through: its target changes, the link stays.

    Raises:
        DiskFull: no space or quota; the old file is as it was.
        NotWritable: read-only file system, permission, missing folder.
    """
    target = _real(path)
    with explained(path):
        temp = _temporary(target, data, _kept_mode(target) if mode is None else mode)
        with _discarded(temp):
            temp.replace(target)
        sync_folder(target.parent)


def create_new(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Make ``path``, whole from its first moment, and only if nothing of that name exists.

    ``os.link`` is the step that fails for the second of two makers; a rename would overwrite. On a file system
    without hard links the file is opened with O_EXCL instead: still one maker, but a reader may see it grow.

    Raises:
        Conflict: the name is taken.
        DiskFull, NotWritable: as ``write_atomic``.
    """
    with explained(path):
        temp = _temporary(path, data, mode)
        with _discarded(temp):
            try:
                os.link(temp, path)
            except FileExistsError as error:
                raise Conflict(f"{path} already exists") from error
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                _create_in_place(path, data, mode)
        sync_folder(path.parent)


def replace_if_unchanged(path: Path, data: bytes, expected_sha256: str) -> None:
    """Replace ``path`` if its bytes still have the hash the caller read them with.

    The compare is the last thing before the rename. Editors take no locks, so an edit saved within these few
    microseconds still loses; nothing short of that does.

    Raises:
        Conflict: someone changed or removed the file; it is left as they made it.
        DiskFull, NotWritable: as ``write_atomic``.
    """
    target = _real(path)
    with explained(path):
        temp = _temporary(target, data, _kept_mode(target))
        with _discarded(temp):
            if sha256_of(target) != expected_sha256:
                raise Conflict(f"{path} was changed meanwhile; that version is kept", hint="look at it, then try again")
            temp.replace(target)
        sync_folder(target.parent)


def sha256_of(path: Path) -> str | None:
    """The hex digest of a file's bytes; None when there is no such file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


def move(source: Path, target: Path) -> None:
    """Rename within a file system, durable on return. Replaces ``target``; callers choose a free name."""
    with explained(target):
        source.replace(target)
        sync_folder(target.parent)
        if source.parent != target.parent:
            sync_folder(source.parent)


def remove(path: Path) -> None:
    """Unlink, durable on return. FileNotFoundError passes: the caller knows what a missing file means."""
    try:
        path.unlink()
        sync_folder(path.parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        _explain(path, error)


def make_folder(path: Path, *, mode: int = 0o700) -> bool:
    """Make a folder with its parents; whether it was missing. ``mode`` is for the last one and ignores the umask."""
    with explained(path):
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if path.is_dir():
                return False
            raise
        path.chmod(mode)
        return True


def exchange(one: bytes, other: bytes) -> bool:
    """Two names swap what they stand for, in one step; False where the system or the file system cannot.

    So nothing is overwritten unseen: what stood at a name is still there, at the other one, to be looked at.
    """
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in _CANNOT_EXCHANGE:
        return False
    raise OSError(error, os.strerror(error), os.fsdecode(other))


def is_temporary(name: str) -> bool:
    """Whether a file name is one of ours for the time of a write."""
    return name.startswith(TEMP_PREFIX)


def remove_strays(folder: Path, *, before: float) -> int:
    """Remove temporary files last written before ``before`` (POSIX seconds) directly in ``folder``; how many.

    A write takes milliseconds, so an hour ago is a safe bound: what is older belongs to a process that died.
    """
    removed = 0
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if is_temporary(entry.name):
                with contextlib.suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime < before:
                        Path(entry.path).unlink()
                        removed += 1
    return removed


def _temporary(target: Path, data: bytes, mode: int | None) -> Path:
    """A synced file with these bytes in the target's folder. Removed again if the write fails."""
    temp = target.with_name(TEMP_PREFIX + secrets.token_hex(8))
    descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            write_all(file.fileno(), data)
            os.fsync(file.fileno())
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    return temp


def write_all(descriptor: int, data: bytes) -> None:
    """Every byte: one ``write`` may take a part only."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _create_in_place(path: Path, data: bytes, mode: int | None) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else mode)
    except FileExistsError as error:
        raise Conflict(f"{path} already exists") from error
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _real(path: Path) -> Path:
    """Links followed; unlike ``Path.resolve`` a circle of links is no exception here but fails at the write."""
    return Path(os.path.realpath(path))


def _kept_mode(target: Path) -> int | None:
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


def sync_folder(folder: Path) -> None:
    """Make what was created, renamed or removed in it durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _discarded(temp: Path) -> Iterator[None]:
    """The temporary name is gone afterwards, whether it was moved, linked or given up."""
    try:
        yield
    finally:
        temp.unlink(missing_ok=True)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """The disk's fault as ``DiskFull`` or ``NotWritable``, naming ``path``."""
    try:
        yield
    except OSError as error:
        _explain(path, error)


def _explain(path: Path, error: OSError) -> NoReturn:
    reason = os.strerror(error.errno) if error.errno else str(error)
    if error.errno in _NO_SPACE:
        raise DiskFull(f"cannot write {path}: {reason}; nothing was changed", hint=f"df -h {path.parent}") from error
    raise NotWritable(f"cannot write {path}: {reason}; nothing was changed", hint=f"ls -ld {path.parent}") from error
