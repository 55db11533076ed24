"""The loop: faults, clocks, one pass, housekeeping."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hermes_cron.domain.event import (
    ApprovalExpired,
    Level,
    PassFailed,
    RunLost,
    RunParked,
    RunTakenOver,
    RunWaits,
    ServeStopping,
)
from hermes_cron.domain.job import Job, Keep
from hermes_cron.domain.run import Outcome, ParkedEffect, RunState
from hermes_cron.home import Home
from hermes_cron.jobs.files import JobFile, JobFiles
from hermes_cron.scheduler import executor as executor_module
from hermes_cron.scheduler import owners
from hermes_cron.scheduler import service as service_module
from hermes_cron.scheduler import timers as timers_module
from hermes_cron.scheduler.housekeeping import housekeep
from hermes_cron.scheduler.timers import JumpDetector, Timers, Wake, Wakes
from hermes_cron.store import runs, takes
from hermes_cron.testing import FixedClock
from tests.scheduler_rig import NOON, Rig, until


def test_a_store_that_is_busy_for_a_while_stops_nothing(home: Home) -> None:
    with Rig(home) as rig:
        rig.write("a", "*/5 * * * *")
        rig.rescan()
        blocker = sqlite3.connect(home.store, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        rig.clock.set(NOON + timedelta(minutes=5))
        until(lambda: any(isinstance(event, PassFailed) for event in rig.events), "a pass failed", 15)
        blocker.execute("ROLLBACK")
        blocker.close()
        rig.clock.advance(2)
        rig.settle()
        rig.idle()
        assert rig.work.starts("a") == ["12:05"]


def test_three_threads_that_never_come_back_end_the_service(home: Home, monkeypatch: Any) -> None:
    monkeypatch.setattr(executor_module, "GRACE_S", -3600.0)
    gates = []
    with Rig(home, concurrency=3) as rig:

        def execute(_run: Any, _cancel: Any) -> Outcome:
            gate = threading.Event()
            gates.append(gate)
            gate.wait(20)
            return Outcome(state=RunState.OK)

        rig.service._executor._execute = execute
        for name in "abc":
            rig.write(name, "*/5 * * * *")
        rig.rescan()
        rig.at("12:05")
        until(lambda: len(gates) == 3, "three runs hang")
        rig.service.wakes.put(Wake.SWEEP)
        until(lambda: rig.code is not None, "the service gave up", 20)
        assert rig.code == 1
        assert sum(isinstance(event, RunLost) for event in rig.events) == 3
        assert {row[1:] for name in "abc" for row in rig.history(name)} == {("timeout", "overlong")}
        for gate in gates:
            gate.set()
        until(lambda: not [t for t in threading.enumerate() if t.name.startswith("run-")], "they come back after all")


def test_a_cancel_from_another_process_reaches_the_run(home: Home) -> None:
    with Rig(home) as rig:
        rig.write("a", "*/5 * * * *")
        rig.rescan()
        rig.work.hold("a")
        rig.at("12:05")
        until(lambda: rig.work.started, "it runs")
        run_id = rig.work.started[0].id
        rig.store.write(lambda conn: runs.cancel(conn, run_id, by="ann", now=rig.clock.now()))
        rig.service.wakes.put(Wake.STORE)
        rig.idle()
        assert rig.history("a") == [("12:05", "cancelled", None)]


def test_a_start_by_hand_is_taken_when_the_store_says_so(home: Home) -> None:
    with Rig(home) as rig:
        start = runs.Start(job=Job(name="p", prompt="x"), job_uid=None, actor="ann")
        rig.store.write(lambda conn: runs.enqueue(conn, start, rig.clock.now()))
        rig.service.wakes.put(Wake.STORE)
        until(lambda: [run.job.name for run in rig.work.started] == ["p"], "it runs")


def test_more_due_than_slots_all_run_in_order_of_waiting(home: Home) -> None:
    with Rig(home, concurrency=2) as rig:
        for number in range(9):
            rig.write(f"j{number}", f"{number} 13 * * *")
        rig.rescan()
        rig.at("13:30")
        rig.idle()
        assert len(rig.work.started) == 9
        assert {state for number in range(9) for _, state, _ in rig.history(f"j{number}")} == {"ok"}


def test_queued_overlap_goes_on_when_the_running_one_ends(home: Home) -> None:
    with Rig(home) as rig:
        rig.write("a", "*/5 * * * *", "overlap: queue")
        rig.rescan()
        gate = rig.work.hold("a")
        rig.at("12:05")
        rig.at("12:10")
        until(lambda: rig.work.started, "the first runs")
        gate.set()
        until(lambda: rig.work.starts("a") == ["12:05", "12:10"], "the second follows")


def test_once_leaves_what_becomes_due_meanwhile_to_the_next_pass(home: Home) -> None:
    rig = Rig(home)
    rig.write("a", "* * * * *")
    rig.sync()
    rig.clock.set(NOON + timedelta(minutes=1))
    done = rig.work.__call__

    def execute(run: Any, cancel: Any) -> Outcome:
        rig.clock.advance(timedelta(minutes=1))
        return done(run, cancel)

    rig.service._executor._execute = execute
    assert rig.service.once() == 0
    assert rig.work.starts("a") == ["12:01"]
    rig.store.close()


def test_a_clock_that_is_set_is_noticed_and_a_slow_one_followed() -> None:
    clock = FixedClock(datetime(2026, 12, 1, tzinfo=UTC))
    detector = JumpDetector(clock)
    assert detector.jumped() is None
    clock.advance(3600)
    jumped = detector.jumped()
    assert jumped is not None
    assert abs(jumped - timedelta(hours=1)) < timedelta(seconds=2)
    assert detector.jumped() is None
    clock.advance(-7200)
    assert detector.jumped() is not None


class RealClock:
    """The host's clock, for timers that really wait."""

    poll_s = None

    def now(self) -> datetime:
        return datetime.now(UTC)


