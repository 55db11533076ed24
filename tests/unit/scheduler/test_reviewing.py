"""Looks back at runs by the real reviewer, with a scripted model: what they may do, and how each of them ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select, update

from hermes_cron.domain.event import ReviewEnded, ReviewTakenOver, ReviewToolRefused
from hermes_cron.domain.review import Brief
from hermes_cron.domain.run import RunState
from hermes_cron.domain.transcript import ModelReply, ModelRequest
from hermes_cron.errors import Conflict, ModelUnreachable
from hermes_cron.home import Home
from hermes_cron.runner.review_brief import NOTHING
from hermes_cron.scheduler.owners import Owner
from hermes_cron.store import counters, feedback, retention, reviews, usage
from hermes_cron.store.spending import LOST
from hermes_cron.store.tables import LearnedRow, ReservationRow, RunRow, SessionRow, UsageRow
from hermes_cron.testing import ScriptedModel
from tests.review_rig import SAY, Rig, calls, remember

ALWAYS = "memory_turns = 1"
NOTHING_REPLY = {"text": NOTHING}
TOOLS = "tools: [now, memory]"


@pytest.fixture
def rig(home: Home) -> Iterator[Rig]:
    settle(home, ALWAYS)
    with Rig(home) as made:
        yield made


def settle(home: Home, *lines: str, more: str = "") -> None:
    text = "\n".join(['timezone = "UTC"', "[learning]", "skill_iterations = 0", *lines, more, ""])
    home.config.write_text(text, encoding="utf-8")


def told(rig: Rig, kind: type) -> list[Any]:
    return [event for event in rig.seen if isinstance(event, kind)]


def test_a_look_back_keeps_what_it_found(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    (row,) = rig.look_back(remember("the registry is r.example:5000"), SAY)
    assert (row["state"], row["iterations"], row["reason"]) == ("ok", 2, None)
    assert "r.example:5000" in rig.memory()
    with rig.app.store.read() as conn:
        learned = conn.execute(select(LearnedRow.__table__)).mappings().one()  # type: ignore[attr-defined]
    assert (learned["actor"], learned["review"], learned["run_id"]) == ("review", row["number"], rig.last)
    assert learned["session_id"] == row["session_id"]
    assert rig.counted(counters.REVIEWS) == {'{"outcome":"ok"}': 1}
    assert rig.counted(counters.NOOPS) == {}


def test_nothing_to_save_writes_nothing_and_is_counted(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    before = [commit.id for commit in rig.app.snapshots.log()]
    (row,) = rig.look_back(NOTHING_REPLY)
    assert (row["state"], row["iterations"]) == ("ok", 1)
    assert rig.memory() == ""
    assert [commit.id for commit in rig.app.snapshots.log()] == before
    assert rig.counted(counters.REVIEWS) == {'{"outcome":"noop"}': 1}
    assert rig.counted(counters.NOOPS) == {"{}": 1}


def test_it_stops_at_eight_model_calls(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    (row,) = rig.look_back(*(remember(f"fact number {n}") for n in range(20)))
    assert (row["state"], row["reason"], row["iterations"]) == ("exhausted", "iterations", 8)
    assert len(rig.model.requests) == 8
    assert rig.counted(counters.REVIEWS) == {'{"outcome":"exhausted"}': 1}
    assert "fact number 7" in rig.memory(), "what it saved until then stays"


def test_how_many_calls_is_a_setting(rig: Rig) -> None:
    settle(rig.home, ALWAYS, "review_iterations = 2")
    rig.anew()
    rig.run(rig.job("j", TOOLS))
    rig.look_back(*(remember(f"fact number {n}") for n in range(5)))
    assert len(rig.model.requests) == 2


def test_another_tool_is_refused_and_told(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    (row,) = rig.look_back(
        calls("terminal", command="touch /tmp/x"), calls("rm -rf the_home"), calls("now"), NOTHING_REPLY
    )
    assert row["state"] == "ok"
    assert [event.tool for event in told(rig, ReviewToolRefused)] == ["terminal", "unknown", "now"]
    answers = [it for it in rig.model.requests[-1].messages if it["role"] == "tool"]
    assert all("no tool" in it["content"] for it in answers)
    offered = [tool["function"]["name"] for tool in rig.model.requests[0].header.tools]
    assert set(offered) <= {"memory", "skills_list", "skill_view", "skill_manage"}


def test_it_reads_a_copy_of_what_the_run_said_and_was_told(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS, prompt="count the blue boxes"), [calls("now"), {"text": "There are seven."}])
    rig.look_back(NOTHING_REPLY)
    system, asked = rig.model.requests[0].messages
    assert "Never save" in system["content"]
    for said in ("count the blue boxes", "There are seven.", "calls now", "You are the agent of hermes-cron", "ok"):
        assert said in asked["content"]
    assert asked["content"].endswith(f"answer exactly: {NOTHING}")


def test_a_copy_says_how_it_was_cut(rig: Rig) -> None:
    settle(rig.home, ALWAYS, more="[model]\nwindow = 3000")
    rig.anew()
    rig.run(rig.job("j", TOOLS), [{"text": "begin " + "long " * 20_000 + " end of it"}])
    rig.look_back(NOTHING_REPLY)
    asked = rig.model.requests[0].messages[1]["content"]
    assert len(asked) < 3000 * 4
    assert "The record is longer than there is room for." in asked
    assert "are cut in their middle" in asked
    assert "end of it" in asked


def test_it_is_a_session_of_its_own_and_its_copy_is_not_found_twice(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS, prompt="count the zygomorphic boxes"))
    (row,) = rig.look_back(remember("boxes are counted by hand"), {"text": "kept perspicaciously"})
    with rig.app.store.read() as conn:
        table = SessionRow.__table__  # type: ignore[attr-defined]
        kinds = {it["kind"]: it for it in conn.execute(select(table)).mappings()}
        phases = {tuple(it) for it in conn.execute(select(UsageRow.phase, UsageRow.run_id))}  # type: ignore[call-overload]
    assert kinds["review"]["id"] == row["session_id"]
    assert (kinds["review"]["parent_id"], kinds["review"]["run_id"]) == (kinds["main"]["id"], rig.last)
    assert phases == {("main", rig.last), ("review", rig.last)}
    from hermes_cron.domain.session import Wanted

    hits = rig.app.sessions.search(Wanted(words="zygomorphic")).hits
    assert [hit.within.kind for hit in hits] == ["main"]
    assert [hit.within.kind for hit in rig.app.sessions.search(Wanted(words="perspicaciously")).hits] == ["review"]


def test_nothing_looks_back_at_a_look_back(rig: Rig) -> None:
    settle(rig.home, ALWAYS, "review_iterations = 20")
    rig.home.config.write_text(rig.home.config.read_text().replace("skill_iterations = 0", "skill_iterations = 1"))
    rig.anew()
    rig.run(rig.job("j", TOOLS))
    assert rig.counts() == {"memory": 0, "skill": 0}
    rig.look_back(*(remember(f"fact number {n}") for n in range(20)))
    assert len(rig.reviews()) == 1
    assert rig.counts() == {"memory": 0, "skill": 0}


# --- ends of another kind --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "state", "reason"),
    [
        (ModelUnreachable("nobody there"), "failed", "model_unreachable"),
        ({"text": "\ufffd\x00 {]garbage"}, "ok", None),
        (RuntimeError("a bug"), "failed", "crashed"),
    ],
    ids=["down", "garbage", "bug"],
)
def test_whatever_befalls_it_ends_it_and_not_the_run(rig: Rig, reply: Any, state: str, reason: str | None) -> None:
    rig.run(rig.job("j", TOOLS))
    before = rig.app.runs.row(rig.last)
    (row,) = rig.look_back(reply, reply)
    assert (row["state"], row["reason"]) == (state, reason)
    assert rig.app.runs.row(rig.last) == before
    (ended,) = told(rig, ReviewEnded)
    assert (ended.state, ended.run_id) == (state, rig.last)


def test_calls_that_go_round_end_it(rig: Rig) -> None:
    settle(rig.home, ALWAYS, "review_iterations = 50")
    rig.anew()
    rig.run(rig.job("j", TOOLS))
    (row,) = rig.look_back(*(calls("memory", action="remove", old_text="never there") for _ in range(50)))
    assert (row["state"], row["reason"]) == ("failed", "loop_detected")


def test_it_asks_the_model_for_side_work(rig: Rig) -> None:
    settle(rig.home, ALWAYS, more='[model]\nauxiliary = "small"')
    rig.anew()
    rig.run(rig.job("j", TOOLS))
    rig.look_back(NOTHING_REPLY)
    assert rig.model.requests[0].header.model == "small"


def test_without_one_it_asks_the_runs_own(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    rig.look_back(NOTHING_REPLY)
    assert rig.model.requests[0].header.model == "stub-model"


# --- money -----------------------------------------------------------------------------------------------------------


def test_a_cap_of_the_day_holds_for_it_and_the_refusal_is_said(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    settle(rig.home, ALWAYS, more="[budget]\ntokens_per_day = 500")
    rig.anew()
    (row,) = rig.look_back(NOTHING_REPLY)
    assert (row["state"], row["reason"], row["iterations"]) == ("refused", "budget.tokens_per_day", 0)
    assert "leaves no room" in row["error"]
    assert rig.model.requests == []
    assert rig.counted(counters.REVIEWS) == {'{"outcome":"refused"}': 1}
    (ended,) = told(rig, ReviewEnded)
    assert (ended.state, ended.level) == ("refused", "warning")


def test_it_pays_from_a_line_of_its_own(rig: Rig) -> None:
    """What the run used of its cap leaves its look back as much as a run may use."""
    job = rig.job("j", TOOLS, "limits: {tokens: 60000}")
    rig.run(job, [{**SAY, "usage": {"prompt_tokens": 59_000, "completion_tokens": 500, "total_tokens": 59_500}}])
    (row,) = rig.look_back({**NOTHING_REPLY, "usage": {"prompt_tokens": 200, "completion_tokens": 3}})
    assert (row["state"], row["tokens_input"], row["tokens_output"]) == ("ok", 200, 3)
    run = rig.app.runs.row(rig.last)
    assert run["tokens_input"] == 59_000, "the run's own figures are the run's"
    with rig.app.store.read() as conn:
        assert conn.execute(select(ReservationRow.__table__)).all() == []  # type: ignore[attr-defined]


def test_its_tokens_are_in_the_days_sum_by_phase(rig: Rig) -> None:
    from datetime import timedelta
    from zoneinfo import ZoneInfo

    rig.run(rig.job("j", TOOLS))
    rig.look_back({**NOTHING_REPLY, "usage": {"prompt_tokens": 200, "completion_tokens": 3}})
    now = rig.clock.now()
    with rig.app.store.read() as conn:
        found = usage.report(
            conn, usage.By.PHASE, since=now - timedelta(days=1), until=now + timedelta(days=1), zone=ZoneInfo("UTC")
        )
    assert {line.name: line.used.input for line in found.lines} == {"main": 100, "review": 200}
    total = rig.counted("hermes_cron_model_tokens_total")
    assert total['{"model":"stub-model","type":"input"}'] == 300


def test_what_it_reserved_is_lost_with_its_process_and_not_before(rig: Rig) -> None:
    settle(rig.home, ALWAYS, more="[budget]\ntokens_per_day = 5_000_000")
    rig.anew()
    rig.run(rig.job("j", TOOLS))
    lost: list[int] = []

    def look(request: ModelRequest) -> ModelReply:
        with rig.app.store.read() as conn:
            lost.append(len(conn.execute(select(ReservationRow.id).where(LOST)).all()))  # type: ignore[call-overload]
        now = rig.clock.now()
        rig.app.store.write(lambda conn: reviews.take_back(conn, {"test-reviewer"}, now))
        with rig.app.store.read() as conn:
            lost.append(len(conn.execute(select(ReservationRow.id).where(LOST)).all()))  # type: ignore[call-overload]
        return ScriptedModel([NOTHING_REPLY]).complete(request)

    rig.look_back(look, NOTHING_REPLY)
    assert lost == [0, 1]


# --- what a run may teach --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "values", "methods"),
    [
        (RunState.OK, {}, True),
        (RunState.FAILED, {"reason": "x"}, False),
        (RunState.TIMEOUT, {"reason": "deadline"}, False),
        (RunState.BUDGET_EXHAUSTED, {"reason": "iterations"}, False),
    ],
    ids=["ok", "failed", "timeout", "cut off"],
)
def test_only_a_run_that_ended_well_teaches_how_to_do_it(
    rig: Rig, state: RunState, values: dict[str, Any], methods: bool
) -> None:
    rig.run(rig.job("j", TOOLS), state=state, **values)
    rig.look_back(NOTHING_REPLY)
    asked = rig.model.requests[0].messages[1]["content"]
    assert ("This run did not end well" in asked) == (not methods)


def test_a_run_whose_check_failed_did_not_end_well(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS, "checks:", "  - report: {matches: finished}"), [{"text": "not yet"}])
    assert rig.app.runs.row(rig.last)["verdict"] == "check_failed"
    rig.look_back(NOTHING_REPLY)
    assert "This run did not end well" in rig.model.requests[0].messages[1]["content"]


@pytest.mark.parametrize(
    ("lines", "offered"),
    [
        (("learn: auto",), {"memory"}),
        (("learn: propose",), {"memory"}),
        (("learn: absorb",), {"memory"}),
        (("learn: auto", "memory: read-only"), set()),
        (("learn: auto", "memory: off"), set()),
    ],
)
def test_the_job_decides_what_a_look_back_may_write(rig: Rig, lines: tuple[str, ...], offered: set[str]) -> None:
    settle(rig.home, ALWAYS)
    rig.home.config.write_text(rig.home.config.read_text().replace("skill_iterations = 0", "skill_iterations = 1"))
    rig.anew()
    rig.run(rig.job("j", "tools: [now]", *lines))
    rig.look_back(NOTHING_REPLY)
    had = {tool["function"]["name"] for tool in rig.model.requests[0].header.tools}
    assert {"skills_list", "skill_view", "skill_manage"} <= had
    assert had - {"skills_list", "skill_view", "skill_manage"} == offered


SKILL = """\
---
name: count-boxes
description: Count boxes in a room. Use when boxes are to be counted.
metadata:
  version: "1"
