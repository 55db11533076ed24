"""A process that kills itself at a step: a call into the system that changes a file."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

STEPS = ("open", "write", "fsync", "rename", "replace", "link", "mkdir", "unlink", "rmdir", "fchmod", "ftruncate")


def dies(work: Callable[[], Callable[[], None]], *, at: int | None) -> tuple[int, int]:
    """``work`` prepares and gives what is done, in a process of its own that dies with SIGKILL before step ``at``.

    How it ended, and how many steps it made.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(read)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            do, say = work(), os.write
            counted = _dying(at)
            do()
            say(write, str(counted()).encode())
            os._exit(0)
        os._exit(70)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), int(said or 0)


def _dying(at: int | None) -> Callable[[], int]:
    numbers, made = itertools.count(1), [0]

    def wrapped(step: Callable[..., Any], *, name: str) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            if name != "open" or args[1] & (os.O_CREAT | os.O_TRUNC):
                made[0] = number = next(numbers)
                if number == at:
                    os.kill(os.getpid(), signal.SIGKILL)
            return step(*args, **more)

        return call

    for name in STEPS:
        setattr(os, name, wrapped(getattr(os, name), name=name))
    return lambda: made[0]
