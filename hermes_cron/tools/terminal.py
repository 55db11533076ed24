"""The tool ``terminal``: a command in the job's folder."""

from __future__ import annotations

import json

from pydantic import Field

from hermes_cron.domain.command import Command, CommandResult
from hermes_cron.domain.run import Effect
from hermes_cron.domain.self_restart import restarts_itself
from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.errors import ToolFailed
from hermes_cron.tools.confine import readable
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool

_HELD = 8  # times what is shown: where the held text lacks its middle, the shown text lacks more


class Terminal(Arguments):
    command: str = Field(min_length=1, description="shell text; it gets no input and must end by itself")
    folder: str = Field(default=".", description="where to run it")
    timeout: float | None = Field(default=None, gt=0, description="seconds until it is ended; default 120")


def run(arguments: Terminal, context: ToolContext) -> ToolOutput:
    """A cancelled run waits for the command: what writes is never cut in the middle, only by its time limit."""
    if "\0" in arguments.command:
        raise ToolFailed("the command holds a NUL character")
    if words := restarts_itself(arguments.command):
        raise ToolFailed(f"not run: {words} would end the service that this run lives in, and the run with it")
    wanted = min(arguments.timeout or context.caps.command_s, context.caps.command_max_s)
    limit_s = context.seconds(wanted)
    done = context.run_command(
        Command(
            command=arguments.command,
            cwd=readable(arguments.folder, context),
            env=context.env,
            timeout_s=limit_s,
            cap_bytes=_HELD * context.caps.output_bytes,
        ),
        on_spawn=context.on_spawn,
    )
    return ToolOutput(text=_told(done, limit_s, context), ok=done.ok, exit_code=done.exit_code)


def _told(done: CommandResult, limit_s: float, context: ToolContext) -> str:
    """JSON. No durations: the same command with the same result must read the same (loop detection)."""
    cap = context.caps.output_bytes // 2
    output, output_cut = context.clip(done.stdout, cap, total=done.stdout_bytes)
    errors, errors_cut = context.clip(done.stderr, cap, total=done.stderr_bytes)
    notes = [f"output: {output_cut}"] if output_cut else []
    notes += [f"stderr: {errors_cut}"] if errors_cut else []
    if done.timed_out:
        notes.append(f"ended after its limit of {limit_s:g} s, with everything it had started")
    if done.left_behind:
        notes.append(f"{done.left_behind} processes it left running were ended")
    told = {
        "exit_code": done.exit_code,
        "output": output,
        **({"stderr": errors} if errors else {}),
        **({"note": "; ".join(notes)} if notes else {}),
    }
    return json.dumps(told, ensure_ascii=False)


TOOL = Tool(
    name="terminal",
    toolset="shell",
    description=(
        "Run a shell command. Answers exit_code, output and stderr; long output loses its middle and says so. "
        "Processes left in the background are ended with it."
    ),
    arguments=Terminal,
    handler=run,
    effect=Effect.EFFECT,
    gated=True,
)
