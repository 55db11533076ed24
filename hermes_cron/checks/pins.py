"""What do checks compare with, and is it still what it was before the agent began?"""

from __future__ import annotations

import hashlib
import json
import stat
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HASH_S = 20.0  # as long a file is read at most: 256 MB take a second
TEXT_BYTES = 1_000_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileState:
    """``kind``: file, folder, absent, or unread with the reason ``why``. Two states are of one content when equal."""

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


def state_of(path: Path, *, seconds: float = HASH_S) -> FileState:
    """How the file is now. Links are followed. A pipe or device is never opened: that could wait for ever."""
    end = time.monotonic() + seconds
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return FileState("folder")
        if not stat.S_ISREG(mode):
            return FileState("unread", why="is no plain file")
        return _hashed(path, end)
    except (FileNotFoundError, NotADirectoryError):
        return FileState("absent")
    except (OSError, ValueError) as error:
        return FileState("unread", why=f"can not be read: {getattr(error, 'strerror', None) or error}")


def _hashed(path: Path, end: float) -> FileState:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if time.monotonic() > end:
                return FileState("unread", why="is too large to be read in time")
            found.update(chunk)
    return FileState("file", found.hexdigest())


def text_of(path: Path) -> dict[str, str | None]:
    """``{"text": ...}``, or ``{"text": None, "why": ...}``."""
    state = state_of(path)
    if state.kind != "file":
        return {"text": None, "why": {"absent": "no such file", "folder": "is a folder"}.get(state.kind, state.why)}
    try:
        with path.open("rb") as file:
            data = file.read(TEXT_BYTES + 1)
        if len(data) > TEXT_BYTES:
            return {"text": None, "why": f"has more than {TEXT_BYTES:,} bytes"}
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"text": None, "why": "is not UTF-8"}
    except OSError as error:
        return {"text": None, "why": f"can not be read: {error.strerror}"}
