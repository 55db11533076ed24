"""A scheduler whose jobs do nothing: how late does the real path start them?

Started by ``scheduler.py`` as a process of its own: ``python -m benchmarks.noop_service HOME COUNT SECONDS``. Every
job file holds the instant of a one-shot in its description; the action writes down when it began. Rows, journal of
the occurrence, counters and output file are the real ones.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hermes_cron.clock import SystemClock
from hermes_cron.domain.event import Event
from hermes_cron.domain.job import Job
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.domain.schedule.trigger import Once
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.store.jobs import Source, Understood
from hermes_cron.wiring import App
from hermes_cron.wiring.serving import service as service_of


def understood(data: bytes, file_name: str, _now: datetime) -> Understood:
    at = datetime.fromisoformat(data.decode().strip())
    job = Job(name=file_name.removesuffix(".md"), action="noop", trigger=Once(at=at))
    return Understood(job=job, summary="{}")


def main(folder: str, count: int, span_s: float) -> None:
    home = Home(Path(folder))
    clock = SystemClock()
    began: list[float] = []
    done = threading.Event()

    def noop(taken: TakenRun, _cancel: object) -> Outcome:
        assert taken.scheduled_at is not None
        began.append((clock.now() - taken.scheduled_at).total_seconds() * 1000)
        if len(began) == count:
            done.set()
        return Outcome(state=RunState.OK, text="nothing to do")

    app = App(home, Settings.load(home), clock, actions={"noop": noop})
    app.__dict__["source"] = Source(folder=app.jobs, parse=understood)

    setup = time.perf_counter()
    first = datetime.now(UTC) + timedelta(seconds=count / 1000 + 3)
    for number in range(count):
        at = first + timedelta(seconds=span_s * number / count)
        (home.jobs / f"noop-{number:05}.md").write_text(at.isoformat(), encoding="utf-8")
    app.sync_jobs(actor="bench")
    setup = time.perf_counter() - setup

    def tell(_event: Event) -> None:
        """Nobody watches."""

    service = service_of(app, tell=tell)
    late = (datetime.now(UTC) - first).total_seconds()

    def finish() -> None:
        done.wait(span_s + 60)
        time.sleep(1)
        service.stop()

    threading.Thread(target=finish, daemon=True).start()
    service.run()
    began.sort()
    with app.store.read() as conn:
        ok = conn.exec_driver_sql("SELECT count(*) FROM runs WHERE state = 'ok'").scalar_one()
    outputs = sum(1 for _ in home.outputs.glob("*/*.md"))
    print(
        json.dumps(
            {
                "count": len(began),
                "rows": ok,
                "outputs": outputs,
                "setup_s": setup,
                "set_up_too_late": late > 0,
                "p50": began[len(began) // 2],
                "p99": began[int(len(began) * 0.99)],
                "max": began[-1],
                "cpu_s": time.process_time(),
            }
        )
    )
    app.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