---
# Count boxes

## When to use

When boxes are to be counted.

## Steps

1. Count them.

## Pitfalls

- Some are hidden.
"""


def skill(rig: Rig, *lines: str, **values: Any) -> None:
    """A run of a job that may change skills, and a skill that is there."""
    rig.home.config.write_text(rig.home.config.read_text().replace("skill_iterations = 0", "skill_iterations = 1"))
    folder = rig.home.skills / "boxes" / "count-boxes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    rig.anew()
    rig.run(rig.job("j", "tools: [now]", *lines), **values)


def manage(action: str, **arguments: Any) -> dict[str, Any]:
    given = {"name": "count-boxes", "reason": "boxes were hidden", "action": action, **arguments}
    return calls("skill_manage", **given)


CREATE = manage(
    "create", name="boxes/stack-boxes", because="asked", content=SKILL.replace("count-boxes", "stack-boxes")
)
PITFALL = manage("patch", old="- Some are hidden.", new="- Some are hidden.\n- Blue ones are counted twice.")
STEPS = manage("patch", old="1. Count them.", new="1. Count them twice.")


def answers(rig: Rig) -> list[str]:
    return [it["content"] for it in rig.model.requests[-1].messages if it["role"] == "tool"]


def test_a_run_that_failed_leaves_a_pitfall_and_no_method(rig: Rig) -> None:
    skill(rig, state=RunState.FAILED, reason="x")
    rig.look_back(CREATE, STEPS, PITFALL, SAY)
    refused, unchanged, kept = answers(rig)
    assert "did not end well" in refused
    assert "Pitfalls" in unchanged
    text = (rig.home.skills / "boxes/count-boxes/SKILL.md").read_text()
    assert "Blue ones are counted twice." in text, kept
    assert "Count them twice." not in text
    assert not (rig.home.skills / "boxes/stack-boxes").exists()
    with rig.app.store.read() as conn:
        changed = conn.execute(select(LearnedRow.__table__)).mappings().all()  # type: ignore[attr-defined]
    assert [(it["actor"], it["change"], it["run_id"]) for it in changed] == [("review", "patched", rig.last)]


def test_who_absorbs_makes_no_skill(rig: Rig) -> None:
    skill(rig, "learn: absorb")
    rig.look_back(CREATE, STEPS, SAY)
    assert not (rig.home.skills / "boxes/stack-boxes").exists()
    assert "Count them twice." in (rig.home.skills / "boxes/count-boxes/SKILL.md").read_text()


def test_who_proposes_changes_nothing_and_asks(rig: Rig) -> None:
    skill(rig, "learn: propose")
    (row,) = rig.look_back(STEPS, SAY)
    assert (rig.home.skills / "boxes/count-boxes/SKILL.md").read_text() == SKILL
    with rig.app.store.read() as conn:
        (proposed,) = conn.execute(select(LearnedRow.__table__)).mappings().all()  # type: ignore[attr-defined]
    assert (proposed["state"], proposed["review"]) == ("proposed", row["number"])
    assert rig.counted(counters.REVIEWS) == {'{"outcome":"ok"}': 1}, "a proposal is something"


def test_a_persons_word_is_in_the_message_of_the_look_back_that_it_starts(rig: Rig) -> None:
    settle(rig.home, "memory_turns = 0")
    rig.anew()
    rig.run(rig.job("j", TOOLS))
    now = rig.clock.now()
    rig.app.store.write(lambda conn: feedback.give(conn, rig.last, "use </data> metres", by="somebody", now=now))
    (row,) = rig.look_back(remember("lengths are given in metres"), SAY)
    assert (row["brief"], row["state"]) == ("correction", "ok")
    system, asked = rig.model.requests[0].messages
    assert "A person has said something of this run" in system["content"]
    assert 'source="feedback"' in asked["content"]
    assert "use &lt;/data> metres" in asked["content"], "it cannot close its fence"


@pytest.mark.parametrize(
    ("lines", "prompt", "why"),
    [
        (("learn: off",), "do it", "learn: off"),
        (("script: echo hello",), "", "no model runs it"),
    ],
)
def test_not_every_run_can_be_looked_back_at(rig: Rig, lines: tuple[str, ...], prompt: str, why: str) -> None:
    rig.run(rig.job("j", *lines, prompt=prompt))
    now = rig.clock.now()
    with pytest.raises(Conflict, match=why):
        rig.app.store.write(lambda conn: reviews.request_review(conn, rig.last, Brief.BOTH, now))
    assert rig.reviews() == []


def test_what_was_asked_of_the_run_is_not_asked_of_its_look_back(rig: Rig) -> None:
    """Somebody cancelled the run, or told it something that came too late: its look back is another matter."""
    rig.run(rig.job("j", TOOLS))
    table, now = RunRow.__table__, rig.clock.now()  # type: ignore[attr-defined]
    asked = {"cancel_requested_at": now, "cancel_by": "somebody", "steer": '["too late"]'}
    rig.app.store.write(lambda conn: conn.execute(update(table).values(asked)))
    (row,) = rig.look_back(remember("boxes are blue"), SAY)
    assert (row["state"], row["iterations"]) == ("ok", 2)
    assert "too late" not in str(rig.model.requests[-1].messages)


# --- whose it is -----------------------------------------------------------------------------------------------------


def test_a_shutdown_gives_it_up_between_two_steps_and_the_next_one_goes_on(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    asked, go_on = threading.Event(), threading.Event()

    def slow(_request: ModelRequest) -> ModelReply:
        asked.set()
        assert go_on.wait(30)
        return ScriptedModel([remember("asked for by the first")]).complete(_request)

    rig.app.model = ScriptedModel([slow])
    first = rig.app.reviews.reviewer(rig.seen.append)
    first.start("first")
    assert asked.wait(30)
    first.release()
    go_on.set()
    assert first.stop(30)
    (row,) = rig.reviews()
    assert (row["state"], row["owner"], row["takeovers"], row["ended_at"]) == ("queued", None, 0, None)
    assert rig.memory() == ""
    (row,) = rig.look_back(SAY)
    assert (row["state"], row["iterations"], row["fence"]) == ("ok", 2, 2)
    assert "asked for by the first" in rig.memory()
    assert len(rig.model.requests) == 1
    said = [it["role"] for it in rig.model.requests[0].messages]
    assert said == ["system", "user", "assistant", "tool"], "it goes on where the first stopped"


def test_one_that_hangs_in_a_step_stays_its_owners(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    asked, go_on = threading.Event(), threading.Event()

    def hangs(request: ModelRequest) -> ModelReply:
        asked.set()
        go_on.wait(30)
        return ScriptedModel([SAY]).complete(request)

    rig.app.model = ScriptedModel([hangs])
    with Owner(rig.home.owners, kind="serve", started_at=rig.clock.now()) as owner:
        first = rig.app.reviews.reviewer(rig.seen.append)
        first.start(owner.name)
        assert asked.wait(30)
        assert not first.stop(0.05)
        assert rig.look_back()[0]["state"] == "running", "its owner lives"
        assert not told(rig, ReviewTakenOver)
        go_on.set()


def test_a_shutdown_that_could_not_wait_is_no_death_of_its_making(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    go_on = threading.Event()

    for number in range(4):
        asked = threading.Event()

        def hangs(request: ModelRequest, asked: threading.Event = asked) -> ModelReply:
            asked.set()
            go_on.wait(30)
            return ScriptedModel([SAY]).complete(request)

        rig.app.model = ScriptedModel([hangs])
        with Owner(rig.home.owners, kind="serve", started_at=rig.clock.now()) as owner:
            reviewer = rig.app.reviews.reviewer(rig.seen.append)
            reviewer.start(owner.name)
            assert asked.wait(30)
            assert rig.reviews()[0]["takeovers"] == min(number, 1)
            assert not reviewer.stop(0.05)
    go_on.set()
    assert rig.look_back(SAY)[0]["state"] == "ok", "four restarts beside a slow model are no reason to give it up"


def test_at_most_two_at_once(rig: Rig) -> None:
    uid = rig.job("j", TOOLS)
    for _ in range(5):
        rig.run(uid)
    at_once = most = 0
    lock, both, third = threading.Condition(), threading.Event(), threading.Event()

    def busy(request: ModelRequest) -> ModelReply:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
            if at_once == 2:
                both.set()
            if at_once == 3:
                third.set()
        assert both.wait(30)
        third.wait(0.1)  # which would begin at once if it might
        with lock:
            at_once -= 1
        return ScriptedModel([NOTHING_REPLY]).complete(request)

    rows = rig.look_back(*[busy] * 5)
    assert {row["state"] for row in rows} == {"ok"}
    assert most == 2


def test_what_kills_its_process_three_times_is_given_up(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    now = rig.clock.now()
    for times in range(1, 4):
        taken = rig.app.store.write(lambda conn: reviews.take(conn, "dead", now))
        assert taken is not None
        rows = rig.app.store.write(lambda conn: reviews.take_back(conn, {"dead"}, now))
        assert rows[0]["takeovers"] == times
    (row,) = rig.reviews()
    assert (row["state"], row["reason"]) == ("failed", "crashed")
    assert rig.app.store.write(lambda conn: reviews.take(conn, "next", now)) is None
    assert rig.counted(counters.REVIEWS) == {'{"outcome":"failed"}': 1}


def test_who_lost_it_writes_nothing_more(rig: Rig) -> None:
    """Another process took it over while this one was asking: the fence rose."""
    rig.run(rig.job("j", TOOLS))

    def robbed(request: ModelRequest) -> ModelReply:
        now = rig.clock.now()
        rig.app.store.write(lambda conn: reviews.take_back(conn, {"test-reviewer"}, now))
        assert rig.app.store.write(lambda conn: reviews.take(conn, thief.name, now)) is not None
        return ScriptedModel([remember("written by nobody")]).complete(request)

    with Owner(rig.home.owners, kind="serve", started_at=rig.clock.now()) as thief:
        (row,) = rig.look_back(robbed)
        assert (row["state"], row["owner"]) == ("running", thief.name)
    assert rig.memory() == ""
    with rig.app.store.read() as conn:
        assert conn.execute(select(UsageRow.phase)).scalars().all() == ["main"]  # type: ignore[call-overload]


def test_a_run_is_kept_while_it_is_to_be_looked_back_at(rig: Rig) -> None:
    from datetime import timedelta

    from hermes_cron.domain.job import Keep

    uid = rig.job("j", TOOLS, "keep: {runs: 1, days: 1}")
    rig.run(uid)
    first = rig.last
    rig.look_back(NOTHING_REPLY)
    rig.run(uid)
    rig.look_back(NOTHING_REPLY)
    rig.app.store.write(lambda conn: reviews.request_review(conn, first, Brief.BOTH, rig.clock.now()))
    later, keep = rig.clock.now() + timedelta(days=400), Keep(runs=1, days=1)
    with rig.app.store.read() as conn:
        assert retention.expired(conn, later, keep) == []
    rig.look_back(NOTHING_REPLY)
    with rig.app.store.read() as conn:
        assert [found.run_id for found in retention.expired(conn, later, keep)] == [first]
    rig.app.store.write(lambda conn: retention.forget(conn, [first]))
    assert {row["run_id"] for row in rig.reviews()} == {rig.last}


def test_what_is_shown_of_it(rig: Rig) -> None:
    rig.run(rig.job("j", TOOLS))
    rig.look_back(remember("the registry is r.example:5000"), SAY)
    (row,) = rig.app.reviews.of_run(rig.last)
    assert (row["changes"], row["brief"], row["iterations"]) == (1, "memory", 2)
    assert json.dumps(row["cost_usd"]) == "null", "a model without a price costs nobody knows what"
