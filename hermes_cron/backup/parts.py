"""What of a home goes into a backup, and what is left out by name?

Everything below the home but what lives only while processes do (``run/``, ``work/``), lines of the scheduler
(``logs/``), other backups, SQLite's side files, and what begins with a dot at the top: of a clone that is a home, its
``.git`` and ``.venv`` are nobody's state. Paths are bytes: a name need not be text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from hermes_cron.backup.manifest import STORE, Kind, LeftOut
from hermes_cron.files import TEMP_PREFIX

FIRST = (b"config.toml", b"jobs", b"memories", b"skills", b"snapshots.git")
"""What the history keeps, and the history: read while nobody changes them."""
KEY = b"vault.key"
VAULT = b"vault.json"

_NOT_STATE = frozenset({b"run", b"work", b"logs", b"backups"})
_HISTORY_ASIDE = (b"snapshots.git/hermes-cron.lock", b"snapshots.git/hermes-cron-stat")
"""A lock, and what each file's stat was: neither is true of another place."""
_SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that goes in. ``path`` is relative to the home; ``target`` is a link's."""

    path: bytes
    kind: Kind
    mode: int
    mtime: int
    target: bytes = b""


def shown(path: bytes) -> str:
    """A path as the manifest and the archive have it."""
    return path.decode("utf-8", "surrogateescape")


def rest(home: bytes, *, with_key: bool) -> list[bytes]:
    """The names at the top of the home beside ``FIRST`` and the store, in order."""
    names = [name for name in sorted(os.listdir(home)) if not _apart(name, with_key=with_key)]
    return [name for name in names if name not in FIRST]


def left_at_the_top(home: bytes) -> list[LeftOut]:
    """What ``rest`` leaves out and a person may miss."""
    found = []
    for name in sorted(os.listdir(home)):
        if name.startswith(b".") and not _temporary(name):
            found.append(LeftOut(path=shown(name), why="begins with a dot: no part of a home"))
        elif name.startswith(f"{STORE}.before-".encode()):
            found.append(LeftOut(path=shown(name), why="a copy that an upgrade made"))
    return found


def walk(home: bytes, path: bytes) -> Iterator[Found | LeftOut]:
    """``path`` and all below it, folders before what is in them. What vanishes meanwhile is not there."""
    try:
        seen = os.lstat(os.path.join(home, path))
    except FileNotFoundError:
        return
    mode, mtime = stat.S_IMODE(seen.st_mode), max(0, int(seen.st_mtime))
    if stat.S_ISDIR(seen.st_mode):
        yield Found(path=path, kind=Kind.FOLDER, mode=mode, mtime=mtime)
        yield from _below(home, path)
    elif stat.S_ISLNK(seen.st_mode):
        target = os.readlink(os.path.join(home, path))
        yield Found(path=path, kind=Kind.LINK, mode=0o777, mtime=mtime, target=target)
        if b"/" not in path:
            yield LeftOut(path=shown(path), why="a link: kept as a link, what it leads to is not")
    elif stat.S_ISREG(seen.st_mode):
        yield Found(path=path, kind=Kind.FILE, mode=mode & ~_SPECIAL, mtime=mtime)
        if mode & _SPECIAL:
            yield LeftOut(path=shown(path), why=f"kept without its special bits (mode {mode:04o})")
    else:
        yield LeftOut(path=shown(path), why="no plain file")


def _below(home: bytes, path: bytes) -> Iterator[Found | LeftOut]:
    try:
        names = sorted(os.listdir(os.path.join(home, path)))
    except FileNotFoundError:
        return
    except OSError as error:
        yield LeftOut(path=shown(path), why=f"cannot be listed: {error.strerror}", fault=True)
        return
    for name in names:
        inner = path + b"/" + name
        if not _temporary(name) and inner not in _HISTORY_ASIDE:
            yield from walk(home, inner)


def _apart(name: bytes, *, with_key: bool) -> bool:
    if name == KEY:
        return not with_key
    return name in _NOT_STATE or name.startswith((b".", STORE.encode()))


def _temporary(name: bytes) -> bool:
    return name.startswith(os.fsencode(TEMP_PREFIX))
