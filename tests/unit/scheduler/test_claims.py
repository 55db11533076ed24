"""Due instants become rows and queued runs, once, whatever the overlap."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from hermes_cron.domain.job import LIMITS, Job, Limits
from hermes_cron.domain.run import RunState
from hermes_cron.store import claims, takes
from hermes_cron.store.engine import Store
from hermes_cron.store.tables import CounterRow, JobRow, OccurrenceSpanRow, RunRow

RUNS = RunRow.__table__  # type: ignore[attr-defined]
SPANS = OccurrenceSpanRow.__table__  # type: ignore[attr-defined]


def states(world: Any) -> list[tuple[str, str | None]]:
    with world.store.read() as conn:
        order = select(RUNS.c.state, RUNS.c.reason).order_by(RUNS.c.scheduled_at, RUNS.c.queued_at)
        return [tuple(row) for row in conn.execute(order)]


def test_an_instant_becomes_one_queued_run(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *")
    world.sync()
    assert world.at("12:04:59").claim().runs == 0
    assert world.at("12:05").claim().runs == 1
    assert world.claim().runs == 0
    (run,) = world.take()
    assert (run.job.name, run.fence, run.late, run.scheduled_at) == ("a", 1, False, world.now)
    assert world.take() == []


def test_nothing_before_the_creation_is_due(world: Any) -> None:
    world.at("12:07").write("a", "schedule: */5 * * * *")
    world.sync()
    assert world.claim().runs == 0
    assert world.history("a") == []


def test_two_schedulers_claim_an_instant_once(world: Any) -> None:
    for number in range(20):
        world.write(f"job-{number}", "schedule: */5 * * * *")
    world.sync()
    world.at("12:05")
    barrier, taken = threading.Barrier(2), []

    def scheduler(name: str) -> None:
        with Store(world.store.path) as store:
            barrier.wait()
            for _ in range(5):
                store.write(lambda conn: claims.claim_due(conn, world.now, batch=7))
                taken.extend(store.write(lambda conn: claims.take(conn, name, 3, world.now)))

    threads = [threading.Thread(target=scheduler, args=(f"s{n}",)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(run.job.name for run in taken) == sorted(f"job-{n}" for n in range(20))
    assert {run.owner for run in taken} <= {"s0", "s1"}


@pytest.mark.parametrize(
    ("overlap", "history", "queued"),
    [
        ("skip", [("01 12:05", "ran", None), ("01 12:10", "skipped", "overlap")], []),
        ("queue", [("01 12:05", "ran", None), ("01 12:10", "ran", None)], []),
        ("allow", [("01 12:05", "ran", None), ("01 12:10", "ran", None)], ["a"]),
        ("cancel-running", [("01 12:05", "ran", None), ("01 12:10", "ran", None)], []),
    ],
)
def test_an_instant_whose_job_still_runs(world: Any, overlap: str, history: list[Any], queued: list[str]) -> None:
    world.write("a", f"schedule: */5 * * * *\noverlap: {overlap}")
    world.sync()
    world.at("12:05").claim()
    (first,) = world.take()
    world.at("12:10").claim()
    assert world.history("a") == history
    assert [run.job.name for run in world.take()] == queued
    with world.store.read() as conn:
        asked = conn.execute(select(RUNS.c.cancel_requested_at).where(RUNS.c.id == first.id)).scalar()
    assert (asked is not None) == (overlap == "cancel-running")
    world.finish(first)
    assert [run.job.name for run in world.take()] == (["a"] if overlap in {"queue", "cancel-running"} else [])


def test_cancel_running_keeps_only_the_newest_that_waits(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *\noverlap: cancel-running")
    world.sync()
    world.at("12:05").claim()
    world.take()
    world.at("12:10").claim()
    world.at("12:15").claim()
    assert states(world) == [("running", None), ("cancelled", "overlap"), ("queued", None)]
    assert world.history("a")[1] == ("01 12:10", "skipped", "overlap")


def test_a_waiting_queue_is_bounded(world: Any) -> None:
    world.write("a", "schedule: * * * * *\noverlap: queue")
    world.sync()
    world.at("12:01").claim()
    world.take()
    for _ in range(103):
        world.now += timedelta(minutes=1)
        world.claim()
    reasons = [reason for _, _, reason in world.history("a", limit=200)]
    assert reasons.count("queue_full") == 3


def test_a_backlog_runs_one_after_the_other_oldest_first(world: Any) -> None:
    world.write("a", "schedule: * * * * *\ncatch_up: all")
    world.sync()
    world.at("12:03").claim()
    order = []
    for _ in range(3):
        (run,) = world.take()
        order.append(f"{run.scheduled_at:%H:%M}")
        world.finish(run)
    assert order == ["12:01", "12:02", "12:03"]
    assert world.take() == []


def test_down_for_ten_minutes_is_one_run_and_one_span(world: Any) -> None:
    world.write("a", "schedule: * * * * *")
    world.sync()
    world.at("12:00:30").claim()
    world.at("12:10:30").claim()
    with world.store.read() as conn:
        spans = [(f"{r.first_at:%H:%M}", f"{r.last_at:%H:%M}", r.count, r.state) for r in conn.execute(select(SPANS))]
    assert spans == [("12:01", "12:09", 9, "merged")]
    assert world.history("a")[-1] == ("01 12:10", "ran", None)
    assert world.job("a")["next_due"] == world.at("12:11").now


def test_a_paused_job_keeps_one_growing_span(world: Any) -> None:
    world.write("a", "schedule: * * * * *\npaused: holiday")
    world.sync()
    for minute in range(1, 8):
        world.at(f"12:0{minute}").claim()
    with world.store.read() as conn:
        spans = [(r.count, r.state, r.reason) for r in conn.execute(select(SPANS))]
    assert spans == [(7, "skipped", "paused")]
    assert world.take() == []
    assert world.proof().due == world.proof().accounted_for == 7


def test_jitter_delays_the_start_and_wakes_the_scheduler(world: Any) -> None:
    world.write("a", "schedule: 0 13 * * *\njitter: 600")
    world.sync()
    world.at("13:00").claim()
    assert world.take() == []
    with world.store.read() as conn:
        wake = claims.next_wake(conn, world.now)
    assert wake is not None
    assert world.now < wake < world.now + timedelta(minutes=10)
    world.now = wake
    (run,) = world.take()
    assert run.scheduled_at == world.at("13:00").now


def test_max_runs_ends_the_job_and_the_proof_agrees(world: Any) -> None:
    world.write("a", "schedule: * * * * *\nmax_runs: 2")
    world.sync()
    for minute in range(1, 6):
        world.at(f"12:0{minute}").claim()
        for run in world.take():
            world.finish(run)
    assert [at for at, _, _ in world.history("a")] == ["01 12:01", "01 12:02"]
    assert world.job("a")["next_due"] is None
    assert (world.proof().due, world.proof().missing, world.proof().surplus) == (2, (), 0)


def test_a_job_that_cannot_be_planned_is_held_and_the_others_go_on(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *")
    world.write("b", "schedule: */5 * * * *")
    world.sync()
    jobs = JobRow.__table__  # type: ignore[attr-defined]
    world.store.write(
        lambda conn: conn.execute(update(jobs).where(jobs.c.name == "a").values(spec='{"trigger":{"v":9}}'))
    )
    world.at("12:05").claim()
    assert [run.job.name for run in world.take()] == ["b"]
    assert "cannot be read" in str(world.job("a")["held_reason"])


def test_a_run_that_waited_longer_than_the_window_is_missed_and_not_started(world: Any) -> None:
    world.write("a", "schedule: once 2026-12-01T13:00:00+00:00")
    world.sync()
    world.at("13:00").claim()
    world.at("2026-12-04 13:00")
    world.store.write(lambda conn: claims.drop_stale(conn, world.now))
    assert world.take() == []
    assert world.history("a") == [("01 13:00", "missed", "too_old")]
    assert states(world) == [(RunState.SKIPPED, "too_old")]


def test_totals_are_raised_with_the_rows(world: Any) -> None:
    world.write("a", "schedule: * * * * *")
    world.sync()
    world.at("12:05").claim()
    for run in world.take():
        world.finish(run)
    counters = CounterRow.__table__  # type: ignore[attr-defined]
    with world.store.read() as conn:
        found = {(row.name, row.labels): row.value for row in conn.execute(select(counters))}
    assert found["hermes_cron_job_occurrences_total", '{"job_name":"a","state":"merged"}'] == 4
    assert found["hermes_cron_job_occurrences_total", '{"job_name":"a","state":"ran"}'] == 1
    assert found["hermes_cron_job_runs_total", '{"job_name":"a","outcome":"ok"}'] == 1
    assert found["hermes_cron_job_start_lateness_seconds_count", "{}"] == 1


def test_priority_goes_before_waiting_time(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *")
    world.write("b", "schedule: */6 * * * *")
    world.sync()
    world.at("12:05").claim()
    world.at("12:06").claim()
    world.store.write(lambda conn: conn.execute(update(RUNS).where(RUNS.c.job_name == "b").values(priority=10)))
    assert [run.job.name for run in world.take(1)] == ["b"]


def test_a_long_backlog_of_one_job_hides_no_other(world: Any) -> None:
    """Of jobs that wait for their slot each gets one, however many runs of the first stand before the second's."""
    world.write("a", "schedule: * * * * *\ncatch_up: all")
    world.write("b", "schedule: 30 12 * * *\noverlap: queue")
    world.sync()
    world.at("12:30").claim()
    first, _ = world.take(2)  # a 12:01, b 12:30
    world.write("b", "schedule: 31 12 * * *\noverlap: queue")
    world.at("12:30:30").sync()
    world.at("12:31").claim()
    with world.store.read() as conn:
        assert conn.exec_driver_sql("SELECT count(*) FROM runs WHERE state = 'queued'").scalar() == 30
    world.store.write(
        lambda conn: conn.exec_driver_sql("UPDATE runs SET slot = NULL, state = 'ok' WHERE slot NOT NULL")
    )
    assert sorted(run.job.name for run in world.take(2)) == ["a", "b"]
    assert first.job.name == "a"


