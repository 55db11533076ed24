"""The tool ``read_file``: lines of a text file."""

from __future__ import annotations

from pydantic import Field

from hermes_cron.tools.confine import readable, regular_file
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool
from hermes_cron.tools.text_file import read_text


class ReadFile(Arguments):
    path: str = Field(description="absolute, or relative to the job's folder")
    start_line: int = Field(default=1, ge=1, description="first line to show, from 1")
    lines: int | None = Field(default=None, ge=1, description="how many lines; default: as many as fit")


def read(arguments: ReadFile, context: ToolContext) -> str:
    """A head line that says which lines of how many, then the lines as they are."""
    path = regular_file(readable(arguments.path, context), arguments.path)
    every = read_text(path, arguments.path, context.caps.read_bytes).splitlines(keepends=True)
    first = arguments.start_line - 1
    wanted = every[first : None if arguments.lines is None else first + arguments.lines]
    shown, used = 0, 0
    for line in wanted:
        used += len(line.encode("utf-8"))
        if used > context.caps.output_bytes:
            break
        shown += 1
    if wanted and shown == 0:
        text, _ = context.clip(wanted[0], context.caps.output_bytes)
        return f"{arguments.path}, line {first + 1:,} of {len(every):,}, too long to show whole\n{text}"
    last = first + shown
    head = _head(arguments, first + 1, last, len(every))
    if shown < len(wanted):
        head += f"; {len(wanted) - shown:,} more did not fit: go on with start_line {last + 1}"
    return f"{head}\n{''.join(wanted[:shown])}"


def _head(arguments: ReadFile, first: int, last: int, of: int) -> str:
    if last >= first:
        return f"{arguments.path}, lines {first:,} to {last:,} of {of:,}"
    return f"{arguments.path} has only {of:,} lines" if of else f"{arguments.path} is empty"


TOOL = Tool(
    name="read_file",
    toolset="files",
    description="Read a text file of the job's folder. The first line of the answer says which lines are shown.",
    arguments=ReadFile,
    handler=read,
)
