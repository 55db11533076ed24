"""Disks that fill and homes that cannot be written: real small file systems. C295 and C296 are beside the service."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hermes_cron.domain.job import Keep
from hermes_cron.home import Home
from hermes_cron.scheduler.housekeeping import housekeep
from hermes_cron.store.engine import Store
from tests.conftest import RunCli, clean_env
from tests.scheduler_rig import Rig
from tests.serving import Serving, until, write_job

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "service.jsonl").read_text("utf-8").splitlines())
}
END = datetime(2026, 12, 1, tzinfo=UTC)
EVERY = timedelta(hours=4)


@pytest.fixture
def small_home(tmp_path: Path) -> Iterator[Home]:
    """A home that is a file system of twelve megabytes. What is beside it (the clock, what a service says) is not."""
    home = Home(tmp_path / "home")
    home.root.mkdir()
    with Mounted(home.root, "12m"):
        for folder in (home.jobs, home.skills, home.memories, home.run, home.owners):
            folder.mkdir(parents=True)
        home.config.write_text('timezone = "UTC"\n')
        yield home


class Mounted:
    """A tmpfs of that size at a folder."""

    def __init__(self, folder: Path, size: str) -> None:
        self.folder, self.size = folder, size

    def __enter__(self) -> Path:
        if shutil.which("mount") is None or os.geteuid() != 0:
            pytest.skip("only root mounts")
        argv = ["mount", "-t", "tmpfs", "-o", f"size={self.size}", "hermes-cron-test", str(self.folder)]
        if subprocess.run(argv, capture_output=True, check=False).returncode != 0:
            pytest.skip("this host does not mount")
        return self.folder

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=True)


def fill(disk: Path) -> Path:
    """The file that takes all there is."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return ballast


# --- C300: what grows is bounded --------------------------------------------------------------------------------------


def with_a_year_of_runs(home: Home, job: str, *, ended: datetime) -> None:
    """A run every four hours for a year until then, each with its report."""
    folder = home.outputs / job
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    with closing(sqlite3.connect(home.store)) as store, store:
        (uid, spec) = store.execute("SELECT uid, spec FROM jobs WHERE name = ?", (job,)).fetchone()
        for number in range(int(timedelta(days=365) / EVERY)):
            at, name = f"{ended - number * EVERY:%Y-%m-%d %H:%M:%S.%f}", f"{job}-{ended:%y}-{number}"
            (folder / f"{name}.md").write_text("report\n")
            rows.append((name, uid, job, spec, at, at, at, f"outputs/{job}/{name}.md"))
        store.executemany(
            "INSERT INTO runs (id, job_uid, job_name, spec, queued_at, started_at, ended_at, output_path, cause, late,"
            " arguments, priority, state, fence, attempt, takeovers, iterations, tool_calls, tool_errors, tokens_input,"
            " tokens_output, tokens_cached, silent, actor) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'schedule', 0, '{}', 0,"
            " 'ok', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 'schedule')",
            rows,
        )


def kept(home: Home, job: str) -> int:
    reports = len(list((home.outputs / job).glob("*.md")))
    with closing(sqlite3.connect(home.store)) as store:
        (rows,) = store.execute("SELECT count(*) FROM runs WHERE job_name = ?", (job,)).fetchone()
    assert rows == reports, "a report and its row go together"
    return reports


def test_c300_a_year_of_reports_is_cut_to_what_is_kept(home: Home, run_cli: RunCli) -> None:
    write_job(home, "watch", "schedule: every 4 hours", "script: echo fine")
    write_job(home, "chatty", "schedule: every 4 hours", "script: echo fine", "keep: {runs: 30, days: 2}")
    assert run_cli("list").rc == 0
    sizes = []
    for year in range(2):
        now = END + timedelta(days=365 * year)
        for job in ("watch", "chatty"):
            with_a_year_of_runs(home, job, ended=now)
        with Store(home.store) as store:
            housekeep(store, home, keep=Keep(), emit=lambda _: None, now=now)
        sizes.append((kept(home, "watch"), kept(home, "chatty")))
    assert sizes == [(541, 30), (541, 30)], "ninety days of six, and what the job says; no more after a second year"
    assert CASES["C300"]["expected"]["disk_bounded"]


