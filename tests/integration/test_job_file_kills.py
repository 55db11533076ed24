"""A command killed at any system call leaves the old file or the new one, never a mix and never neither."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.conftest import clean_env

STRACE = shutil.which("strace")
pytestmark = pytest.mark.skipif(STRACE is None, reason="needs strace, which kills at a chosen system call")

OLD = "---\nschedule: every day 9am\ntimezone: UTC   # ours\n---\nlook at the logs\n"
NEW = "---\nschedule: every day 8am\ntimezone: UTC   # ours\n---\nlook at the logs\n"
ADDED = "---\nschedule: every day 9am\ntimezone: UTC\n---\nlook at the logs\n"

EDIT_POINTS = ["write:1", "fsync:1", "rename:1", "renameat2:1", "fsync:2", "pwrite64:9"]
ADD_POINTS = ["write:1", "fsync:1", "link:1", "unlink:1", "pwrite64:1", "fdatasync:4"]
REMOVE_POINTS = ["rename:1", "fsync:1", "pwrite64:2"]


@pytest.fixture
def killed(home: Home) -> Callable[..., bool]:
    """Run a command that is killed at the nth call of a kind; False when it ended before that call."""

    def run(point: str, *argv: str) -> bool:
        call, _, when = point.partition(":")
        done = subprocess.run(
            [
                str(STRACE), "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                "-e", f"inject={call}:signal=KILL:when={when}", sys.executable, "-m", "hermes_cron", *argv,
            ],
            env=clean_env({"HERMES_CRON_HOME": str(home.root)}), capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        if "ptrace" in done.stderr.lower() and "permitted" in done.stderr.lower():
            pytest.skip("this host forbids ptrace")
        return done.returncode != 0

    return run


def visible(home: Home) -> dict[str, str]:
    return {path.name: path.read_text() for path in home.jobs.iterdir() if not path.name.startswith(".")}


def names(run_cli: Callable[..., Any]) -> list[str]:
    listed = run_cli("list", "--json")
    assert listed.rc == 0, listed.err
    jobs = json.loads(listed.out)["jobs"]
    assert not [job for job in jobs if job["broken"]]
    return [job["name"] for job in jobs]


@pytest.mark.parametrize("point", ADD_POINTS)
def test_add(point: str, home: Home, killed: Callable[..., bool], run_cli: Callable[..., Any]) -> None:
    assert killed(point, "add", "every day 9am: look at the logs"), "the kill came too late to test anything"
    assert visible(home) in ({}, {"look-at-the-logs.md": ADDED})
    assert names(run_cli) == [name.removesuffix(".md") for name in visible(home)]
    again = run_cli("add", "every day 9am: look at the logs", "--if-not-exists")
    assert again.rc == 0, again.err
    assert visible(home) == {"look-at-the-logs.md": ADDED}


@pytest.mark.parametrize("point", EDIT_POINTS)
def test_edit(point: str, home: Home, killed: Callable[..., bool], run_cli: Callable[..., Any]) -> None:
    (home.jobs / "j.md").write_text(OLD)
    assert names(run_cli) == ["j"]
    assert killed(point, "edit", "j", "--schedule", "every day 8am"), "the kill came too late to test anything"
    assert visible(home) in ({"j.md": OLD}, {"j.md": NEW})
    assert names(run_cli) == ["j"]
    assert run_cli("edit", "j", "--schedule", "every day 8am").rc == 0
    assert visible(home) == {"j.md": NEW}


@pytest.mark.parametrize("point", REMOVE_POINTS)
def test_remove(point: str, home: Home, killed: Callable[..., bool], run_cli: Callable[..., Any]) -> None:
    (home.jobs / "j.md").write_text(OLD)
    assert names(run_cli) == ["j"]
    assert killed(point, "remove", "j", "-y"), "the kill came too late to test anything"
    assert names(run_cli) == [name.removesuffix(".md") for name in visible(home)]
    if not visible(home):
        removal = json.loads(run_cli("snapshots", "list", "--json").out)["snapshots"][0]["id"]
        assert run_cli("undo", removal, "-y").rc == 0
    assert visible(home) == {"j.md": OLD}
