"""A run whose owner died goes on elsewhere, unless it kills whoever takes it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from hermes_cron.domain.job import Job
from hermes_cron.domain.run import RunState, TakenRun
from hermes_cron.domain.transcript import Header
from hermes_cron.store import runs, takeovers
from hermes_cron.store.journal import SqlJournal
from hermes_cron.store.tables import DeliveryRow, MessageRow
from hermes_cron.store.takeovers import TakenOver
from hermes_cron.testing import FixedClock

PROMPT = "prompt: do it"


def journal(world: Any, run: TakenRun) -> SqlJournal:
    return SqlJournal.begin(
        world.store, FixedClock(world.now), run_id=run.id, fence=run.fence, header=Header(system="s"),
        messages=[{"role": "user", "content": "do it"}],
    )  # fmt: skip


def dies(world: Any, owner: str = "me") -> list[TakenOver]:
    with world.store.read() as conn:
        lost = runs.owned(conn, [owner])
    found = [world.store.write(lambda conn, run=run: takeovers.take_over(conn, run, world.now)) for run in lost]
    return [each for each in found if each is not None]


def test_it_is_put_back_with_its_job_its_transcript_and_its_time(world: Any) -> None:
    run = world.started(PROMPT)
    world.now += timedelta(seconds=30)
    made = journal(world, run)  # its last row: half a minute after it was taken
    world.now += timedelta(hours=1)  # nobody knows how long it lived after that
    (found,) = dies(world)
    assert (found.run.id, found.state, found.times) == (run.id, RunState.QUEUED, 1)
    row = world.run(run.id)
    assert (row["state"], row["owner"], row["fence"], row["slot"]) == ("queued", None, run.fence, run.job_uid)
    (again,) = world.take(owner="other")
    assert (again.id, again.session, again.fence) == (run.id, made.session_id, run.fence + 1)
    assert again.deadline_at == world.now + timedelta(minutes=30) - timedelta(seconds=30)


def test_a_run_that_ended_or_has_another_owner_is_left_alone(world: Any) -> None:
    run = world.started(PROMPT)
    with world.store.read() as conn:
        (stale,) = runs.owned(conn, ["me"])
    dies(world)
    (again,) = world.take(owner="other")
    assert world.store.write(lambda conn: takeovers.take_over(conn, stale, world.now)) is None
    assert world.run(run.id)["owner"] == "other"
    world.finish(again)
    assert world.store.write(lambda conn: takeovers.take_over(conn, stale, world.now)) is None
    assert world.run(run.id)["state"] == "ok"


def test_the_third_time_at_one_step_it_ends_as_crashed_and_is_told_of(world: Any) -> None:
    run = world.started(PROMPT, "deliver: ops")
    journal(world, run)
    assert dies(world)[0].times == 1
    world.take()
    assert dies(world)[0].times == 2
    world.take()
    (found,) = dies(world)
    assert (found.state, found.tells) == (RunState.FAILED, True)
    row = world.run(run.id)
    assert (row["state"], row["reason"], row["slot"]) == ("failed", "crashed", None)
    assert row["error"].startswith("its process died 3 times after row 1")
    assert [delivery["kind"] for delivery in world.rows(DeliveryRow)] == ["failure"]


def test_a_step_further_the_count_begins_anew(world: Any) -> None:
    run = world.started(PROMPT)
    journal(world, run)
    for _ in range(2):
        dies(world)
        (run,) = world.take()
    made = SqlJournal.open(world.store, FixedClock(world.now), run_id=run.id, fence=run.fence, session_id=run.session)
    made.append({"role": "user", "content": "a step"})
    assert dies(world)[0].times == 1


def test_a_shutdown_is_no_sign_that_a_run_kills_its_process(world: Any) -> None:
    run = world.started(PROMPT)
    for _ in range(4):
        world.store.write(lambda conn: takeovers.excuse(conn, [run.id], "me"))
        assert dies(world)[0].times == 1
        world.take()


def test_an_action_is_gone_on_with_for_what_it_does_is_done_once(world: Any) -> None:
    start = runs.Start(job=Job(name="nightly", action="curate"), job_uid=None, actor="ann")
    run_id = world.store.write(lambda conn: runs.enqueue(conn, start, world.now))
    for _ in range(2):
        world.take()
        (found,) = dies(world)
        assert (found.run.id, found.state) == (run_id, RunState.QUEUED)
    world.take()
    (found,) = dies(world)
    assert (found.state, world.run(run_id)["reason"]) == (RunState.FAILED, "crashed")


@pytest.mark.parametrize("line", [PROMPT, "script: true"])
def test_what_somebody_stopped_is_not_gone_on_with_after_its_owner_died(world: Any, line: str) -> None:
    run = world.started(line)
    journal(world, run)
    world.store.write(lambda conn: runs.cancel(conn, run.id, by="ann", now=world.now))
    (found,) = dies(world)
    assert found.state is RunState.CANCELLED
    row = world.run(run.id)
    assert (row["state"], row["error"]) == ("cancelled", "cancelled by ann; its process died before it stopped")
    assert world.take() == []


@pytest.mark.parametrize(
    ("row", "header"),
    [
        ({"system": "s"}, Header(system="s")),
        ({"system": "s", "model": "m", "of_a_later_version": [1]}, Header(system="s", model="m")),
    ],
)
def test_row_0_of_another_version_is_read_for_what_it_has(world: Any, row: dict[str, Any], header: Header) -> None:
    run = world.started(PROMPT)
    made = journal(world, run)
    rows = MessageRow.__table__  # type: ignore[attr-defined]
    body = json.dumps(row).encode()
    world.store.write(lambda conn: conn.execute(rows.update().where(rows.c.seq == 0).values(body=body)))
    dies(world)
    (again,) = world.take(owner="other")
    opened = SqlJournal.open(
        world.store, FixedClock(world.now), run_id=run.id, fence=again.fence, session_id=made.session_id
    )
    assert opened.header() == header
