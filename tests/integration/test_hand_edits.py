"""People edit job files while a scheduler runs: it sees them within two seconds and keeps each job's past."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.conftest import RunCli, clean_env

SOON_S = 2.0


def job(home: Home, name: str, schedule: str, *lines: str, script: str = "'true'") -> Path:
    path = home.jobs / f"{name}.md"
    text = "\n".join(["---", f"schedule: {schedule}", "timezone: UTC", f"script: {script}", *lines, "---", ""])
    draft = path.with_name(f".{name}.draft")
    draft.write_text(text)
    os.replace(draft, path)
    return path


@pytest.fixture
def log(home: Home) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """The events of one kind that the living scheduler has told so far."""
    serve = subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", "serve", "--drain", "0"],
        env=clean_env({"HERMES_CRON_HOME": str(home.root)}), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    path = home.logs / "serve.log"

    def events(kind: str) -> list[dict[str, Any]]:
        if not path.exists():
            return []
        return [line for line in map(json.loads, path.read_text().splitlines()) if line["event"] == kind]

    wait(lambda: events("ServeStarted"), "the scheduler is up", 20)
    yield events
    serve.send_signal(signal.SIGTERM)
    assert serve.wait(30) == 0


def wait(condition: Callable[[], object], what: str, limit_s: float) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < limit_s, f"did not happen: {what}"
        time.sleep(0.02)
    return time.monotonic() - began


Log = Callable[[str], list[dict[str, Any]]]


def told(log: Log, kind: str, **facts: object) -> bool:
    return any(all(event[key] == value for key, value in facts.items()) for event in log("JobsChanged") if kind)


def test_each_kind_of_edit_is_seen_within_two_seconds(home: Home, log: Log, run_cli: RunCli) -> None:
    def listed() -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in json.loads(run_cli("list", "--json").out)["jobs"]}

    job(home, "a", "'0 9 * * *'")
    assert wait(lambda: told(log, "x", added=["a"]), "added", SOON_S + 1) < SOON_S
    uid = listed()["a"]["uid"]

    job(home, "a", "'0 10 * * *'")
    assert wait(lambda: told(log, "x", changed=["a"]), "changed", SOON_S + 1) < SOON_S
    assert "T10:00" in listed()["a"]["next"]

    (home.jobs / "a.md").rename(home.jobs / "b.md")
    assert wait(lambda: told(log, "x", renamed=[["a", "b"]]), "renamed", SOON_S + 1) < SOON_S
    assert listed()["b"]["uid"] == uid

    job(home, "b", "'0 10 * * *'", "shedule: typo")
    assert wait(lambda: log("JobFileBroken"), "broken", SOON_S + 1) < SOON_S
    assert "jobs/b.md" in listed()["b"]["broken"]
    assert "T10:00" in listed()["b"]["next"]  # the last good version stays in force
    assert run_cli("status").rc == 6

    job(home, "b", "'0 10 * * *'", "paused: why")
    wait(lambda: len(log("JobsChanged")) >= 4, "paused", SOON_S + 1)
    assert listed()["b"]["paused"] == "why"
    assert run_cli("status").rc == 0

    (home.jobs / "b.md").unlink()
    wait(lambda: told(log, "x", removed=["b"]), "removed", SOON_S + 2)
    assert listed() == {}


def test_an_edit_under_load_runs_no_instant_twice_and_forgets_none(
    home: Home, log: Log, run_cli: RunCli, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    script = f'echo "$HERMES_CRON_SCHEDULED_AT" >> {outside}'
    for round_ in range(8):
        job(home, "a", f"every {1 + round_ % 2} seconds", f"description: round {round_}", script=script)
        before = outside.read_text().count("\n") if outside.exists() else 0
        wait(lambda before=before: outside.exists() and outside.read_text().count("\n") > before, "a run", 8)
    (home.jobs / "a.md").unlink()
    wait(lambda: told(log, "x", removed=["a"]), "removed", 4)
    instants = outside.read_text().split()
    assert len(instants) == len(set(instants))
    rows = json.loads(run_cli("history", "--json", "--limit", "1000").out)
    assert (rows["missing"], rows["waiting"]) == ([], 0)
    ran = {
        f"{datetime.fromisoformat(row['scheduled_at']).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        for row in rows["history"]
        if row["state"] == "ran"
    }
    assert set(instants) <= ran
