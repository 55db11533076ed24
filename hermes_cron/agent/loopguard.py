"""Is the model going round in circles?

The same call (name and arguments) with the same result, three times failing or ten times ok, is a circle. A result
that differs starts the count anew: polling a status that changes is work. Other calls in between do not: two calls
taking turns are a circle too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

SAME_FAILURES = 3
SAME_SUCCESSES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """Which call came back how often."""

    tool: str
    times: int
    failing: bool

    @property
    def sentence(self) -> str:
        how = "failed" if self.failing else "answered"
        return f"{self.tool} was called {self.times} times with the same arguments and {how} in the same way each time"


class LoopGuard:
    """Counts of one session. Used by one thread."""

    def __init__(self, *, same_failures: int = SAME_FAILURES, same_successes: int = SAME_SUCCESSES) -> None:
        self._limits = {False: same_failures, True: same_successes}
        self._seen: dict[tuple[str, str], tuple[bytes, int]] = {}
        self.circle: Circle | None = None

    def note(self, *, tool: str, arguments_hash: str, ok: bool, text: str) -> None:
        """Looks at one result, in call order. The first circle found is kept in ``circle``."""
        result = hashlib.sha256(bytes([ok]) + text.encode("utf-8", "surrogatepass")).digest()
        before, times = self._seen.get((tool, arguments_hash), (b"", 0))
        times = times + 1 if before == result else 1
        self._seen[tool, arguments_hash] = (result, times)
        if self.circle is None and times >= self._limits[ok]:
            self.circle = Circle(tool=tool, times=times, failing=not ok)
