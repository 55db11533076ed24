"""Two schedulers on one home, one of them killed again and again: nothing runs twice, nothing is forgotten.

What ran is counted in a file outside the home that the scripts append to; what was due is asked of ``history``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hermes_cron.home import Home
from tests.conftest import clean_env

JOBS = 50
KILLS = 20


class Serve:
    """One scheduler process of a home, started anew after each kill."""

    def __init__(self, home: Home, *options: str, env: dict[str, str] | None = None) -> None:
        self._argv = [sys.executable, "-m", "hermes_cron", "serve", "--concurrency", "16", *options]
        self._env = clean_env({"HERMES_CRON_HOME": str(home.root), **(env or {})})
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._argv, env=self._env, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def write_jobs(home: Home, outside: Path, schedule: str) -> None:
    for number in range(JOBS):
        (home.jobs / f"job-{number:02}.md").write_text(
            f"---\nschedule: {schedule}\ntimezone: UTC\n"
            f'script: echo "$HERMES_CRON_JOB $HERMES_CRON_SCHEDULED_AT" >> {outside}\n---\n'
        )


def write_slow(home: Home, outside: Path, schedule: str) -> None:
    """A script of ten minutes. Its own text keeps the shell from becoming its last command, so pgrep finds it."""
    script = f"echo begun >> {outside}; sleep 600; echo end >> {outside}"
    (home.jobs / "slow.md").write_text(
        f"---\nschedule: {schedule}\ntimezone: UTC\nscript: {script}\ntimeout: 10m\n---\n"
    )


def ask(home: Home, *argv: str, env: dict[str, str] | None = None) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "hermes_cron", *argv, "--json"],
        env=clean_env({"HERMES_CRON_HOME": str(home.root), **(env or {})}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def verdict(home: Home, outside: Path, env: dict[str, str] | None = None) -> tuple[dict[str, int], int]:
    """How the due instants ended, and how many lines the scripts wrote. Fails on a double or a forgotten instant."""
    lines = Counter(outside.read_text().splitlines())
    assert [line for line, count in lines.items() if count > 1] == []
    rows = ask(home, "history", "--limit", "100000", env=env)["history"]
    assert isinstance(rows, list)
    instants = Counter((row["job"], row["scheduled_at"]) for row in rows)
    assert [instant for instant, count in instants.items() if count > 1] == []
    ran = {f"{row['job']} {_utc(row['scheduled_at'])}" for row in rows if row["state"] == "ran"}
    assert set(lines) <= ran  # nothing was done that no row tells of
    well = {f"{row['job']} {_utc(row['scheduled_at'])}" for row in rows if row["result"] == "ok"}
    assert well <= set(lines)  # nothing is called ok that was not done
    state = ask(home, "status", env=env)
    day = state["last_24h"]
    assert isinstance(day, dict)
    assert day["missing"] == []
    assert day["accounted_for"] + day["waiting"] == day["due"]
    return Counter(str(row["result"] if row["state"] == "ran" else row["state"]) for row in rows), sum(lines.values())


def _utc(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z"


def wait_for_lines(outside: Path, count: int, limit_s: float = 30) -> None:
    end = time.monotonic() + limit_s
    while not outside.exists() or outside.read_text().count("\n") < count:
        assert time.monotonic() < end, "the scripts do not run"
        time.sleep(0.02)


def test_twenty_kills_in_real_time(home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    write_jobs(home, outside, "every 5 seconds")
    serves = [Serve(home), Serve(home)]
    try:
        wait_for_lines(outside, JOBS)
        chance = random.Random(1)
        for _ in range(KILLS):
            time.sleep(chance.uniform(1.0, 4.5))
            victim = chance.choice(serves)
            victim.kill()
            victim.start()
        time.sleep(8)
    finally:
        codes = [serve.stop() for serve in serves]
    assert codes == [0, 0]
    assert Serve(home, "--once").process.wait(60) == 0  # what was queued when they were stopped is not forgotten either
    ends, written = verdict(home, outside)
    assert ends["ok"] > JOBS * 5
    assert written >= ends["ok"]
    assert ends["running"] == ends["queued"] == 0
    print(dict(ends), written)


def test_kills_under_an_injected_clock(home: Home, tmp_path: Path) -> None:
    """An hour of a minutely schedule in seconds; the clock also jumps over ten minutes with nobody there."""
    outside, clock = tmp_path / "outside.txt", tmp_path / "clock"
    env = {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(clock)}
    now = datetime(2026, 12, 1, 9, 0, 30, tzinfo=UTC)

    def tick(by: timedelta) -> None:
        nonlocal now
        now += by
        draft = clock.with_suffix(".new")
        draft.write_text(now.isoformat())
        os.replace(draft, clock)

    tick(timedelta(0))
    write_jobs(home, outside, "'* * * * *'")
    serves = [Serve(home, env=env), Serve(home, env=env)]
    chance = random.Random(2)
    try:
        end = time.monotonic() + 30
        while len(ask(home, "list", env=env)["jobs"]) < JOBS:  # type: ignore[arg-type]
            assert time.monotonic() < end
        for round_ in range(10):
            tick(timedelta(minutes=1))
            wait_for_lines(outside, JOBS * max(1, round_ - 3) // 2)
            victim = chance.choice(serves)
            victim.kill()
            victim.start()
        for serve in serves:
            serve.kill()
        tick(timedelta(minutes=10))
        before = outside.read_text().count("\n")
        for serve in serves:
            serve.start()
        wait_for_lines(outside, before + JOBS // 2)
    finally:
        codes = [serve.stop() for serve in serves]
    assert codes == [0, 0]
    ends, _ = verdict(home, outside, env)
    assert ends["merged"] >= JOBS * 8
    assert ends["ok"] >= JOBS * 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_interrupts_what_does_not_end_and_says_so(home: Home, tmp_path: Path, number: int) -> None:
    outside = tmp_path / "outside.txt"
    write_slow(home, outside, "every 1 second")
    serve = Serve(home, "--drain", "0")
    wait_for_lines(outside, 1)
    serve.process.send_signal(number)
    assert serve.process.wait(timeout=30) == (0 if number == signal.SIGTERM else 130)
    (run,) = [row for row in ask(home, "runs", "list")["runs"] if row["state"] != "skipped"]  # type: ignore[attr-defined]
    assert (run["state"], run["reason"]) == ("interrupted", "shutdown")
    assert run["ended_at"] is not None
    assert subprocess.run(["pgrep", "-f", str(outside)], capture_output=True, check=False).stdout == b""


def test_a_killed_service_leaves_no_script_behind_and_its_run_is_told_of(home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    write_slow(home, outside, "every 2 seconds")
    serve = Serve(home, "--drain", "0")
    wait_for_lines(outside, 1)
    serve.kill()
    serve.start()
    wait_for_lines(outside, 2)  # the job is free again: the dead run was ended first
    (line,) = subprocess.run(["pgrep", "-fc", str(outside)], capture_output=True, text=True, check=False).stdout.split()
    assert int(line) == 1
    serve.stop()
    runs = [row for row in ask(home, "runs", "list")["runs"] if row["state"] == "interrupted"]  # type: ignore[attr-defined]
    assert "owner_died" in {row["reason"] for row in runs}


def test_a_killed_service_leaves_no_check_behind_and_its_run_is_judged_by_the_next(home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    check = f"echo judged >> {outside}; test $(wc -l < {outside}) -gt 1 || sleep 600; echo end >> {outside}"
    (home.jobs / "slow.md").write_text(
        "---\nschedule: every 2 seconds\ntimezone: UTC\nmax_runs: 1\nscript: echo done\n"
        f'checks: [{{shell: {{command: "{check}", timeout: 10m}}}}]\n---\n'
    )
    serve = Serve(home, "--drain", "0")
    wait_for_lines(outside, 1)
    serve.kill()
    serve.start()
    wait_for_lines(outside, 3)
    ended = wait_for_end(home, "slow")
    left = subprocess.run(["pgrep", "-fc", str(outside)], capture_output=True, text=True, check=False).stdout
    serve.stop()
    assert (outside.read_text().split(), left.strip()) == (["judged", "judged", "end"], "0")
    assert (ended["state"], ended["verified"]) == ("ok", "verified")


def wait_for_end(home: Home, job: str, limit_s: float = 30) -> dict[str, object]:
    """The job's one run, when it ended."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        runs = ask(home, "runs", "list")["runs"]
        assert isinstance(runs, list)
        for row in runs:
            if row["job"] == job and row["ended_at"] is not None:
                return dict(row)
        time.sleep(0.1)
    raise AssertionError("the run does not end")
