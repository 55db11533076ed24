"""Who wakes the scheduler, and when? APScheduler waits; what is to be done is read from the store afterwards.

The only module that knows APScheduler. Its timers raise a word in a queue and do nothing else, on its own thread, so
no timer can be late because another one works. There is a handful of them however many jobs there are: one for the
next due instant (moved when the minimum changes), and a few at fixed distances.
"""

from __future__ import annotations

import logging
import queue
import time
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from hermes_cron.ports import Clock

SWEEP_S = 10.0
RESCAN_S = 30.0
HOUSEKEEPING_S = 3600.0


class Wake(StrEnum):
    """Why the scheduler looks up."""

    DUE = "due"
    SWEEP = "sweep"  # heartbeat, dead owners, threads that outlived their deadline
    RESCAN = "rescan"  # the job files, by stat
    FILES = "files"  # a job file changed
    STORE = "store"  # another process changed the store
    FREE = "free"  # a run ended
    LATER = "later"  # a run waits for a time
    ORPHANS = "orphans"  # an owner died
    HOUSEKEEPING = "housekeeping"
    RELOAD = "reload"  # SIGHUP
    STOP = "stop"


class Wakes:
    """Words that wait to be looked at. ``put`` may be called by any thread and by signal handlers."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Wake] = queue.SimpleQueue()

    def put(self, wake: Wake) -> None:
        self._queue.put(wake)

    def wait(self, limit_s: float) -> set[Wake]:
        """Everything that is there, at least one word, or nothing after ``limit_s``."""
        found: set[Wake] = set()
        try:
            found.add(self._queue.get(timeout=limit_s))
            while True:
                found.add(self._queue.get_nowait())
        except queue.Empty:
            return found


class Timers:
    """Started and stopped by the service. Every method may be called on any thread."""

    def __init__(self, clock: Clock, wakes: Wakes) -> None:
        self._clock = clock
        self._wakes = wakes
        self._next: datetime | None = None
        self._scheduler: Any = None

    def start(self) -> None:
        """Begin to wake. A clock that is set by hand (``poll_s``) is looked at instead of waited for."""
        from apscheduler.executors.debug import DebugExecutor
        from apscheduler.schedulers.background import BackgroundScheduler

        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": DebugExecutor()},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1_000},
        )
        every = {Wake.SWEEP: SWEEP_S, Wake.RESCAN: RESCAN_S, Wake.HOUSEKEEPING: HOUSEKEEPING_S}
        for wake, seconds in every.items():
            self._scheduler.add_job(self._wakes.put, "interval", seconds=seconds, args=[wake], id=wake)
        if self._clock.poll_s is not None:
            self._scheduler.add_job(self._poll, "interval", seconds=self._clock.poll_s, id="poll")
        self._scheduler.start()

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None

    def restart(self) -> None:
        """After the host's clock was set: intervals counted on the old clock would wait for it to come back."""
        wanted = self._next
        self.stop()
        self.start()
        self._next = None
        self.set_next(wanted)

    def set_next(self, instant: datetime | None) -> None:
        """Wake at ``instant``, at once if it has passed; None: nothing is due."""
        if self._scheduler is None or instant == self._next:
            return
        self._next = instant
        if self._clock.poll_s is not None:
            return
        if instant is None:
            if self._scheduler.get_job(Wake.DUE) is not None:
                self._scheduler.remove_job(Wake.DUE)
            return
        self._scheduler.add_job(self._due, "date", run_date=instant, id=Wake.DUE, replace_existing=True)

    def soon(self, wake: Wake, seconds: float = 0.5) -> None:
        """One more word, a little later."""
        if self._scheduler is None:
            self._wakes.put(wake)
            return
        at = datetime.now(UTC) + timedelta(seconds=seconds)  # noqa: TID251  # a delay on APScheduler's own clock
        self._scheduler.add_job(
            self._wakes.put, "date", run_date=at, args=[wake], id=f"soon-{wake}", replace_existing=True
        )

    def _due(self) -> None:
        self._next = None  # the timer is used up: the same instant may be asked for again
        self._wakes.put(Wake.DUE)

    def _poll(self) -> None:
        wanted = self._next
        if wanted is not None and self._clock.now() >= wanted:
            self._due()


class JumpDetector:
    """Notices that the wall clock was set, by comparing it with the monotonic one."""

    def __init__(self, clock: Clock, tolerance: timedelta = timedelta(seconds=2)) -> None:
        self._clock = clock
        self._tolerance = tolerance
        self._mark = self._offset()

    def _offset(self) -> timedelta:
        return self._clock.now() - datetime.fromtimestamp(0, UTC) - timedelta(seconds=time.monotonic())

    def jumped(self) -> timedelta | None:
        """By how much since the last call, None for less than the tolerance. A slow slew is followed."""
        offset = self._offset()
        moved, self._mark = offset - self._mark, offset
        return moved if abs(moved) > self._tolerance else None
