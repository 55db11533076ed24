"""The tool ``skill_manage``: ways of working that later runs will have, made, mended and put away; never deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from hermes_cron.domain.learning import SkillDoor
from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import Probe, ToolOutput
from hermes_cron.errors import InvalidArguments, ToolFailed
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool

_WHY_NOT = "this run may not change skills"
_MOST = 20

Action = Literal["create", "patch", "edit", "write_file", "remove_file", "archive"]
_ACTION = (
    "create: a new skill; patch: replace `old` by `new`; edit: a whole new SKILL.md, when a patch will not do; "
    "write_file, remove_file: a file beside SKILL.md; archive: put the skill away"
)
_FILE = "for patch, write_file, remove_file: SKILL.md (what patch changes by itself), or references/limits.md"
_CONTENT = (
    "for create and edit: all of SKILL.md, front matter first (name, description: what it does and when to use it), "
    "then When to use, Steps, Pitfalls; for write_file: the file"
)
_OLD = "for patch: the text to replace, copied from the file, with enough lines to be unique"
_NEW = "for patch: what stands there then; empty removes it"
_EVERY = "for patch: replace every place where `old` stands"


class Operation(Arguments):  # said once, in SkillManage: the schema goes out with every call of every run
    action: Action
    file: str | None = Field(default=None, max_length=300)
    content: str | None = None
    old: str | None = None
    new: str | None = None
    replace_all: bool = False


class SkillManage(Arguments):
    name: str = Field(description="the skill's name, or category/name: databases/inspect-database", max_length=300)
    reason: str = Field(min_length=1, max_length=500, description="why, in a sentence: it stands in the history")
    action: Action | None = Field(default=None, description=_ACTION)
    file: str | None = Field(default=None, description=_FILE, max_length=300)
    content: str | None = Field(default=None, description=_CONTENT)
    old: str | None = Field(default=None, description=_OLD)
    new: str | None = Field(default=None, description=_NEW)
    replace_all: bool = Field(default=False, description=_EVERY)
    because: Literal["steps", "errors", "correction", "method", "asked"] | None = Field(
        default=None,
        description=(
            "for create: it took five or more calls, errors were overcome, a person's correction worked, "
            "the way was not obvious, or it was asked for"
        ),
    )
    operations: list[Operation] | None = Field(
        default=None,
        max_length=_MOST,
        description="instead of an action: several on this skill, all of them or none, with the members above",
    )


def door(context: ToolContext) -> SkillDoor:
    """Raises ``ToolFailed`` where the run may not write."""
    if context.doors.skills is None or context.doors.skills.write is None:
        raise ToolFailed(_WHY_NOT)
    return context.doors.skills


def manage(arguments: SkillManage, context: ToolContext) -> ToolOutput:
    """Answers what changed, line by line, or why nothing did."""
    write = door(context).write
    assert write is not None  # noqa: S101  # door() saw to it
    return write(list(_operations(arguments)), context.key)


def probe(arguments: SkillManage, context: ToolContext) -> Probe:
    """Whether the history has a change by this very call."""
    del arguments
    return door(context).probe(context.key)


def _operations(arguments: SkillManage) -> Iterator[dict[str, Any]]:
    if (arguments.action is None) == (arguments.operations is None):
        raise InvalidArguments("give an action, or a list of operations", hint="one of the two")
    asked = arguments.operations
    if asked is None:
        same = arguments.model_dump(include=set(Operation.model_fields))
        asked = [Operation(**same)]
    for each in asked:
        yield {
            "name": arguments.name,
            "reason": arguments.reason,
            "because": arguments.because,
            **{key: value for key, value in each.model_dump().items() if value is not None},
        }


def _available(context: ToolContext) -> str | None:
    skills = context.doors.skills
    return _WHY_NOT if skills is None or skills.write is None else None


TOOL = Tool(
    name="skill_manage",
    toolset="skills",
    description=(
        "Keep a way of working that later runs can follow, or mend one that proved wrong, incomplete or out of date. "
        "Patch rather than rewrite: what is proven stays."
    ),
    arguments=SkillManage,
    handler=manage,
    effect=Effect.VERIFIABLE,
    probe=probe,
    available=_available,
)
