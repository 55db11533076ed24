"""What does `serve` do from its start to its end?

One loop: wait for a word, look at the store, claim what is due, start what may start. Timers, file watcher, finished
runs and signals only put words into the queue; the loop alone acts, so nothing has to be locked. Several services on
one home are several such loops: the store decides (``store.claims``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from hermes_cron.domain.event import (
    ApprovalExpired,
    ClockJumped,
    Emit,
    InstantsMissed,
    JobFileBroken,
    JobsChanged,
    Level,
    MetricsNotServed,
    MetricsServed,
    PassFailed,
    RunFinished,
    RunInterrupted,
    RunLost,
    RunParked,
    RunReleased,
    RunStarted,
    RunTakenOver,
    RunWaits,
    ServeReady,
    ServeStarted,
    ServeStopped,
    ServeStopping,
)
from hermes_cron.domain.job import CatchUp, Limits, Overlap, Work
from hermes_cron.domain.nudge import Nudge
from hermes_cron.domain.occurrence import WINDOW, Reason, Span
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.errors import HermesCronError, StoreDamaged
from hermes_cron.ports import Clock, Fenced
from hermes_cron.scheduler import owners
from hermes_cron.scheduler.executor import Execute, Executor
from hermes_cron.scheduler.recovery import EndGroup, recover
from hermes_cron.scheduler.timers import RESCAN_S, JumpDetector, Timers, Wake, Wakes
from hermes_cron.store import approvals, claims, endings, jobs, runs, takeovers, takes
from hermes_cron.store.endings import Ended
from hermes_cron.store.engine import Store
from hermes_cron.store.takeovers import TakenOver

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

DRAIN_S = 30.0
STOP_GRACE_S = 8.0  # for runs that were told to stop: a script's group gets SIGTERM, then SIGKILL after 2 s
FLUSH_S = 60.0  # for the messages of one pass; what is left is the next one's
REVIEWS_S = 1_200.0  # for the looks back of one pass: twice what one may take
LOST_THREADS = 3
FAILED_PASSES = 10
_WAIT_S = 25.0  # longer than any timer's distance: only a stalled timer lets it pass
LOOK_S = 1.0  # at the other owners' locks: a dead one's runs are taken over within two seconds
_RESCAN_SHARE = 0.0005
_RETRY = timedelta(seconds=1)
_STOPPED_BY_ITSELF = 1
_LOG = logging.getLogger(__name__)

Watch = Callable[[Wakes], AbstractContextManager[object]]
"""Watches files and puts ``Wake.FILES`` and ``Wake.STORE`` as long as the context lasts."""


class Sender(Protocol):
    """Sends what the outbox holds, on a thread of its own."""

    def start(self, owner: str) -> None:
        """Send in the name of this owner, whose death says that nobody knows what became of a message."""

    def kick(self) -> None:
        """There may be something new to send."""

    def flush(self, limit_s: float) -> bool:
        """Wait until everything that is due was tried; False when ``limit_s`` was not enough."""

    def stop(self) -> None:
        """Begin nothing more, and wait for what is on its way."""


class Keeper(Protocol):
    """Puts hand edits into the history, on a thread of its own."""

    def start(self) -> None:
        """Begin to wait for a word."""

    def notice(self) -> None:
        """Something was edited by hand."""

    def sweep(self) -> None:
        """Look for a change that a dead process left half done."""

    def stop(self) -> None:
        """Begin nothing more."""


class Reviewer(Protocol):
    """Looks back at runs that ended, on threads of its own."""

    def start(self, owner: str) -> None:
        """Do it in the name of this owner, whose death says that others go on with what it began."""

    def kick(self) -> None:
        """There may be a run to look back at."""

    def flush(self, limit_s: float | None = None) -> bool:
        """Wait until nothing is left to look back at; False when ``limit_s`` was not enough."""

    def release(self) -> None:
        """Begin nothing more, and give up what is going on between two steps."""

    def stop(self) -> bool:
        """The same, and wait a little; False when a thread is still at its step."""


class Indexer(Protocol):
    """Puts what sessions say into the index they are searched by, on a thread of its own."""

    def start(self) -> None:
        """Begin, and go on until it is stopped."""

    def stop(self) -> None:
        """Begin no more pieces."""


class Exporter(Protocol):
    """Answers who fetches the metrics, on threads of its own. ``listen`` is where it was told to."""

    listen: str

    def start(self) -> str:
        """The address. Raises OSError."""

    def stop(self) -> None:
        """Answer no more."""


class Notifier(Protocol):
    """Tells the service manager how it goes. Never raises."""

    def ready(self, status: str) -> None:
        """The first look is done."""

    def goes_round(self) -> None:
        """The loop looked again."""

    def stopping(self) -> None:
        """Nothing more begins."""


class _Nobody:
    """No service manager started this."""

    def ready(self, status: str) -> None: ...

    def goes_round(self) -> None: ...

    def stopping(self) -> None: ...


NOBODY = _Nobody()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a service is made of.

    ``concurrency`` runs at once, ``drain_s`` for them when it is told to stop. ``signature`` changes when a job file
    does (``jobs.watch``). ``housekeep`` removes what nobody needs any more. ``answer_within`` is how long a question
    waits for a person, ``limits`` what a run may use of what its job says nothing about, ``nudge`` after how much one
    is looked back at.
    """

    store: Store
    source: jobs.Source
    clock: Clock
    owners: Path
    execute: Execute
    end_group: EndGroup
    emit: Emit
    concurrency: int = 4
    window: timedelta = WINDOW
    drain_s: float = DRAIN_S
    watch: Watch | None = None
    signature: Callable[[], int] | None = None
    housekeep: Callable[[datetime], None] | None = None
    sender: Sender | None = None
    keeper: Keeper | None = None
    indexer: Indexer | None = None
    exporter: Exporter | None = None
    notifier: Notifier = NOBODY
    answer_within: timedelta = approvals.ANSWER_WITHIN
    limits: Callable[[], Limits] = Limits
    reviewer: Reviewer | None = None
    nudge: Callable[[], Nudge] = Nudge


