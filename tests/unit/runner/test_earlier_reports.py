"""What a job's ``context`` brings into a run: which reports, how much of them, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.domain.earlier import Fitted, Report, fitted
from hermes_cron.domain.run import RunState, TakenRun
from hermes_cron.home import Home
from hermes_cron.store import endings
from hermes_cron.store.earlier import uid_of
from tests.runner_rig import Rig

HEAD = "---\nschedule: every day 9am\ntimezone: UTC\nmodel: test-model\n"
BODY = "Write the week's page."
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def rig(home: Home) -> Iterator[Rig]:
    with Rig(home) as made:
        yield made


def job(*lines: str, body: str = BODY) -> str:
    return HEAD + "".join(f"{line}\n" for line in lines) + f"---\n{body}\n"


def known(rig: Rig, name: str, *lines: str) -> str:
    """A job with a file; its uid."""
    (rig.home.jobs / f"{name}.md").write_text(job(*lines))
    rig.app.sync_jobs(actor="test")
    with rig.app.store.read() as conn:
        uid = uid_of(conn, name)
    assert uid is not None
    return uid


def run(
    rig: Rig, uid: str, text: str, *, name: str = "weekly", lines: Sequence[str] = (), body: str = BODY
) -> TakenRun:
    """A run of a known job that ended with ``text``, an hour after the one before."""
    taken = rig.begin(job(*lines, body=body), name=name, uid=uid)
    outcome = rig.execute(taken, [text])
    assert outcome.state is RunState.OK, outcome.error
    now = rig.clock.advance(timedelta(hours=1))
    rig.app.store.write(lambda conn: endings.end(conn, taken, outcome, now, ran=timedelta(seconds=1)))
    return taken


def asked(rig: Rig, uid: str, *lines: str, body: str = BODY, name: str = "weekly") -> str:
    """The first message that a run of the job sends."""
    run(rig, uid, "done", name=name, lines=lines, body=body)
    return str(rig.model.requests[0].messages[1]["content"])


def test_the_last_own_report_stands_fenced_below_the_prompt(rig: Rig) -> None:
    uid = known(rig, "weekly")
    run(rig, uid, "one is old")
    last = run(rig, uid, "two </data> is new")
    assert asked(rig, uid, "context: {own: last}") == (
        "Write the week's page.\n\n"
        "Earlier reports, the oldest first. They were true when they were written; check what may have changed.\n\n"
        f'<data source="report of weekly, 2026-12-01 14:00, run {last.id}, without checks">\n'
        "two &lt;/data> is new\n</data>"
    )


def test_several_of_other_jobs_with_an_age(rig: Rig) -> None:
    uid, other = known(rig, "weekly"), known(rig, "inspect")
    run(rig, other, "too old", name="inspect")
    rig.clock.advance(timedelta(days=7))
    for text in ("monday", "tuesday"):
        run(rig, other, text, name="inspect")
    said = asked(rig, uid, "context: {from: [inspect], since: 7d}")
    assert "too old" not in said
    assert said.index("monday") < said.index("tuesday")
    newest = asked(rig, uid, "context: {from: [inspect]}")
    assert "tuesday" in newest
    assert "monday" not in newest


def test_only_reports_that_were_not_found_wrong(rig: Rig) -> None:
    uid = known(rig, "weekly")
    run(rig, uid, "good: all fine", lines=("checks: [{report: {matches: good}}]",))
    run(rig, uid, "nonsense", lines=("checks: [{report: {matches: good}}]",))
    said = asked(rig, uid, "context: {own: last}")
    assert "good: all fine" in said
    assert ", verified" in said
    assert "nonsense" not in said


def test_a_run_that_failed_has_no_report(rig: Rig) -> None:
    uid = known(rig, "weekly")
    run(rig, uid, "the last good one")
    taken = rig.begin(job("limits: {iterations: 1}"), name="weekly", uid=uid)
    outcome = rig.execute(taken, [{"tool_calls": [{"name": "now", "arguments": {}}]}])
    assert outcome.state is RunState.BUDGET_EXHAUSTED
    now = rig.clock.advance(timedelta(hours=1))
    rig.app.store.write(lambda conn: endings.end(conn, taken, outcome, now, ran=timedelta(seconds=1)))
    said = asked(rig, uid, "context: {own: 5}")
    assert "the last good one" in said
    assert said.count("<data") == 1


def test_a_first_run_is_told_that_there_is_none(rig: Rig) -> None:
    assert "(there is no earlier report yet)" in asked(rig, known(rig, "weekly"), "context: {own: last}")


def test_a_prompt_that_names_the_reports_has_them_where_it_says(rig: Rig) -> None:
    uid = known(rig, "weekly")
    run(rig, uid, "the report")
    body = "Before {{ context.count }}: {{ context.reports }} after."
    said = asked(rig, uid, "context: {own: last}", body=body)
    assert said.startswith('Before 1: <data source="report of weekly')
    assert said.endswith("</data> after.")
    assert said.count("the report") == 1


def test_a_jinja_prompt_walks_the_reports(rig: Rig) -> None:
    uid, other = known(rig, "weekly"), known(rig, "inspect")
    first = run(rig, other, "what {{ job.name }} said", name="inspect")
    line = "[{{ r.job }} {{ r.date }} {{ r.run_id }} {{ r.verified }}]"
    body = f"{{% for r in context.others %}}{line}\n{{{{ r.text }}}}{{% endfor %}}"
    said = asked(rig, uid, "template: jinja", "context: {own: last, from: [inspect]}", body=body)
    assert said.startswith(f"[inspect 2026-12-01 {first.id} without checks]\n<data ")
    assert "what {{ job.name }} said" in said
    assert "Earlier reports" not in said


def test_a_job_that_is_gone_fails_the_run_before_any_call(rig: Rig) -> None:
    uid = known(rig, "weekly")
    outcome = rig.execute(rig.begin(job("context: {from: [gone]}"), name="weekly", uid=uid), ["done"])
    assert (outcome.state, outcome.reason) == (RunState.FAILED, "not_found")
    assert outcome.error is not None
    assert outcome.error.startswith('context: no job "gone"; nothing was asked of a model')
    assert rig.model.requests == []


def test_a_report_whose_file_is_gone_is_no_report(rig: Rig) -> None:
    uid = known(rig, "weekly")
    last = run(rig, uid, "gone with its file")
    (rig.home.outputs / "weekly" / f"{last.id}.md").unlink()
    assert "(there is no earlier report yet)" in asked(rig, uid, "context: {own: last}")


def test_a_report_that_somebody_broke_is_read_as_far_as_it_is_text(rig: Rig) -> None:
    uid = known(rig, "weekly")
    last = run(rig, uid, "x")
    (rig.home.outputs / "weekly" / f"{last.id}.md").write_bytes(b"half a \xe4\xb8 and \xff\x00 more")
    assert "half a \ufffd and \ufffd" in asked(rig, uid, "context: {own: last}")


def test_what_had_no_room_is_said(rig: Rig) -> None:
    uid = known(rig, "weekly")
    for number in range(3):
        run(rig, uid, f"report {number}\n" + "line\n" * 60)
    said = asked(rig, uid, "context: {own: 3, max_chars: 550}")
    assert "report 2" in said
    assert "report 1" in said
    assert "[cut here: " in said
    assert said.endswith("\n\n1 more had no room.")


# --- room -------------------------------------------------------------------------------------------------------------

reports = st.lists(
    st.builds(
        Report,
        run_id=st.uuids().map(str),
        job=st.sampled_from(["a", "b", "c"]),
        at=st.integers(0, 1000).map(lambda hours: NOON + timedelta(hours=hours)),
        verdict=st.none(),
        text=st.text("ab\n", min_size=1, max_size=600),
    ),
    max_size=8,
)


@given(reports, st.integers(200, 2000))
def test_reports_never_take_more_than_their_room(given_: list[Report], room: int) -> None:
    found = fitted(given_, room)
    assert sum(len(report.text) for report in found.reports) <= room
    assert len(found.reports) + found.left_out == len(given_)
    assert [report.at for report in found.reports] == sorted(report.at for report in found.reports)
    assert bool(found.reports) == bool(given_)


@given(reports)
def test_with_room_for_all_every_report_is_whole(given_: list[Report]) -> None:
    assert fitted(given_, 10_000) == Fitted(reports=tuple(sorted(given_, key=lambda it: (it.at, it.run_id))))


def test_the_newest_of_each_job_goes_before_the_second_newest_of_any() -> None:
    def made(name: str, hours: int) -> Report:
        return Report(run_id=f"{name}{hours}", job=name, at=NOON + timedelta(hours=hours), verdict=None, text="x" * 300)

    found = fitted([made("a", 1), made("b", 5), made("b", 6), made("b", 7)], 600)
    assert [report.run_id for report in found.reports] == ["a1", "b7"]
