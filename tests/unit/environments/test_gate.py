"""A command that somebody notes down does nothing before the note is kept, and nothing at all if we die before that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from hermes_cron.environments import processes
from hermes_cron.environments.local import Command, CommandResult, ProcessGroup, run

ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
_DEADLINE_S = 20.0


def noted(_group: ProcessGroup) -> None:
    """The note is kept."""


def gone(pgid: int) -> bool:
    return processes.wait_gone(pgid, _DEADLINE_S)


def command(text: str | tuple[str, ...], cwd: Path, **more: object) -> Command:
    return Command(**{"command": text, "cwd": cwd, "env": ENV, "timeout_s": 10.0, **more})  # type: ignore[arg-type]


_OWNER = textwrap.dedent("""
    import os, sys, time
    from pathlib import Path
    from hermes_cron.environments.local import Command, run

    def spawned(group):
        print(group.pgid, flush=True)
        {then}

    command = {command!r}
    env = {{"PATH": os.environ["PATH"]}}
    run(Command(command=command, cwd=Path(sys.argv[1]), env=env, timeout_s=60, stdin={stdin!r}), on_spawn=spawned)
""")


@pytest.mark.parametrize("stdin", [None, b"\n\nsome\ninput\n"], ids=["no input", "input"])
@pytest.mark.parametrize("asked", ["touch acted", ("touch", "acted")], ids=["text", "program"])
@pytest.mark.parametrize("then", ["time.sleep(60)", "os.kill(os.getpid(), 9)"], ids=["killed", "kills itself"])
def test_owner_that_dies_before_the_note_is_kept_leaves_a_command_that_never_acts(
    tmp_path: Path, then: str, asked: str | tuple[str, ...], stdin: bytes | None
) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER.format(then=then, command=asked, stdin=stdin), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    try:
        pgid = int(owner.stdout.readline())
        owner.kill()
        assert owner.wait(_DEADLINE_S) == -signal.SIGKILL
        assert gone(pgid), "the gate ends by itself"
        assert list(tmp_path.iterdir()) == []
    finally:
        owner.kill()
        owner.communicate()


def test_nothing_runs_while_the_note_is_written(tmp_path: Path) -> None:
    seen: list[list[Path]] = []

    def slow(group: ProcessGroup) -> None:
        time.sleep(0.1)  # longer than the command would take
        seen.append(list(tmp_path.iterdir()))
        assert processes.start_time(group.pgid) == group.started

    assert run(command("touch acted", tmp_path), on_spawn=slow).ok
    assert seen == [[]]
    assert [path.name for path in tmp_path.iterdir()] == ["acted"]


@pytest.mark.parametrize("stdin", [None, b"go\n"])
def test_note_that_fails_ends_the_command_before_it_acts(tmp_path: Path, stdin: bytes | None) -> None:
    groups: list[int] = []

    def fail(group: ProcessGroup) -> None:
        groups.append(group.pgid)
        raise RuntimeError("fenced")

    with pytest.raises(RuntimeError, match="fenced"):
        run(command("trap '' TERM; touch acted; sleep 60", tmp_path, stdin=stdin), on_spawn=fail)
    assert gone(groups[0])
    assert list(tmp_path.iterdir()) == []


def test_group_that_is_noted_is_that_of_the_command(tmp_path: Path) -> None:
    groups: list[ProcessGroup] = []
    result = run(command("echo $$; cut -d' ' -f5 /proc/$$/stat", tmp_path), on_spawn=groups.append)
    own, pgid = result.stdout.split()
    assert int(own) == int(pgid) == groups[0].pgid


# --- a gate changes nothing else -----------------------------------------------------------------------------------


def both(asked: Command) -> tuple[CommandResult, CommandResult]:
    return run(asked), run(asked, on_spawn=noted)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param("echo out; echo err >&2; exit 3", id="exit code"),
        pytest.param("kill -9 $$", id="a signal"),
        pytest.param("no-such-program-here", id="missing in a shell"),
        pytest.param("echo 'a", id="syntax error"),
        pytest.param("cat; echo done", id="no input"),
        pytest.param("pwd; echo $0 $# $SHLVL $PPID_", id="what a shell knows"),
        pytest.param(("no-such-program-here",), id="missing program"),
        pytest.param(("./gone",), id="missing path"),
        pytest.param(("./plain",), id="not executable"),
        pytest.param((".",), id="a folder"),
        pytest.param(("./program", "a b", "$HOME; x", "", "*"), id="arguments"),
        pytest.param(("env",), id="environment"),
        pytest.param(("-x",), id="named like an option"),
    ],
)
def test_behind_a_gate_a_command_is_what_it_is_without(tmp_path: Path, asked: str | tuple[str, ...]) -> None:
    (tmp_path / "plain").write_text("echo hi")
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nfor each in "$@"; do echo "[$each]"; done\n')
    program.chmod(0o755)
    plain, gated = both(command(asked, tmp_path))
    assert (gated.exit_code, gated.stdout, gated.stderr) == (plain.exit_code, plain.stdout, plain.stderr)


def test_environment_behind_a_gate_is_exactly_what_was_given(tmp_path: Path) -> None:
    env = {"PATH": ENV["PATH"], "ONLY": "this\nand that", "PWD": str(tmp_path)}
    plain, gated = both(command(("/usr/bin/env", "-0"), tmp_path, env={"PATH": ENV["PATH"], "A": "x\ny"}))
    assert sorted(gated.stdout.split("\0")) == sorted(plain.stdout.split("\0"))
    kept = run(command(("/usr/bin/env", "-0"), tmp_path, env=env), on_spawn=noted).stdout.split("\0")
    assert {f"ONLY={env['ONLY']}", f"PWD={tmp_path}"} <= set(kept)


def test_input_behind_a_gate_comes_whole(tmp_path: Path) -> None:
    data = b"\n\nfirst\n" + b"0123456789abcdef" * 40_000
    plain, gated = both(command("cat", tmp_path, stdin=data, cap_bytes=1_000_000))
    assert gated.stdout.encode() == plain.stdout.encode() == data


def test_empty_input_behind_a_gate_ends_at_once(tmp_path: Path) -> None:
    assert run(command("cat; echo done", tmp_path, stdin=b""), on_spawn=noted).stdout == "done\n"


def test_missing_program_is_known_before_anything_is_noted(tmp_path: Path) -> None:
    groups: list[ProcessGroup] = []
    result = run(command(("no-such-program-here",), tmp_path), on_spawn=groups.append)
    assert (result.exit_code, result.stderr) == (127, "no-such-program-here: No such file or directory")
    assert groups == []
