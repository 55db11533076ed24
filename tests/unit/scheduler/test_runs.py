"""Runs end once, whoever looks."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from hermes_cron.domain.job import Job, Overlap
from hermes_cron.domain.run import Cause, Outcome, RunState
from hermes_cron.errors import Conflict, NameAmbiguous, NotFound
from hermes_cron.ports import Fenced
from hermes_cron.store import claims, runs
from hermes_cron.store.tables import AttemptRow, RunRow

RUNS = RunRow.__table__  # type: ignore[attr-defined]
ATTEMPTS = AttemptRow.__table__  # type: ignore[attr-defined]


def started(world: Any) -> Any:
    world.write("a", "schedule: */5 * * * *")
    world.sync()
    world.at("12:05").claim()
    return world.take()[0]


def row(world: Any, run_id: str) -> Any:
    with world.store.read() as conn:
        return conn.execute(select(RUNS).where(RUNS.c.id == run_id)).one()


def test_an_end_frees_the_slot_and_closes_the_attempt(world: Any) -> None:
    run = started(world)
    world.at("12:06").finish(run)
    ended = row(world, run.id)
    assert (ended.state, ended.slot, ended.ended_at) == ("ok", None, world.now)
    with world.store.read() as conn:
        attempt = conn.execute(select(ATTEMPTS)).one()
    assert (attempt.state, attempt.ended_at) == ("ok", world.now)


def test_another_fence_cannot_finish(world: Any) -> None:
    run = started(world)
    with pytest.raises(Fenced):
        world.store.write(lambda conn: runs.finish(conn, run.id, run.fence + 1, Outcome(state=RunState.OK), world.now))


def test_cancel_ends_what_waits_and_asks_what_runs(world: Any) -> None:
    run = started(world)
    assert world.store.write(lambda conn: runs.cancel(conn, run.id, by="ann", now=world.now)) is RunState.RUNNING
    with world.store.read() as conn:
        assert runs.cancels_of(conn, "me") == [run.id]
    world.finish(run, RunState.CANCELLED)
    world.at("12:10").claim()
    with world.store.read() as conn:
        queued = conn.execute(select(RUNS.c.id).where(RUNS.c.state == "queued")).scalar_one()
    world.store.write(lambda conn: runs.cancel(conn, queued, by="ann", now=world.now))
    assert (row(world, queued).state, row(world, queued).cancel_by) == ("cancelled", "ann")
    with pytest.raises(Conflict):
        world.store.write(lambda conn: runs.cancel(conn, queued, by="ann", now=world.now))


def start(world: Any, overlap: Overlap = Overlap.SKIP, uid: str | None = None) -> str:
    job = Job(name="a", script="true", overlap=overlap)
    wanted = runs.Start(job=job, job_uid=uid, actor="ann", arguments={"k": 1})
    return world.store.write(lambda conn: runs.enqueue(conn, wanted, world.now))


def test_a_start_by_hand_respects_the_running_one(world: Any) -> None:
    run = started(world)
    with pytest.raises(Conflict) as refused:
        start(world, uid=run.job_uid)
    assert refused.value.details == {"run_id": run.id}
    waiting = start(world, Overlap.QUEUE, run.job_uid)
    assert world.take() == []
    world.finish(run)
    (next_run,) = world.take()
    assert (next_run.id, next_run.cause, next_run.arguments) == (waiting, Cause.MANUAL, {"k": 1})


def test_a_start_and_its_taking_are_one_step(world: Any) -> None:
    wanted = runs.Start(job=Job(name="prompt", prompt="x"), job_uid=None, actor="ann", cause=Cause.PROMPT)

    def work(conn: Any) -> Any:
        return claims.take_run(conn, runs.enqueue(conn, wanted, world.now), "cli", world.now)

    run = world.store.write(work)
    assert run.owner == "cli"
    assert world.take() == []


def test_a_run_is_found_by_the_beginning_of_its_id(world: Any) -> None:
    one = start(world)
    with world.store.read() as conn:
        assert runs.find(conn, one[:6])["id"] == one
        with pytest.raises(NotFound):
            runs.find(conn, "%")
    start(world)
    with world.store.read() as conn, pytest.raises(NameAmbiguous):
        runs.find(conn, "r")


def test_a_run_that_found_nothing_to_do_skips_its_instant(world: Any) -> None:
    run = started(world)
    outcome = Outcome(state=RunState.SKIPPED, reason="gate")
    world.store.write(lambda conn: runs.finish(conn, run.id, run.fence, outcome, world.now))
    assert world.history("a") == [("01 12:05", "skipped", "gate")]
