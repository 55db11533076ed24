"""How many tokens does a model read at once?

What config.toml says, else what is known of the model, else what the server's list says, else a safe guess; and never
more than what the server said when it refused a request.
"""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Mapping
from importlib.resources import files

from hermes_cron.models.prices import same, spellings

SAFE = 64_000
"""Of a model that nobody knows. Too small costs a compaction too many; too large is refused, and then learned."""


class Windows:
    """Thread-safe; one for a process, so that a run profits from what another one's server said."""

    def __init__(self) -> None:
        self._known = shipped()
        self._learned: dict[str, int] = {}
        self._offered: dict[str, int | None] = {}
        self._lock = threading.Lock()

    def of(self, model: str, *, configured: int | None = None, of: str | None = None) -> int:
        """``configured`` is the window in config.toml; it is that of the model ``of``, and of one that nobody knows."""
        listed = next((self._known[name] for name in spellings(model) if name in self._known), None)
        mine = configured is not None and (listed is None or (of is not None and same(model, of)))
        with self._lock:
            believed = configured if mine and configured is not None else listed or self._offered.get(model) or SAFE
            return min(believed, self._learned.get(model.lower(), believed))

    def guessed(self, model: str) -> bool:
        """Whether nobody was asked yet about a model that is not listed."""
        with self._lock:
            return model not in self._offered and not any(name in self._known for name in spellings(model))

    def offered(self, model: str, tokens: int | None) -> None:
        """What the server's list says of it; None: nothing, and it is not asked again."""
        with self._lock:
            self._offered[model] = tokens

    def learn(self, model: str, tokens: int) -> None:
        """The server refused a request and said, or showed, that it reads no more than this."""
        with self._lock:
            self._learned[model.lower()] = tokens


def shipped() -> Mapping[str, int]:
    """The list that comes with this version, by lower-case name."""
    text = files("hermes_cron.models").joinpath("windows.toml").read_text(encoding="utf-8")
    return {name.lower(): int(tokens) for name, tokens in tomllib.loads(text)["windows"].items()}
