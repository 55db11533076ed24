"""The tool ``skills_list``: which ways of working are known, by category or by what is looked for."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from hermes_cron.domain.learning import SkillDoor
from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.errors import ToolFailed
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool

WHY_NOT = "this run has no skills to look at"


class SkillsList(Arguments):
    query: str | None = Field(
        default=None,
        description="words of what is to be done, or a category's name; without it: every category",
        max_length=2_000,
    )


def door(context: ToolContext) -> SkillDoor:
    """Raises ``ToolFailed`` where the run has none."""
    if context.doors.skills is None:
        raise ToolFailed(WHY_NOT)
    return context.doors.skills


def bounded(output: ToolOutput, context: ToolContext) -> ToolOutput:
    """The same, redacted and no longer than an answer may be."""
    return replace(output, text=context.clip(output.text, context.caps.output_bytes)[0])


def available(context: ToolContext) -> str | None:
    return WHY_NOT if context.doors.skills is None else None


def listed(arguments: SkillsList, context: ToolContext) -> ToolOutput:
    """Categories with their numbers, or the skills that fit best, best first."""
    return bounded(door(context).listing(arguments.query), context)


TOOL = Tool(
    name="skills_list",
    toolset="skills",
    description="Find skills: proven ways of working. Answers names with what each is for; read one with skill_view.",
    arguments=SkillsList,
    handler=listed,
    available=available,
)
