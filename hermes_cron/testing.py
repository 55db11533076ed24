"""What may a test put in place of a model, a provider's server or the clock? The doubles that hermes-cron ships.

Each passes the contract suite of the real one (tests/contract).
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from hermes_cron.models.script import Script, ScriptExhausted, load_script
from hermes_cron.models.scripted import ScriptedModel
from hermes_cron.models.stub import StubRequest, StubServer

__all__ = [
    "FixedClock",
    "Script",
    "ScriptExhausted",
    "ScriptedModel",
    "StubRequest",
    "StubServer",
    "load_script",
]


class FixedClock:
    """Stands still until told: implements ``ports.Clock``. Thread-safe.

    ``poll_s`` tells a waiting loop how often to look again, in real seconds; ``wait_until`` needs no polling.
    """

    def __init__(self, start: datetime, *, poll_s: float | None = 0.005) -> None:
        if start.tzinfo is None:
            raise ValueError("an aware datetime is needed")
        self.poll_s = poll_s
        self._now = start.astimezone(UTC)
        self._moved = threading.Condition()

    def now(self) -> datetime:
        """Aware UTC."""
        with self._moved:
            return self._now

    def advance(self, by: timedelta | float) -> datetime:
        """Moves forward (or back, as a host's clock may) by a duration or by seconds; returns the new instant."""
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        with self._moved:
            self._now += step
            self._moved.notify_all()
            return self._now

    def set(self, instant: datetime) -> None:
        """Jumps to an aware instant."""
        if instant.tzinfo is None:
            raise ValueError("an aware datetime is needed")
        with self._moved:
            self._now = instant.astimezone(UTC)
            self._moved.notify_all()

    def wait_until(self, instant: datetime, *, timeout_s: float = 5) -> bool:
        """Blocks until the clock shows ``instant``; False after ``timeout_s`` real seconds."""
        with self._moved:
            return self._moved.wait_for(lambda: self._now >= instant, timeout=timeout_s)
