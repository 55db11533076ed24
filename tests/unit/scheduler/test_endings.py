"""What becomes of a run whose execution stopped, and what follows from its end, all in one transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hermes_cron.domain.check import CheckKind, CheckResult, Verdict
from hermes_cron.domain.job import Keep
from hermes_cron.domain.retry import Next
from hermes_cron.domain.run import Outcome, ParkedEffect, RunState, TakenRun
from hermes_cron.domain.transcript import Header, ModelReply, Usage
from hermes_cron.ports import Fenced
from hermes_cron.store import claims, retention, runs, takes
from hermes_cron.store.holds import release
from hermes_cron.store.journal import SqlJournal
from hermes_cron.store.tables import ApprovalRow, AttemptRow, CounterRow, DeliveryRow, SessionRow
from hermes_cron.testing import FixedClock

PASSING = Outcome(state=RunState.FAILED, reason="rate_limited", error="429", passing=True, model_fault=True)
FAILED = Outcome(state=RunState.FAILED, reason="exit_code", error="exit code 1")
ASKS = Outcome(
    state=RunState.WAITING_APPROVAL,
    parked=(ParkedEffect(session_id="s", seq=2, tool="terminal", arguments="{}", evidence=()),),
)
PROMPT = "prompt: do it"
SECOND = timedelta(seconds=1)


def session(world: Any, run: TakenRun) -> str:
    made = SqlJournal.begin(
        world.store, FixedClock(world.now), run_id=run.id, fence=run.fence, header=Header(system="s"), messages=[]
    )
    return made.session_id


def slow(world: Any) -> TakenRun:
    """A run of a job that is due once an hour: its waits have room."""
    world.write("a", f"schedule: 0 * * * *\n{PROMPT}")
    world.at("11:30").sync()
    world.at("12:00").claim()
    (run,) = world.take()
    return run


def test_a_passing_fault_of_the_model_waits_without_an_owner_and_keeps_job_and_transcript(world: Any) -> None:
    run = slow(world)
    open_session = session(world, run)
    ended = world.at("12:01").end(run, PASSING, ran=20 * SECOND)
    assert (ended.state, ended.wait.next, ended.wait.until) == (
        RunState.WAITING_RETRY, Next.GO_ON, world.now + timedelta(minutes=5),
    )  # fmt: skip
    row = world.run(run.id)
    assert (row["owner"], row["slot"], row["ended_at"], row["reason"]) == (None, run.job_uid, None, "rate_limited")
    assert world.at("12:05").take() == []
    with world.store.read() as conn:
        assert claims.next_wake(conn, world.now) == world.now + timedelta(minutes=1)
        assert not takes.ready(conn, world.now)
    (again,) = world.at("12:06").take(owner="other")
    assert (again.session, again.waits, again.attempt, again.fence) == (open_session, 1, 1, run.fence + 1)
    assert again.deadline_at == world.now + timedelta(minutes=30) - 20 * SECOND
    assert world.run(run.id)["reason"] is None
    (attempt,) = world.rows(AttemptRow)
    assert (attempt["owner"], attempt["fence"], attempt["state"], attempt["started_at"]) == (
        "other", again.fence, None, run.started_at,
    )  # fmt: skip


def test_the_fourth_fault_at_one_step_is_a_failed_attempt_that_goes_on_with_the_transcript(world: Any) -> None:
    run = slow(world)
    open_session = session(world, run)
    world.write("a", f"schedule: 0 9 * * *\n{PROMPT}")
    world.sync()  # not due again before tomorrow
    for minutes in (5, 15, 30):
        world.end(run, PASSING, ran=SECOND)
        world.now += timedelta(minutes=minutes)
        (run,) = world.take()
    ended = world.end(run, PASSING, ran=SECOND)
    assert ended.wait.next is Next.RESUME
    world.now += timedelta(minutes=5)
    (again,) = world.take()
    assert (again.attempt, again.waits, again.session) == (2, 0, open_session)
    assert again.deadline_at - again.started_at == timedelta(minutes=30)
    assert [(row["number"], row["state"], row["reason"]) for row in world.rows(AttemptRow)] == [
        (1, "failed", "rate_limited"), (2, None, None),
    ]  # fmt: skip


def test_nothing_waits_past_the_next_instant(world: Any) -> None:
    run = world.started(PROMPT)  # due again in five minutes
    assert world.end(run, PASSING, ran=SECOND).state is RunState.FAILED
    assert world.run(run.id)["state"] == "failed"


def test_a_script_is_tried_again_with_a_fresh_transcript_where_the_job_says_so(world: Any) -> None:
    world.write("a", "schedule: 0 * * * *\nretries: exit_code")
    world.at("11:30").sync()
    world.at("12:00").claim()
    (run,) = world.take()
    session(world, run)
    assert world.end(run, FAILED, ran=SECOND).wait.next is Next.FRESH
    (row,) = world.rows(SessionRow)
    assert row["ended_at"] == world.now
    (again,) = world.at("12:05").take()
    assert (again.attempt, again.session) == (2, None)


def test_a_released_run_is_anybodys_at_once(world: Any) -> None:
    run = world.started(PROMPT)
    open_session = session(world, run)
    assert world.end(run, Outcome(state=RunState.QUEUED, progressed=True), ran=7 * SECOND).state is RunState.QUEUED
    with pytest.raises(Fenced):
        world.end(run, Outcome(state=RunState.OK))
    (again,) = world.at("12:06").take(owner="other")
    assert (again.id, again.session) == (run.id, open_session)
    assert again.deadline_at == world.now + timedelta(minutes=30) - 7 * SECOND
    row = world.run(run.id)
    assert (row["started_at"], row["taken_at"]) == (run.started_at, world.now)


def test_a_run_that_waits_occupies_its_job_and_is_neither_stale_nor_forgotten(world: Any) -> None:
    run = slow(world)
    world.end(run, PASSING, ran=SECOND)
    world.at("2026-12-01 13:00").claim()
    assert world.history("a")[-1] == ("01 13:00", "skipped", "overlap")
    (again,) = world.take()
    world.end(again, Outcome(state=RunState.QUEUED), ran=SECOND)
    world.now += timedelta(days=200)
    world.claim()
    with world.store.read() as conn:
        assert claims.stale(conn, world.now) == []
        assert retention.expired(conn, world.now, Keep(runs=0, days=1)) == []
    assert world.run(run.id)["state"] == "queued"


def test_the_newest_instant_ends_a_run_that_waits_where_the_job_says_so(world: Any) -> None:
    world.write("a", f"schedule: 0 * * * *\noverlap: cancel-running\n{PROMPT}")
    world.at("11:30").sync()
    world.at("12:00").claim()
    (run,) = world.take()
    assert world.end(run, PASSING, ran=SECOND).wait is not None
    world.at("13:00").claim()
    assert (world.run(run.id)["state"], world.run(run.id)["reason"]) == ("cancelled", "overlap")
    (new,) = world.take()
    assert new.scheduled_at == world.now


def test_the_next_instant_queues_behind_a_run_that_waits_where_the_job_says_so(world: Any) -> None:
    world.write("a", f"schedule: 0 * * * *\noverlap: queue\n{PROMPT}")
    world.at("11:30").sync()
    world.at("12:00").claim()
    (run,) = world.take()
    world.at("12:57").end(run, Outcome(state=RunState.QUEUED), ran=SECOND)
    world.at("13:00").claim()
    (again,) = world.take()
    assert again.id == run.id
    world.finish(again)
    (following,) = world.take()
    assert following.scheduled_at == world.now


def test_cancel_ends_a_waiting_run_at_once(world: Any) -> None:
    run = slow(world)
    world.end(run, PASSING, ran=2 * SECOND)
    was = world.at("12:03").store.write(lambda conn: runs.cancel(conn, run.id, by="ann", now=world.now))
    row = world.run(run.id)
    assert (was, row["state"], row["cancel_by"], row["slot"]) == (RunState.WAITING_RETRY, "cancelled", "ann", None)
    assert world.at("12:20").take() == []
    (duration,) = [row["value"] for row in world.rows(CounterRow) if row["name"].endswith("duration_seconds_sum")]
    assert duration == pytest.approx(2)  # executed; it waited longer


def test_what_the_checks_said_is_in_the_row_and_in_a_counter(world: Any) -> None:
    run = world.started(PROMPT)
    said = CheckResult(kind=CheckKind.SQL, says="sql", verdict=Verdict.CHECK_FAILED, detail="0 is not 1")
    world.end(run, Outcome(state=RunState.OK, checks=(said,), skills=("inspect",)))
    row = world.run(run.id)
    assert (row["verdict"], row["skills"]) == ("check_failed", '["inspect"]')
    assert '"detail": "0 is not 1"' in row["check_results"]
    assert [
        (c["labels"], c["value"]) for c in world.rows(CounterRow) if c["name"] == "hermes_cron_job_checks_total"
    ] == [('{"job_name":"a","outcome":"check_failed"}', 1.0)]


# --- holds ------------------------------------------------------------------------------------------------------------


def fail(world: Any, times: int, outcome: Outcome = FAILED) -> None:
    for _ in range(times):
        world.now += timedelta(minutes=5)
        world.claim()
        (run,) = world.take()
        world.end(run, outcome)


def test_failures_in_a_row_hold_the_job_with_one_message(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *\npause_after: 3\ndeliver: ops")
    world.sync()
    fail(world, 2)
    assert world.job("a")["held_reason"] is None
    fail(world, 1)
    assert world.job("a")["held_reason"] == "3 failures in a row: exit code 1"
    world.now += timedelta(minutes=10)
    world.claim()
    assert world.take() == []
    assert world.history("a")[-1][1:] == ("skipped", "held")
    assert [row["target"] for row in world.rows(DeliveryRow) if row["kind"] == "held"] == ["ops"]


def test_a_good_run_starts_the_count_anew(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *\npause_after: 3")
    world.sync()
    fail(world, 2)
    fail(world, 1, Outcome(state=RunState.OK))
    fail(world, 2)
    assert (world.job("a")["failures"], world.job("a")["held_reason"]) == (2, None)


def test_zero_never_holds_and_a_cancel_is_no_failure(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *\npause_after: 0")
    world.sync()
    fail(world, 7)
    fail(world, 1, Outcome(state=RunState.CANCELLED))
    assert (world.job("a")["failures"], world.job("a")["held_reason"]) == (7, None)


@pytest.mark.parametrize(
    ("cap", "held"), [("budget.cost_usd_per_day", True), ("limits.cost_usd_per_day", True), ("limits.tokens", False)]
)
def test_a_cap_of_many_runs_holds_the_job_at_once(world: Any, cap: str, held: bool) -> None:
    run = world.started(PROMPT, "deliver: ops")
    world.end(run, Outcome(state=RunState.BUDGET_EXHAUSTED, reason=cap, error="the cap is reached"))
    assert (world.job("a")["held_reason"] is not None) is held
    assert len([row for row in world.rows(DeliveryRow) if row["kind"] == "held"]) == held


def test_a_resume_counts_failures_from_nothing(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *\npause_after: 2")
    world.sync()
    fail(world, 2)
    world.store.write(lambda conn: release(conn, str(world.job("a")["uid"]), world.now))
    fail(world, 1)
    assert (world.job("a")["failures"], world.job("a")["held_reason"]) == (1, None)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (PASSING, "cancelled by ann"),
        (Outcome(state=RunState.QUEUED), "cancelled by ann"),
        (
            ASKS,
            "cancelled by ann; not known whether terminal happened",
        ),
    ],
    ids=["waits", "released", "parked"],
)
def test_a_run_that_somebody_asked_to_stop_never_goes_on(world: Any, outcome: Outcome, said: str) -> None:
    """The word and the fault meet: who was told "it stops after this step" finds no run that waits and then works."""
    run = slow(world)
    session(world, run)
    world.store.write(lambda conn: runs.cancel(conn, run.id, by="ann", now=world.now))
    ended = world.end(run, outcome, ran=SECOND)
    assert (ended.state, ended.outcome.state) == (RunState.CANCELLED, RunState.CANCELLED)
    row = world.run(run.id)
    assert (row["state"], row["error"], row["slot"]) == ("cancelled", said, None)
    assert world.rows(ApprovalRow) == []
    assert world.at("12:59").take() == []


def test_a_failure_that_nothing_follows_stays_one_though_somebody_asked_it_to_stop(world: Any) -> None:
    run = slow(world)
    world.store.write(lambda conn: runs.cancel(conn, run.id, by="ann", now=world.now))
    assert world.end(run, FAILED, ran=SECOND).state is RunState.FAILED


@pytest.mark.parametrize(
    "outcome", [PASSING, Outcome(state=RunState.QUEUED), ASKS],
    ids=["waits", "released", "asks"],
)  # fmt: skip
def test_a_run_that_waits_ends_with_its_job(world: Any, outcome: Outcome) -> None:
    run = slow(world)
    session(world, run)
    world.end(run, outcome, ran=SECOND)
    (world.home.jobs / "a.md").unlink()
    assert world.at("12:02").sync().removed == ("a",)
    row = world.run(run.id)
    assert (row["state"], row["reason"], row["slot"], row["ended_at"]) == ("cancelled", "removed", None, world.now)
    assert world.at("12:59").take() == []


def test_a_run_whose_job_was_removed_meanwhile_waits_for_nothing(world: Any) -> None:
    run = slow(world)
    (world.home.jobs / "a.md").unlink()
    world.sync()
    assert world.run(run.id)["state"] == "running", "what is executed is not cut off"
    assert world.end(run, PASSING, ran=SECOND).state is RunState.FAILED


@pytest.mark.parametrize(
    "outcome", [PASSING, Outcome(state=RunState.QUEUED), ASKS],
    ids=["waits", "released", "asks"],
)  # fmt: skip
def test_a_run_that_goes_on_later_says_what_it_used_until_now(world: Any, outcome: Outcome) -> None:
    run = slow(world)
    made = SqlJournal.begin(
        world.store, FixedClock(world.now), run_id=run.id, fence=run.fence, header=Header(system="s"), messages=[]
    )
    made.assistant(
        ModelReply(
            message={"role": "assistant", "content": "x"}, text="x", usage=Usage(input=90, output=10), model="m"
        ),
        [],
    )
    used = replace(outcome, iterations=1, tool_calls=2, tool_errors=1, model="m")
    world.end(run, used, ran=SECOND)
    row = world.run(run.id)
    assert (row["iterations"], row["tool_calls"], row["tool_errors"], row["model"]) == (1, 2, 1, "m")
    assert (row["tokens_input"], row["tokens_output"], row["ended_at"]) == (90, 10, None)
