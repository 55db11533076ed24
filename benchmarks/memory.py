"""How much memory does the service hold?"""

from __future__ import annotations

import time

import psutil

from benchmarks import agents, rig
from benchmarks.figures import Figure
from benchmarks.scheduler import serving, wait_for


def run() -> list[Figure]:
    with agents.stub() as base_url:
        config = f'[model]\nname = "m"\nbase_url = "{base_url}"\n'
        with rig.fresh_home(config) as home, serving(home) as process:
            wait_for((home.logs / "serve.log").exists, 20)
            time.sleep(3)
            seen = psutil.Process(process.pid)
            before = seen.memory_info().rss / 2**20
            agents._round(home, "agent", 10, after_s=4)  # the same jobs as in that benchmark
            after = seen.memory_info().rss / 2**20
    return [
        Figure(name="serve before the first run", value=before, unit="MB", limit=80),
        Figure(name="serve after ten agent runs", value=after, unit="MB", limit=120),
    ]
