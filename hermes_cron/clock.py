"""What time is it? The only module that reads the wall clock (design decision 6)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path


class SystemClock:
    """The host's clock. ``poll_s`` is None: a timer may simply wait."""

    poll_s: float | None = None

    def now(self) -> datetime:
        """Aware UTC."""
        return datetime.now(UTC)


class FileClock:
    """A clock that other processes set: the file holds one ISO instant with offset.

    It stands still until the file changes, so whoever waits looks again every ``poll_s`` seconds of real time.
    A file caught half-written keeps the last good instant; time never goes backwards for want of a byte.
    """

    poll_s: float | None = 0.02

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = self._read()

    def _read(self) -> datetime:
        return datetime.fromisoformat(self._path.read_text(encoding="utf-8").strip()).astimezone(UTC)

    def now(self) -> datetime:
        """Aware UTC."""
        try:
            self._last = self._read()
        except (OSError, ValueError):
            return self._last
        return self._last
