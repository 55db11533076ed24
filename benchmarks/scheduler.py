"""How late do jobs start, and what does a scheduler cost that has nothing to do?"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil

from benchmarks import rig
from benchmarks.figures import Figure, spread
from hermes_cron.home import Home
from hermes_cron.store import reader

MANY = 10_000
SPAN_S = 60.0
IDLE_S = 120.0  # two of the slowest timers' rounds
BURST = 100


def run() -> list[Figure]:
    return [*lateness(), *with_many_jobs()]


def lateness() -> list[Figure]:
    """10,000 one-shots spread over a minute."""
    with rig.fresh_home() as home:
        done = subprocess.run(
            [rig.PYTHON, "-m", "benchmarks.noop_service", str(home.root), str(MANY), str(SPAN_S)],
            env=rig.environment(home), capture_output=True, text=True, check=True,
        )  # fmt: skip
    seen = json.loads(done.stdout.splitlines()[-1])
    note = f"p50 {seen['p50']:.1f}, {seen['count']} ran, {seen['rows']} rows ok, {seen['outputs']} reports, "
    note += f"{seen['cpu_s']:.0f} s of CPU with set-up"
    complete = float(seen["count"] == seen["rows"] == seen["outputs"] == MANY and not seen["set_up_too_late"])
    return [
        Figure(name="10,000 jobs over 60 s: all of them ran", value=complete, unit="", floor=1, note=note),
        Figure(name="  start lateness p99", value=seen["p99"], unit="ms", limit=25),
        Figure(name="  start lateness max", value=seen["max"], unit="ms", limit=100),
    ]


@contextmanager
def serving(home: Home, *argv: str) -> Iterator[subprocess.Popen[bytes]]:
    """``serve`` as a process, ended by SIGTERM."""
    process = subprocess.Popen([rig.HERMES, "serve", "-q", *argv], env=rig.environment(home), stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wait_for(condition, limit_s: float, step_s: float = 0.01) -> float:  # type: ignore[no-untyped-def]
    """Seconds until it holds."""
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > limit_s:
            raise TimeoutError
        time.sleep(step_s)
    return time.perf_counter() - began


def heartbeat(home: Home) -> bool:
    return any(home.owners.glob("serve-*.lock"))


def with_many_jobs() -> list[Figure]:
    figures: list[Figure] = []
    with rig.fresh_home() as home:
        first = [_add(home, f"first-{number}") for number in range(8)]
        rig.write_jobs(home, MANY, rig.far_future)
        rig.cli(home, "list")
        last = [_add(home, f"last-{number}") for number in range(8)]
        note = f"ms: first {spread(first)}, 10,000th {spread(last)}"
        figures.append(
            Figure(
                name="add beside 10,000 jobs / add to none",
                value=rig.median(last) / rig.median(first),
                unit="x",
                limit=1.3,
                note=note,
            )
        )
        starts = []
        for _ in range(3):
            began = time.perf_counter()
            with serving(home):
                wait_for(lambda: _first_pass(home), 30)
                starts.append(time.perf_counter() - began)
        figures.append(
            Figure(
                name="serve with 10,000 unchanged jobs: first pass done",
                value=rig.median(starts),
                unit="s",
                limit=1.0,
                note=spread(starts),
            )
        )
        with serving(home) as process:
            wait_for(lambda: _first_pass(home), 30)
            time.sleep(3)
            seen = psutil.Process(process.pid)
            before = _cpu_s(process.pid)
            time.sleep(IDLE_S)
            used = _cpu_s(process.pid) - before
            figures.append(
                Figure(
                    name="idle with 10,000 future jobs",
                    value=used / IDLE_S * 100,
                    unit="% core",
                    limit=0.1,
                    note=f"{used * 1000:.0f} ms of CPU in {IDLE_S:.0f} s",
                )
            )
            memory = seen.memory_info().rss / 2**20
            figures.append(Figure(name="memory with 10,000 jobs", value=memory, unit="MB", limit=90))
            figures += _burst(home)
    return figures


def _cpu_s(pid: int) -> float:
    """CPU of all threads in seconds, to the nanosecond: the usual counters tick in hundredths."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _add(home: Home, name: str) -> float:
    began = time.perf_counter()
    rig.cli(home, "add", "--name", name, "every year on january 1 at 9am: inspect nothing")
    return (time.perf_counter() - began) * 1000


def _first_pass(home: Home) -> bool:
    """The first pass ends with its line in the log."""
    log = home.logs / "serve.log"
    return heartbeat(home) and log.exists() and "ServeReady" in log.read_text(encoding="utf-8")[-4000:]


def _burst(home: Home) -> list[Figure]:
    """100 script jobs due at one instant, with 10,000 in the table, at the default concurrency."""
    at = datetime.now(UTC) + timedelta(seconds=12)
    text = f'---\nschedule: "{at.isoformat()}"\ntimezone: UTC\nscript: "true"\n---\n'
    rig.write_jobs(home, BURST, lambda _: text, prefix="burst")
    rows: list[tuple[str, str]] = []

    def all_ended() -> bool:
        nonlocal rows
        with reader.opened(home.store) as conn:
            assert conn is not None
            rows = conn.execute(
                "SELECT scheduled_at, started_at FROM runs WHERE job_name LIKE 'burst-%' AND ended_at IS NOT NULL"
            ).fetchall()
        return len(rows) == BURST

    wait_for(all_ended, 60, 0.2)
    lags = sorted((datetime.fromisoformat(b) - datetime.fromisoformat(a)).total_seconds() for a, b in rows)
    return [
        Figure(
            name="100 script jobs at one instant: last start",
            value=lags[-1],
            unit="s",
            limit=1.0,
            note=f"p50 {lags[len(lags) // 2]:.2f}, 4 at once",
        )
    ]
