"""What is to lie at a path of the home, and what must lie there now so that nobody's edit is lost?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """New bytes. ``before`` is what was read there, None for nothing. ``bits`` None keeps a file's mode, and a new file
    follows the umask. ``link``: the bytes are where a link leads to."""

    data: bytes
    before: bytes | None
    bits: int | None = None
    link: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The file goes."""

    before: bytes


Edits = Mapping[str, Put | Drop]
"""By path relative to the home."""


class Change(Protocol):
    """How a command changes files of the home: the state before is in the history first, or nothing changes."""

    def __call__(self, reason: str, edits: Callable[[], Edits], /, *, job: str | None = None) -> str | None:
        """All or none; ``edits`` is asked while no other command changes anything. The snapshot's id, None when nothing
        was different. Raises ``Conflict`` where something else lies there, ``SnapshotFailed``."""