class _ToldToStopError(Exception):
    """Ends a long look at the files."""


class Service:
    """One scheduler. ``run`` serves until it is told to stop, ``once`` makes one pass. ``passes`` counts rounds."""

    def __init__(self, plan: Plan) -> None:
        self.wakes = Wakes()
        self.passes = 0
        self._plan = plan
        self._store = plan.store
        self._clock = plan.clock
        self._timers = Timers(plan.clock, self.wakes)
        self._jump = JumpDetector(plan.clock)
        self._executor = Executor(plan.concurrency, execute=plan.execute, end=self._end, on_free=self._freed)
        self._owner: owners.Owner | None = None
        self._vanished: frozenset[str] = frozenset()
        self._broken: frozenset[tuple[str, str]] = frozenset()
        self._claims = True
        self._crowded = False  # the last look filled every slot, so more may wait
        self._signature: int | None = None
        self._looked = False  # at the files, once
        self._looks_to_skip = 0
        self._failed = 0
        self._stops = 0
        self._why = "signal"

    # --- from outside -----------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Drain and end; a second call does not wait for runs. Safe in a signal handler."""
        self._stops += 1
        self.wakes.put(Wake.STOP)

    def reload(self) -> None:
        """Look at all job files now."""
        self.wakes.put(Wake.RELOAD)

    def run(self) -> int:
        """Serve. The exit code: 0 after ``stop``, 1 when it gives up, so that a service manager starts it anew."""
        with ExitStack() as stack:
            self._begin(stack, "serve")
            self._timers.start()
            stack.callback(self._timers.stop)
            if self._plan.keeper is not None:
                self._plan.keeper.start()
                stack.callback(self._plan.keeper.stop)
            if self._plan.indexer is not None:
                self._plan.indexer.start()
                stack.callback(self._plan.indexer.stop)
            if self._plan.exporter is not None:
                self._export(self._plan.exporter, stack)
            if self._plan.watch is not None:
                stack.enter_context(self._plan.watch(self.wakes))
            began = monotonic()
            self._guarded({Wake.RESCAN, Wake.SWEEP, Wake.HOUSEKEEPING})
            self._plan.emit(ServeReady(owner=self._name, after_s=round(monotonic() - began, 3)))
            self._plan.notifier.ready(f"serving {self._plan.owners.parent.parent}")
            while not self._stops and not self._gives_up():
                wakes = self._wait()
                self._mind_the_clock(stalled=not wakes)
                if not self._stops:
                    self._guarded(wakes)
            return self._drain(0 if self._stops else _STOPPED_BY_ITSELF)

    def _export(self, exporter: Exporter, stack: ExitStack) -> None:
        """An address that is taken is no reason not to serve."""
        try:
            address = exporter.start()
        except OSError as error:
            self._plan.emit(MetricsNotServed(address=exporter.listen, error=error.strerror or str(error)))
            return
        stack.callback(exporter.stop)
        if self._owner is not None:
            self._owner.serves_metrics(address)
        self._plan.emit(MetricsServed(address=address))

    def once(self) -> int:
        """One pass: sync, recover, claim, and run until nothing that was due is left. For timers without a daemon."""
        with ExitStack() as stack:
            self._begin(stack, "once")
            self._pass({Wake.RELOAD, Wake.SWEEP, Wake.HOUSEKEEPING}, confirm_gone=False)
            self._claims = False  # what becomes due while this pass works is the next pass's
            while not self._stops and (self._executor.running or self._worth_writing(self._clock.now(), 1)):
                self._pass(self.wakes.wait(_WAIT_S) if self._executor.running else set())
            if self._plan.sender is not None and not self._stops:
                self._plan.sender.flush(FLUSH_S)
            self._look_back()
            return self._drain(0)

    def _look_back(self) -> None:
        """Where single passes are all there is, nobody else does it; what is left after a while is the next one's."""
        end = monotonic() + REVIEWS_S
        while self._plan.reviewer is not None and not self._stops and monotonic() < end:
            if self._plan.reviewer.flush(1.0):
                return

    # --- the loop ---------------------------------------------------------------------------------------------------

    def _wait(self) -> set[Wake]:
        """Words, ``ORPHANS`` once an owner is seen to be dead, or nothing after ``_WAIT_S``."""
        end = monotonic() + _WAIT_S
        while (left := end - monotonic()) > 0:
            self._plan.notifier.goes_round()
            wakes = self.wakes.wait(min(left, LOOK_S))
            if wakes:
                return wakes
            if owners.others(self._plan.owners, self._name) and owners.dead(self._plan.owners, self._name):
                return {Wake.ORPHANS}
        return set()

    def _begin(self, stack: ExitStack, kind: owners.Kind) -> None:
        self._owner = stack.enter_context(owners.Owner(self._plan.owners, kind=kind, started_at=self._clock.now()))
        with self._store.read() as conn:
            known = jobs.count(conn)
        self._plan.emit(
            ServeStarted(owner=self._name, pid=_pid(self._name), concurrency=self._plan.concurrency, jobs=known)
        )
        if self._plan.sender is not None:
            self._plan.sender.start(self._name)
            stack.callback(self._plan.sender.stop)  # before the owner's name is given up
        if self._plan.reviewer is not None:
            self._plan.reviewer.start(self._name)
            stack.callback(self._end_reviews, self._plan.reviewer)

    def _end_reviews(self, reviewer: Reviewer) -> None:
        """One that is in the middle of a step stays ours until this process is gone: its thread may still act."""
        if not reviewer.stop() and self._owner is not None:
            self._owner.outlive()

    @property
    def _name(self) -> str:
        if self._owner is None:
            raise RuntimeError("the service has not begun")
        return self._owner.name

    def _guarded(self, wakes: set[Wake]) -> None:
        """A pass that fails (disk full, store busy) must not end the service; many in a row do."""
        try:
            self._pass(wakes)
            self._failed = 0
        except HermesCronError as error:  # a full disk or a busy store passes by; a service that ends does not help
            if isinstance(error, StoreDamaged):
                self._failed += 1
            self._tell_failed(error)
        except Exception as error:  # noqa: BLE001  # logged and counted; the next pass tries again
            self._failed += 1
            _LOG.exception("a pass failed")
            self._tell_failed(error)
        self.passes += 1

    def _tell_failed(self, error: Exception) -> None:
        self._plan.emit(PassFailed(error=str(error)[:500], in_a_row=max(1, self._failed)))
        self._timers.set_next(self._clock.now() + _RETRY)

    def _pass(self, wakes: set[Wake], *, confirm_gone: bool = True) -> None:
        if wakes & {Wake.RELOAD, Wake.FILES} or (Wake.RESCAN in wakes and self._files_touched()):
            self._rescan(confirm_gone=confirm_gone)
        if Wake.SWEEP in wakes:
            self._sweep()
        elif Wake.ORPHANS in wakes:
            self._recover(self._clock.now())
        if wakes & {Wake.STORE, Wake.SWEEP}:
            self._cancels()
            self._kick()
        if self._plan.reviewer is not None and wakes & {Wake.STORE, Wake.SWEEP, Wake.ORPHANS}:
            self._plan.reviewer.kick()
        if Wake.HOUSEKEEPING in wakes:
            self._housekeep()
        self._dispatch(due=wakes == {Wake.DUE})

    def _mind_the_clock(self, *, stalled: bool) -> None:
        moved = self._jump.jumped() if self._clock.poll_s is None else None
        if moved is not None:
            self._plan.emit(ClockJumped(by_s=round(moved.total_seconds(), 3)))
        if moved is not None or stalled:
            self._timers.restart()
            self.wakes.put(Wake.SWEEP)

    def _gives_up(self) -> bool:
        if self._executor.lost_threads >= LOST_THREADS:
            self._why = f"{self._executor.lost_threads} threads never came back"
        elif self._failed >= FAILED_PASSES:
            self._why = f"{self._failed} passes failed in a row"
        elif not self._store.in_place():
            self._why = "state.db was deleted or replaced; a new start makes it from the job files"
        else:
            return False
        return True

    # --- due runs ---------------------------------------------------------------------------------------------------

    def _dispatch(self, *, due: bool = False) -> None:
        """Claim and start until nothing more can be. ``due``: a timer says so, no need to look first."""
        while True:
            free = self._executor.free
            now = self._clock.now()
            if not due and not self._worth_writing(now, free):
                return
            if owners.others(self._plan.owners, self._name):
                self._recover(now)  # a dead owner's run must not make an instant look overlapped
            claimed, taken, following = self._store.write(partial(self._claim, free, now, self._plan.limits()))
            self._started(taken, now)
            self._executor.start(taken)
            self._tell_missed(claimed.missed)
            self._timers.set_next(following)
            self._crowded = len(taken) == free
            due = claimed.more
            if not due and not (self._crowded and taken):
                return

    def _worth_writing(self, now: datetime, free: int) -> bool:
        """A read tells, so that an idle look costs no commit."""
        with self._store.read() as conn:
            due = claims.next_wake(conn, now)
            self._timers.set_next(due)
            return (self._claims and due is not None and due <= now) or (free > 0 and takes.ready(conn, now))

    def _claim(
        self, free: int, now: datetime, home: Limits, conn: Connection
    ) -> tuple[claims.Claimed, list[TakenRun], datetime | None]:
        claimed = claims.claim_due(conn, now, window=self._plan.window) if self._claims else claims.Claimed()
        return claimed, takes.take(conn, self._name, free, now, home), claims.next_wake(conn, now)

    def _started(self, taken: Iterable[TakenRun], now: datetime) -> None:
        for run in taken:
            late_s = 0.0 if run.scheduled_at is None else max(0.0, (now - run.scheduled_at).total_seconds())
            self._plan.emit(
                RunStarted(
                    run_id=run.id,
                    job=run.job.name,
                    cause=run.cause,
                    scheduled_at=run.scheduled_at,
                    late_s=round(late_s, 3),
                )
            )
            if run.job.ping is not None:
                self._kick()  # an outside switch measures from its start signal

    def _tell_missed(self, missed: Iterable[tuple[str, Span]]) -> None:
        for name, span in missed:
            self._plan.emit(
                InstantsMissed(job=name, first=span.first, last=span.last, count=span.count, reason=span.reason)
            )

    def _end(self, run: TakenRun, outcome: Outcome, *, ran: timedelta, another: bool) -> TakenRun | None:
        """On the run's thread: its end, and the next run for the same thread, in one transaction."""
        now = self._clock.now()
        another = another and (self._crowded or _may_have_followers(run))
        home, nudge = self._plan.limits(), self._plan.nudge()

        def work(conn: Connection) -> tuple[Ended, list[TakenRun]]:
            ended = endings.end(conn, run, outcome, now, ran=ran, answer_within=self._plan.answer_within, nudge=nudge)
            return ended, takes.take(conn, self._name, 1, now, home) if another else []

        ended, taken = self._store.write(work)
        self._tell_ended(run, outcome, ended, now)
        self._started(taken, now)
        return taken[0] if taken else None

    def _tell_ended(self, run: TakenRun, outcome: Outcome, ended: Ended, now: datetime) -> None:
        if ended.tells:
            self._kick()
        if ended.review is not None and self._plan.reviewer is not None:
            self._plan.reviewer.kick()
        if ended.wait is not None:
            self.wakes.put(Wake.LATER)
            self._plan.emit(
                RunWaits(
                    run_id=run.id,
                    job=run.job.name,
                    reason=outcome.reason,
                    until=ended.wait.until,
                    attempt=run.attempt,
                )
            )
        elif ended.state is RunState.WAITING_APPROVAL:
            asked = tuple(f"a{number}" for number in ended.asked)
            self._plan.emit(RunParked(run_id=run.id, job=run.job.name, approvals=asked))
        elif ended.state is RunState.QUEUED:
            self._plan.emit(RunReleased(run_id=run.id, job=run.job.name))
        else:
            end = ended.outcome or outcome
            self._plan.emit(
                RunFinished(
                    run_id=run.id,
                    job=run.job.name,
                    state=end.state,
                    reason=end.reason,
                    duration_s=round((now - run.started_at).total_seconds(), 3),
                    iterations=end.iterations,
                    error=end.error,
                )
            )

    def _kick(self) -> None:
        if self._plan.sender is not None:
            self._plan.sender.kick()

    def _freed(self) -> None:
        """A thread went. Nobody waits for its place unless the last look left something over."""
        if self._crowded or self._stops or not self._claims:
            self.wakes.put(Wake.FREE)

    def _cancels(self) -> None:
        if self._executor.running:
            with self._store.read() as conn:
                asked = runs.cancels_of(conn, self._name)
            self._executor.cancel(asked)

    # --- files, owners, threads -------------------------------------------------------------------------------------

    def _files_touched(self) -> bool:
        """By stat alone. Where even that costs more than ``_RESCAN_SHARE`` of a core, every second look is left out, or
        more: the kernel's events are what tells of changes, this look is the net below them."""
        if self._plan.signature is None or self._vanished:
            return True
        if self._looks_to_skip > 0:
            self._looks_to_skip -= 1
            return False
        began = time.thread_time()
        touched = self._plan.signature() != self._signature
        self._looks_to_skip = int((time.thread_time() - began) / (RESCAN_S * _RESCAN_SHARE))
        return touched

    def _rescan(self, *, confirm_gone: bool) -> None:
        seen = None if self._plan.signature is None else self._plan.signature()
        try:
            synced = jobs.sync(
                self._store,
                self._plan.source,
                now=self._clock.now(),
                actor="hand",
                gone_before=self._vanished if confirm_gone else None,
                window=self._plan.window,
                between=self._between,
                meanwhile=self._meanwhile,
            )
        except _ToldToStopError:
            return  # what is left of the files is for the next service
        self._looked = True
        self._signature = seen  # of before the look: what changed during it is looked at again
        if synced.vanished - self._vanished:
            self._look_again()
        self._vanished = synced.vanished
        if synced.added or synced.changed or synced.renamed or synced.removed:
            self._plan.emit(
                JobsChanged(added=synced.added, changed=synced.changed, renamed=synced.renamed, removed=synced.removed)
            )
            self._notice()
        for name, error in sorted(set(synced.broken) - self._broken):
            self._plan.emit(JobFileBroken(job=name, error=error))
        for finding in synced.security:
            self._plan.emit(finding)
        if synced.broken:
            self._broken = frozenset(synced.broken)

    def _notice(self) -> None:
        """What a command changed is in the store and in the history already, so this was a person's editor."""
        if self._plan.keeper is not None:
            self._plan.keeper.notice()

    def _between(self) -> None:
        """Many new files must neither delay a due job nor a stop."""
        if self._stops:
            raise _ToldToStopError
        self._plan.notifier.goes_round()
        self._dispatch()

    def _meanwhile(self) -> None:
        """The same before it is known what changed. Of a service that begins, the files come before what is due."""
        if self._looked:
            self._between()

    def _look_again(self) -> None:
        """A file that is gone may be an editor in the middle of saving: believed at the second look."""
        self._timers.soon(Wake.FILES)

    def _sweep(self) -> None:
        if self._owner is not None:
            self._owner.beat()
        if self._plan.keeper is not None:
            self._plan.keeper.sweep()
        now = self._clock.now()
        self._recover(now)
        self._expire(now)
        for taken in self._executor.overlong():
            self._close(taken, Outcome(state=RunState.TIMEOUT, reason=Reason.OVERLONG), now)
            self._plan.emit(RunLost(run_id=taken.id, job=taken.job.name, lost_threads=self._executor.lost_threads))
            self.wakes.put(Wake.FREE)  # its slot, or the end of the service

    def _close(self, taken: TakenRun, outcome: Outcome, now: datetime) -> bool:
        """End a run whose thread does not; False when it ended meanwhile. Its thread will find itself fenced."""
        try:
            nudge = self._plan.nudge()
            ended = self._store.write(lambda conn: endings.close(conn, taken, outcome, now, nudge=nudge))
        except Fenced:
            return False
        if ended.tells:
            self._kick()
        return True

    def _recover(self, now: datetime) -> None:
        for taken in recover(self._store, self._plan.owners, me=self._name, now=now, end_group=self._plan.end_group):
            self._tell_taken_over(taken)

    def _tell_taken_over(self, taken: TakenOver) -> None:
        run = taken.run
        if taken.tells:
            self._kick()
        if taken.outcome is None:
            self._plan.emit(RunTakenOver(run_id=run.id, job=run.job_name, owner=run.owner, times=taken.times))
        elif taken.state is RunState.INTERRUPTED:
            self._plan.emit(RunInterrupted(run_id=run.id, job=run.job_name, reason=Reason.OWNER_DIED, owner=run.owner))
        else:
            self._plan.emit(
                RunFinished(
                    run_id=run.id,
                    job=run.job_name,
                    state=taken.state,
                    reason=taken.outcome.reason,
                    duration_s=0.0,
                    error=taken.outcome.error,
                )
            )

    def _expire(self, now: datetime) -> None:
        with self._store.read() as conn:
            late = approvals.any_late(conn, now)
        if late:
            for asked in self._store.write(lambda conn: approvals.expire(conn, now)):
                self._plan.emit(ApprovalExpired(approval=asked.id, run_id=asked.run_id, job=asked.job_name))

    def _housekeep(self) -> None:
        now = self._clock.now()
        with self._store.read() as conn:
            stale = claims.stale(conn, now, window=self._plan.window)
        if stale:
            self._store.write(lambda conn: claims.drop_stale(conn, now, window=self._plan.window))
        if self._plan.housekeep is not None:
            self._plan.housekeep(now)
        if self.passes:
            self._notice()  # of skills, memories and settings nobody tells

    # --- the end ----------------------------------------------------------------------------------------------------

    def _drain(self, code: int) -> int:
        """Wait for runs, then give up those of agents for another scheduler to go on with, and interrupt the others."""
        self._executor.close()
        if self._plan.reviewer is not None:
            self._plan.reviewer.release()
        level = Level.ERROR if code else Level.INFO
        self._plan.notifier.stopping()
        self._plan.emit(
            ServeStopping(why=self._why, running=self._executor.running, drain_s=self._plan.drain_s, level=level)
        )
        self._wait_for_runs()
        asked = self._executor.stop_all()
        self._executor.wait(STOP_GRACE_S)
        self._leave_rest()
        interrupted = sum(run.job.work is not Work.PROMPT for run in asked)
        self._plan.emit(ServeStopped(interrupted=interrupted, exit_code=code))
        return code

    def _wait_for_runs(self) -> None:
        """Up to ``drain_s``, still answering cancels; a second ``stop`` ends the wait."""
        end = time.monotonic() + self._plan.drain_s
        while self._stops < 2 and (left := end - time.monotonic()) > 0 and not self._executor.wait(0):
            self._plan.notifier.goes_round()
            wakes = self.wakes.wait(min(left, 1.0))
            if wakes & {Wake.STORE, Wake.SWEEP}:
                self._cancels()
            if Wake.SWEEP in wakes and self._owner is not None:
                self._owner.beat()

    def _leave_rest(self) -> None:
        """Runs whose threads did not come back in time.

        An agent's run stays ours until this process is gone, since its thread may still act; then whoever comes next
        finds its owner dead and goes on with it. Anything else ends here.
        """
        left = self._executor.left()
        for run in left:
            if run.job.work is not Work.PROMPT:
                self._interrupt(run)
        agents = [run.id for run in left if run.job.work is Work.PROMPT]
        if agents and self._owner is not None:
            self._store.write(lambda conn: takeovers.excuse(conn, agents, self._name))
            self._owner.outlive()

    def _interrupt(self, run: TakenRun) -> None:
        outcome = Outcome(state=RunState.INTERRUPTED, reason=Reason.SHUTDOWN)
        if self._close(run, outcome, self._clock.now()):
            self._plan.emit(RunInterrupted(run_id=run.id, job=run.job.name, reason=Reason.SHUTDOWN, owner=self._name))


def _may_have_followers(run: TakenRun) -> bool:
    """Whether runs of the same job may wait for this one's end."""
    return run.job.overlap in {Overlap.QUEUE, Overlap.CANCEL_RUNNING} or run.job.catch_up is CatchUp.ALL


def _pid(owner: str) -> int:
    return int(owner.split("-")[1])
