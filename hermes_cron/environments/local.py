"""How does a command run on this host, bounded in time and output and leaving nothing behind?

Each command gets a session and process group of its own. Whatever ends the wait (its exit, the time-out, a cancel),
the whole group is ended: SIGTERM, ``GRACE_S`` later SIGKILL. A process that left the group by ``setsid`` is not ours
to kill; it cannot hold us up either, since the wait for its end of the pipes is bounded by ``DRAIN_S``.

A command whose process group somebody notes down starts behind a gate: a shell that holds the group, reads one line of
its input and becomes the command. The line is written when the note is kept. If we die before that, the input ends and
the gate exits having done nothing, so a group that was never noted never acted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import shutil
import signal
import subprocess
import time
from typing import IO, cast

from hermes_cron.domain.clip import BoundedOutput
from hermes_cron.domain.command import Command, CommandResult, Flag, OnSpawn, ProcessGroup
from hermes_cron.environments import processes
from hermes_cron.errors import NotFound

GRACE_S = 2.0
DRAIN_S = 0.5
_POLL_S = 0.05
_CHUNK = 65_536
NOT_EXECUTABLE, NO_SUCH_PROGRAM = 126, 127  # as POSIX shells answer, XCU 2.8.2
_GATE = "read -r HERMES_CRON_GO || exit 125; unset HERMES_CRON_GO"
_OPEN = b"\n"
_OF_SHELLS = ("PWD", "OLDPWD", "SHLVL")  # what a shell adds to the environment of what it becomes


def run(command: Command, *, cancel: Flag | None = None, on_spawn: OnSpawn | None = None) -> CommandResult:
    """Returns when the command ended or was ended. ``on_spawn`` is called once; not one instruction of the command runs
    before it returned.

    A program that is missing or not executable is a result (127, 126), as in a shell. Raises ``NotFound`` when the
    folder is missing. If ``on_spawn`` raises, the command is killed and the error goes on.
    """
    started = time.monotonic()
    if not command.cwd.is_dir():
        raise NotFound(f"{command.cwd}: no such folder to run a command in")
    gated = on_spawn is not None
    try:
        child = _spawn(command, gated=gated)
    except OSError as error:
        return _not_started(command, error)
    with child:
        running = _Running(child, command)
        try:
            if on_spawn is not None:
                on_spawn(processes.group_of(child.pid))
            running.begin(_OPEN if gated else b"")
            running.wait(started + command.timeout_s, cancel)
        finally:
            running.end()
    return running.result(started)


def shell() -> str:
    """The shell that reads shell text."""
    return shutil.which("bash", path="/bin:/usr/bin:/usr/local/bin") or "/bin/sh"


def _spawn(command: Command, *, gated: bool) -> subprocess.Popen[bytes]:
    argv = (shell(), "-c", command.command) if isinstance(command.command, str) else command.command
    if gated:
        _look_up(argv[0], command)
        argv = ("/bin/sh", "-c", _gate(command), "sh", *argv)
    return subprocess.Popen(
        argv,
        cwd=command.cwd,
        env=dict(command.env),
        stdin=subprocess.PIPE if gated or command.stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def _gate(command: Command) -> str:
    """Shell text that waits for its line and becomes its arguments, in the environment and with the input they have."""
    added = "".join(f" {name}" for name in _OF_SHELLS if name not in command.env)
    return f'{_GATE}{added}; exec "$@"' + (" </dev/null" if command.stdin is None else "")


def _look_up(program: str, command: Command) -> None:
    """Raises the error that starting the program would raise, which behind the gate would be the shell's to tell."""
    folders = ("",) if os.sep in program else os.get_exec_path(dict(command.env))
    paths = [command.cwd / folder / program for folder in folders]
    if any(os.access(path, os.X_OK) and path.is_file() for path in paths):
        return
    number = errno.EACCES if any(os.access(path, os.F_OK) for path in paths) else errno.ENOENT
    raise OSError(number, os.strerror(number))


def _not_started(command: Command, error: OSError) -> CommandResult:
    name = command.command[0] if isinstance(command.command, tuple) else shell()
    return CommandResult(
        exit_code=NO_SUCH_PROGRAM if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE,
        stdout="",
        stderr=f"{name}: {error.strerror or error}",
        truncated=None,
        timed_out=False,
        cancelled=False,
        elapsed_ms=0,
    )


