"""What does a scrape cost: its time, and the scheduler's while one comes every second for a minute?

A real service with 200 jobs, 1,000 skills and totals of all of them, asked over loopback as a Prometheus asks. What it
uses without being asked is measured in the same service, before and after.
"""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from http.client import HTTPConnection

import psutil

from benchmarks import rig
from benchmarks.figures import Figure, spread
from benchmarks.scheduler import serving, wait_for
from hermes_cron.home import Home
from hermes_cron.scheduler import owners
from hermes_cron.store import counters
from hermes_cron.store.engine import Store
from tests.skill_probes import write_library

JOBS, SKILLS = 200, 1_000
SCRAPES = 60
QUIET_S = 20
LISTEN = '[metrics]\nlisten = "127.0.0.1:0"\n'


def run() -> list[Figure]:
    with rig.fresh_home(LISTEN) as home:
        rig.write_jobs(home, JOBS, rig.far_future)
        write_library(home.skills)
        rig.cli(home, "list")
        _totals(home)
        with serving(home) as process:
            wait_for(lambda: _address(home), 60)
            seen = psutil.Process(process.pid)
            first, size = _scrape(home)
            quiet = _share(seen, lambda: time.sleep(QUIET_S))
            times: list[float] = []
            asked = _share(seen, lambda: _scrapes(home, times))
            quiet = (quiet + _share(seen, lambda: time.sleep(QUIET_S))) / 2
    note = f"{spread(times)} of {len(times)}; the first {first:.0f}; {size // 1024:,} kB"
    cost = f"{asked:.1f} % of a core with, {quiet:.1f} % without"
    return [
        Figure(
            name=f"/metrics, {JOBS} jobs and {SKILLS:,} skills",
            value=statistics.median(times),
            unit="ms",
            limit=100,
            note=note,
        ),
        Figure(name="  the first one", value=first, unit="ms"),
        Figure(name="a scrape a second for a minute", value=max(0.0, asked - quiet), unit="%", limit=5, note=cost),
    ]


def _address(home: Home) -> str | None:
    return next((each.metrics for each in owners.living(home.owners) if each.metrics), None)


def _scrape(home: Home) -> tuple[float, int]:
    """Milliseconds, bytes."""
    address = _address(home)
    assert address is not None
    began = time.perf_counter()
    with closing(HTTPConnection(address, timeout=30)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read()
    assert b'job_name="job-00000"' in text
    return (time.perf_counter() - began) * 1000, len(text)


def _scrapes(home: Home, times: list[float]) -> None:
    due = time.monotonic()
    for _ in range(SCRAPES):
        times.append(_scrape(home)[0])
        due += 1
        time.sleep(max(0.0, due - time.monotonic()))


def _share(process: psutil.Process, work) -> float:  # type: ignore[no-untyped-def]
    """Of one core, in percent."""
    before, began = process.cpu_times(), time.monotonic()
    work()
    after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    return float(100 * used / (time.monotonic() - began))


def _totals(home: Home) -> None:
    """As after months: each job ran, each skill was followed."""
    skills = [path.parent.name for path in home.skills.glob("*/*/SKILL.md")]
    jobs = [path.stem for path in home.jobs.glob("*.md")]
    raises: list[counters.Raise] = []
    for job in jobs:
        raises += [(counters.RUNS, {"job_name": job, "outcome": outcome}, 90) for outcome in ("ok", "failed")]
        raises += [(counters.OCCURRENCES, {"job_name": job, "state": "ran"}, 180)]
        raises += counters.observation(counters.DURATION, 2.0, {"job_name": job})
        raises += counters.observation(counters.ITERATIONS, 4, {"job_name": job})
    for skill in skills:
        raises += [(name, {"skill": skill}, 7) for name in (counters.SKILL_USES, counters.SKILL_VIEWS)]
        raises += [(counters.SKILL_OUTCOMES, {"skill": skill, "outcome": "ok"}, 6)]
    with Store(home.store) as store:
        store.write(lambda conn: counters.raise_by(conn, raises))
