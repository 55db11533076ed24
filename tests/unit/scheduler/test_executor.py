"""Threads: bounded, counted when they never come back, and their outcome is not forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hermes_cron.domain.command import Halt
from hermes_cron.domain.job import Job
from hermes_cron.domain.run import Cause, Outcome, RunState, TakenRun
from hermes_cron.errors import DiskFull, ModelTimeout, NotFound
from hermes_cron.ports import Fenced
from hermes_cron.scheduler import executor as module
from hermes_cron.scheduler.executor import Executor
from tests.scheduler_rig import until

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
OK = Outcome(state=RunState.OK)


def taken(run_id: str = "r1", *, seconds: float = 60) -> TakenRun:
    return TakenRun(
        id=run_id, job_uid="u", job=Job(name="j", script="x"), cause=Cause.SCHEDULE, owner="me", fence=1, attempt=1,
        started_at=NOW, deadline_at=NOW + timedelta(seconds=seconds),
    )  # fmt: skip


class Ends:
    """Where ends are written; ``following`` are handed out, ``faults`` are raised first."""

    def __init__(self, *faults: Exception, following: tuple[TakenRun, ...] = ()) -> None:
        self.faults = list(faults)
        self.following = list(following)
        self.written: list[tuple[str, RunState, str | None]] = []

    def __call__(self, run: TakenRun, outcome: Outcome, *, ran: timedelta, another: bool) -> TakenRun | None:
        if self.faults:
            raise self.faults.pop(0)
        self.written.append((run.id, outcome.state, outcome.reason))
        return self.following.pop(0) if another and self.following else None


def made(execute: Callable[[TakenRun, Halt], Outcome], ends: Ends, slots: int = 2) -> Executor:
    return Executor(slots, execute=execute, end=ends, on_free=lambda: None)


@pytest.mark.parametrize(
    ("fault", "state", "reason"),
    [
        (ModelTimeout("slow"), RunState.FAILED, "model_timeout"),
        (DiskFull("full"), RunState.FAILED, "disk_full"),
        (NotFound("no db"), RunState.FAILED, "not_found"),
        (ZeroDivisionError("bug"), RunState.FAILED, "crashed"),
    ],
)
def test_a_fault_of_a_run_is_its_outcome(fault: Exception, state: RunState, reason: str) -> None:
    ends = Ends()

    def execute(_run: TakenRun, _cancel: Halt) -> Outcome:
        raise fault

    pool = made(execute, ends)
    pool.start([taken()])
    assert pool.wait(60)
    assert ends.written == [("r1", state, reason)]


def test_a_fenced_run_writes_nothing() -> None:
    ends = Ends()

    def execute(_run: TakenRun, _cancel: Halt) -> Outcome:
        raise Fenced

    pool = made(execute, ends)
    pool.start([taken()])
    assert pool.wait(60)
    assert (ends.written, pool.free) == ([], 2)


def test_a_thread_goes_on_with_the_next_run() -> None:
    ends = Ends(following=(taken("r2"), taken("r3")))
    pool = made(lambda *_: OK, ends, slots=1)
    pool.start([taken("r1")])
    assert pool.wait(60)
    assert [run_id for run_id, _, _ in ends.written] == ["r1", "r2", "r3"]


def test_an_end_that_cannot_be_written_now_is_written_later() -> None:
    ends = Ends(DiskFull("full"), DiskFull("full"))
    pool = made(lambda *_: OK, ends)
    pool.start([taken()])
    assert pool.wait(60)
    assert ends.written == [("r1", RunState.OK, None)]


def test_an_outcome_that_the_store_refuses_becomes_a_failure() -> None:
    ends = Ends(ValueError("surrogate"), ValueError("surrogate"))
    pool = made(lambda *_: OK, ends)
    pool.start([taken()])
    assert pool.wait(60)
    assert ends.written == [("r1", RunState.FAILED, "crashed")]


def test_a_thread_that_never_comes_back_is_counted_and_its_slot_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.0)
    release, ends = threading.Event(), Ends()
    asked: list[threading.Event] = []

    def execute(_run: TakenRun, cancel: Halt) -> Outcome:
        asked.append(cancel)
        release.wait(60)
        return OK

    pool = made(execute, ends, slots=1)
    pool.start([taken(seconds=0)])
    until(lambda: asked, "it runs")
    assert pool.free == 0
    until(lambda: [run.id for run in pool.overlong()] == ["r1"], "given up")
    assert asked[0].is_set()
    assert (pool.free, pool.running, pool.lost_threads) == (1, 0, 1)
    assert pool.overlong() == []
    release.set()
    until(lambda: pool.lost_threads == 0, "it came back after all")


def test_a_shutdown_turns_cancelled_into_interrupted() -> None:
    ends = Ends()

    def execute(_run: TakenRun, cancel: Halt) -> Outcome:
        cancel.wait(60)
        return Outcome(state=RunState.CANCELLED)

    pool = made(execute, ends)
    pool.start([taken()])
    pool.close()
    assert not pool.wait(0)
    pool.stop_all()
    assert pool.wait(60)
    assert ends.written == [("r1", RunState.INTERRUPTED, "shutdown")]
    assert pool.free == 0


def test_a_shutdown_gives_an_agents_run_up_for_another_to_go_on_with() -> None:
    ends = Ends()
    seen: list[bool] = []

    def execute(_run: TakenRun, cancel: Halt) -> Outcome:
        cancel.wait(60)
        seen.append(cancel.releasing)
        return Outcome(state=RunState.QUEUED)

    pool = made(execute, ends)
    pool.start([replace(taken(), job=Job(name="j", prompt="x"))])
    pool.close()
    pool.stop_all()
    assert pool.wait(60)
    assert seen == [True]
    assert ends.written == [("r1", RunState.QUEUED, None)]


def test_a_run_that_a_person_stopped_is_not_given_up_but_ended() -> None:
    halts: list[Halt] = []
    free = threading.Event()

    def execute(_run: TakenRun, cancel: Halt) -> Outcome:
        halts.append(cancel)
        free.wait(60)
        return Outcome(state=RunState.CANCELLED)

    pool = made(execute, Ends())
    pool.start([replace(taken(), job=Job(name="j", prompt="x"))])
    until(lambda: halts, "it runs")
    pool.cancel(["r1"])
    pool.stop_all()
    assert [run.id for run in pool.left()] == ["r1"]
    free.set()
    assert pool.wait(60)
    assert (halts[0].is_set(), halts[0].releasing, pool.left()) == (True, False, [])


def test_how_long_a_run_was_executed_is_not_read_from_a_clock_that_can_be_set() -> None:
    said: list[timedelta] = []

    def end(_run: TakenRun, _outcome: Outcome, *, ran: timedelta, another: bool) -> None:  # the port's
        said.append(ran)

    pool = Executor(1, execute=lambda _run, _halt: OK, end=end, on_free=lambda: None)
    pool.start([taken()])
    assert pool.wait(60)
    assert timedelta(0) < said[0] < timedelta(seconds=5)


@pytest.mark.parametrize("job", [Job(name="j", prompt="x"), Job(name="j", script="x")])
def test_what_a_person_cancelled_stays_cancelled_when_the_process_ends_too(job: Job) -> None:
    ends, free = Ends(), threading.Event()
    halts: list[Halt] = []

    def execute(_run: TakenRun, cancel: Halt) -> Outcome:
        halts.append(cancel)
        free.wait(60)
        return Outcome(state=RunState.CANCELLED, reason="cancelled")

    pool = made(execute, ends)
    pool.start([replace(taken(), job=job)])
    until(lambda: halts, "it runs")
    pool.cancel(["r1"])
    pool.close()
    pool.stop_all()
    free.set()
    assert pool.wait(60)
    assert ends.written == [("r1", RunState.CANCELLED, "cancelled")]


def test_a_run_that_is_stopped_since_its_time_is_over_is_not_cancelled() -> None:
    ends = Ends()

    def execute(_run: TakenRun, cancel: Halt) -> Outcome:
        cancel.wait(60)
        return Outcome(state=RunState.CANCELLED, error="stopped on request")

    pool = made(execute, ends)
    pool.start([taken(seconds=0)])
    until(lambda: pool.overlong() or ends.written, "it is told to stop")
    assert pool.wait(60)
    assert ends.written == [("r1", RunState.TIMEOUT, "deadline")]
