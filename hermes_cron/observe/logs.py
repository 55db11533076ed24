"""Where do the service's lines go? ``logs/serve.log``: one JSON object a line, bounded, from any number of processes.

Events (``domain.event``) and the records of libraries end in the same file. Free text in them is redacted here, at
the sink. Each line is one write to a file opened for appending, so lines of several services never mix; who finds the
file too long moves it aside under a lock, and the others notice by its inode.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import logging
import os
import threading
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

from hermes_cron.domain.event import Event, Level
from hermes_cron.files import make_folder
from hermes_cron.ports import Clock

NAME = "serve.log"
MAX_BYTES = 5_000_000
KEPT = 4  # older files: serve.log.1 is the newest of them

Redact = Callable[[str], str]
Tell = Callable[[Event], None]


class LogFile:
    """Appends lines. Thread-safe, and safe beside other processes. A line that cannot be written is lost, not fatal."""

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES, kept: int = KEPT) -> None:
        self.path = folder / NAME
        self._max_bytes = max_bytes
        self._kept = kept
        self._lock = threading.Lock()
        self._fd = -1
        make_folder(folder)

    def write(self, line: str) -> None:
        with self._lock, contextlib.suppress(OSError):  # a full disk must not stop the scheduler
            self._reopen()
            if os.fstat(self._fd).st_size >= self._max_bytes:
                self._turn_over()
            os.write(self._fd, (line + "\n").encode("utf-8", "replace"))

    def close(self) -> None:
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _reopen(self) -> None:
        if self._fd >= 0 and _same_file(self._fd, self.path):
            return
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _turn_over(self) -> None:
        lock = os.open(self.path.with_name(f".{NAME}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _same_file(self._fd, self.path):  # else another process was quicker
                for number in range(self._kept - 1, 0, -1):
                    older = self.path.with_name(f"{NAME}.{number}")
                    if older.exists():
                        older.replace(self.path.with_name(f"{NAME}.{number + 1}"))
                self.path.replace(self.path.with_name(f"{NAME}.1"))
        finally:
            os.close(lock)
        self._reopen()


class Handler(logging.Handler):
    """Records of libraries, and tracebacks of ours, as lines."""

    def __init__(self, file: LogFile, clock: Clock, redact: Redact) -> None:
        super().__init__()
        self._file = file
        self._clock = clock
        self._redact = redact

    def emit(self, record: logging.LogRecord) -> None:
        try:
            said = record.getMessage()
            if record.exc_info:
                said = f"{said}\n{logging.Formatter().formatException(record.exc_info)}"
            line = {
                "at": _instant(self._clock.now()),
                "level": record.levelname.lower(),
                "event": "Log",
                "logger": record.name,
                "message": self._redact(said),
            }
            self._file.write(_json(line))
        except Exception:  # noqa: BLE001  # logging's own rule: a line that fails must not fail its caller
            self.handleError(record)


def begin(file: LogFile, clock: Clock, redact: Redact, *, tell: Tell | None = None) -> Callable[[Event], None]:
    """Send the process's log records and the events given to the returned function to ``file``; ``tell`` sees each."""
    root = logging.getLogger()
    root.addHandler(Handler(file, clock, redact))
    root.setLevel(logging.WARNING)
    logging.getLogger("hermes_cron").setLevel(logging.INFO)

    def emit(event: Event) -> None:
        file.write(_json(as_line(event, clock.now(), redact)))
        if tell is not None:
            tell(event)

    return emit


def as_line(event: Event, now: datetime, redact: Redact) -> dict[str, Any]:
    """``at`` and ``level`` first, then the event's name and facts."""
    facts = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    level = facts.pop("level", Level.INFO)
    if facts.get("error"):
        facts["error"] = redact(str(facts["error"]))
    return {"at": _instant(now), "level": level.value, "event": type(event).__name__, **facts}


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")


def _json(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else str(value)


def _same_file(fd: int, path: Path) -> bool:
    try:
        ours, theirs = os.fstat(fd), path.stat()
    except OSError:
        return False
    return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)


def render(line: dict[str, Any]) -> str:
    """A line for people: instant, level where it is not info, event, facts."""
    facts = [
        f"{key}={_shown(value)}"
        for key, value in line.items()
        if key not in {"at", "level", "event"} and value not in (None, [], "", ())
    ]
    level = [] if line.get("level") == Level.INFO else [str(line.get("level", ""))]
    return " ".join([str(line.get("at", "")), *level, str(line.get("event", "")), *facts])


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_shown(item) for item in value)
    text = _plain(value) if isinstance(value, datetime | Enum) else value
    return str(text) if " " not in str(text) else json.dumps(str(text), ensure_ascii=False)
