"""What does a tool know about the run it works for?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from hermes_cron.domain.clip import clip
from hermes_cron.domain.command import Flag, OnSpawn, RunCommand
from hermes_cron.domain.learning import NO_DOORS, Doors
from hermes_cron.domain.session import Lookup
from hermes_cron.errors import ToolFailed
from hermes_cron.home import Home
from hermes_cron.ports import Clock
from hermes_cron.tools.connections import Connections


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How much one call may take and give. Bytes are those of UTF-8; seconds bound a single call."""

    output_bytes: int = 32_000
    sql_bytes: int = 64_000
    http_bytes: int = 1_000_000
    read_bytes: int = 4_000_000
    command_s: float = 120.0
    command_max_s: float = 1_800.0
    http_s: float = 30.0
    redirects: int = 5
    search_s: float = 20.0


def _nothing_spawned(_group: object) -> None:
    """For callers that keep no intent."""


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """One run's surroundings. ``deadline`` is an instant of ``time.monotonic``.

    ``workdir`` is the job's folder or the run's scratch folder; file tools stay in it, and may read what lies below
    ``readable`` besides. ``env`` is the whole environment of commands. ``redact`` is applied to every result before
    it is journalled or sent. ``private_hosts`` are host names or addresses that ``http_get`` may reach although they
    are not public. ``sessions`` is what was said in all runs of the home, None where there is no store. ``doors``
    are what the run may learn with. ``key`` names
    this one call and is the same when it is repeated after a crash: an idempotency key.
    """

    run_id: str
    job_name: str
    workdir: Path
    home: Home
    clock: Clock
    zone: ZoneInfo
    deadline: float
    cancel: Flag
    env: Mapping[str, str]
    run_command: RunCommand
    connections: Connections
    caps: Caps = field(default_factory=Caps)
    readable: tuple[Path, ...] = ()
    private_hosts: tuple[str, ...] = ()
    redact: Callable[[str], str] = _as_it_is
    on_spawn: OnSpawn = _nothing_spawned
    key: str = ""
    sessions: Lookup | None = None
    doors: Doors = NO_DOORS

    def seconds(self, wanted: float) -> float:
        """How long a call may take: what it wants, at most what the run has left. Raises ``ToolFailed`` at nothing."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise ToolFailed("not started: the run's time limit passed")
        return min(wanted, left)

    def clip(self, text: str, cap_bytes: int, *, total: int = 0) -> tuple[str, str | None]:
        """Redacted, then cut: a secret that the cut went through would not be known again."""
        return clip(self.redact(text), cap_bytes, total=total)

    def for_call(self, on_spawn: OnSpawn, key: str) -> ToolContext:
        """The same context for one call."""
        return replace(self, on_spawn=on_spawn, key=key)
