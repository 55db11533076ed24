"""The tool ``memory``: facts that later runs should know, in two small files; what is written is kept at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import Probe, ToolOutput
from hermes_cron.errors import InvalidArguments, ToolFailed
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool

_WHY_NOT = "this run may not write into the memory"
_MOST = 20

Action = Literal["add", "replace", "remove"]


class Operation(Arguments):
    action: Action
    content: str | None = Field(default=None, description="the new entry: one fact, for add and replace")
    old_text: str | None = Field(default=None, description="a part of the entry meant that no other has")


class Memory(Arguments):
    target: Literal["memory", "user"] = Field(
        default="memory",
        description="memory: environment, conventions, how tools behave; user: what the person wants and how",
    )
    action: Action | None = None
    content: str | None = Field(default=None, description="the new entry: one fact, for add and replace")
    old_text: str | None = Field(
        default=None, description="for replace and remove: a part of the entry meant that no other has"
    )
    operations: list[Operation] | None = Field(
        default=None, max_length=_MOST, description="instead of the three above: several, all of them or none"
    )


def write(arguments: Memory, context: ToolContext) -> ToolOutput:
    """Answers what changed and the usage, or why nothing did, with all entries."""
    door = context.doors.memory
    if door is None:
        raise ToolFailed(_WHY_NOT)
    return door.write(list(_operations(arguments)), context.key)


def probe(arguments: Memory, context: ToolContext) -> Probe:
    """Whether the history has a change by this very call."""
    del arguments
    door = context.doors.memory
    if door is None:
        return Probe(happened=None, text=_WHY_NOT)
    return door.probe(context.key)


def _operations(arguments: Memory) -> Iterator[dict[str, Any]]:
    if (arguments.action is None) == (not arguments.operations):
        raise InvalidArguments("give an action, or a list of operations", hint="one of the two")
    asked = arguments.operations or []
    if arguments.action is not None:
        asked = [Operation(action=arguments.action, content=arguments.content, old_text=arguments.old_text)]
    for each in asked:
        if each.action != "add" and not (each.old_text or "").strip():
            raise InvalidArguments(f"{each.action} needs old_text: a part of the entry that is meant")
        if each.action != "remove" and not (each.content or "").strip():
            raise InvalidArguments(f"{each.action} needs content: the entry")
        yield {"target": arguments.target, **each.model_dump()}


def _available(context: ToolContext) -> str | None:
    return _WHY_NOT if context.doors.memory is None else None


TOOL = Tool(
    name="memory",
    toolset="memory",
    description=(
        "Keep a durable fact for later runs, or correct or remove one. Facts, not orders; no steps (those are a skill),"
        " no secrets, nothing that is over tomorrow."
    ),
    arguments=Memory,
    handler=write,
    effect=Effect.VERIFIABLE,
    probe=probe,
    available=_available,
)
