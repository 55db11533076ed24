"""Where may a tool read and write? Decided after every link is followed (docs/formats/tools.md).

Writes stay in the job's folder. Reads may besides reach the folders the run declares readable. What guards the
home (vault, keys, settings, the store, plug-ins) is out of reach whatever the folder is, by name and by inode.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from hermes_cron.errors import Refused, ToolFailed
from hermes_cron.home import Home
from hermes_cron.tools.context import ToolContext


def readable(text: str, context: ToolContext) -> Path:
    """The real path. Raises ``Refused`` with the reason."""
    path = _real(text, context)
    roots = (context.workdir, *context.readable)
    if not any(path.is_relative_to(root.resolve()) for root in roots):
        raise Refused(f"{text} is outside of what this run may read: {', '.join(str(root) for root in roots)}")
    _keep_off(path, text, secret_places(context.home))
    return path


def writable(text: str, context: ToolContext) -> Path:
    """The real path a write goes to. Raises ``Refused`` with the reason."""
    path = _real(text, context)
    root = context.workdir.resolve()
    if not path.is_relative_to(root) or path == root:
        raise Refused(f"{text} is outside of the folder this run may write: {context.workdir}")
    _keep_off(path, text, (*secret_places(context.home), *_declared_places(context.home)))
    return path


def regular_file(path: Path, text: str) -> Path:
    """Raises ``ToolFailed`` for what is missing or no plain file: a pipe or device could be waited for for ever."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ToolFailed(f"{text}: no such file") from error
    except OSError as error:
        raise ToolFailed(f"{text}: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise ToolFailed(f"{text} is a folder" if stat.S_ISDIR(mode) else f"{text} is no plain file")
    return path


def _real(text: str, context: ToolContext) -> Path:
    if "\0" in text or not text.strip():
        raise ToolFailed("a path is needed")
    if text.startswith("~"):
        raise ToolFailed(f"{text}: ~ is not expanded; paths are absolute or relative to {context.workdir}")
    try:
        return (context.workdir / text).resolve()
    except (OSError, RuntimeError) as error:
        raise ToolFailed(f"{text}: {error}") from error


def secret_places(home: Home) -> tuple[Path, ...]:
    store = tuple(home.store.with_name(home.store.name + suffix) for suffix in ("", "-wal", "-shm"))
    return (home.root / ".env", home.vault, home.vault_key, home.config, *store, home.run, home.tools, home.history)


def _declared_places(home: Home) -> tuple[Path, ...]:
    """What people declare and review: a run does not change its own job, skills or reports by a file tool."""
    return (home.jobs, home.skills, home.memories, home.outputs, home.logs)


def _keep_off(path: Path, text: str, places: tuple[Path, ...]) -> None:
    for place in places:
        if path.is_relative_to(place.resolve()) or _same_file(path, place):
            raise Refused(f"{text} belongs to hermes-cron itself and is out of a run's reach")


def _same_file(path: Path, place: Path) -> bool:
    """Another name of the same inode: a hard link in the job's folder."""
    with contextlib.suppress(OSError):
        return os.path.samestat(path.stat(), place.stat())
    return False
