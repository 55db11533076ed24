"""Who is asked, what an answer does to the run, and that silence means no."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hermes_cron.domain.run import Outcome, ParkedEffect, RunState, TakenRun
from hermes_cron.domain.transcript import Header, ModelReply, PlannedResult, ToolCall
from hermes_cron.errors import Conflict, NotFound, Usage
from hermes_cron.store import approvals, retention, runs
from hermes_cron.store.approvals import Decision
from hermes_cron.store.journal import SqlJournal
from hermes_cron.store.tables import ApprovalRow, DeliveryRow
from hermes_cron.testing import FixedClock


def parked(world: Any, *lines: str, effects: int = 1) -> tuple[TakenRun, str]:
    """A run that waits with questions about the effects of its first reply; its session."""
    run = world.started("prompt: do it", *lines)
    journal = SqlJournal.begin(
        world.store, FixedClock(world.now), run_id=run.id, fence=run.fence, header=Header(system="s"), messages=[]
    )
    made = tuple(ToolCall(id=f"c{n}", name="send", arguments=f'{{"n": {n}}}') for n in range(effects))
    asked = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in made]
    message = {"role": "assistant", "content": None, "tool_calls": asked}
    reply = ModelReply(message=message, text="", tool_calls=made)
    planned = [PlannedResult(call=c, effect="effect", arguments_hash="h", batch=at) for at, c in enumerate(made)]
    seqs = journal.assistant(reply, planned)
    ask(world, run, journal.session_id, seqs)
    return run, journal.session_id


def ask(world: Any, run: TakenRun, session: str, seqs: tuple[int, ...]) -> None:
    effects = tuple(
        ParkedEffect(session_id=session, seq=seq, tool="send", arguments='{"n": 1}', evidence=("begun, no result",))
        for seq in seqs
    )
    world.end(run, Outcome(state=RunState.WAITING_APPROVAL, parked=effects), ran=timedelta(seconds=1))


def decide(world: Any, number: int, decision: Decision, reason: str | None = None) -> approvals.Approval:
    return world.store.write(
        lambda conn: approvals.decide(conn, number, decision, by="ann", reason=reason, now=world.now)
    )


def said_to_the_run(world: Any, run: TakenRun) -> list[tuple[str | None, str | None]]:
    opened = SqlJournal.open(
        world.store, FixedClock(world.now), run_id=run.id, fence=run.fence, session_id=str(run.session)
    )
    return [(each.decision, each.reason) for each in opened.pending()]


def test_a_question_goes_to_the_jobs_targets_and_the_run_waits_without_an_owner(world: Any) -> None:
    run, _ = parked(world, "deliver: ops night")
    row = world.run(run.id)
    assert (row["state"], row["owner"], row["slot"], row["active_ms"]) == ("waiting_approval", None, run.job_uid, 1000)
    assert world.take() == []
    (asked,) = world.rows(ApprovalRow)
    assert asked["expires_at"] == world.now + timedelta(hours=24)
    sent = [(each["kind"], each["target"]) for each in world.rows(DeliveryRow)]
    assert sent == [("approval", "ops"), ("approval", "night")]
    assert "approve a1" in world.rows(DeliveryRow)[0]["body"]


@pytest.mark.parametrize("decision", [Decision.APPROVED, Decision.DENIED])
def test_an_answer_lets_the_run_go_on_and_reaches_it(world: Any, decision: Decision) -> None:
    run, session = parked(world)
    asked = decide(world, 1, decision, "it is there already")
    assert (asked.decision, asked.decided_by, asked.id) == (decision, "ann", "a1")
    (again,) = world.take(owner="other")
    assert (again.id, again.session) == (run.id, session)
    assert said_to_the_run(world, again) == [(decision.value, "it is there already")]


def test_a_run_waits_until_none_of_its_questions_is_open(world: Any) -> None:
    parked(world, effects=2)
    decide(world, 2, Decision.APPROVED)
    assert world.take() == []
    decide(world, 1, Decision.DENIED)
    (again,) = world.take()
    assert said_to_the_run(world, again) == [("denied", None), ("approved", None)]


def test_silence_means_no(world: Any) -> None:
    parked(world)
    world.now += timedelta(hours=23, minutes=59)
    assert world.store.write(lambda conn: approvals.expire(conn, world.now)) == []
    world.now += timedelta(minutes=1)
    with world.store.read() as conn:
        assert approvals.any_late(conn, world.now)
    (late,) = world.store.write(lambda conn: approvals.expire(conn, world.now))
    assert (late.id, late.decision, late.decided_by) == ("a1", Decision.EXPIRED, None)
    (again,) = world.take()
    assert said_to_the_run(world, again) == [("expired", None)]


def test_an_answer_after_its_time_is_refused(world: Any) -> None:
    parked(world)
    world.now += timedelta(hours=25)
    with pytest.raises(Conflict, match=r"a1 waited until 2026-12-02 12:05 UTC, and silence meant no"):
        decide(world, 1, Decision.APPROVED)
    assert len(world.store.write(lambda conn: approvals.expire(conn, world.now))) == 1


def test_a_second_answer_is_refused(world: Any) -> None:
    parked(world)
    decide(world, 1, Decision.DENIED)
    with pytest.raises(Conflict, match="a1 was answered already: denied by ann"):
        decide(world, 1, Decision.APPROVED)
    with pytest.raises(NotFound):
        decide(world, 2, Decision.APPROVED)


def test_a_call_that_is_asked_about_is_not_asked_about_twice(world: Any) -> None:
    run, session = parked(world, effects=2)
    decide(world, 1, Decision.DENIED)
    with world.store.read() as conn:
        (still,) = approvals.listed(conn)
    again = ParkedEffect(session_id=session, seq=still.seq, tool="send", arguments="{}", evidence=())
    assert world.store.write(lambda conn: approvals.ask(conn, run, [again], world.now)) == ()
    assert len(world.rows(ApprovalRow)) == 2


def test_no_run_waits_for_an_answer_that_nobody_is_asked_for(world: Any) -> None:
    run = world.started("prompt: do it")
    with pytest.raises(ValueError, match="nobody is asked"):
        world.end(run, Outcome(state=RunState.WAITING_APPROVAL))
    assert world.run(run.id)["state"] == "running"


def test_a_cancelled_run_takes_its_questions_with_it(world: Any) -> None:
    run, _ = parked(world)
    world.store.write(lambda conn: runs.cancel(conn, run.id, by="ann", now=world.now))
    assert world.run(run.id)["state"] == "cancelled"
    with world.store.read() as conn:
        assert approvals.listed(conn) == []
        assert [each.decision for each in approvals.listed(conn, every=True)] == [Decision.WITHDRAWN]
    with pytest.raises(Conflict, match="withdrawn"):
        decide(world, 1, Decision.APPROVED)
    world.store.write(lambda conn: retention.forget(conn, [run.id]))
    assert world.rows(ApprovalRow) == []


@pytest.mark.parametrize("word", ["a", "x1", "", "1;", "-1", "a1 a2"])
def test_words_that_name_no_question(word: str) -> None:
    with pytest.raises(NotFound):
        approvals.number_of(word)


def test_the_number_with_and_without_its_letter() -> None:
    assert [approvals.number_of(word) for word in ("a91", "91", "A91")] == [91, 91, 91]


# --- steer ------------------------------------------------------------------------------------------------------------


def steer(world: Any, run_id: str, words: str) -> RunState:
    return world.store.write(lambda conn: runs.steer(conn, run_id, words, by="ann"))


def test_what_a_run_is_told_waits_in_order_for_its_next_request(world: Any) -> None:
    run = world.started("prompt: do it")
    journal = SqlJournal.begin(
        world.store, FixedClock(world.now), run_id=run.id, fence=run.fence, header=Header(system="s"), messages=[]
    )
    assert steer(world, run.id, "only the first table") is RunState.RUNNING
    steer(world, run.id, "and be brief\n")
    assert journal.asked().steer
    assert [message["content"] for message in journal.steered()] == [
        "ann adds, while you work: only the first table", "ann adds, while you work: and be brief",
    ]  # fmt: skip
    assert not journal.asked().steer


def test_who_cannot_be_told_anything(world: Any) -> None:
    script = world.started()
    with pytest.raises(Conflict, match="is a script"):
        steer(world, script.id, "x")
    world.finish(script)
    with pytest.raises(Conflict, match="has ended already"):
        steer(world, script.id, "x")
    with pytest.raises(NotFound):
        steer(world, "r0000000", "x")


def test_a_playbook_listens_to_nobody(world: Any) -> None:
    run = world.started("prompt: do it")
    SqlJournal.begin(
        world.store, FixedClock(world.now), run_id=run.id, fence=run.fence,
        header=Header(system="s", playbook={"name": "inspect"}), messages=[],
    )  # fmt: skip
    with pytest.raises(Conflict, match="follows a playbook"):
        steer(world, run.id, "x")


@pytest.mark.parametrize(("words", "refusal"), [(" \n", "nothing to tell"), ("x" * 4_001, "more than 4,000")])
def test_words_that_are_none_or_too_many(world: Any, words: str, refusal: str) -> None:
    run = world.started("prompt: do it")
    with pytest.raises(Usage, match=refusal):
        steer(world, run.id, words)
