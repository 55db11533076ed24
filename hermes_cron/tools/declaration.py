"""What does a file say that declares a tool?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import Probe, ToolOutput

if TYPE_CHECKING:
    from hermes_cron.tools.context import ToolContext

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Arguments(BaseModel):
    """The base of a tool's arguments: an unknown argument is an error, not ignored."""

    model_config = ConfigDict(extra="forbid")


# Each tool's handler takes its own class of arguments, which the registry made from the call; hence the Any.
Handler: TypeAlias = "Callable[[Any, ToolContext], str | ToolOutput]"
Paths: TypeAlias = "Callable[[Any, ToolContext], tuple[Path, ...]]"
Probing: TypeAlias = "Callable[[Any, ToolContext], Probe]"
Available: TypeAlias = "Callable[[ToolContext], str | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. ``handler`` returns text or a ``ToolOutput``, or raises ``ToolFailed`` with what the model should know.

    ``effect`` decides what runs beside it and what happens after a crash. ``probe`` of a ``verifiable`` one looks up
    whether an interrupted call has happened. ``gated``: it changes nothing but through the command that it runs with
    ``context.on_spawn``, and so has not begun before that has a process group. ``paths`` of a writer are the absolute
    places it touches. ``requires_env`` are environment variables without which it is not offered; ``available``
    answers why it cannot be offered in a run, or None.
    """

    name: str
    toolset: str
    description: str
    arguments: type[BaseModel]
    handler: Handler
    effect: Effect = Effect.READ
    probe: Probing | None = None
    gated: bool = False
    paths: Paths | None = None
    requires_env: tuple[str, ...] = ()
    available: Available | None = None

    def __post_init__(self) -> None:
        for what in (self.name, self.toolset):
            if not NAME.fullmatch(what):
                raise ValueError(f"{what!r}: a tool's name is a-z, 0-9 and _, and begins with a letter")
        if not self.description.strip():
            raise ValueError(f"tool {self.name} has no description")
        if (self.effect is Effect.VERIFIABLE) != (self.probe is not None):
            raise ValueError(f"tool {self.name}: a verifiable tool has a probe, and no other has one")

    def missing(self, has_variable: Callable[[str], bool]) -> tuple[str, ...]:
        """Required variables that are absent or empty."""
        return tuple(name for name in self.requires_env if not has_variable(name))
