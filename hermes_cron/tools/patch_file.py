"""The tool ``patch_file``: one place of a file exchanged, every other byte left as it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import Field

from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import Probe
from hermes_cron.errors import PatchAmbiguous, PatchNoMatch, ToolFailed
from hermes_cron.files import replace_if_unchanged
from hermes_cron.tools.confine import regular_file, writable
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool
from hermes_cron.tools.replace import holds, replace_once
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


def probe(arguments: PatchFile, context: ToolContext) -> Probe:
    """Is the old text there, or the new one? A place that could be both, before and after, cannot be told.

    "No" is said too where the patch never fitted: done again, it changes nothing and says why.
    """
    path = regular_file(writable(arguments.path, context), arguments.path)
    text = read_text(path, arguments.path, context.caps.read_bytes)
    there = holds(text, arguments.new)
    try:
        fits = replace_once(text, arguments.old, arguments.new, shown=arguments.path).how
    except PatchNoMatch:
        if there or not arguments.new.strip():
            return Probe(happened=True, text=f"{arguments.path} is changed: the old text is gone")
        return Probe(happened=False, text=f"{arguments.path} holds neither the old text nor the new one")
    except PatchAmbiguous:
        fits = "several"
    repeated = there and holds(arguments.new, arguments.old)
    if repeated or (fits == "blanks" and (there or not arguments.new.strip())):
        return Probe(happened=None, text=f"{arguments.path} holds the old text and may hold it because of the change")
    return Probe(happened=False, text=f"{arguments.path} holds the old text")


def paths(arguments: PatchFile, context: ToolContext) -> tuple[Path, ...]:
    return (writable(arguments.path, context),)


TOOL = Tool(
    name="patch_file",
    toolset="files",
    description="Replace one piece of a text file. Copy `old` from the file with enough lines to be unique.",
    arguments=PatchFile,
    handler=patch,
    effect=Effect.VERIFIABLE,  # a second time could find the new text and change it again
    probe=probe,
    paths=paths,
)
