"""The tool ``skill_view``: the text of one skill, then single files of it."""

from __future__ import annotations

from pydantic import Field

from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool
from hermes_cron.tools.skills_list import available, bounded, door


class SkillView(Arguments):
    name: str = Field(description="the skill's name, or category/name", max_length=300)
    file: str | None = Field(
        default=None, description="a file of the skill, as its text lists them: references/limits.md", max_length=300
    )


def view(arguments: SkillView, context: ToolContext) -> ToolOutput:
    """The body with a list of the skill's files, or one of those files."""
    return bounded(door(context).view(arguments.name, arguments.file, context.key), context)


TOOL = Tool(
    name="skill_view",
    toolset="skills",
    description="Read a skill before you do its kind of work: its steps and pitfalls; then its files, one at a time.",
    arguments=SkillView,
    handler=view,
    available=available,
)
