"""How many model calls may a run still make?"""

from __future__ import annotations

import threading


class Budget:
    """A counter that threads share and that never goes past its limit."""

    def __init__(self, limit: int) -> None:
        if limit < 0:
            raise ValueError(f"a budget cannot be {limit}")
        self.limit = limit
        self._used = 0
        self._lock = threading.Lock()

    def consume(self, amount: int = 1) -> bool:
        """Takes ``amount``, or takes nothing and says False when less than that is left."""
        with self._lock:
            if self._used + amount > self.limit:
                return False
            self._used += amount
            return True

    @property
    def used(self) -> int:
        with self._lock:
            return self._used

    @property
    def left(self) -> int:
        with self._lock:
            return self.limit - self._used
