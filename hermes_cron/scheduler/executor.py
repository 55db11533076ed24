"""How do taken runs execute: how many at once, on which threads, and what if one never comes back?

One run, one thread. A thread ends its run and takes the next one in the same transaction, so a full pool loses no
time. A thread that outlives its run's deadline and the grace after it cannot be killed: it is counted, its run ends
without it, its slot is free again (design decision 6).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from hermes_cron.domain.command import Halt, Why
from hermes_cron.domain.fault import failed, stopped
from hermes_cron.domain.job import Work
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.errors import HermesCronError
from hermes_cron.ports import Fenced

GRACE_S = 30.0
"""After the deadline, for a run that stops itself."""

_REFUSALS = 2
_LOG = logging.getLogger(__name__)
Execute = Callable[[TakenRun, Halt], Outcome]
"""Does the work. Looks at the halt between steps; a set one means: stop soon, and say ``cancelled``, or ``queued`` when
it is releasing."""


class Ending(Protocol):
    """Writes what became of a run that was executed for ``ran``, and takes the next one when ``another``.

    Raises Fenced when the run is lost.
    """

    def __call__(self, run: TakenRun, outcome: Outcome, *, ran: timedelta, another: bool) -> TakenRun | None: ...


@dataclass(slots=True, kw_only=True, eq=False)
class _Cell:
    """One thread and the run it has now."""

    run: TakenRun
    cancel: Halt = field(default_factory=Halt)
    since: float
    shutdown: bool = False
    lost: bool = False

    @property
    def allowed_s(self) -> float:
        return (self.run.deadline_at - self.run.started_at).total_seconds()

    def shut_down(self) -> None:
        """An agent's run is given up between two steps, for another process to go on with; anything else is ended."""
        self.shutdown = True
        self.cancel.halt(Why.RELEASED if self.run.job.work is Work.PROMPT else Why.SHUTDOWN)


class Executor:
    """A bounded number of threads. Methods may be called on any thread."""

    def __init__(self, slots: int, *, execute: Execute, end: Ending, on_free: Callable[[], None]) -> None:
        self._slots = slots
        self._execute = execute
        self._end = end
        self._on_free = on_free
        self._cells: set[_Cell] = set()
        self._lock = threading.Condition()
        self._closing = False
        self.lost_threads = 0

    @property
    def free(self) -> int:
        """How many more runs may start."""
        with self._lock:
            return 0 if self._closing else self._slots - sum(not cell.lost for cell in self._cells)

    @property
    def running(self) -> int:
        """Runs that are executed now."""
        with self._lock:
            return sum(not cell.lost for cell in self._cells)

    def start(self, runs: Iterable[TakenRun]) -> None:
        """Execute these, each on a thread of its own."""
        for run in runs:
            cell = _Cell(run=run, since=time.monotonic())
            with self._lock:
                self._cells.add(cell)
            threading.Thread(target=self._work, args=(cell,), name=f"run-{run.id}", daemon=True).start()

    def cancel(self, run_ids: Iterable[str]) -> None:
        """Ask these to stop; unknown ones are not ours."""
        wanted = set(run_ids)
        with self._lock:
            for cell in self._cells:
                if cell.run.id in wanted:
                    cell.cancel.set()

    def overlong(self) -> list[TakenRun]:
        """Runs past their deadline are asked to stop; those past the grace too are given up and returned."""
        now = time.monotonic()
        given_up = []
        with self._lock:
            for cell in self._cells:
                over_s = now - cell.since - cell.allowed_s
                if over_s > 0:
                    cell.cancel.halt(Why.OVERDUE)
                if over_s > GRACE_S and not cell.lost:
                    cell.lost = True
                    self.lost_threads += 1
                    given_up.append(cell.run)
        return given_up

    def close(self) -> None:
        """Start nothing more."""
        with self._lock:
            self._closing = True

    def wait(self, limit_s: float) -> bool:
        """True when every run ended within ``limit_s``."""
        with self._lock:
            return self._lock.wait_for(lambda: all(cell.lost for cell in self._cells), timeout=max(0.0, limit_s))

    def stop_all(self) -> list[TakenRun]:
        """Ask all of them to stop because the process ends; those that run."""
        with self._lock:
            for cell in self._cells:
                cell.shut_down()
            return [cell.run for cell in self._cells if not cell.lost]

    def left(self) -> list[TakenRun]:
        """Those whose threads have not come back."""
        with self._lock:
            return [cell.run for cell in self._cells if not cell.lost]

    # --- on a run's thread ------------------------------------------------------------------------------------------

    def _work(self, cell: _Cell) -> None:
        try:
            while True:
                following = self._one(cell)
                if following is None:
                    break
                self._go_on(cell, following)
        finally:
            with self._lock:
                self._cells.discard(cell)
                self._found_again(cell)
                self._lock.notify_all()
            self._on_free()

    def _go_on(self, cell: _Cell, following: TakenRun) -> None:
        with self._lock:
            self._found_again(cell)
            cell.run, cell.since, cell.cancel = following, time.monotonic(), Halt()
            if cell.shutdown:
                cell.shut_down()

    def _found_again(self, cell: _Cell) -> None:
        if cell.lost:
            cell.lost = False
            self.lost_threads -= 1

    def _one(self, cell: _Cell) -> TakenRun | None:
        outcome = self._outcome(cell)
        if outcome is None:
            return None
        return self._ended(cell, stopped(outcome, cell.cancel))

    def _outcome(self, cell: _Cell) -> Outcome | None:
        """``execute`` tells the faults of a run itself; what comes out of it befell the run from outside."""
        try:
            return self._execute(cell.run, cell.cancel)
        except Fenced:
            return None  # another process ended or took the run: nothing here may write for it
        except Exception as error:  # noqa: BLE001  # a bug in one run is that run's outcome, not the service's end
            if not isinstance(error, HermesCronError):
                _LOG.exception("run %s crashed", cell.run.id)
            return failed(error)

    def _ended(self, cell: _Cell, outcome: Outcome) -> TakenRun | None:
        """The store may be full or busy for a while; what happened must not be forgotten meanwhile."""
        refused = 0
        ran = timedelta(seconds=time.monotonic() - cell.since)
        while True:
            with self._lock:
                another = not self._closing and not cell.lost
            try:
                return self._end(cell.run, outcome, ran=ran, another=another)
            except Fenced:
                return None
            except HermesCronError as error:
                _LOG.warning("run %s: its end cannot be written yet: %s", cell.run.id, error.message)
            except Exception as error:  # noqa: BLE001  # a value that the store cannot hold would be refused for ever
                _LOG.exception("run %s: its end was refused", cell.run.id)
                refused += 1
                if refused == _REFUSALS:
                    outcome = Outcome(
                        state=RunState.FAILED,
                        reason="crashed",
                        error=f"its outcome ({outcome.state}) cannot be stored: {type(error).__name__}",
                    )
            if cell.shutdown or refused > _REFUSALS:
                return None  # the row stays `running`; whoever comes next finds its owner dead
            with self._lock:
                self._lock.wait(timeout=1.0)
