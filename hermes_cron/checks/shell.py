"""How does a command end? A person's command: what it starts must be what it was before the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hermes_cron.checks.bench import Bench, NotCheckable, Said
from hermes_cron.checks.fit import misfit, quoted
from hermes_cron.checks.pins import HASH_S, FileState, whole_of
from hermes_cron.checks.programs import programs
from hermes_cron.domain.command import Command, CommandResult

DEFAULT_S = 60.0
_NOT_STARTED = frozenset({126, 127})  # as POSIX shells answer, XCU 2.8.2


def pinned(params: Mapping[str, Any], folder: Path, env: Mapping[str, str]) -> dict[str, FileState]:
    """How the files that the command starts or reads are before the run."""
    return {str(path): whole_of(path) for path in _files(params, folder, env)}


def judge(params: Mapping[str, Any], bench: Bench) -> Said:
    """The exit code first, then the output."""
    _refuse_changed(_files(params, bench.folder, bench.env), bench)
    wanted: int = params.get("exit", 0)
    result = _run(params, bench, wanted)
    if result.exit_code != wanted:
        last = next((line.strip() for line in reversed(_lines(result)) if line.strip()), "")
        return False, f"exit code {result.exit_code}, not {wanted}" + (f": {last}" if last else "")
    expression = params.get("matches")
    if expression is not None and misfit(bench, result.stdout, matches=expression) is not None:
        if result.truncated:
            raise NotCheckable(f"no {quoted(expression)} in what was kept of the output; {result.truncated}")
        return False, f"exit code {wanted}, and the output has no {quoted(expression)}"
    return True, f"exit code {result.exit_code}"


def _run(params: Mapping[str, Any], bench: Bench, wanted: int) -> CommandResult:
    seconds = bench.seconds(params.get("timeout", DEFAULT_S))
    command = Command(command=params["command"], cwd=bench.folder, env=bench.env, timeout_s=seconds)
    result = bench.run_command(command, cancel=bench.cancel, on_spawn=bench.on_spawn)
    if result.cancelled:
        raise NotCheckable("the run was stopped before the command ended")
    if result.timed_out:
        raise NotCheckable(f"no end within {seconds:g} s")
    if result.exit_code in _NOT_STARTED and result.exit_code != wanted:
        last = next(iter(reversed(result.stderr.strip().splitlines())), "")
        raise NotCheckable(f"the command did not start (exit code {result.exit_code}): {last}")
    return result


def _lines(result: CommandResult) -> list[str]:
    return result.stderr.splitlines() if result.stderr.strip() else result.stdout.splitlines()


def _files(params: Mapping[str, Any], folder: Path, env: Mapping[str, str]) -> list[Path]:
    return [*programs(params["command"], folder, env), *(folder / text for text in params.get("inputs", ()))]


def _refuse_changed(paths: Iterable[Path], bench: Bench) -> None:
    for path in paths:
        before, now = bench.pins.files.get(str(path)), whole_of(path, seconds=bench.seconds(HASH_S))
        if before is None:
            raise NotCheckable(f"{path}: how it was before the run is not known")
        if {before.kind, now.kind} & {"unread", "unseen"}:
            raise NotCheckable(f"{path} {before.why or now.why}, so it may have been changed during the run")
        if before != now:
            raise NotCheckable(f"{path} was changed during the run, so what it says proves nothing")