# --- C301: only what is disposable goes -------------------------------------------------------------------------------


def test_c301_a_store_is_no_output_however_old_it_is(home: Home) -> None:
    write_job(home, "j1", "schedule: every day at 9", "script: echo fine", "keep: {runs: 1, days: 1}")
    rig = Rig(home)
    try:
        rig.sync()
        with_a_year_of_runs(home, "j1", ended=END)
        old = (END - timedelta(days=100)).timestamp()
        others = [home.outputs / "by-hand.md", home.outputs / "j1" / "mine.txt", home.root / "outputs.db"]
        for path in others:
            path.write_text("a person's\n")
        before = {path for path in home.root.rglob("*") if path.is_file() and not path.is_relative_to(home.outputs)}
        for path in [*before, *others, *home.outputs.rglob("*")]:
            os.utime(path, (old, old))
        with closing(sqlite3.connect(home.store)) as store, store:  # a row that leads elsewhere is not followed
            store.execute("UPDATE runs SET output_path = 'state.db' WHERE id = (SELECT min(id) FROM runs)")
            store.execute("UPDATE runs SET output_path = 'jobs/j1.md' WHERE id = (SELECT max(id) FROM runs)")
        housekeep(rig.store, home, keep=Keep(), emit=rig.events.append, now=END + timedelta(days=30))
        left = {path for path in home.root.rglob("*") if path.is_file()}
        assert before <= left, before - left
        assert set(others) <= left
        with closing(sqlite3.connect(home.store)) as store:
            assert store.execute("SELECT count(*) FROM runs").fetchone() == (1,)
            assert store.execute("PRAGMA quick_check").fetchone() == ("ok",)
    finally:
        rig.store.close()


# --- C302: a full disk, a home that cannot be written -----------------------------------------------------------------


def sound(home: Home) -> bool:
    with closing(sqlite3.connect(home.store)) as store:
        return bool(store.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def test_c302_a_report_that_finds_no_room_fails_its_run_and_nothing_else(home: Home) -> None:
    write_job(home, "j", "schedule: every day at 12:00", "script: echo fine", "retries: 0")
    home.outputs.mkdir()
    with Mounted(home.outputs, "64k") as disk, Serving(home) as serving:
        ballast = fill(disk)
        serving.due("12:00", runs=1)
        (run,) = serving.runs()
        assert (run["state"], run["reason"]) == ("failed", "disk_full")
        assert "No space left" in run["error"]
        assert serving.process.poll() is None, "the scheduler goes on"
        assert sound(home)
        ballast.unlink()
        serving.due("+1 12:00", runs=2)
        assert [each["state"] for each in serving.runs()] == ["failed", "ok"]


def test_c302_a_scheduler_outlives_a_disk_that_is_full_for_a_while(small_home: Home) -> None:
    write_job(small_home, "j", "schedule: every day at 12:00", "script: echo fine")
    with Serving(small_home) as serving:
        ballast = fill(small_home.root)
        serving.at("12:00")
        until(lambda: "PassFailed" in serving.said.read_text(), "it says that it cannot write")
        assert serving.process.poll() is None
        ballast.unlink()
        serving.due("12:01", runs=1)
        assert [each["state"] for each in serving.runs()] == ["ok"], "the instant is not lost"
        assert sound(small_home)


@pytest.mark.parametrize("served_before", [False, True])
def test_c302_a_home_that_cannot_be_written_ends_the_start_with_one_line(
    small_home: Home, run_cli: RunCli, served_before: bool
) -> None:
    write_job(small_home, "j", "schedule: every day at 12:00", "script: echo fine")
    assert run_cli("list", at=small_home).rc == 0
    if served_before:
        assert run_cli("serve", "--once", at=small_home).rc == 0
    subprocess.run(["mount", "-o", "remount,ro", str(small_home.root)], check=True)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "hermes_cron", "serve"], capture_output=True, text=True, timeout=60, check=False,
            env=clean_env({"HERMES_CRON_HOME": str(small_home.root)}),
        )  # fmt: skip
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(small_home.root)], check=True)
    assert done.returncode not in (0, None)
    assert "Traceback" not in done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert "Read-only file system" in first
    assert all(line.startswith("  ") for line in rest), "the hint is all that follows"
    assert sound(small_home)
