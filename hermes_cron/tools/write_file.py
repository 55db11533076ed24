"""The tool ``write_file``: a whole file, written so that nobody sees half of it."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from hermes_cron.domain.run import Effect
from hermes_cron.errors import ToolFailed
from hermes_cron.files import write_atomic
from hermes_cron.tools.confine import writable
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool


class WriteFile(Arguments):
    path: str = Field(description="absolute, or relative to the job's folder; missing folders are made")
    content: str = Field(description="the whole new content")


def write(arguments: WriteFile, context: ToolContext) -> str:
    """Replaces or makes the file. The same call again leaves the same file, so it may be repeated after a crash."""
    path = writable(arguments.path, context)
    if path.is_dir():
        raise ToolFailed(f"{arguments.path} is a folder")
    try:
        data = arguments.content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolFailed(f"the content is not valid Unicode at character {error.start:,}") from error
    existed = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolFailed(f"{arguments.path}: cannot make its folder: {error.strerror}") from error
    write_atomic(path, data)
    return f"{arguments.path} {'replaced' if existed else 'made'}: {len(data):,} bytes"


def paths(arguments: WriteFile, context: ToolContext) -> tuple[Path, ...]:
    return (writable(arguments.path, context),)


TOOL = Tool(
    name="write_file",
    toolset="files",
    description="Make or replace a whole text file in the job's folder. To change a part, use patch_file.",
    arguments=WriteFile,
    handler=write,
    effect=Effect.IDEMPOTENT,
    paths=paths,
)
