"""What does a check look at, and what does it say?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_cron.home import Home
    from hermes_cron.ports import Clock
    from hermes_cron.settings import Environment, Settings
    from hermes_cron.wiring import App


class Level(StrEnum):
    """``WARN``: it works, and somebody should look. ``FAIL``: something does not work."""

    OK = "ok"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``fact`` is the key of a text, ``said`` what is put into it; ``command`` mends it."""

    level: Level
    fact: str
    said: Mapping[str, object] = field(default_factory=dict)
    command: str | None = None


def fine(fact: str, **said: object) -> Finding:
    return Finding(level=Level.OK, fact=fact, said=said)


def warning(fact: str, command: str, **said: object) -> Finding:
    return Finding(level=Level.WARN, fact=fact, said=said, command=command)


def failure(fact: str, command: str, **said: object) -> Finding:
    return Finding(level=Level.FAIL, fact=fact, said=said, command=command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """A home as the checks get it. ``settings`` is None where config.toml cannot be read; ``app`` has defaults then."""

    home: Home
    env: Environment
    clock: Clock
    settings: Settings | None
    app: App
    space: Callable[[Path], os.statvfs_result] = os.statvfs
    wait_s: float = 3.0
    """For another process that changes the home: a doctor that hangs is none."""
    answer_s: float = 5.0
    """For servers, databases and whoever answers for the metrics."""
    known: dict[str, str | None] = field(default_factory=dict)
    """What one check learned and others ask again."""


Check = Callable[[Patient], Iterator[Finding]]
"""Yields one finding or more; may raise ``HermesCronError``, which is a failure then."""
