"""What does a check work with, and how does it say that it could not be judged?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hermes_cron.checks.pins import Pins
from hermes_cron.domain.command import Flag, OnSpawn, RunCommand
from hermes_cron.ports import Databases


class NotCheckable(Exception):
    """The check could not be carried out, so it proves nothing. The message is one line, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """``end`` is an instant of ``time.monotonic``. Relative paths begin at ``folder``."""

    folder: Path
    env: Mapping[str, str]
    report: str
    pins: Pins
    end: float
    cancel: Flag
    databases: Databases
    run_command: RunCommand
    on_spawn: OnSpawn | None = None

    def seconds(self, wanted: float) -> float:
        """How long a check may take: what it wants, at most what the run has left."""
        if self.cancel.is_set():
            raise NotCheckable("not looked at: the run was stopped")
        left = self.end - time.monotonic()
        if left <= 0:
            raise NotCheckable("not looked at: the run's time limit passed")
        return min(wanted, left)

    def path(self, text: str) -> Path:
        return self.folder / text


Said = tuple[bool, str]
"""Whether the check holds, and what was found, in one line."""
