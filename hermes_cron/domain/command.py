"""What is a command to run somewhere, and what came of it?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessGroup:
    """``started`` is text: it is compared, never counted with. Empty when the leader had ended before it was read."""

    pgid: int
    started: str
    boot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """``command`` is an argv tuple, or shell text (bash where there is one, else sh).

    ``env`` is the whole environment of the command: nothing of ours is passed on unsaid. ``cap_bytes`` bounds each of
    stdout and stderr. ``stdin`` None means an empty input.
    """

    command: tuple[str, ...] | str
    cwd: Path
    env: Mapping[str, str]
    timeout_s: float
    stdin: bytes | None = None
    cap_bytes: int = 256_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """``exit_code`` is 128 + the signal's number for a command that a signal ended, ours included.

    ``truncated`` says in words what was cut from the output, None when nothing was; ``stdout_bytes`` and
    ``stderr_bytes`` are the whole sizes. ``left_behind`` counts processes that the command left running and that were
    ended.
    """

    exit_code: int
    stdout: str
    stderr: str
    truncated: str | None
    timed_out: bool
    cancelled: bool
    elapsed_ms: int
    left_behind: int = 0
    stdout_bytes: int = 0
    stderr_bytes: int = 0

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.timed_out and not self.cancelled


class Flag(Protocol):
    """A ``threading.Event``, or anything that can be asked."""

    def is_set(self) -> bool: ...


class Why(StrEnum):
    """Why a run that works shall stop."""

    CANCELLED = "cancelled"  # somebody's word, or the job's next run
    RELEASED = "released"  # the process ends, the run does not: another goes on with it
    SHUTDOWN = "shutdown"  # the process ends, and nobody can go on with the run
    OVERDUE = "overdue"  # its time is over


class Halt(threading.Event):
    """Set: stop soon, between steps. ``why`` is the first reason that was given, and stays."""

    def __init__(self) -> None:
        super().__init__()
        self.why: Why | None = None

    @property
    def releasing(self) -> bool:
        """Stop so that the run can be gone on with."""
        return self.why is Why.RELEASED

    def set(self) -> None:
        """Stop because somebody says so."""
        self.halt(Why.CANCELLED)

    def release(self) -> None:
        """Stop so that the run can be gone on with."""
        self.halt(Why.RELEASED)

    def halt(self, why: Why) -> None:
        """Stop, for this reason unless there is one already."""
        if self.why is None:
            self.why = why
        super().set()


OnSpawn = Callable[[ProcessGroup], None]


class RunCommand(Protocol):
    """An environment's way to run a command: ``environments.local.run`` is one."""

    def __call__(
        self, command: Command, *, cancel: Flag | None = None, on_spawn: OnSpawn | None = None
    ) -> CommandResult: ...
