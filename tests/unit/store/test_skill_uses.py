"""A view is a call of ``skill_view``; a use is a run that had the text and acted after it, counted once, at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from hermes_cron.domain.learning import Kind, Learned, LearnedState
from hermes_cron.domain.run import Outcome, RunState
from hermes_cron.domain.skill_use import SkillRecord
from hermes_cron.errors import ModelUnreachable
from hermes_cron.home import Home
from hermes_cron.store import endings, learned, retention, skill_uses
from hermes_cron.store.tables import CounterRow
from tests.runner_rig import NOON, Rig

_counters = CounterRow.__table__  # type: ignore[attr-defined]

JOB = "---\nschedule: every day 9am\nmodel: m\n{more}---\nroll the thing out\n"
VIEW = {"tool_calls": [{"name": "skill_view", "arguments": {"name": "deploy-app"}}]}
ACT = {"tool_calls": [{"name": "now", "arguments": {}}]}
WRITE = {
    "tool_calls": [
        {"name": "skill_manage", "arguments": {"name": "deploy-app", "action": "patch", "old": "no", "new": "x"}}
    ]
}
DONE = {"text": "done"}


@pytest.fixture
def rig(home: Home) -> Iterator[Rig]:
    for name in ("deploy-app", "rotate-logs"):
        folder = home.skills / "ops" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: about {name}\n---\nHow to {name}.\n")
    with Rig(home) as rig:
        yield rig


def ran(rig: Rig, replies: Sequence[Any], more: str = "", **end: Any) -> str:
    """One run to its end; its id. ``end`` changes the outcome."""
    taken = rig.begin(JOB.format(more=more))
    outcome = rig.execute(taken, replies)
    rig.app.store.write(lambda conn: endings.end(conn, taken, replace(outcome, **end), rig.clock.now()))
    return taken.id


def records(rig: Rig) -> dict[str, SkillRecord]:
    with rig.app.store.read() as conn:
        return skill_uses.records(conn)


def counters(rig: Rig) -> Mapping[tuple[str, str], float]:
    with rig.app.store.read() as conn:
        rows = conn.execute(select(_counters).where(_counters.c.name.like("hermes_cron_skill%")))
        return {(row.name.removeprefix("hermes_cron_skill_"), row.labels): row.value for row in rows}


def test_a_named_skill_of_a_run_that_acted_is_used_and_its_end_speaks_for_it(rig: Rig) -> None:
    ran(rig, [ACT, DONE], "skills: [deploy-app]\n")
    assert records(rig) == {"deploy-app": SkillRecord(uses=1, well=1, lately_well=1, used_at=NOON)}
    assert counters(rig) == {
        ("uses_total", '{"skill":"deploy-app"}'): 1,
        ("run_outcomes_total", '{"outcome":"ok","skill":"deploy-app"}'): 1,
    }


def test_a_viewed_skill_is_used_only_when_a_step_of_the_work_came_after_it(rig: Rig) -> None:
    ran(rig, [ACT, VIEW, DONE])
    assert records(rig) == {"deploy-app": SkillRecord(views=1, viewed_at=NOON)}
    ran(rig, [VIEW, ACT, VIEW, DONE])
    found = records(rig)["deploy-app"]
    assert (found.views, found.uses, found.well) == (3, 1, 1)
    assert counters(rig)["views_total", '{"skill":"deploy-app"}'] == 3


def test_looking_and_writing_is_no_step_of_the_work(rig: Rig) -> None:
    ran(rig, [VIEW, {"tool_calls": [{"name": "skills_list", "arguments": {}}]}, WRITE, DONE], "skills: [rotate-logs]\n")
    assert {name: record.uses for name, record in records(rig).items()} == {"deploy-app": 0}


def test_a_run_without_skills_leaves_no_row(rig: Rig) -> None:
    run_id = ran(rig, [ACT, DONE])
    with rig.app.store.read() as conn:
        assert skill_uses.of_run(conn, run_id) == []
    assert records(rig) == {}


@pytest.mark.parametrize(
    ("end", "well", "badly"),
    [
        ({"state": RunState.FAILED, "reason": "loop_detected"}, 0, 1),
        ({"state": RunState.TIMEOUT, "reason": "deadline"}, 0, 1),
        ({"state": RunState.BUDGET_EXHAUSTED, "reason": "iterations"}, 0, 1),
        ({"state": RunState.BUDGET_EXHAUSTED, "reason": "budget.cost_usd_per_day"}, 0, 0),
        ({"state": RunState.FAILED, "reason": ModelUnreachable.reason, "model_fault": True}, 0, 0),
        ({"state": RunState.CANCELLED, "reason": "cancelled"}, 0, 0),
        ({"state": RunState.FAILED, "reason": "disk_full"}, 0, 0),
    ],
    ids=["loop", "deadline", "iterations", "cap of all runs", "model", "cancelled", "disk"],
)
def test_only_ends_that_a_skill_could_have_changed_count_for_or_against_it(
    rig: Rig, end: Mapping[str, Any], well: int, badly: int
) -> None:
    ran(rig, [ACT, DONE], "skills: [deploy-app]\n", **end)
    found = records(rig)["deploy-app"]
    assert (found.uses, found.well, found.badly) == (1, well, badly)


def test_a_run_whose_check_failed_speaks_against_the_skill(rig: Rig) -> None:
    more = 'skills: [deploy-app]\non_check_failure: {attempts: 0}\nchecks:\n  - report: {matches: "proof"}\n'
    ran(rig, [ACT, DONE], more)
    assert (records(rig)["deploy-app"].well, records(rig)["deploy-app"].badly) == (0, 1)


def test_a_run_that_goes_on_later_is_counted_once_and_a_repeated_call_is_one_view(rig: Rig) -> None:
    taken = rig.begin(JOB.format(more=""))
    rig.execute(taken, [VIEW, ACT, DONE])
    again = rig.again(taken, Outcome(state=RunState.QUEUED))
    assert records(rig)["deploy-app"].uses == 0
    with rig.app.store.read() as conn:
        (view,) = skill_uses.of_run(conn, taken.id)
    key = f"{again.session}/3"  # the row of its result
    for _ in range(2):
        rig.app.store.write(
            lambda conn: skill_uses.note_view(
                conn, "deploy-app", run_id=taken.id, job_uid=None, key=key, now=rig.clock.now()
            )
        )
    outcome = rig.execute(again, [])
    rig.app.store.write(lambda conn: endings.end(conn, again, outcome, rig.clock.now()))
    found = records(rig)["deploy-app"]
    assert (view.kind, found.views, found.uses) == ("view", 1, 1)


def test_totals_stay_when_the_run_is_removed(rig: Rig) -> None:
    run_id = ran(rig, [VIEW, ACT, DONE])
    before = records(rig)
    rig.app.store.write(lambda conn: retention.forget(conn, [run_id]))
    with rig.app.store.read() as conn:
        assert skill_uses.of_run(conn, run_id) == []
    assert records(rig) == {name: replace(it, lately_well=0) for name, it in before.items()}  # of rows that are gone


def test_patches_and_rewrites_are_told_apart_and_counted_at_the_write(rig: Rig) -> None:
    def change(key: str, word: str, state: LearnedState = LearnedState.APPLIED) -> None:
        row = Learned(
            number=0, key=key, at=NOON, actor="run", kind=Kind.SKILL, name="ops/deploy-app", change=word, state=state
        )
        rig.app.store.write(lambda conn: learned.note(conn, row))

    change("s/1", "created")
    change("s/2", "patched")
    change("s/2", "patched")  # asked again after a crash
    change("s/3", "rewritten")
    change("s/4", "patched", LearnedState.PROPOSED)
    found = records(rig)["ops/deploy-app"]
    assert (found.patches, found.rewrites, found.patched_at) == (1, 1, NOON)
    assert counters(rig)["patches_total", '{"outcome":"applied","skill":"deploy-app"}'] == 2, "a new skill is no patch"


def test_a_change_that_is_taken_back_is_counted_as_such_once(rig: Rig) -> None:
    row = Learned(
        number=0, key="s/1", at=NOON, actor="run", kind=Kind.SKILL, name="ops/deploy-app", change="patched",
        state=LearnedState.APPLIED,
    )  # fmt: skip
    number = rig.app.store.write(lambda conn: learned.note(conn, row)).number
    for _ in range(2):
        rig.app.store.write(lambda conn: learned.turn(conn, [number], LearnedState.UNDONE))
    assert counters(rig) == {
        ("patches_total", '{"outcome":"applied","skill":"deploy-app"}'): 1,
        ("patches_total", '{"outcome":"reverted","skill":"deploy-app"}'): 1,
    }


def test_of_two_skills_of_one_name_the_one_that_was_used_is_counted(rig: Rig) -> None:
    twin = rig.home.skills / "web" / "deploy-app"
    twin.mkdir(parents=True)
    (twin / "SKILL.md").write_text("---\nname: deploy-app\ndescription: another\n---\nAnother way.\n")
    ran(rig, [ACT, DONE], "skills: [web/deploy-app]\n")
    assert list(records(rig)) == ["web/deploy-app"]
    assert {"web/deploy-app", "ops/deploy-app"} < set(rig.app.skill_reading.index("deploy app", ()).described)


def test_a_run_that_died_or_was_cancelled_while_it_waited_used_its_skill_too(rig: Rig) -> None:
    taken = rig.begin(JOB.format(more="skills: [deploy-app]\n"))
    rig.execute(taken, [ACT, DONE])
    dead = Outcome(state=RunState.FAILED, reason="crashed", error="taken over three times")
    rig.app.store.write(lambda conn: endings.end(conn, taken, dead, rig.clock.now()))
    found = records(rig)["deploy-app"]
    assert (found.uses, found.well, found.badly) == (1, 0, 0)
