"""A living service under a clock that the test moves: real store, real files, real threads, scripted work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType

from hermes_cron.domain.command import Halt
from hermes_cron.domain.event import Event
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.home import Home
from hermes_cron.jobs.files import JobFiles
from hermes_cron.jobs.load import Known
from hermes_cron.jobs.understand import understand
from hermes_cron.jobs.watch import Watcher, signature
from hermes_cron.scheduler.service import NOBODY, Notifier, Plan, Service
from hermes_cron.scheduler.timers import Wake, Wakes
from hermes_cron.store import history, jobs
from hermes_cron.store.engine import Store
from hermes_cron.store.reader import Listed, listed
from hermes_cron.testing import FixedClock

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
LIMIT_S = 10.0


def until(condition: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
    """Wait for something that other threads bring about."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"did not happen: {what}"
        time.sleep(0.005)


def parse(data: bytes, file_name: str, anchor: datetime) -> jobs.Understood:
    found = understand(data, file_name, anchor, host_zone="UTC", known=Known(strict=False))
    return jobs.Understood(job=found.job, broken=found.broken, summary=found.summary)


@dataclass
class Work:
    """What runs do: nothing, unless the job's name has an event here; then they wait for it, for a cancel, or for a
    shutdown that gives them up."""

    gates: dict[str, threading.Event] = field(default_factory=dict)
    started: list[TakenRun] = field(default_factory=list)

    def hold(self, job: str) -> threading.Event:
        return self.gates.setdefault(job, threading.Event())

    def __call__(self, run: TakenRun, cancel: Halt) -> Outcome:
        self.started.append(run)
        gate = self.gates.get(run.job.name)
        while gate is not None and not gate.wait(0.005):
            if cancel.is_set():
                return Outcome(state=RunState.QUEUED if cancel.releasing else RunState.CANCELLED)
        return Outcome(state=RunState.OK, text="done")

    def starts(self, job: str) -> list[str]:
        return [f"{run.scheduled_at:%H:%M}" for run in self.started if run.job.name == job and run.scheduled_at]


@dataclass
class Rig:
    """One service. ``home`` may be shared with others."""

    home: Home
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOON))
    concurrency: int = 4
    drain_s: float = 0.0
    watch: bool = False
    work: Work = field(default_factory=Work)
    events: list[Event] = field(default_factory=list)
    code: int | None = None
    notifier: Notifier = NOBODY
    housekeep: Callable[[datetime], None] | None = None

    def __post_init__(self) -> None:
        self.store = Store(self.home.store)
        self.source = jobs.Source(folder=JobFiles(self.home), parse=parse)
        self.service = self._make()
        self._thread: threading.Thread | None = None

    def _make(self) -> Service:
        return Service(
            Plan(
                store=self.store,
                source=self.source,
                clock=self.clock,
                owners=self.home.owners,
                execute=self.work,
                end_group=lambda *_: None,
                emit=self.events.append,
                concurrency=self.concurrency,
                drain_s=self.drain_s,
                watch=self._watch if self.watch else None,
                signature=lambda: signature(self.home.jobs),
                notifier=self.notifier,
                housekeep=self.housekeep,
            )
        )

    def _watch(self, wakes: Wakes) -> Watcher:
        return Watcher(
            self.home.jobs,
            self.home.wake,
            on_files=lambda: wakes.put(Wake.FILES),
            on_store=lambda: wakes.put(Wake.STORE),
            on_failed=lambda error, _: self.events.append(error),  # type: ignore[arg-type]
        )

    def write(self, name: str, schedule: str, *lines: str, body: str = "") -> None:
        text = "\n".join(
            ["---", f"schedule: {schedule!r}", "timezone: UTC", *lines, *(() if body else ["script: work"])]
        )
        (self.home.jobs / f"{name}.md").write_text(f"{text}\n---\n{body}")

    def sync(self) -> jobs.Synced:
        return jobs.sync(self.store, self.source, now=self.clock.now(), actor="cli")

    def __enter__(self) -> Rig:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        until(lambda: self.events, "the service began")
        self.settle()
        return self

    def _serve(self) -> None:
        self.code = self.service.run()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()
        self.store.close()

    def stop(self) -> None:
        if self._thread is not None:
            self.service.stop()
            self._thread.join(LIMIT_S)
            assert not self._thread.is_alive()
            self._thread = None

    def again(self) -> None:
        """The same home served by a new service."""
        self.stop()
        self.service = self._make()
        self.events.clear()
        self.__enter__()

    def rescan(self) -> None:
        self.service.reload()
        self.settle()

    def settle(self) -> None:
        """Until the loop has looked at everything that was put before, and nothing that is due is unclaimed."""
        for _ in range(2):  # the first may be counted by a round that began before
            before = self.service.passes
            self.service.wakes.put(Wake.STORE)
            until(lambda before=before: self.service.passes > before, "a round of the service")
        until(lambda: self.proof().waiting == 0, "all due instants are settled")

    def at(self, clock: str) -> None:
        day, _, rest = clock.rpartition(" ")
        self.clock.set(datetime.fromisoformat(f"{day or '2026-12-01'}T{rest}+00:00"))
        self.settle()

    def by(self, step: timedelta) -> None:
        self.clock.advance(step)
        self.settle()

    def proof(self) -> history.Accounted:
        with self.store.read() as conn:
            return history.accounted(conn, since=self.clock.now() - timedelta(days=30), now=self.clock.now())

    def job(self, name: str) -> Listed:
        return next(job for job in listed(self.home.store) or [] if job.name == name)

    def names(self) -> list[str]:
        return sorted(job.name for job in listed(self.home.store) or [] if job.removed_at is None)

    def history(self, name: str) -> list[tuple[str, str, str | None]]:
        """Due, what became of it (the run's end where it ran), the reason; oldest first."""
        with self.store.read() as conn:
            rows = history.rows(conn, self.job(name).uid, limit=1000)
        found = []
        for row in rows[::-1]:
            ran = row.state == "ran" and row.run is not None
            state = row.run["state"] if ran and row.run else row.state.value
            reason = row.run["reason"] if ran and row.run else row.reason
            found.append((f"{row.due:%H:%M}", str(state), reason))
        return found

    def idle(self) -> None:
        """Until no run is queued or running."""

        def quiet() -> bool:
            with self.store.read() as conn:
                from hermes_cron.store.takes import states

                return not states(conn)

        until(quiet, "all runs ended")

    def close(self) -> None:
        with suppress(Exception):
            self.stop()
