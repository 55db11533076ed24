"""C104: twenty people add a job at the same moment, while a scheduler starts on a home that has no store yet."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from hermes_cron.home import Home
from tests.conftest import clean_env

COUNT = 20


def add_all(home: Home, sentences: list[str]) -> list[tuple[int, str]]:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "hermes_cron", "add", sentence, "--json"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root)}), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )
        for sentence in sentences
    ]  # fmt: skip
    ended = [process.communicate(timeout=60) for process in started]
    return [(process.returncode, out or err) for process, (out, err) in zip(started, ended, strict=True)]


def test_c104_twenty_adds_at_once_are_twenty_jobs(home: Home, run_cli: Callable[..., Any]) -> None:
    serve = subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", "serve"],
        env=clean_env({"HERMES_CRON_HOME": str(home.root)}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        added_while_serving(home, run_cli)
        assert serve.poll() is None, "the scheduler lives"
    finally:
        serve.terminate()
        serve.communicate(timeout=30)


def added_while_serving(home: Home, run_cli: Callable[..., Any]) -> None:
    half = COUNT // 2
    done = add_all(home, [f"every day 9am: p{i}" for i in range(half)] + ["every day 9am: the same"] * half)
    assert [out for code, out in done if code] == []
    names = [json.loads(out)["name"] for _, out in done]
    assert len(set(names)) == COUNT
    assert sorted(names[half:]) == sorted(["the-same", *(f"the-same-{i}" for i in range(2, half + 1))])
    jobs = json.loads(run_cli("list", "--json").out)["jobs"]
    assert len(jobs) == COUNT
    assert len({job["uid"] for job in jobs}) == COUNT
    assert all(job["next"] for job in jobs)
    store = sqlite3.connect(home.store)
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert store.execute("SELECT count(*), count(DISTINCT uid) FROM jobs WHERE removed_at IS NULL").fetchone() == (
        20,
        20,
    )
    store.close()
