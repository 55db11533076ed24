"""Every due instant has a row, and the proof notices when one has not."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, select

from hermes_cron.domain.run import OccurrenceState, RunState
from hermes_cron.store import history
from hermes_cron.store.tables import OccurrenceRow, OccurrenceSpanRow

OCCURRENCES = OccurrenceRow.__table__  # type: ignore[attr-defined]
SPANS = OccurrenceSpanRow.__table__  # type: ignore[attr-defined]


def week(world: Any) -> None:
    """A job that ran, was down, was paused, was edited."""
    world.write("a", "schedule: 0 */2 * * *")
    world.sync()
    world.at("14:00").claim()
    for run in world.take():
        world.finish(run)
    world.at("2026-12-02 09:30").claim()
    for run in world.take():
        world.finish(run, RunState.FAILED)
    world.write("a", "schedule: 0 */2 * * *\npaused: x")
    world.sync()
    world.at("2026-12-02 15:00").claim()
    world.write("a", "schedule: 30 */3 * * *")
    world.sync()
    world.at("2026-12-02 18:00").claim()


def test_the_proof_agrees_with_a_job_of_many_fates(world: Any) -> None:
    week(world)
    proof = world.proof(hours=48)
    # 14:00 ran; 16:00..06:00 merged; 08:00 ran; 10:00, 12:00, 14:00 paused; 15:30 runs late
    assert proof.states == {OccurrenceState.RAN: 3, OccurrenceState.MERGED: 8, OccurrenceState.SKIPPED: 3}
    assert (proof.due, proof.accounted_for, proof.missing, proof.surplus) == (14, 14, (), 0)
    assert proof.ends == {RunState.OK: 1, RunState.FAILED: 1, RunState.QUEUED: 1}


def test_a_window_may_cut_a_span(world: Any) -> None:
    week(world)
    for hours in range(1, 40):
        proof = world.proof(hours=hours)
        assert (proof.accounted_for, proof.surplus) == (proof.due, 0), hours


def test_a_lost_row_is_named(world: Any) -> None:
    week(world)
    world.store.write(lambda conn: conn.execute(delete(OCCURRENCES).where(OCCURRENCES.c.state == "ran")))
    proof = world.proof(hours=48)
    assert len(proof.missing) == 3
    assert ("a", world.at("14:00").now) in proof.missing


def test_instants_that_nobody_looked_at_yet_wait(world: Any) -> None:
    world.write("a", "schedule: 0 */2 * * *")
    world.sync()
    proof = world.at("18:30").proof()
    assert (proof.due, proof.accounted_for, proof.waiting, proof.missing) == (3, 0, 3, ())


def test_rows_are_expanded_newest_first_and_bounded(world: Any) -> None:
    world.write("a", "schedule: * * * * *")
    world.sync()
    world.at("2026-12-02 11:00:30").claim()
    (run,) = world.take()
    with world.store.read() as conn:
        found = history.rows(conn, run.job_uid, limit=3)
        old = history.rows(conn, run.job_uid, limit=3, until=world.at("12:02").now)
    assert [f"{row.due:%H:%M} {row.state}" for row in found] == ["11:00 ran", "10:59 merged", "10:58 merged"]
    assert found[1].into == found[0].due
    assert [f"{row.due:%H:%M}" for row in old] == ["12:02", "12:01"]
    with world.store.read() as conn:
        assert conn.execute(select(SPANS.c.count)).scalar_one() == 1379