def test_timers_wake_at_the_instant_that_was_asked_for_last() -> None:
    wakes = Wakes()
    timers = Timers(RealClock(), wakes)
    timers.start()
    try:
        now = datetime.now(UTC)
        timers.set_next(now + timedelta(seconds=60))
        timers.set_next(now + timedelta(seconds=0.2))  # an earlier one shortens the wait
        assert Wake.DUE in wakes.wait(60)
        assert datetime.now(UTC) >= now + timedelta(seconds=0.2)
        timers.set_next(now)  # already past: at once
        assert Wake.DUE in wakes.wait(60)
        timers.set_next(datetime.now(UTC) + timedelta(seconds=0.3))
        timers.restart()  # a restart forgets nothing
        assert Wake.DUE in wakes.wait(60)
        timers.set_next(datetime.now(UTC) + timedelta(seconds=0.2))
        timers.set_next(None)
        assert wakes.wait(0.5) == set()
    finally:
        timers.stop()


def ended_runs(rig: Rig, count: int, days_ago: float) -> list[str]:
    """Runs of one job that ended then, each with a report."""
    at = rig.clock.now() - timedelta(days=days_ago)
    ids = []
    for number in range(count):
        start = runs.Start(job=Job(name="j", script="x"), job_uid=None, actor="t")
        when = at + timedelta(seconds=number)

        def work(conn: Any, start: Any = start, when: Any = when) -> str:
            run = takes.take_run(conn, runs.enqueue(conn, start, when), "me", when)
            path = f"outputs/j/{run.id}.md"  # type: ignore[union-attr]
            runs.finish(conn, run.id, run.fence, Outcome(state=RunState.OK, output_path=path), when)  # type: ignore[union-attr]
            return run.id  # type: ignore[union-attr, no-any-return]

        run_id = rig.store.write(work)
        report = rig.home.outputs / "j" / f"{run_id}.md"
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text("report")
        ids.append(run_id)
    return ids


