"""How does a script job run? Its output is the report, no output is silence, a non-zero exit is a failure.

A script is one effect: its intent is durable before it starts, its process group before its first instruction, its
receipt when it ended. Whoever goes on with the run reads from them whether the script never began (then it is started),
has ended (then the receipt says how), or was cut off: it is never started again on a guess (design decision 4).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes_cron.domain.command import Command, CommandResult, Flag, ProcessGroup, RunCommand
from hermes_cron.domain.fault import stopped
from hermes_cron.domain.occurrence import Reason
from hermes_cron.domain.run import Effect, Outcome, RunState, TakenRun
from hermes_cron.domain.tool_call import arguments_hash
from hermes_cron.domain.transcript import Header, Message, ModelReply, PlannedResult, ToolCall, ToolResult
from hermes_cron.home import Home
from hermes_cron.ports import Journal

TOOL = "script"
_STDERR_LINES = 20
_CALL = "script-1"


def run_script(  # noqa: PLR0913  # the parts of a runner that a script needs, and no more
    taken: TakenRun,
    *,
    home: Home,
    cwd: Path,
    env: Mapping[str, str],
    cancel: Flag,
    run_command: RunCommand,
    open_journal: Callable[[TakenRun, Header], Journal],
    resume_journal: Callable[[TakenRun], Journal],
    redact: Callable[[str], str] = str,
) -> Outcome:
    """Run it to its end, its time-out or a cancel. ``env`` is what commands of the job get, without ``HERMES_CRON_*``.

    A run with a session is gone on with. ``redact`` is applied to what the journal keeps.

    Raises ``Fenced`` when the run was taken over; the script's group is ended then.
    """
    script = taken.job.script or ""
    fresh = taken.session is None
    journal = open_journal(taken, Header(system="", model="script")) if fresh else resume_journal(taken)
    at = _where(journal)
    if isinstance(at, Outcome):
        return at
    seq = _intend(journal, redact(script)) if at is None else at

    def spawned(group: ProcessGroup) -> None:
        journal.spawned(seq, pgid=group.pgid, started=group.started, boot_id=group.boot_id)

    command = Command(
        command=command_of(script, home.root),
        cwd=cwd,
        env={**env, **variables(taken, home)},
        timeout_s=taken.job.timeout.total_seconds(),
    )
    result = run_command(command, cancel=cancel, on_spawn=spawned)
    outcome = stopped(outcome_of(result, timeout_s=command.timeout_s), cancel)
    journal.result(_receipt(seq, result, outcome, redact))
    return outcome


def _where(journal: Journal) -> int | Outcome | None:
    """None: nothing happened yet. The row of an intent whose script never began. Or how it ended."""
    said = journal.messages()
    if not said:
        return None
    pending = journal.pending()
    if not pending:
        return _from_receipt(said[-1])
    (call,) = pending
    if not call.begun:
        return call.seq
    return Outcome(
        state=RunState.INTERRUPTED,
        reason=Reason.OWNER_DIED,
        error="its process died while the script ran; whether the script did its work is not known",
        text="\n".join(call.evidence),
        tool_calls=1,
        tool_errors=1,
    )


def _from_receipt(message: Message) -> Outcome:
    ended = message["ended"]
    return Outcome(
        state=RunState(ended["state"]),
        reason=ended["reason"],
        error=ended["error"],
        text=message["content"],
        silent=ended["silent"],
        tool_calls=1,
        tool_errors=ended["tool_errors"],
    )


def _intend(journal: Journal, script: str) -> int:
    call = ToolCall(id=_CALL, name=TOOL, arguments=json.dumps({"script": script}, ensure_ascii=False))
    (seq,) = journal.assistant(_reply(call), [_planned(call)])
    return seq


def command_of(script: str, root: Path) -> tuple[str, ...] | str:
    """Shell text, or the program that a path inside the home names (with its executable bit, else read by a shell)."""
    text = script.strip()
    if "\n" in text or not text:
        return script
    path = (root / text).resolve()
    if not path.is_relative_to(root.resolve()) or not path.is_file():
        return script
    return (str(path),) if os.access(path, os.X_OK) else ("/bin/sh", str(path))


def variables(taken: TakenRun, home: Home) -> dict[str, str]:
    """What a script is told about its run. ``HERMES_CRON_SCHEDULED_AT`` is UTC, empty for a start by hand."""
    scheduled = taken.scheduled_at
    return {
        "HERMES_CRON_JOB": taken.job.name,
        "HERMES_CRON_RUN_ID": taken.id,
        "HERMES_CRON_SCHEDULED_AT": "" if scheduled is None else f"{scheduled:%Y-%m-%dT%H:%M:%S}Z",
        "HERMES_CRON_HOME": str(home.root),
        "HERMES_CRON_ATTEMPT": str(taken.attempt),
    }


def outcome_of(result: CommandResult, *, timeout_s: float) -> Outcome:
    """Output is the report; a failure shows the end of stderr too."""
    if result.cancelled:
        return Outcome(state=RunState.CANCELLED, text=_with_errors(result), error="stopped on request", tool_calls=1)
    if result.timed_out:
        return Outcome(
            state=RunState.TIMEOUT,
            reason="timeout",
            text=_with_errors(result),
            error=f"no end within {timeout_s:g} s",
            tool_calls=1,
            tool_errors=1,
        )
    if result.exit_code != 0:
        last = next((line for line in reversed(result.stderr.splitlines()) if line.strip()), "")
        return Outcome(
            state=RunState.FAILED,
            reason="exit_code",
            text=_with_errors(result),
            error=f"exit code {result.exit_code}" + (f": {last.strip()[:300]}" if last else ""),
            tool_calls=1,
            tool_errors=1,
        )
    return Outcome(state=RunState.OK, text=result.stdout, silent=not result.stdout.strip(), tool_calls=1)


def _with_errors(result: CommandResult) -> str:
    tail = result.stderr.splitlines()[-_STDERR_LINES:]
    if not any(line.strip() for line in tail):
        return result.stdout
    return "\n".join([*result.stdout.splitlines(), "stderr, its end:", *tail])


def _reply(call: ToolCall) -> ModelReply:
    function = {"name": call.name, "arguments": call.arguments}
    calls = [{"id": call.id, "type": "function", "function": function}]
    return ModelReply(
        message={"role": "assistant", "content": None, "tool_calls": calls},
        text="",
        tool_calls=(call,),
        finish="tool_calls",
        model="script",
    )


def _planned(call: ToolCall) -> PlannedResult:
    return PlannedResult(call=call, effect=Effect.EFFECT, arguments_hash=arguments_hash(call.arguments), gated=True)


def _receipt(seq: int, result: CommandResult, outcome: Outcome, redact: Callable[[str], str]) -> ToolResult:
    """``ended`` is what a run that is gone on with needs beside the text."""
    ended = {
        "state": outcome.state.value,
        "reason": outcome.reason,
        "error": None if outcome.error is None else redact(outcome.error),
        "silent": outcome.silent,
        "tool_errors": outcome.tool_errors,
    }
    return ToolResult(
        seq=seq,
        message={"role": "tool", "tool_call_id": _CALL, "content": redact(outcome.text), "ended": ended},
        ok=result.ok,
        elapsed_ms=result.elapsed_ms,
        started_ms=0,
        effect=Effect.EFFECT,
        exit_code=result.exit_code,
    )
