"""Which tools does a job's run get?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hermes_cron.domain.job import Job
from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Tool
from hermes_cron.tools.registry import Registry
from hermes_cron.tools.toolsets import resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """``tools`` are offered to the model; ``left_out`` are those the job names and this run cannot have, with why."""

    tools: dict[str, Tool]
    left_out: dict[str, str]


def default_tools(job: Job) -> tuple[str, ...]:
    """What a job gets that names no tools: the clock, reads of what it declares, and what its runs may learn with.

    Nothing that writes anywhere but into the home's memory and skills, each change of which is a commit.
    """
    names = ["now"]
    if job.databases:
        names += ["sql_query", "sql_schema"]
    if job.workdir is not None:
        names += ["read_file", "search_files"]
    return (*names, *learning_tools(job))


def learning_tools(job: Job) -> tuple[str, ...]:
    """Those of memory and skills that the job's ``memory`` and ``learn`` allow."""
    memory = ("memory",) if job.memory is MemoryMode.READ_WRITE else ()
    recall = ("memory_recall",) if job.memory is not MemoryMode.OFF else ()
    manage = ("skill_manage",) if job.learn is not Learn.OFF else ()
    return (*memory, *recall, "skills_list", "skill_view", *manage)


def check_names(registry: Registry, job: Job) -> tuple[str, ...]:
    """The tools a job means, available or not. Raises ``NotFound`` with the nearest name: for ``add`` and ``check``."""
    tools = registry.tools
    return resolve(default_tools(job) if job.tools is None else job.tools, tools, registry.sets)


def select(registry: Registry, job: Job, context: ToolContext) -> Chosen:
    """Permission is this mapping: a tool outside of it does not exist for the run.

    A tool that the job did not ask for is not told as left out: nobody misses it.
    """
    chosen = named(registry, check_names(registry, job), context)
    return chosen if job.tools is not None else replace(chosen, left_out={})


def named(registry: Registry, names: Iterable[str], context: ToolContext) -> Chosen:
    """Those of these tools that the run can have. Of a transcript that is gone on with, one may be gone since: it is
    left out, and a call of it is answered."""
    tools: dict[str, Tool] = {}
    left_out: dict[str, str] = {}
    for name in names:
        entry = registry.entries.get(name)
        reason = "no such tool any more" if entry is None else _unavailable(entry.tool, registry, context)
        if entry is not None and reason is None:
            tools[name] = entry.tool
        else:
            left_out[name] = reason or ""
    return Chosen(tools=tools, left_out=left_out)


def _unavailable(tool: Tool, registry: Registry, context: ToolContext) -> str | None:
    """Why this run cannot have the tool. A variable may come from the process or from the job's ``env``."""
    missing = tool.missing(lambda name: registry.has_variable(name) or bool(context.env.get(name)))
    if missing:
        return f"needs {', '.join(missing)} in the environment"
    return tool.available(context) if tool.available else None
