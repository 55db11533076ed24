"""Which processes own runs, and which of them are dead?

An owner holds an exclusive ``flock`` on a file of its own for as long as it lives; the kernel releases it with the
process. No clock is asked: a stopped process is not dead, and a clock that jumps kills nobody (design decision 5).
The file's mtime is the heartbeat, for `status` only.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from hermes_cron.files import explained, make_folder

SUFFIX = ".lock"
Kind = Literal["serve", "once", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Living:
    """An owner whose lock is held. ``heartbeat`` is the host's time, ``started_at`` that of the owner's clock.

    ``metrics`` is the address at which it answers a Prometheus.
    """

    name: str
    pid: int
    kind: Kind
    started_at: datetime
    heartbeat: datetime
    metrics: str | None = None


class Owner:
    """This process as an owner. Close it to give the name up; a killed process gives it up too."""

    def __init__(self, folder: Path, *, kind: Kind, started_at: datetime) -> None:
        self.name = f"{kind}-{os.getpid()}-{secrets.token_hex(4)}"
        self._folder = folder
        self._card = json.dumps({"pid": os.getpid(), "kind": kind, "started_at": started_at.isoformat()})
        self._kept = False
        self._fd = self._claim()

    @property
    def path(self) -> Path:
        return self._folder / (self.name + SUFFIX)

    def _claim(self) -> int:
        """The file appears under its name only once it is locked, so nobody sees an owner that looks dead."""
        make_folder(self._folder)
        draft = self._folder / f".{self.name}"
        with explained(draft):
            return self._made(draft)

    def _made(self, draft: Path) -> int:
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(fd, self._card.encode())
            draft.rename(self.path)
        except BaseException:
            os.close(fd)
            draft.unlink(missing_ok=True)
            raise
        return fd

    def beat(self) -> None:
        """Say that this process lives. Comes back if somebody deleted the file."""
        if os.fstat(self._fd).st_nlink == 0:
            os.close(self._fd)
            self._fd = self._claim()
        os.utime(self._fd)

    def serves_metrics(self, address: str) -> None:
        """Say where. A line behind the card: who reads it meanwhile finds the card whole."""
        more = json.dumps({"metrics": address})
        self._card += f"\n{more}"
        os.write(self._fd, f"\n{more}".encode())

    def outlive(self) -> None:
        """Keep the name until the process is gone: a thread that cannot be stopped may still act for a run."""
        self._kept = True

    def close(self) -> None:
        if self._kept:
            return
        self.path.unlink(missing_ok=True)
        os.close(self._fd)

    def __enter__(self) -> Owner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lives(folder: Path, name: str) -> bool:
    """Whether the owner's lock is held. One whose file cannot be looked at is not believed to be dead."""
    try:
        fd = os.open(folder / (name + SUFFIX), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:  # no file descriptors left, no right to read: nothing is known
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def others(folder: Path, me: str) -> bool:
    """Whether another owner has a file here, dead or alive: a cheap first question."""
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.endswith(SUFFIX) and entry.name != me + SUFFIX for entry in entries)
    except FileNotFoundError:
        return False


def living(folder: Path) -> list[Living]:
    """Owners that live, oldest first."""
    found = []
    for path in _files(folder):
        with contextlib.suppress(OSError, ValueError, KeyError):  # gone meanwhile, or not one of ours
            if not lives(folder, path.stem):
                continue
            first, *more = path.read_text(encoding="utf-8").splitlines()
            card = json.loads(first)
            found.append(
                Living(
                    name=path.stem,
                    pid=int(card["pid"]),
                    kind=card["kind"],
                    started_at=datetime.fromisoformat(card["started_at"]),
                    heartbeat=datetime.fromtimestamp(path.stat().st_mtime, UTC),
                    metrics=_metrics(more),
                )
            )
    return sorted(found, key=lambda owner: owner.started_at)


def _metrics(lines: Sequence[str]) -> str | None:
    """None for an owner that serves none, or is about to say so."""
    with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
        return str(json.loads(lines[0])["metrics"])
    return None


def dead(folder: Path, me: str) -> list[str]:
    """Other owners whose file is here and whose lock is free."""
    return [path.stem for path in _files(folder) if path.stem != me and not lives(folder, path.stem)]


def forget(folder: Path, names: Iterable[str]) -> None:
    """Remove the files of these, who died. Only after their runs were looked after."""
    for name in names:
        (folder / (name + SUFFIX)).unlink(missing_ok=True)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and not path.name.startswith("."))
    except FileNotFoundError:
        return []
