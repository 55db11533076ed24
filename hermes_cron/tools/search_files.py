"""The tool ``search_files``: which files, and which lines in them."""

from __future__ import annotations

import importlib.resources
import json
import re
import sys
from functools import cache

from pydantic import Field

from hermes_cron.domain.command import Command
from hermes_cron.errors import InvalidArguments, ToolFailed
from hermes_cron.tools.confine import readable, secret_places
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool


class SearchFiles(Arguments):
    pattern: str | None = Field(default=None, description="Python regular expression, per line; none: list files")
    glob: str = Field(default="*", description="which files: *.py looks at names, src/**/*.py at paths below `path`")
    path: str = Field(default=".", description="folder or file to look in")
    ignore_case: bool = False
    limit: int = Field(default=100, ge=1, le=1000, description="results at most")


def search(arguments: SearchFiles, context: ToolContext) -> str:
    """One line a result. The work is done by a child process, since a regular expression cannot be interrupted."""
    root = readable(arguments.path, context)
    if not root.exists():
        raise ToolFailed(f"{arguments.path}: no such file or folder")
    _compiles(arguments.pattern)
    task = {
        "root": str(root),
        "glob": arguments.glob,
        "pattern": arguments.pattern,
        "ignore_case": arguments.ignore_case,
        "limit": arguments.limit,
        "file_bytes": context.caps.read_bytes,
        "keep_out": [str(place.resolve()) for place in secret_places(context.home)],
    }
    limit_s = context.seconds(context.caps.search_s)
    done = context.run_command(
        Command(
            command=(sys.executable, "-I", "-S", "-c", _program()),
            cwd=context.workdir,
            env={"PATH": "/usr/bin:/bin"},
            timeout_s=limit_s,
            stdin=json.dumps(task).encode(),
            cap_bytes=4_000_000,
        ),
        on_spawn=context.on_spawn,
    )
    if done.timed_out:
        raise ToolFailed(f"the search took longer than {limit_s:.0f} s", hint="a narrower path, or a simpler pattern")
    if not done.ok or done.truncated:
        raise ToolFailed(f"the search failed: {done.stderr.strip().rpartition(chr(10))[2] or done.truncated}")
    return _told(arguments, json.loads(done.stdout), context)


def _told(arguments: SearchFiles, found: dict[str, object], context: ToolContext) -> str:
    results = found["results"]
    assert isinstance(results, list)  # noqa: S101  # search_child's own shape
    what = "files" if arguments.pattern is None else "matching lines"
    head = f"{len(results):,} {what} in {found['files']:,} files"
    if found["more"]:
        head = f"the first {len(results):,} {what}; there are more (limit {arguments.limit:,})"
    if found["skipped"]:
        head += f"; {found['skipped']:,} binary or large files not looked into"
    body, _ = context.clip("\n".join(map(str, results)), context.caps.output_bytes)
    return f"{head}\n{body}" if results else head


def _compiles(pattern: str | None) -> None:
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidArguments(
            f"pattern: {error}", hint="Python's re syntax; escape ( [ . * for the sign itself"
        ) from error


@cache
def _program() -> str:
    return importlib.resources.files("hermes_cron.tools").joinpath("search_child.py").read_text(encoding="utf-8")


TOOL = Tool(
    name="search_files",
    toolset="files",
    description="Find files by name and lines by regular expression in the job's folder. Answers path:line: text.",
    arguments=SearchFiles,
    handler=search,
)
