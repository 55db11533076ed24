"""Edits by hand are in the history soon, or before the next change; what is half done is finished."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.snapshots.held import MARKER
from hermes_cron.snapshots.repository import SnapshotRepository, Why, Write
from hermes_cron.testing import FixedClock
from tests.conftest import Ran
from tests.serving import Serving, until

RunCli = Callable[..., Ran]
JOB = "---\nschedule: every day 9am\ntimezone: UTC\n---\nlook at the logs\n"


def repository(home: Home) -> SnapshotRepository:
    return SnapshotRepository(home.root, FixedClock(datetime(2026, 12, 1, tzinfo=UTC)))


def commits(run_cli: RunCli) -> list[dict[str, Any]]:
    listed = run_cli("snapshots", "list", "--json")
    assert listed.rc == 0, listed.err
    found: list[dict[str, Any]] = json.loads(listed.out)["snapshots"]
    return found


def test_a_living_service_keeps_what_an_editor_wrote(home: Home) -> None:
    with Serving(home):
        (home.jobs / "mine.md").write_text(JOB)
        until(lambda: repository(home).head() is not None, "no snapshot was made")
        first = repository(home).head()
        assert first is not None
        assert (first.actor, first.by) == ("user", None)
        (home.jobs / "mine.md").write_text(JOB + "and at the disk\n")
        until(lambda: (head := repository(home).head()) is not None and head.id != first.id, "no second snapshot")
    files = repository(home).objects()
    head = repository(home).head()
    assert head is not None
    entry = files.at(head.tree, b"jobs/mine.md")
    assert entry is not None
    assert files.read(entry.oid).decode() == JOB + "and at the disk\n"


def test_without_a_service_the_next_undo_keeps_them_first(home: Home, run_cli: RunCli) -> None:
    assert run_cli("add", "every day 9am: look at the logs", "--name", "a").rc == 0
    (home.jobs / "mine.md").write_text(JOB)
    added = commits(run_cli)[0]["id"]
    assert run_cli("undo", added, "-y").rc == 0
    assert [(it["actor"], it["reason"]) for it in commits(run_cli)[:3]] == [
        ("restore", commits(run_cli)[0]["reason"]), ("user", "edited by hand"), ("cli", "add a"),
    ]  # fmt: skip
    assert sorted(path.name for path in home.jobs.iterdir()) == ["mine.md"]


@pytest.fixture
def half_done(home: Home) -> Path:
    """A change of two files whose process died between them."""
    snapshots = repository(home)
    snapshots.create(Why(actor="user", reason="first"))
    (home.jobs / "a.md").write_text(JOB)
    changed = snapshots.change(Why(actor="cli", reason="two"), {
        "jobs/b.md": Write(JOB.encode()), "jobs/c.md": Write(JOB.encode())
    })  # fmt: skip
    assert changed.after is not None
    (home.jobs / "c.md").unlink()
    marker = {"base": changed.before.id, "target": changed.after.id}
    (home.history / MARKER).write_text(json.dumps(marker))
    return home.unfinished_change


def test_whichever_command_comes_next_finishes_a_change(home: Home, run_cli: RunCli, half_done: Path) -> None:
    assert half_done.exists()
    listed = run_cli("list", "--json")
    assert [job["name"] for job in json.loads(listed.out)["jobs"]] == ["a", "b", "c"]
    assert not half_done.exists()


def test_a_command_that_only_looks_does_not_fail_for_it(home: Home, run_cli: RunCli, half_done: Path) -> None:
    half_done.write_text("no json")
    listed = run_cli("list", "--json")
    assert listed.rc == 0, listed.err
    assert [job["name"] for job in json.loads(listed.out)["jobs"]] == ["a", "b"]
    refused = run_cli("add", "every day 9am: look", "--name", "d")
    assert refused.rc == 1
    assert refused.err.startswith("error: ")
    assert not (home.jobs / "d.md").exists()


def test_a_service_finishes_it_too(home: Home, half_done: Path) -> None:
    changed = json.loads(half_done.read_text())
    half_done.unlink()
    with Serving(home):
        (home.jobs / "c.md").unlink(missing_ok=True)
        half_done.write_text(json.dumps(changed))
        until(lambda: (home.jobs / "c.md").exists() and not half_done.exists(), "not finished")


def test_commands_beside_each_other_wait_for_one_another(home: Home, run_cli: RunCli) -> None:
    import subprocess
    import sys

    from tests.conftest import clean_env

    began = time.monotonic()
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "hermes_cron", "add", "every day 9am: look", "--name", f"j{number}"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root)}), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        for number in range(4)
    ]  # fmt: skip
    done = [process.communicate(timeout=100)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, done
    assert time.monotonic() - began < 100
    made = [it["reason"] for it in commits(run_cli)]
    assert sorted(made) == ["add j0", "add j1", "add j2", "add j3", "edited by hand"]