def test_counters_say_what_history_says_of_instants_that_gave_way(world: Any) -> None:
    world.write("a", "schedule: * * * * *\noverlap: cancel-running")
    world.sync()
    world.at("12:01").claim()
    world.take()
    for minute in (2, 3, 4):
        world.at(f"12:0{minute}").claim()
    with world.store.read() as conn:
        query = "SELECT json_extract(labels, '$.state'), value FROM counters WHERE name = ?"
        counted = dict(conn.exec_driver_sql(query, ("hermes_cron_job_occurrences_total",)).all())
    skipped = [row for row in world.history("a") if row[1] == "skipped"]
    assert counted == {"skipped": len(skipped)} == {"skipped": 2}  # what still runs or waits is counted when it ends


def test_a_scripts_time_out_is_within_the_homes_minutes_of_now() -> None:
    """It was fine when its file was read, and is one that `check` names now."""
    job = Job(name="a", script="sleep 300", timeout=timedelta(minutes=5), limits=Limits(inherited=LIMITS))
    assert takes.allowed(takes.of_now(job, Limits())) == timedelta(minutes=5)
    assert takes.allowed(takes.of_now(job, Limits(minutes=2))) == timedelta(minutes=2)
    own = replace(job, limits=Limits(minutes=7))
    assert takes.allowed(takes.of_now(own, Limits(minutes=2))) == timedelta(minutes=5)
