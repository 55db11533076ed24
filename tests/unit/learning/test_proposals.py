"""A yes is carried out once, whatever dies in between, and what is taken back or comes again is marked so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hermes_cron.desks.learning import LearningDesk
from hermes_cron.domain.job import Deliver, Job
from hermes_cron.domain.learning import Author, Learn, Learned, LearnedState
from hermes_cron.errors import Conflict
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.store import learned, runs
from hermes_cron.testing import FixedClock
from hermes_cron.wiring import App

FACT = "Backups of prod run at two."
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


class Died(BaseException):
    """The process is gone here."""


class _Dies(LearningDesk):
    """Dies between the commit and the row."""

    def _note(self, *_: Any, **__: Any) -> Learned:
        raise Died


@pytest.fixture
def app(home: Home) -> Iterator[App]:
    made = App(home, Settings.load(home), FixedClock(NOON), person=lambda: "oncall")
    yield made
    made.close()


def author(app: App, learn: Learn = Learn.PROPOSE) -> Author:
    """A run of a job."""
    job = Job(name="j", timezone="UTC", prompt="look", deliver=Deliver(to=("ops",)))
    start = runs.Start(job=job, job_uid=None, actor="test")
    run_id = app.store.write(lambda conn: runs.enqueue(conn, start, NOON))
    return Author(actor="run", run_id=run_id, job_name="j", session_id=f"{run_id}-1", learn=learn)


def remember(app: App, who: Author, key: str, content: str = FACT) -> None:
    door = app.learning.of(who).memory
    assert door is not None
    done = door.write([{"target": "memory", "action": "add", "content": content}], key)
    assert done.ok, done.text


def advance(app: App, by: timedelta) -> None:
    assert isinstance(app.clock, FixedClock)
    app.clock.advance(by)


def rows(app: App) -> list[Learned]:
    with app.store.read() as conn:
        return learned.since(conn, NOON)


def state(app: App) -> LearnedState:
    (row,) = rows(app)
    return row.state


def text(home: Home) -> str:
    path = home.memories / "MEMORY.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_a_yes_after_one_that_died_between_change_and_row_finds_the_change(app: App, home: Home) -> None:
    remember(app, author(app), "s/7")
    app.__dict__["learning"] = _Dies(app)
    with pytest.raises(Died):
        app.runs.approve("a1", by="oncall")
    assert text(home).count(FACT) == 1
    assert state(app) is LearnedState.PROPOSED

    app.__dict__["learning"] = LearningDesk(app)
    before = len(app.history.commits())
    assert app.runs.approve("a1", by="other").decided_by == "other"
    (row,) = rows(app)
    assert (row.state, row.lines, row.approval) == (LearnedState.APPLIED, (f"+ {FACT}",), 1)
    assert row.after == app.history.newest().id
    assert "operations" in row.details
    assert len(app.history.commits()) == before
    assert text(home).count(FACT) == 1


def test_what_is_there_already_needs_no_second_entry(app: App, home: Home) -> None:
    remember(app, author(app), "s/7")
    remember(app, author(app, Learn.AUTO), "t/3")
    app.runs.approve("a1", by="oncall")
    assert [row.state for row in rows(app)] == [LearnedState.APPLIED] * 2
    assert text(home).count(FACT) == 1


def test_the_run_that_proposed_does_not_wait_and_the_same_call_again_asks_nobody(app: App) -> None:
    who = author(app)
    for _ in range(2):
        remember(app, who, "s/7")
    assert len(app.runs.approvals()) == 1
    probe = app.learning.of(who).memory
    assert probe is not None
    assert probe.probe("s/7").happened


def test_a_no_is_final(app: App, home: Home) -> None:
    remember(app, author(app), "s/7")
    app.runs.deny("a1", by="oncall", reason=None)
    with pytest.raises(Conflict, match="answered already: denied by oncall"):
        app.runs.approve("a1", by="oncall")
    assert (state(app), text(home)) == (LearnedState.DENIED, "")


def test_a_yes_that_comes_too_late_changes_nothing(home: Home) -> None:
    clock = FixedClock(NOON)
    app = App(home, Settings.load(home), clock, person=lambda: "oncall")
    with contextlib.closing(app):
        remember(app, author(app), "s/7")
        clock.advance(25 * 3600)
        with pytest.raises(Conflict, match="silence meant no"):
            app.runs.approve("a1", by="oncall")
        assert text(home) == ""


# --- taking back ------------------------------------------------------------------------------------------------------


def undo(app: App, word: str, **how: bool) -> str:
    done = app.history.carry_out(app.history.to_undo(word, **how), by="oncall")
    assert done.after is not None
    return done.after.id


def taught(app: App, key: str = "s/7", content: str = FACT) -> Learned:
    remember(app, author(app, Learn.AUTO), key, content)
    return rows(app)[-1]


def test_an_undo_of_the_run_marks_all_of_it(app: App) -> None:
    who = author(app, Learn.AUTO)
    remember(app, who, "s/1", "One.")
    remember(app, who, "s/2", "Two.")
    assert who.run_id is not None
    undo(app, who.run_id)
    assert [row.state for row in rows(app)] == [LearnedState.UNDONE] * 2


def test_what_is_rejected_says_so_and_comes_again_with_the_undo_of_that(app: App) -> None:
    row = taught(app)
    assert row.after is not None
    back = undo(app, row.after, rejects=True)
    assert state(app) is LearnedState.REJECTED
    undo(app, back)
    assert state(app) is LearnedState.APPLIED


def test_a_restore_of_a_state_before_takes_back_what_came_after_it(app: App, home: Home) -> None:
    first = taught(app, "s/1", "One.")
    second = taught(app, "s/2", "Two.")
    assert first.after is not None
    assert second.after is not None
    app.history.carry_out(app.history.to_restore(app.history.find(first.after)), by="oncall")
    assert [row.state for row in rows(app)] == [LearnedState.APPLIED, LearnedState.UNDONE]
    assert "Two." not in text(home)
    app.history.carry_out(app.history.to_restore(app.history.find(second.after)), by="oncall")
    assert "Two." in text(home)
    assert [row.state for row in rows(app)] == [LearnedState.APPLIED] * 2


def test_a_restore_of_other_files_leaves_it(app: App, home: Home) -> None:
    (home.jobs / "j.md").write_text("---\nschedule: every day 9am\n---\nlook\n", encoding="utf-8")
    first = taught(app, "s/1", "One.")
    (home.jobs / "j.md").unlink()
    taught(app, "s/2", "Two.")
    assert first.after is not None
    task = app.history.to_restore(app.history.find(first.after), paths=("jobs",), exact=True)
    app.history.carry_out(task, by="oncall")
    assert (home.jobs / "j.md").exists()
    assert [row.state for row in rows(app)] == [LearnedState.APPLIED] * 2


def test_an_undo_of_a_restore_brings_back_what_the_restore_took(app: App, home: Home) -> None:
    first = taught(app, "s/1", "One.")
    taught(app, "s/2", "Two.")
    assert first.after is not None
    done = app.history.carry_out(app.history.to_restore(app.history.find(first.after)), by="oncall")
    assert done.after is not None
    undo(app, done.after.id)
    assert "Two." in text(home)
    assert [row.state for row in rows(app)] == [LearnedState.APPLIED] * 2


def test_a_job_that_proposes_the_same_every_day_asks_one_question(app: App, home: Home) -> None:
    for day in range(3):
        remember(app, author(app), f"s{day}/7")
    remember(app, author(app), "s9/7", "Backups of prod run at three.")
    assert [row.approval for row in rows(app)] == [1, 2]
    app.runs.approve("a1", by="oncall")
    app.runs.approve("a2", by="oncall")
    assert text(home) == f"{FACT}\n§\nBackups of prod run at three.\n"


def test_what_a_person_said_no_to_is_not_asked_again_and_the_reason_reaches_the_agent(app: App) -> None:
    remember(app, author(app), "s1/7")
    app.runs.deny("a1", by="oncall", reason="they run at three")
    door = app.learning.of(author(app)).memory
    assert door is not None
    done = door.write([{"target": "memory", "action": "add", "content": FACT}], "s2/7")
    assert not done.ok
    assert "a person said no to this very change (a1: they run at three)" in done.text
    assert len(rows(app)) == 1
    other = replace(author(app), job_name="another")
    remember(app, other, "s3/7")
    assert len(rows(app)) == 2, "another job may ask"
    advance(app, timedelta(days=91))
    remember(app, author(app), "s4/7")
    assert len(rows(app)) == 3, "a no is not for ever"


def test_a_question_that_nobody_answered_in_time_is_asked_again(app: App) -> None:
    remember(app, author(app), "s1/7")
    advance(app, timedelta(hours=25))
    remember(app, author(app), "s2/7")
    assert len(rows(app)) == 2
