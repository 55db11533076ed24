"""The tool ``patch_file``: one place of a file exchanged, every other byte left as it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import Field

from hermes_cron.domain.run import Effect
from hermes_cron.errors import ToolFailed
from hermes_cron.files import replace_if_unchanged
from hermes_cron.tools.confine import regular_file, writable
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool
from hermes_cron.tools.replace import replace_once
from hermes_cron.tools.text_file import read_text


class PatchFile(Arguments):
    path: str = Field(description="absolute, or relative to the job's folder")
    old: str = Field(min_length=1, description="the text to replace; must stand at exactly one place")
    new: str = Field(description="what to put there; empty removes it")


def patch(arguments: PatchFile, context: ToolContext) -> str:
    """Raises ``PatchNoMatch``, ``PatchAmbiguous``, or ``Conflict`` when the file changed meanwhile."""
    path = regular_file(writable(arguments.path, context), arguments.path)
    before = read_text(path, arguments.path, context.caps.read_bytes)
    if arguments.old == arguments.new:
        raise ToolFailed("old and new are the same: nothing would change")
    done = replace_once(before, arguments.old, arguments.new, shown=arguments.path)
    replace_if_unchanged(path, done.text.encode("utf-8"), hashlib.sha256(before.encode("utf-8")).hexdigest())
    note = "" if done.how == "exact" else " (found although blanks differ)"
    return f"{arguments.path} changed at line {done.line:,}{note}"


def paths(arguments: PatchFile, context: ToolContext) -> tuple[Path, ...]:
    return (writable(arguments.path, context),)


TOOL = Tool(
    name="patch_file",
    toolset="files",
    description="Replace one piece of a text file. Copy `old` from the file with enough lines to be unique.",
    arguments=PatchFile,
    handler=patch,
    effect=Effect.EFFECT,  # a second time could find the new text and change it again
    paths=paths,
)
