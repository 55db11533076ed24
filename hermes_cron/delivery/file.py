"""How is a message appended to a file, once, whatever happens in between?

One entry is a heading with the message's id, and the text. The file is locked while it is written and synced before
the receipt. After a death the file itself tells: an entry that is whole is not written again, one that was cut short
at the end is taken back first.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hermes_cron.domain.delivery import Answer, Heard, Message
from hermes_cron.errors import Refused
from hermes_cron.files import sync_folder, write_all

if TYPE_CHECKING:
    from hermes_cron.home import Home

_GUARDED = ("jobs", "skills", "memories", "tools", "snapshots.git", "run", "logs", "work", "dashboards")
_GUARDED_FILES = ("config.toml", "vault.json", "vault.key", "state.db", "state.db-wal", "state.db-shm")
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedFile:
    """``path`` as configured: relative to the home, absolute, or with ``~``."""

    home: Home
    path: str
    timeout_s: float
    platform: ClassVar[str] = "file"
    provable: ClassVar[bool] = True

    def send(self, message: Message) -> Answer:
        try:
            place = allowed(self.home, self.path)
            return self._append(place, message)
        except Refused as error:
            return Answer(heard=Heard.FAILED, text=error.message)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            heard = Heard.FAILED if isinstance(error, IsADirectoryError) else Heard.LATER
            return Answer(heard=heard, text=f"cannot write {self.path}: {reason}")

    def _append(self, place: Path, message: Message) -> Answer:
        entry = entry_of(message)
        new = not place.exists()
        if place.is_relative_to(os.path.realpath(self.home.root)):
            place.parent.mkdir(parents=True, exist_ok=True)
        # Not blocking: a pipe without a reader would hold the sender for ever.
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            self._check(descriptor)
            if not self._locked(descriptor):
                return Answer(heard=Heard.LATER, text=f"{self.path} was locked for {self.timeout_s:g} s")
            if message.again and _stands(descriptor, message, entry):
                return Answer(heard=Heard.SENT, text=f"in {self.path} already, by an earlier try")
            with _taken_back(descriptor):
                write_all(descriptor, entry)
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if new:
            sync_folder(place.parent)
        return Answer(heard=Heard.SENT, text=f"appended {len(entry):,} bytes to {self.path}")

    def _check(self, descriptor: int) -> None:
        """A second name (a hard link) of a file that is guarded is that file."""
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Refused(f"{self.path} is no ordinary file")
        for name in _GUARDED_FILES:
            with contextlib.suppress(OSError):
                guarded = (self.home.root / name).stat()
                if (guarded.st_dev, guarded.st_ino) == (found.st_dev, found.st_ino):
                    raise Refused(f"{self.path} is {name} of the home under another name")

    def _locked(self, descriptor: int) -> bool:
        """The kernel lets go of the lock with the process that dies."""
        end = time.monotonic() + self.timeout_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > end:
                    return False
                time.sleep(_LOOK_S)


def allowed(home: Home, path: str) -> Path:
    """Where the file lies, links followed. Raises ``Refused`` for what the home itself lives from."""
    place = Path(os.path.realpath(home.root / Path(path).expanduser()))
    root = Path(os.path.realpath(home.root))
    if place.is_relative_to(root):
        inside = place.relative_to(root).parts
        if not inside or inside[0] in _GUARDED or place.name in _GUARDED_FILES:
            raise Refused(
                f"{path} is refused: jobs, skills, memories, settings and the store are nobody's report",
                hint="a file of its own: reports.md",
            )
    return place


def heading(message: Message) -> bytes:
    """The line that proves that the entry is there."""
    at = f"{message.created_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
    return f"## {at} {_one_line(message.job)} {message.kind.value} [{message.id}]\n".encode()


def entry_of(message: Message) -> bytes:
    """The same bytes at every try."""
    body = message.body.strip("\n")
    title = _one_line(message.title)
    text = body if not title or body.lstrip("# ").startswith(title) else f"{title}\n\n{body}"
    return b"\n" + heading(message) + b"\n" + text.encode("utf-8", "replace") + b"\n"


def _stands(descriptor: int, message: Message, entry: bytes) -> bool:
    """Whether the entry is there. One that was cut short at the end of the file is removed and is not."""
    size = os.fstat(descriptor).st_size
    if size == 0:
        return False
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) as data:
        at = data.find(b"\n" + heading(message))
        found = b"" if at < 0 else data[at : at + len(entry)]
    if at < 0:
        return False
    if found != entry and at + len(found) == size and entry.startswith(found):
        os.ftruncate(descriptor, at)
        return False
    return True


@contextlib.contextmanager
def _taken_back(descriptor: int) -> Iterator[None]:
    """Half an entry, where the disk is full, is worse than none."""
    before = os.fstat(descriptor).st_size
    try:
        yield
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, before)
        raise


def _one_line(text: str) -> str:
    return " ".join(text.split())
