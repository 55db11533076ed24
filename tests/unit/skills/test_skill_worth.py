"""A run's own figures say whether its method deserves a skill; real runs, with a model that plays what it is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_cron.domain import notice_learned
from hermes_cron.domain.run import Outcome, RunState
from hermes_cron.home import Home
from hermes_cron.store import learned, views
from tests.runner_rig import Rig
from tests.skill_rig import skill

JOB = (
    "---\nschedule: every day 9am\ntimezone: UTC\nmodel: m\ntools: [terminal, skills]\n{keys}---\n"
    "put the app on the cluster\n"
)


@pytest.fixture
def rig(home: Home) -> Iterator[Rig]:
    with Rig(home) as made:
        yield made


def shell(command: str, number: int) -> dict[str, Any]:
    return {"name": "terminal", "arguments": {"command": f"{command} # {number}"}}


def create(because: str, name: str = "put-on-cluster") -> dict[str, Any]:
    arguments = {"name": f"deploy/{name}", "action": "create", "because": because, "reason": "it comes every week",
                 "content": skill(name)}  # fmt: skip
    return {"tool_calls": [{"name": "skill_manage", "arguments": arguments}]}


def played(rig: Rig, *replies: Any, works: int = 0, fails: int = 0, keys: str = "") -> tuple[str, list[dict[str, Any]]]:
    """The run's id, and what its calls of ``skill_manage`` were answered."""
    calls = [shell("true", n) for n in range(works)] + [shell("false", n) for n in range(fails)]
    turns = [{"tool_calls": [call]} for call in calls]
    taken = rig.begin(JOB.format(keys=keys))
    outcome = rig.execute(taken, [*turns, *replies, {"text": "# Done"}])
    assert isinstance(outcome, Outcome)
    assert outcome.state is RunState.OK
    with rig.app.store.read() as conn:
        (session,) = [it for it in views.sessions(conn, taken.id) if it["kind"] == "main"]
        rows = [it for it in views.rows(conn, session["id"]) if it["tool"] == "skill_manage"]
    return taken.id, [json.loads(row["body"]["content"]) for row in rows]


def skills(rig: Rig) -> list[str]:
    return [path.parent.name for path in rig.home.skills.rglob("SKILL.md")]


@pytest.mark.parametrize("because", ["steps", "method", "errors", "correction"])
def test_three_calls_make_no_skill(rig: Rig, because: str) -> None:
    _, (answer,) = played(rig, create(because), works=3)
    assert answer["error"]["code"] == "Refused"
    assert "3 calls, 0 errors" in answer["error"]["message"]
    assert skills(rig) == []


def test_twelve_calls_and_two_errors_make_one_and_the_record_says_why(rig: Rig) -> None:
    run_id, (answer,) = played(rig, create("errors"), works=10, fails=2)
    assert answer["success"] is True
    assert skills(rig) == ["put-on-cluster"]
    with rig.app.store.read() as conn:
        (row,) = learned.of_run(conn, run_id)
    assert row.name == "deploy/put-on-cluster"
    assert row.details["because"] == "errors were overcome, 12 calls, 2 errors: it comes every week"
    head = rig.app.snapshots.head()
    assert head is not None
    assert (head.run, head.actor) == (run_id, "run")
    assert "errors were overcome" in head.reason


def test_what_is_asked_for_is_made_and_the_record_says_so(rig: Rig) -> None:
    run_id, (answer,) = played(rig, create("asked"), works=1)
    assert answer["success"] is True
    with rig.app.store.read() as conn:
        (row,) = learned.of_run(conn, run_id)
    assert row.details["because"].startswith("it was asked for, 1 call, 0 errors")


def test_a_skill_that_proved_wrong_is_patched_in_the_same_run(rig: Rig) -> None:
    played(rig, create("asked"))
    patch = {"name": "put-on-cluster", "action": "patch", "old": "docker push app", "new": "docker push local/app",
             "reason": "the registry has another name"}  # fmt: skip
    run_id, (answer,) = played(rig, {"tool_calls": [{"name": "skill_manage", "arguments": patch}]}, fails=1)
    assert answer["lines"] == ["-    - docker push app", "+    - docker push local/app"]
    versions = rig.app.history.versions("skills/deploy/put-on-cluster")
    assert [it.commit.run for it in versions][1:] == [run_id]
    assert versions[-1].commit.reason == "skill deploy/put-on-cluster patched: the registry has another name"


@pytest.mark.parametrize("because", ["steps", "method", "errors", "asked"])
def test_in_chinese_the_record_is_read_in_chinese(rig: Rig, because: str) -> None:
    run_id, (answer,) = played(rig, create(because), works=5, fails=1)
    assert answer["success"] is True
    with rig.app.store.read() as conn:
        (row,) = learned.of_run(conn, run_id)
    said = notice_learned.source(row, "zh")
    assert said.endswith("，调用 6 次，错误 1 个：it comes every week）"), said
    assert "6 calls" not in said
    assert "6 calls, 1 error: it comes every week" in notice_learned.source(row, "en")


@pytest.mark.parametrize("mode", ["absorb", "off"])
def test_the_jobs_word_holds(rig: Rig, mode: str) -> None:
    _, answers = played(rig, create("asked"), keys=f"learn: {mode}\n")
    assert all("error" in answer for answer in answers)
    assert skills(rig) == []
