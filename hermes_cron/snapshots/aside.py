"""What does a home have that git's trees cannot say?

Mode bits other than 0644 and 0755, and empty folders: they stand in ``KEPT_ASIDE``, a file at the root of the tree
that is there only when there is something to say. In the home there is no such file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

KEPT_ASIDE = b".hermes-cron-modes.json"


@dataclass(frozen=True, slots=True)
class Aside:
    """By path. ``bits`` of files, ``empty`` folders."""

    bits: Mapping[bytes, int] = field(default_factory=dict)
    empty: frozenset[bytes] = frozenset()

    def encode(self) -> bytes | None:
        """The file's content; None when it is not needed."""
        if not self.bits and not self.empty:
            return None
        modes = {os.fsdecode(path): f"{bits:04o}" for path, bits in self.bits.items()}
        folders = sorted(os.fsdecode(path) for path in self.empty)
        return json.dumps({"modes": modes, "empty_folders": folders}, indent=1, sort_keys=True).encode() + b"\n"


def decode(data: bytes) -> Aside:
    """A file that hermes-cron did not write, in a history from elsewhere, says nothing."""
    try:
        found = json.loads(data)
        return Aside(
            {os.fsencode(path): int(bits, 8) & 0o777 for path, bits in found["modes"].items()},
            frozenset(os.fsencode(path) for path in found["empty_folders"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Aside()
