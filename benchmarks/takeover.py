"""How long until another scheduler goes on with a run whose owner was killed with ``kill -9``?

Two schedulers on one home; the model never answers, so the run is in its first step when its owner dies. The time runs
from the kill until the store names the other one as the owner.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable

from benchmarks import rig
from benchmarks.figures import Figure, spread
from hermes_cron.home import Home
from hermes_cron.models.stub import StubServer

ROUNDS = 5
LIMIT_S = 2.0
JOB = "---\nschedule: '0 0 1 1 *'\ntimezone: UTC\nlimits: {minutes: 10}\n---\nsay something\n"


def run() -> list[Figure]:
    with StubServer({"replies": [{"repeat": True, "text": "done", "delay_ms": 300_000}]}) as stub:
        config = f'[model]\nname = "m"\nbase_url = "{stub.base_url}"\ntimeout_s = 3600\n'
        taken = [_round(config) for _ in range(ROUNDS)]
    note = f"s, min/median/max: {spread(taken)}"
    return [Figure(name="take-over after kill -9", value=max(taken), unit="s", limit=LIMIT_S, note=note)]


def _round(config: str) -> float:
    with rig.fresh_home(config) as home:
        (home.jobs / "job.md").write_text(JOB, encoding="utf-8")
        serves = [_serve(home) for _ in range(2)]
        try:
            _until(lambda: len(list(home.owners.glob("serve-*.lock"))) == 2)
            rig.cli(home, "run", "job", "--detach")
            owner = str(_until(lambda: _owner(home)))
            os.kill(int(owner.split("-")[1]), signal.SIGKILL)
            began = time.perf_counter()
            _until(lambda: _owner(home) not in {owner, None})
            return time.perf_counter() - began
        finally:
            for serve in serves:
                serve.kill()
                serve.wait(60)


def _serve(home: Home) -> subprocess.Popen[bytes]:
    return subprocess.Popen([rig.HERMES, "serve", "-q"], env=rig.environment(home), stderr=subprocess.DEVNULL)


def _owner(home: Home) -> str | None:
    """Of the one run, while it is running."""
    conn = sqlite3.connect(f"{home.store.as_uri()}?mode=ro", uri=True, timeout=20)
    try:
        row = conn.execute("SELECT owner FROM runs WHERE state = 'running'").fetchone()
    except sqlite3.OperationalError:  # no table yet
        return None
    finally:
        conn.close()
    return None if row is None else row[0]


def _until(answer: Callable[[], object]) -> object:
    end = time.perf_counter() + 60
    while not (found := answer()):
        if time.perf_counter() > end:
            raise TimeoutError("nothing happened within a minute")
        time.sleep(0.005)
    return found