class _Running:
    """One child and its pipes, looked after by the calling thread alone."""

    def __init__(self, child: subprocess.Popen[bytes], command: Command) -> None:
        self._child = child
        self._stdin = memoryview(b"")
        self._input = command.stdin or b""
        self._outputs = {"stdout": BoundedOutput(command.cap_bytes), "stderr": BoundedOutput(command.cap_bytes)}
        self._selector = selectors.DefaultSelector()
        self._timed_out = self._cancelled = False
        self._left_behind = 0
        for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, name)

    def begin(self, opening: bytes) -> None:
        """Gives the command its input, which nothing of it had before; ``opening`` goes to the gate before it."""
        if (pipe := self._child.stdin) is not None:
            os.set_blocking(pipe.fileno(), False)
            self._stdin = memoryview(opening + self._input)
            self._selector.register(pipe, selectors.EVENT_WRITE, "stdin")
            self._feed(pipe)

    def wait(self, end: float, cancel: Flag | None) -> None:
        """Until the leader exits, ``end`` (monotonic) passes or ``cancel`` is set."""
        while not self._leader_exited():
            if cancel is not None and cancel.is_set():
                self._cancelled = True
                return
            left = end - time.monotonic()
            if left <= 0:
                self._timed_out = True
                return
            self._pump(min(left, _POLL_S))

    def end(self) -> None:
        """Ends the group, drains the pipes within a bound, closes everything, reaps the leader."""
        try:
            self._end_group()
            self._drain(time.monotonic() + DRAIN_S)
        finally:
            processes.send(self._child.pid, signal.SIGKILL)
            for key in list(self._selector.get_map().values()):
                self._close(cast("IO[bytes]", key.fileobj))
            self._selector.close()
            self._child.wait()

    def result(self, started: float) -> CommandResult:
        code = self._child.returncode
        cuts = [f"{name}: {cut}" for name, held in self._outputs.items() if (cut := held.cut())]
        return CommandResult(
            exit_code=code if code >= 0 else 128 - code,
            stdout=self._outputs["stdout"].text(),
            stderr=self._outputs["stderr"].text(),
            truncated="; ".join(cuts) or None,
            timed_out=self._timed_out,
            cancelled=self._cancelled,
            elapsed_ms=round((time.monotonic() - started) * 1000),
            left_behind=self._left_behind,
            stdout_bytes=self._outputs["stdout"].total,
            stderr_bytes=self._outputs["stderr"].total,
        )

    def _end_group(self) -> None:
        # The leader is not reaped before the last signal, so the group's number cannot have a new owner.
        alive = processes.members(self._child.pid)
        if not alive:
            return
        if not self._timed_out and not self._cancelled:
            self._left_behind = len(alive)
        processes.send(self._child.pid, signal.SIGTERM)
        end = time.monotonic() + GRACE_S
        while processes.members(self._child.pid) and time.monotonic() < end:
            self._pump(_POLL_S / 5)
        processes.send(self._child.pid, signal.SIGKILL)

    def _drain(self, end: float) -> None:
        while self._selector.get_map() and (left := end - time.monotonic()) > 0:
            self._pump(min(left, _POLL_S))

    def _leader_exited(self) -> bool:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._child.pid, flags) is not None

    def _pump(self, wait_s: float) -> None:
        if not self._selector.get_map():
            time.sleep(wait_s)
            return
        for key, _ in self._selector.select(wait_s):
            pipe = cast("IO[bytes]", key.fileobj)
            if key.data == "stdin":
                self._feed(pipe)
            elif data := self._read(key.fd):
                self._outputs[key.data].write(data)
            elif data is not None:
                self._close(pipe)

    @staticmethod
    def _read(fd: int) -> bytes | None:
        """Empty at the end of the stream, None when there is nothing yet."""
        try:
            return os.read(fd, _CHUNK)
        except BlockingIOError:
            return None

    def _feed(self, pipe: IO[bytes]) -> None:
        try:
            self._stdin = self._stdin[os.write(pipe.fileno(), self._stdin[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._stdin = memoryview(b"")  # the command does not want the rest: its right
        if not self._stdin:
            self._close(pipe)

    def _close(self, pipe: IO[bytes]) -> None:
        self._selector.unregister(pipe)
        with contextlib.suppress(OSError):
            pipe.close()


__all__ = ["Command", "CommandResult", "Flag", "OnSpawn", "ProcessGroup", "run", "shell"]
