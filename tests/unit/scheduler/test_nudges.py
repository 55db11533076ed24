"""After how much a run is looked back at: what counts, what begins anew, what is never counted (spec A6-1 to A6-3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.domain.nudge import Nudge, Step, Tally, counted, went
from hermes_cron.domain.run import Outcome, RunState
from hermes_cron.home import Home
from hermes_cron.store import feedback, runs
from tests.review_rig import SAY, Rig, calls, looks, remember

NO_SKILLS = "skill_iterations = 0"
NO_MEMORY = "memory_turns = 0"
TOOLS = "tools: [now, memory]"


@pytest.fixture
def rig(home: Home) -> Iterator[Rig]:
    with Rig(home) as made:
        yield made


def settle(rig: Rig, *lines: str) -> None:
    rig.home.config.write_text("\n".join(['timezone = "UTC"', "[learning]", *lines, ""]), encoding="utf-8")
    rig.anew()


def test_ten_user_turns_are_looked_back_at_once(rig: Rig) -> None:
    settle(rig, NO_SKILLS)
    uid = rig.job("j", TOOLS)
    for turn in range(1, 21):
        ended = rig.run(uid)
        assert (ended.review is not None) == (turn in (10, 20)), turn
    assert rig.briefs() == ["memory", "memory"]
    assert {row["state"] for row in rig.reviews()} == {"queued"}


def test_a_run_of_twelve_iterations_is_looked_back_at_for_its_method(rig: Rig) -> None:
    uid = rig.job("j", TOOLS)
    assert rig.run(uid, looks(9)).review is None
    assert rig.counts()["skill"] == 9
    assert rig.run(uid, looks(12)).review is not None
    assert rig.briefs() == ["skill"]
    assert rig.counts()["skill"] == 0


def test_who_remembers_by_itself_is_not_told_to(rig: Rig) -> None:
    settle(rig, NO_SKILLS)
    uid = rig.job("j", TOOLS)
    found = []
    for turn in range(1, 16):
        replies = [remember("the registry is r.example:5000"), SAY] if turn == 5 else [SAY]
        if rig.run(uid, replies).review is not None:
            found.append(turn)
    assert found == [15]


def test_a_call_of_the_tool_that_fails_keeps_nothing_and_changes_no_counter(rig: Rig) -> None:
    uid = rig.job("j", TOOLS)
    rig.run(uid)
    rig.run(uid, [calls("memory", action="remove", old_text="nothing of that kind"), SAY])
    assert rig.counts()["memory"] == 2


def test_counters_outlive_the_process(rig: Rig) -> None:
    settle(rig, "memory_turns = 3", NO_SKILLS)
    uid = rig.job("j", TOOLS)
    rig.run(uid)
    rig.anew()
    rig.run(uid)
    rig.anew()
    assert rig.run(uid).review is not None


def test_what_a_person_tells_a_run_is_a_turn_as_its_task_is(rig: Rig) -> None:
    uid = rig.job("j", TOOLS)
    rig.run(uid, [calls("now"), SAY], steer="be quick")
    assert rig.counts()["memory"] == 2


def test_what_a_person_says_afterwards_is_a_turn_too(rig: Rig) -> None:
    uid = rig.job("j", TOOLS)
    rig.run(uid)
    now = rig.clock.now()
    rig.app.store.write(lambda conn: feedback.give(conn, rig.last, "too long", by="somebody", now=now))
    assert rig.counts()["memory"] == 2
    assert rig.briefs() == ["correction"]


def test_what_checks_found_is_nobodys_turn(rig: Rig) -> None:
    """The evidence that an agent gets for another try stands in the transcript as a user message."""
    uid = rig.job("j", TOOLS, "checks:", "  - report: {matches: finished}", "on_check_failure: {attempts: 1}")
    ended = rig.run(uid, [{"text": "not yet"}, {"text": "finished"}])
    assert ended.state is RunState.OK
    assert rig.counts() == {"memory": 1, "skill": 2}


def test_jobs_have_counters_of_their_own(rig: Rig) -> None:
    settle(rig, "memory_turns = 2", NO_SKILLS)
    one, other = rig.job("one", TOOLS), rig.job("other", TOOLS)
    assert rig.run(one).review is None
    assert rig.run(other).review is None
    assert rig.run(one).review is not None


def test_both_counters_at_once_make_one_look_back(rig: Rig) -> None:
    settle(rig, "memory_turns = 1", "skill_iterations = 1")
    rig.run(rig.job("j", TOOLS))
    assert rig.briefs() == ["both"]


@pytest.mark.parametrize(
    ("settings", "lines", "counts"),
    [
        ((NO_MEMORY, NO_SKILLS), (), {}),
        ((NO_MEMORY,), (), {"skill": 1}),
        ((NO_SKILLS,), (), {"memory": 1}),
        ((), ("learn: off",), {}),
        ((), ("memory: read-only",), {"skill": 1}),
        ((), ("memory: off",), {"skill": 1}),
        ((), ("learn: absorb",), {"memory": 1, "skill": 1}),
    ],
)
def test_what_is_off_is_not_counted(
    rig: Rig, settings: tuple[str, ...], lines: tuple[str, ...], counts: dict[str, int]
) -> None:
    settle(rig, *settings)
    rig.run(rig.job("j", "tools: [now]", *lines))
    assert rig.counts() == counts
    assert rig.reviews() == []


@pytest.mark.parametrize(("learn", "memory"), [("off", "read-write"), ("off", "off")])
def test_a_job_that_learns_nothing_is_never_looked_back_at(rig: Rig, learn: str, memory: str) -> None:
    settle(rig, "memory_turns = 1", "skill_iterations = 1")
    assert rig.run(rig.job("j", "tools: [now]", f"learn: {learn}", f"memory: {memory}")).review is None


def test_a_script_learns_nothing(rig: Rig) -> None:
    settle(rig, "memory_turns = 1", "skill_iterations = 1")
    assert rig.run(rig.job("j", "script: echo hello", prompt="")).review is None


def test_a_run_that_no_model_answered_has_nothing_to_look_back_at(rig: Rig) -> None:
    from hermes_cron.errors import ModelRefused

    settle(rig, "memory_turns = 1", "skill_iterations = 1")
    ended = rig.run(rig.job("j", TOOLS), [ModelRefused("no")])
    assert ended.state.ended
    assert (ended.review, rig.counts()) == (None, {})


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.TIMEOUT, RunState.CANCELLED, RunState.BUDGET_EXHAUSTED])
def test_a_run_that_did_not_end_well_counts_as_any_other(rig: Rig, state: RunState) -> None:
    settle(rig, "memory_turns = 1", NO_SKILLS)
    rig.run(rig.job("j", TOOLS), state=state, reason="x")
    assert rig.briefs() == ["memory"]


def test_a_run_that_is_tried_anew_was_given_its_task_once(rig: Rig) -> None:
    uid = rig.job("j", TOOLS)
    job, now = rig.app.runs.job(uid), rig.clock.now()
    start = runs.Start(job=job, job_uid=uid, actor="test")
    run_id = rig.app.store.write(lambda conn: runs.enqueue(conn, start, now))
    taken = rig._take(run_id)
    rig.execute(taken, [SAY])
    from hermes_cron.store import executions
    from hermes_cron.store.nudges import note_end

    rig.app.store.write(lambda conn: executions.close_sessions(conn, run_id, now))
    rig.execute(replace(taken, session=None), [SAY])
    outcome = Outcome(state=RunState.OK, model="stub-model")
    rig.app.store.write(lambda conn: note_end(conn, taken, outcome, Nudge()))
    assert rig.counts() == {"memory": 1, "skill": 2}


def test_a_run_whose_end_nobody_executes_is_counted_and_its_jobs_next_one_looked_back_at(rig: Rig) -> None:
    """Cancelled while it waited: whoever writes that knows no settings."""
    settle(rig, "memory_turns = 2", NO_SKILLS)
    uid = rig.job("j", TOOLS)
    rig.run(uid)
    job, now = rig.app.runs.job(uid), rig.clock.now()
    start = runs.Start(job=job, job_uid=uid, actor="test")
    run_id = rig.app.store.write(lambda conn: runs.enqueue(conn, start, now))
    taken = rig._take(run_id)
    rig.execute(taken, [SAY])
    from hermes_cron.store import endings

    put_back = Outcome(state=RunState.QUEUED, iterations=1)
    rig.app.store.write(lambda conn: endings.end(conn, taken, put_back, now, ran=timedelta(0)))
    rig.app.store.write(lambda conn: runs.cancel(conn, run_id, by="somebody", now=now))
    assert (rig.reviews(), rig.counts()["memory"]) == ([], 2)
    assert rig.run(uid).review is not None


# --- the rules by themselves ------------------------------------------------------------------------------------------


def test_each_tool_makes_its_own_counter_begin_anew_behind_it() -> None:
    steps = [
        Step(role="user"), Step(role="assistant"), Step(role="tool", tool="skill_manage", ok=True),
        Step(role="assistant"), Step(role="tool", tool="skill_view", ok=True), Step(role="assistant"),
        Step(role="tool", tool="memory", ok=True), Step(role="user"),
    ]  # fmt: skip
    found = went(steps)
    assert found is not None
    assert found.after(Tally.SKILL, 100) == 2
    assert found.after(Tally.MEMORY, 100) == 1


def test_a_skill_that_is_only_read_teaches_nothing() -> None:
    found = went([Step(role="user"), Step(role="assistant"), Step(role="tool", tool="skill_view", ok=True)])
    assert found is not None
    assert found.after(Tally.SKILL, 4) == 5


def test_nothing_is_counted_where_nothing_may_be_learned() -> None:
    assert counted(Learn.OFF, MemoryMode.READ_WRITE, Nudge()) == ()
    assert counted(Learn.AUTO, MemoryMode.READ_ONLY, Nudge()) == (Tally.SKILL,)
