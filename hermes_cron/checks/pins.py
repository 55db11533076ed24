"""What do checks compare with, and is it still what it was before the agent began?"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

HASH_S = 20.0  # as long a file is read at most: 256 MB take a second
TEXT_BYTES = 1_000_000
_CHUNK = 1 << 20
_NO_FILE = "is no plain file"
_ENDLESS = "is a file that its reader waits for"
_TOO_LARGE = "is too large to be read in time"


@dataclass(frozen=True, slots=True)
class FileState:
    """``kind``: file, folder, absent, unread (it is there) or unseen (who knows), these two with the reason ``why``.

    Two states of kinds file and absent are of one content when equal.
    """

    kind: str
    sha256: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """By absolute path: how files were, and what texts said (None: ``text`` could not be read, ``why`` says it)."""

    files: Mapping[str, FileState] = field(default_factory=dict)
    texts: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)


def dump(pins: Pins) -> str:
    """JSON, for the store."""
    return json.dumps(
        {"files": {path: asdict(state) for path, state in pins.files.items()}, "texts": dict(pins.texts)},
        ensure_ascii=False,
    )


def load(text: str | None) -> Pins:
    """What ``dump`` wrote; nothing pinned for None."""
    held: dict[str, Any] = json.loads(text) if text else {}
    files = {path: FileState(**state) for path, state in held.get("files", {}).items()}
    return Pins(files=files, texts=held.get("texts", {}))


def seen(path: Path) -> FileState:
    """Whether it is there, its content unread. Links are followed."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return FileState("absent")
    except (OSError, ValueError) as error:
        return FileState("unseen", why=_why(error))
    if stat.S_ISDIR(mode):
        return FileState("folder")
    return FileState("file") if stat.S_ISREG(mode) else FileState("unread", why=_NO_FILE)


def state_of(path: Path, *, seconds: float = HASH_S) -> FileState:
    """How the file is now. A pipe or device is never opened: that could wait for ever."""
    found = seen(path)
    if found.kind != "file":
        return found
    sha, end = hashlib.sha256(), time.monotonic() + seconds
    try:
        with _opened(path) as file:
            while chunk := _read(file, _CHUNK):
                sha.update(chunk)
                if time.monotonic() > end:
                    return FileState("unread", why=_TOO_LARGE)
    except OSError as error:
        return FileState("unread", why=_why(error))
    return FileState("file", sha.hexdigest())


def whole_of(path: Path, *, seconds: float = HASH_S) -> FileState:
    """As ``state_of``, and of a folder all that lies in it: names, links and contents."""
    found, end = state_of(path, seconds=seconds), time.monotonic() + seconds
    if found.kind != "folder":
        return found
    sha = hashlib.sha256()
    for name in _below(path):
        left = end - time.monotonic()
        if left <= 0:
            return FileState("unread", why=_TOO_LARGE)
        inner = path / name
        state = state_of(inner, seconds=left)
        if state.kind in {"unread", "unseen"}:
            return FileState("unread", why=f"holds {name}, which {state.why}")
        link = str(inner.readlink()) if inner.is_symlink() else ""
        sha.update(json.dumps([name, link, state.kind, state.sha256]).encode())
    return FileState("folder", sha.hexdigest())


def text_of(path: Path) -> dict[str, str | None]:
    """``{"text": ...}``, or ``{"text": None, "why": ...}``."""
    state = seen(path)
    if state.kind != "file":
        return {"text": None, "why": {"absent": "no such file", "folder": "is a folder"}.get(state.kind, state.why)}
    try:
        with _opened(path) as file:
            data = b""
            while len(data) <= TEXT_BYTES and (chunk := _read(file, _CHUNK)):
                data += chunk
        if len(data) > TEXT_BYTES:
            return {"text": None, "why": f"has more than {TEXT_BYTES:,} bytes"}
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"text": None, "why": "is not UTF-8"}
    except OSError as error:
        return {"text": None, "why": _why(error)}


def _opened(path: Path) -> FileIO:
    """For reading, without ever waiting: what looked like a file may be a pipe by now, or one that the kernel fills.

    Raises ``OSError``.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(_NO_FILE)
    return FileIO(number)


def _read(file: FileIO, most: int) -> bytes:
    """Some of it, nothing at its end. Raises ``OSError`` where it would be waited for: the kernel has such files."""
    found = file.read(most)
    if found is None:
        raise OSError(_ENDLESS)
    return found


def _below(folder: Path) -> list[str]:
    """Every name in the folder and the folders in it; links to folders are not entered."""
    found = (Path(at, name) for at, folders, names in os.walk(folder) for name in (*folders, *names))
    return sorted(str(path.relative_to(folder)) for path in found)


def _why(error: Exception) -> str:
    said = getattr(error, "strerror", None) or str(error)
    return said if said in {_NO_FILE, _ENDLESS} else f"can not be read: {said}"
