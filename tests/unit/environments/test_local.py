"""A command is bounded in time and output and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hermes_cron.environments import processes
from hermes_cron.environments.local import Command, CommandResult, ProcessGroup, run
from hermes_cron.errors import NotFound

ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def shell(text: str, cwd: Path, **more: object) -> Command:
    return Command(**{"command": text, "cwd": cwd, "env": ENV, "timeout_s": 10.0, **more})  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    """A dead orphan may stay in the table until init looks at it: that is init's matter."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_output_and_exit_code_are_returned(tmp_path: Path) -> None:
    result = run(shell("echo out; echo err >&2; exit 3", tmp_path))
    assert (result.exit_code, result.stdout, result.stderr) == (3, "out\n", "err\n")
    assert not result.ok
    assert result.truncated is None


def test_argv_is_passed_without_a_shell(tmp_path: Path) -> None:
    result = run(Command(command=("printf", "%s", "$HOME; x"), cwd=tmp_path, env=ENV, timeout_s=5))
    assert result.stdout == "$HOME; x"


def test_environment_is_exactly_what_was_given(tmp_path: Path) -> None:
    result = run(Command(command=("env",), cwd=tmp_path, env={"PATH": ENV["PATH"], "ONLY": "this"}, timeout_s=5))
    assert sorted(line.split("=")[0] for line in result.stdout.splitlines()) == ["ONLY", "PATH"]


def test_runs_in_the_folder(tmp_path: Path) -> None:
    assert run(shell("pwd -P", tmp_path)).stdout.strip() == str(tmp_path.resolve())


def test_input_larger_than_a_pipe_comes_back_whole(tmp_path: Path) -> None:
    data = b"0123456789abcdef" * 40_000
    result = run(shell("cat", tmp_path, stdin=data, cap_bytes=1_000_000))
    assert result.stdout.encode() == data


def test_command_that_ignores_its_input_is_no_error(tmp_path: Path) -> None:
    assert run(shell("exit 0", tmp_path, stdin=b"x" * 1_000_000)).ok


def test_no_input_means_end_of_file(tmp_path: Path) -> None:
    assert run(shell("cat; echo done", tmp_path)).stdout == "done\n"


def test_timeout_keeps_partial_output_and_kills_the_whole_group(tmp_path: Path) -> None:
    began = time.monotonic()
    result = run(shell("echo before; sleep 60 & echo $!; sleep 60", tmp_path, timeout_s=0.3))
    first, child = result.stdout.split()
    assert first == "before"
    assert result.timed_out
    assert not alive(int(child))
    assert time.monotonic() - began < 2


def test_group_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_cron.environments.local.GRACE_S", 0.2)
    result = run(shell("trap '' TERM; echo $$; while :; do sleep 0.05; done", tmp_path, timeout_s=0.3))
    assert result.exit_code == 128 + signal.SIGKILL
    assert not alive(int(result.stdout))


def test_sigterm_gives_time_to_clean_up(tmp_path: Path) -> None:
    result = run(shell("trap 'echo tidied; exit 7' TERM; echo up; sleep 60 & wait", tmp_path, timeout_s=0.4))
    assert result.stdout == "up\ntidied\n"
    assert (result.exit_code, result.timed_out) == (7, True)


def test_cancel_ends_the_command(tmp_path: Path) -> None:
    cancel = threading.Event()
    result = run(shell("sleep 60", tmp_path), cancel=cancel, on_spawn=lambda _group: cancel.set())
    assert result.cancelled
    assert not result.timed_out
    assert result.exit_code == 128 + signal.SIGTERM


def test_background_process_is_ended_with_its_command(tmp_path: Path) -> None:
    result = run(shell("sleep 60 >/dev/null 2>&1 & echo $!", tmp_path))
    assert result.exit_code == 0
    assert result.left_behind == 1
    assert not alive(int(result.stdout))