def test_retention_keeps_the_newest_and_the_young_and_touches_only_reports(home: Home) -> None:
    rig = Rig(home)
    old = ended_runs(rig, 5, 100)
    young = ended_runs(rig, 2, 10)
    keepsake = home.root / "outputs-of-mine.md"
    keepsake.write_text("mine")
    os.utime(home.store, (time.time() - 20 * 86_400,) * 2)
    housekeep(rig.store, home, keep=Keep(runs=4, days=90), emit=rig.events.append, now=rig.clock.now())
    left = {path.stem for path in (home.outputs / "j").iterdir()}
    assert left == {*old[3:], *young}  # the newest four, and all of the last 90 days
    assert keepsake.exists()
    assert home.store.exists()
    with rig.store.read() as conn:
        assert [bool(conn.execute(runs.select(runs._runs.c.id).where(runs._runs.c.id == i)).first()) for i in old] == [
            False, False, False, True, True,
        ]  # fmt: skip
    rig.store.close()


def test_a_report_path_that_leads_elsewhere_is_left_alone(home: Home) -> None:
    rig = Rig(home)
    (run_id,) = ended_runs(rig, 1, 100)
    elsewhere = home.root / "precious.md"
    elsewhere.write_text("precious")
    rig.store.write(lambda conn: conn.execute(runs.update(runs._runs).values(output_path="outputs/../precious.md")))
    housekeep(rig.store, home, keep=Keep(runs=0, days=1), emit=rig.events.append, now=rig.clock.now())
    assert elsewhere.read_text() == "precious"
    assert run_id
    rig.store.close()


def test_a_service_whose_store_was_deleted_ends_and_says_why(home: Home) -> None:
    with Rig(home) as rig:
        rig.home.store.unlink()
        rig.service.reload()
        until(lambda: rig.code is not None, "the service ended")
        assert rig.code == 1
        (stopping,) = [event for event in rig.events if isinstance(event, ServeStopping)]
        assert "state.db was deleted" in stopping.why
        assert stopping.level is Level.ERROR


