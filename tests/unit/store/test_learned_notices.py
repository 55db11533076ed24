"""Who hears of what was learned, when, and how often: rows and messages of a real store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from hermes_cron.domain.delivery import DeliveryKind
from hermes_cron.domain.job import Deliver, When
from hermes_cron.domain.learning import Kind, Learned, LearnedState
from hermes_cron.domain.run import RunState
from hermes_cron.store import approvals, learned, learned_notices, overview, proposals, reader
from hermes_cron.store.approvals import Decision
from hermes_cron.store.tables import DeliveryRow
from tests.ended import failed, good
from tests.endings_rig import Ends, opened

LEARNED = DeliveryKind.LEARNED


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    made = opened(tmp_path, deliver=Deliver(to=("ops-chat", "phone")))
    yield made
    made.store.close()


def learns(ends: Ends, run_id: str, when: learned_notices.When = "delivery", **fields: Any) -> Learned:
    """A review of this run patched a skill."""
    given: dict[str, Any] = {
        "number": 0, "key": f"s-{run_id}/7", "at": ends.now, "actor": "review", "kind": Kind.SKILL,
        "name": "db/inspect", "change": "patched", "state": LearnedState.APPLIED, "lines": ("+ Look first.",),
        "run_id": run_id, "job_uid": ends.uid, "job_name": ends.job.name, "after": "c81f" + "0" * 36,
    }  # fmt: skip
    row = Learned(**{**given, **fields})

    def work(conn: Connection) -> Learned:
        if row.state is LearnedState.PROPOSED:
            return proposals.propose(conn, row, when=when, answer_within=timedelta(hours=24), now=ends.now)
        kept = learned.note(conn, row)
        learned_notices.note(conn, kept, when=when)
        return kept

    return ends.store.write(work)


def test_it_goes_along_with_the_next_report_once_to_every_target(ends: Ends) -> None:
    run_id = ends(good())
    learns(ends, run_id)
    assert ends.told(LEARNED) == []
    second = ends(good(text="# something else"))
    assert ends.told(LEARNED) == [("learned", "ops-chat", "queued"), ("learned", "phone", "queued")]
    assert all(row["run_id"] == second and "+ Look first." in row["body"] for row in ends.rows(LEARNED))
    assert ends.rows(LEARNED)[0]["title"] == f"inspect-prod-db learned something in run {run_id}"
    ends(good(text="# a third"))
    assert len(ends.rows(LEARNED)) == 2


def test_a_silent_run_brings_nothing_and_the_failure_after_it_does(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat",), when=When.CHANGE))
    learns(ends, ends(good()))
    ends(good())
    assert ends.told(LEARNED) == []
    ends(failed())
    assert ends.told(DeliveryKind.FAILURE, LEARNED) == [
        ("failure", "ops-chat", "queued"), ("learned", "ops-chat", "queued"),
    ]  # fmt: skip


def test_at_once_is_with_the_row_and_once_for_each_key(ends: Ends) -> None:
    run_id = ends(good())
    for _ in range(2):
        learns(ends, run_id, when="now")
    assert ends.told(LEARNED) == [("learned", "ops-chat", "queued"), ("learned", "phone", "queued")]
    ends(good(text="# next"))
    assert len(ends.rows(LEARNED)) == 2


def test_off_and_a_persons_own_command_and_a_job_that_tells_nobody_are_never_told(ends: Ends) -> None:
    run_id = ends(good())
    learns(ends, run_id, when="off")
    learns(ends, run_id, when="now", actor="cli", key=None)
    ends.has(deliver=Deliver())
    learns(ends, ends(good()))
    ends.has(deliver=Deliver(to=("ops-chat",)))
    ends(good(text="# next"))
    assert ends.told(LEARNED) == []


def test_what_was_taken_back_before_anybody_heard_is_not_told(ends: Ends) -> None:
    kept = learns(ends, ends(good()))
    ends.store.write(lambda conn: learned.turn(conn, [kept.number], LearnedState.UNDONE))
    ends(good(text="# next"))
    assert ends.told(LEARNED) == []


def test_nothing_learned_is_no_message(ends: Ends) -> None:
    ends(good())
    ends(good(text="# other"))
    assert ends.told(LEARNED) == []


def test_a_notice_that_arrives_does_not_answer_for_a_report_that_was_lost(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat",)))
    learns(ends, ends(good()))
    ends(good(text="# lost"))
    ends.store.write(lambda conn: _settle(conn, "report", "failed"))
    ends.store.write(lambda conn: _settle(conn, "learned", "sent"))
    with ends.store.read() as conn:
        needs = overview.needs(conn)
    assert [(need.kind, need.target) for need in needs] == [("delivery", "ops-chat")]
    listed = reader.listed(ends.store.path)
    assert listed is not None
    assert [job.needs for job in listed] == [1]
    ends(good(text="# arrived"))
    ends.store.write(lambda conn: _settle(conn, "report", "sent", only_queued=True))
    with ends.store.read() as conn:
        assert overview.needs(conn) == []


def _settle(conn: Connection, kind: str, state: str, *, only_queued: bool = False) -> None:
    """What became of the messages of this kind."""
    query = update(DeliveryRow.__table__).where(DeliveryRow.__table__.c.kind == kind)  # type: ignore[attr-defined]
    if only_queued:
        query = query.where(DeliveryRow.__table__.c.state == "queued")  # type: ignore[attr-defined]
    conn.execute(query.values(state=state))


# --- proposals --------------------------------------------------------------------------------------------------------


def proposal(ends: Ends, **fields: Any) -> Learned:
    return learns(ends, ends(good()), state=LearnedState.PROPOSED, after=None, **fields)


def one(ends: Ends, number: int | None) -> approvals.Approval:
    assert number is not None
    with ends.store.read() as conn:
        return approvals.one(conn, number)


def test_a_proposal_asks_at_once_for_silence_means_no(ends: Ends) -> None:
    kept = proposal(ends)
    assert ends.told(LEARNED) == [("learned", "ops-chat", "queued"), ("learned", "phone", "queued")]
    said = ends.rows(LEARNED)[0]["body"]
    assert "  proposed  skill db/inspect (+1 line)" in said
    assert f"yes: hermes-cron approve a{kept.approval}" in said
    asked = one(ends, kept.approval)
    assert (asked.learned, asked.decision, asked.evidence) == (kept.number, None, ("+ Look first.",))


def test_the_same_proposal_is_asked_once(ends: Ends) -> None:
    run_id = ends(good())
    first, second = (
        learns(ends, run_id, state=LearnedState.PROPOSED, after=None, key="s/1") for _ in range(2)
    )  # fmt: skip
    assert first == second
    with ends.store.read() as conn:
        assert len(approvals.listed(conn)) == 1


@pytest.mark.parametrize(
    ("decision", "became"),
    [(Decision.DENIED, LearnedState.DENIED), (Decision.EXPIRED, LearnedState.EXPIRED)],
    ids=["no", "silence"],
)
def test_a_no_and_silence_end_it(ends: Ends, decision: Decision, became: LearnedState) -> None:
    kept = proposal(ends)
    late = ends.now + timedelta(days=2)
    if decision is Decision.EXPIRED:
        (asked,) = ends.store.write(lambda conn: approvals.expire(conn, late))
    else:
        asked = ends.store.write(
            lambda conn: approvals.decide(conn, kept.approval or 0, decision, by="oncall", reason="no", now=ends.now)
        )
    assert asked.decision is decision
    with ends.store.read() as conn:
        assert learned.one(conn, kept.number).state is became


def test_a_yes_is_one_row_with_what_was_done(ends: Ends) -> None:
    kept = proposal(ends)
    done = Learned(**{**_fields(kept), "before": "a" * 40, "after": "b" * 40, "details": {"version": 5}})
    got = ends.store.write(lambda conn: proposals.accept(conn, done, by="oncall", now=ends.now))
    assert (got.state, got.after, got.details) == (LearnedState.APPLIED, "b" * 40, {"version": 5})
    assert one(ends, kept.approval).decided_by == "oncall"
    again = ends.store.write(lambda conn: proposals.accept(conn, done, by="other", now=ends.now))
    assert (again, one(ends, kept.approval).decided_by) == (got, "oncall")
    ends(good(text="# next"))
    assert len(ends.rows(LEARNED)) == 2  # the question's own


def _fields(row: Learned) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def test_a_run_that_asks_about_a_call_goes_on_though_its_proposal_waits(ends: Ends) -> None:
    """And one that is cancelled takes its call's question with it, not the proposal."""
    from hermes_cron.domain.run import Outcome
    from hermes_cron.store import runs
    from tests.unit.cli.test_approvals import effect

    run_id = ends(Outcome(state=RunState.WAITING_APPROVAL, parked=(effect(3),)))
    kept = learns(ends, run_id, state=LearnedState.PROPOSED, after=None)
    with ends.store.read() as conn:
        call = next(each for each in approvals.listed(conn) if each.learned is None)
    ends.store.write(
        lambda conn: approvals.decide(conn, call.number, Decision.DENIED, by="x", reason=None, now=ends.now)
    )
    with ends.store.read() as conn:
        assert runs.find(conn, run_id)["state"] == "queued"
    ends.store.write(lambda conn: runs.cancel(conn, run_id, by="x", now=ends.now))
    assert one(ends, kept.approval).decision is None


def test_a_no_that_comes_while_the_change_is_made_is_too_late(ends: Ends) -> None:
    kept = proposal(ends)
    done = Learned(**{**_fields(kept), "after": "b" * 40})
    number = kept.approval or 0
    ends.store.write(
        lambda conn: approvals.decide(conn, number, Decision.DENIED, by="other", reason=None, now=ends.now)
    )
    got = ends.store.write(lambda conn: proposals.accept(conn, done, by="oncall", now=ends.now))
    assert (got.state, got.after) == (LearnedState.APPLIED, "b" * 40)