def test_grandchild_in_another_session_cannot_hold_the_pipes_open(tmp_path: Path) -> None:
    began = time.monotonic()
    result = run(shell("setsid sleep 60 & echo $!; sleep 0.1", tmp_path))
    try:
        assert time.monotonic() - began < 2
        assert result.exit_code == 0
    finally:
        for pid in processes.members(int(result.stdout)):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("text", ["exit 0", "sleep 60 & exit 0", "sleep 60"], ids=["ends", "leaves", "timeout"])
def test_no_file_and_no_zombie_is_left(text: str, tmp_path: Path) -> None:
    run(shell("exit 0", tmp_path))
    before = open_files()
    pids: list[int] = []
    run(shell(text, tmp_path, timeout_s=0.2), on_spawn=lambda group: pids.append(group.pgid))
    assert open_files() == before
    assert processes.start_time(pids[0]) is None, "the leader was reaped"


def test_endless_output_is_bounded_head_and_tail(tmp_path: Path) -> None:
    result = run(shell("echo first; yes x | head -c 300000; echo last", tmp_path, cap_bytes=1000))
    assert result.stdout.startswith("first\n")
    assert result.stdout.endswith("last\n")
    assert result.truncated == ("stdout: 299,011 of 300,011 bytes cut: the first 500 and the last 500 are shown")
    assert "299,011 of 300,011 bytes cut" in result.stdout
    assert len(result.stdout) < 1200


def test_bytes_that_are_no_utf8_do_not_raise(tmp_path: Path) -> None:
    assert run(shell(r"printf '\377ok'", tmp_path)).stdout == "\ufffdok"


def test_missing_program_is_a_result(tmp_path: Path) -> None:
    result = run(Command(command=("no-such-program-here",), cwd=tmp_path, env=ENV, timeout_s=5))
    assert (result.exit_code, result.stderr) == (127, "no-such-program-here: No such file or directory")


def test_program_without_the_right_to_execute_is_a_result(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("echo hi")
    result = run(Command(command=(str(tmp_path / "x"),), cwd=tmp_path, env=ENV, timeout_s=5))
    assert result.exit_code == 126


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such folder"):
        run(shell("true", tmp_path / "gone"))


def test_error_of_on_spawn_kills_the_command(tmp_path: Path) -> None:
    seen: list[ProcessGroup] = []

    def fail(group: ProcessGroup) -> None:
        seen.append(group)
        raise RuntimeError("fenced")

    with pytest.raises(RuntimeError, match="fenced"):
        run(shell("sleep 60", tmp_path), on_spawn=fail)
    assert not alive(seen[0].pgid)


def test_group_is_named_so_that_a_later_one_is_not_taken_for_it(tmp_path: Path) -> None:
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        group = processes.group_of(child.pid)
        assert processes.still_ours(group)
        other = ProcessGroup(pgid=group.pgid, started=str(int(group.started) + 1), boot_id=group.boot_id)
        assert not processes.still_ours(other)
        assert not processes.end_group(other)
        assert not processes.still_ours(ProcessGroup(pgid=group.pgid, started=group.started, boot_id="another"))
        assert child.poll() is None
        assert processes.end_group(group)
        assert child.wait(60) == -signal.SIGTERM
        assert not processes.end_group(group)
    finally:
        child.kill()
        child.wait()


def test_start_time_survives_a_hostile_program_name(tmp_path: Path) -> None:
    script = tmp_path / "a) S 1 2 (b"
    script.symlink_to(sys.executable)
    child = subprocess.Popen([str(script), "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert str(processes.start_time(child.pid)).isdigit()
    finally:
        child.kill()
        child.communicate()


def test_many_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    results: dict[int, CommandResult] = {}

    def one(number: int) -> None:
        results[number] = run(shell(f"echo {number}", tmp_path))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: result.stdout for number, result in results.items()} == {n: f"{n}\n" for n in range(16)}