def test_a_look_at_many_files_holds_up_no_due_run(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with Rig(home) as rig:
        rig.write("a", "*/5 * * * *")
        rig.rescan()
        rig.write("b", "0 9 * * *")
        folder = JobFiles(home)
        started: list[str] = []

        def scan() -> list[JobFile]:
            rig.clock.set(NOON + timedelta(minutes=5))  # due while the folder is listed
            return folder.scan()

        def read(file_name: str) -> tuple[bytes, str] | None:
            until(lambda: rig.work.started, "a started before the changed file was read")
            started.extend(rig.work.starts("a"))
            return folder.read_file(file_name)

        monkeypatch.setattr(rig.source.folder, "scan", scan)
        monkeypatch.setattr(rig.source.folder, "read_file", read)
        rig.rescan()
        assert started == ["12:05"]
        assert rig.names() == ["a", "b"]


# --- owners that die --------------------------------------------------------------------------------------------------

OWNER = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path
from hermes_cron.scheduler.owners import Owner
from hermes_cron.store import takes
from hermes_cron.store.engine import Store
owner = Owner(Path(sys.argv[1]), kind="run", started_at=datetime(2026, 12, 1, tzinfo=UTC))
with Store(Path(sys.argv[2])) as store:
    run = store.write(lambda conn: takes.take_run(conn, sys.argv[3], owner.name, datetime(2026, 12, 1, 12, tzinfo=UTC)))
    print(run.id, flush=True)
    time.sleep(60)
"""


def test_the_run_of_an_owner_that_dies_is_taken_over_within_two_seconds(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timers_module, "SWEEP_S", 3600.0)  # the look at the locks alone
    assert service_module.LOOK_S <= 1
    with Rig(home) as rig:
        start = runs.Start(job=Job(name="p", prompt="x"), job_uid=None, actor="ann")
        run_id = rig.store.write(lambda conn: runs.enqueue(conn, start, NOON))
        argv = [sys.executable, "-c", OWNER, str(home.owners), str(home.store), run_id]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as owner:
            assert owner.stdout is not None
            assert owner.stdout.readline()
            rig.settle()
            assert rig.work.started == []  # it lives
            owner.kill()
            owner.wait()
            died = time.monotonic()
            until(lambda: rig.work.started, "the run goes on here")
            assert time.monotonic() - died < 2 + 3  # three for a machine that does much else
        rig.idle()
        assert [type(event) for event in rig.events if isinstance(event, RunTakenOver)] == [RunTakenOver]
        with rig.store.read() as conn:
            assert runs.find(conn, run_id)["state"] == "ok"


def test_an_agent_that_cannot_be_stopped_stays_ours_until_the_process_is_gone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread may still act: nobody may take its run before that."""
    monkeypatch.setattr(service_module, "STOP_GRACE_S", 0.05)
    free = threading.Event()
    with Rig(home) as rig:

        def deaf(_run: Any, _halt: Any) -> Outcome:
            free.wait(20)
            return Outcome(state=RunState.QUEUED)

        rig.service._executor._execute = deaf
        rig.write("a", "*/5 * * * *", body="do it")
        rig.rescan()
        rig.at("12:05")
        until(lambda: rig.service._executor.running, "it runs")
        rig.stop()
        with rig.store.read() as conn:
            (left,) = runs.owned(conn)
        assert owners.lives(home.owners, left.owner)
        rig.service._owner._kept = False  # as the kernel does when the process is gone
        rig.service._owner.close()
        rig.again()
        until(lambda: rig.work.started, "the next one goes on with it")
        free.set()


def test_a_run_that_waits_is_taken_when_its_time_comes(home: Home) -> None:
    faults = [Outcome(state=RunState.FAILED, reason="rate_limited", passing=True, model_fault=True)]
    with Rig(home) as rig:

        def execute(_run: Any, _halt: Any) -> Outcome:
            return faults.pop() if faults else Outcome(state=RunState.OK)

        rig.service._executor._execute = execute
        rig.write("a", "0 12,18 * * *", body="do it")
        rig.rescan()
        rig.at("18:00")
        until(lambda: any(isinstance(event, RunWaits) for event in rig.events), "it waits")
        until(lambda: rig.service._executor.free == 4, "no thread is held")
        rig.at("18:04:59")
        assert rig.history("a") == [("18:00", "waiting_retry", "rate_limited")]
        rig.at("18:05")
        rig.idle()
        assert rig.history("a") == [("18:00", "ok", None)]


def test_a_question_that_nobody_answers_expires_with_the_sweep(home: Home) -> None:
    with Rig(home) as rig:
        parked = ParkedEffect(session_id="s", seq=1, tool="send", arguments="{}", evidence=("begun",))
        outcomes = [Outcome(state=RunState.OK), Outcome(state=RunState.WAITING_APPROVAL, parked=(parked,))]
        rig.service._executor._execute = lambda _run, _halt: outcomes.pop()
        rig.write("a", "0 12,18 * * *", body="do it")
        rig.rescan()
        rig.at("18:00")
        until(lambda: any(isinstance(event, RunParked) for event in rig.events), "it is parked")
        rig.at("2026-12-02 17:59")
        rig.service.wakes.put(Wake.SWEEP)
        rig.settle()
        assert rig.history("a")[0] == ("18:00", "waiting_approval", None)
        rig.at("2026-12-02 18:00")
        rig.service.wakes.put(Wake.SWEEP)
        rig.settle()
        rig.idle()
        assert rig.history("a")[0] == ("18:00", "ok", None)
        (expired,) = [event for event in rig.events if isinstance(event, ApprovalExpired)]
        assert (expired.approval, expired.job) == ("a1", "a")
