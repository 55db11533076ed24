"""A restore that is killed in its middle: the state before it is in the list, and comes back byte for byte."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.conftest import clean_env
from tests.history_rig import JOB, LINES, SKILL, Past, tree_sha

STRACE = shutil.which("strace")
LIMIT_S = 60.0


@pytest.fixture
def changed(home: Home) -> tuple[Past, str]:
    """Thirty files, then thirty others: new, changed, removed, other modes, links."""
    past = Past(home)
    for number in range(10):
        past.put(f"skills/db/tidy/references/{number}.md", f"old {number}\n")
        past.put(f"jobs/old-{number}.md", JOB)
    past.first = past.by_hand("all of it")
    first_sha = tree_sha(home)
    edits: dict[str, str | None] = {f"skills/db/tidy/references/{number}.md": f"new {number}\n" for number in range(10)}
    edits |= {f"jobs/old-{number}.md": None for number in range(10)}
    edits |= {f"jobs/new-{number}.md": JOB.replace("9am", "8am") for number in range(10)}
    past.by_run("r1", edits)
    (home.skills / "db/tidy/run.sh").write_text("#!/bin/sh\n")
    (home.skills / "db/tidy/run.sh").chmod(0o755)
    (home.memories / "MEMORY.md").symlink_to("../elsewhere")
    past.by_hand()
    return past, first_sha


def killed(home: Home, point: str, *argv: str) -> bool:
    """Run a command that is killed at the nth call of a kind; False when it ended before that call."""
    call, _, when = point.partition(":")
    done = subprocess.run(
        [
            str(STRACE), "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
            "-e", f"inject={call}:signal=KILL:when={when}", sys.executable, "-m", "hermes_cron", *argv,
        ],
        env=clean_env({"HERMES_CRON_HOME": str(home.root)}), capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip
    if "ptrace" in done.stderr.lower() and "permitted" in done.stderr.lower():
        pytest.skip("this host forbids ptrace")
    return done.returncode != 0


def ids(run_cli: Callable[..., Any]) -> list[str]:
    return [it["id"] for it in json.loads(run_cli("snapshots", "list", "--json").out)["snapshots"]]


@pytest.mark.skipif(STRACE is None, reason="needs strace, which kills at a chosen system call")
@pytest.mark.parametrize("point", ["unlink:5", "unlink:15", "renameat2:5", "linkat:5"])
def test_the_state_before_is_listed_and_comes_back(
    point: str, home: Home, changed: tuple[Past, str], run_cli: Callable[..., Any]
) -> None:
    past, after = changed
    before = tree_sha(home)
    (pre_image, *_) = ids(run_cli)
    assert killed(home, point, "snapshots", "restore", past.first, "--exact", "-y"), "the kill came too late"
    assert tree_sha(home) not in (before, after), "the kill was not in the middle"
    assert pre_image in ids(run_cli)
    assert tree_sha(home) == after, "whoever looks next finishes it"
    restored = run_cli("snapshots", "restore", pre_image, "--exact", "-y")
    assert restored.rc == 0, restored.err
    assert tree_sha(home) == before
    assert run_cli("snapshots", "verify").rc == 0


def dialogue(home: Home, argv: tuple[str, ...], question: str, answer: str) -> tuple[int, str]:
    """Run on a terminal of its own; wait for the question, then type."""
    pid, terminal = pty.fork()
    if pid == 0:  # the child: nothing but exec
        env = clean_env({"HERMES_CRON_HOME": str(home.root), "TERM": "dumb"})
        os.execve(sys.executable, [sys.executable, "-m", "hermes_cron", *argv], env)
    shown, asked, deadline = b"", False, time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if not asked and question.encode() in shown:
            asked = True
            os.write(terminal, answer.encode() + b"\n")
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the other end is closed: the process is done
                break
    os.close(terminal)
    assert asked, shown.decode()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


@pytest.mark.parametrize("answer, code", [("n", 1), ("y", 0)])
def test_on_a_terminal_it_shows_then_asks(home: Home, answer: str, code: int) -> None:
    past = Past(home)
    past.by_run("r1", {SKILL: LINES + "LEARNED\n"})
    done, shown = dialogue(home, ("undo", "r1"), "Go on?", answer)
    assert done == code, shown
    assert shown.index("skill  tidy @2 -> @1") < shown.index("Go on?")
    assert past.text() == (LINES if answer == "y" else LINES + "LEARNED\n")
    assert ("Nothing was changed." in shown) == (answer == "n")
