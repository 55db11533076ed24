"""A run that goes on sends what it sent before: nothing is rendered anew, whatever changed in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain.command import Halt
from hermes_cron.domain.run import Outcome, RunState
from hermes_cron.domain.transcript import ModelReply, ModelRequest
from hermes_cron.errors import EmptyReply, ModelAuth, ModelRateLimited, PlaybookDatabaseUnreachable
from hermes_cron.home import Home
from hermes_cron.testing import ScriptedModel
from tests.runner_rig import Rig
from tests.scheduler_rig import until

JOB = """---
schedule: every day 9am
timezone: UTC
tools: [now, read_file, write_file]
workdir: {workdir}
skills: [greet]
model: first-model
{keys}
---
greet the people of {{{{ vars.town }}}}
"""
SKILL = "---\nname: greet\ndescription: How to greet.\n---\nSay {word}.\n"


@pytest.fixture
def rig(home: Home, tmp_path: Path) -> Iterator[Rig]:
    (tmp_path / "work").mkdir()
    skill(home, "hello")
    with Rig(home) as made:
        yield made


def skill(home: Home, word: str) -> None:
    folder = home.skills / "greet"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(SKILL.format(word=word))


def job(tmp_path: Path, *keys: str) -> str:
    return JOB.format(workdir=tmp_path / "work", keys="\n".join(("vars: {town: Lund}", *keys)))


def asks(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def reply(scripted: dict[str, Any], request: ModelRequest) -> ModelReply:
    return ScriptedModel([scripted]).complete(request)


def test_skills_settings_job_and_files_may_change_and_the_requests_stay_the_same(
    rig: Rig, home: Home, tmp_path: Path
) -> None:
    (tmp_path / "work" / "AGENTS.md").write_text("Be short.")
    taken = rig.begin(job(tmp_path))
    outcome = rig.execute(taken, [asks("write_file", path="a", content="1"), ModelRateLimited("slow", retry_after_s=7)])
    assert (outcome.state, outcome.reason) == (RunState.FAILED, "rate_limited")
    assert (outcome.passing, outcome.model_fault, outcome.retry_after_s, outcome.progressed) == (True, True, 7, True)
    assert outcome.skills == ("greet",)
    before = rig.model.requests[1]

    skill(home, "good morning")
    (tmp_path / "work" / "AGENTS.md").write_text("Be long.")
    home.config.write_text('timezone = "UTC"\n[model]\nname = "other-model"\ntemperature = 0.1\n')
    rig.clock.advance(3600)
    rig.anew()
    taken = rig.again(taken, Outcome(state=RunState.QUEUED))
    assert taken.session is not None
    outcome = rig.execute(taken, ["Hello Lund."])
    after = rig.model.requests[0]
    assert (after.header, list(after.messages)) == (before.header, list(before.messages))
    assert after.header.model == "first-model"
    assert "Say hello." in after.messages[0]["content"]
    assert (outcome.state, outcome.text, outcome.skills) == (RunState.OK, "Hello Lund.", ("greet",))
    assert [event for event, _ in rig.events if event in {"prepared", "resumed"}] == ["prepared", "resumed"]


def test_a_call_of_a_tool_that_is_gone_is_answered(rig: Rig, home: Home, tmp_path: Path) -> None:
    home.tools.mkdir()
    plugin = home.tools / "hi.py"
    plugin.write_text(
        "from hermes_cron.tools.declaration import Arguments, Tool\n"
        'TOOL = Tool(name="hi", toolset="test", description="Hi.", arguments=Arguments,\n'
        '            handler=lambda arguments, context: "hi")\n'
    )
    taken = rig.begin(job(tmp_path).replace("[now,", "[now, hi,"))
    rig.execute(taken, [asks("hi"), ModelRateLimited("slow")])
    assert rig.model.requests[1].messages[-1]["content"] == "hi"
    plugin.unlink()
    rig.anew()
    outcome = rig.execute(rig.again(taken, Outcome(state=RunState.QUEUED)), [asks("hi"), "Hello."])
    assert "hi" in [tool["function"]["name"] for tool in rig.model.requests[1].header.tools]
    assert "no tool 'hi'" in rig.model.requests[1].messages[-1]["content"]
    assert outcome.state is RunState.OK


def test_an_answer_that_is_there_is_not_asked_for_again(rig: Rig, tmp_path: Path) -> None:
    taken = rig.begin(job(tmp_path))
    rig.execute(taken, ["Hello."])
    outcome = rig.execute(rig.again(taken, Outcome(state=RunState.QUEUED)), [])
    assert (outcome.state, outcome.text, rig.model.requests) == (RunState.OK, "Hello.", [])


def test_a_released_run_goes_on_where_it_stood(rig: Rig, tmp_path: Path) -> None:
    halt = Halt()

    def first(request: ModelRequest) -> ModelReply:
        halt.release()
        return reply(asks("write_file", path="a", content="1"), request)

    taken = rig.begin(job(tmp_path))
    outcome = rig.execute(taken, [first], halt)
    assert outcome.state is RunState.QUEUED
    assert outcome.output_path is None
    outcome = rig.execute(rig.again(taken, outcome), ["Written."])
    assert (outcome.state, outcome.text) == (RunState.OK, "Written.")
    assert (tmp_path / "work" / "a").read_text() == "1"


# --- outcome checks of a run that goes on -----------------------------------------------------------------------------

FILE_CHECK = "checks: [{file: {path: out.csv, changed: true}}]"


def test_what_checks_compare_with_is_of_before_the_first_attempt(rig: Rig, tmp_path: Path) -> None:
    out = tmp_path / "work" / "out.csv"
    out.write_text("old")
    taken = rig.begin(job(tmp_path, FILE_CHECK))
    rig.execute(taken, [asks("write_file", path="out.csv", content="new"), ModelRateLimited("slow")])
    taken = rig.again(taken, Outcome(state=RunState.QUEUED))
    assert taken.check_inputs is not None
    outcome = rig.execute(taken, ["Done."])
    assert (outcome.verdict, outcome.checks[0].detail) == ("verified", "changed")


def test_a_crash_forgets_no_try(rig: Rig, tmp_path: Path) -> None:
    taken = rig.begin(job(tmp_path, FILE_CHECK, "on_check_failure: {attempts: 2}"))
    outcome = rig.execute(taken, ["Done.", ModelRateLimited("slow")])
    assert (outcome.state, outcome.verdict) == (RunState.FAILED, "check_failed")  # as the try before it was judged
    first = rig.model.requests[1].messages
    taken = rig.again(taken, Outcome(state=RunState.QUEUED))
    outcome = rig.execute(taken, ["Done.", "Done.", "never asked"])
    assert rig.model.requests[0].messages == first
    assert len(rig.model.requests) == 2
    assert (outcome.state, outcome.verdict, outcome.iterations) == (RunState.OK, "check_failed", 3)


def test_another_try_that_runs_out_of_calls_does_not_hide_what_the_checks_said(rig: Rig, tmp_path: Path) -> None:
    taken = rig.begin(job(tmp_path, FILE_CHECK, "on_check_failure: {attempts: 2}", "limits: {iterations: 2}"))
    outcome = rig.execute(taken, ["Done.", asks("read_file", path="none"), "never asked"])
    assert (outcome.state, outcome.verdict) == (RunState.BUDGET_EXHAUSTED, "check_failed")


def test_a_release_during_the_checks_leaves_them_to_the_next(rig: Rig, tmp_path: Path) -> None:
    halt = Halt()
    command = "checks: [{shell: {command: 'touch began; sleep 30'}}]"
    taken = rig.begin(job(tmp_path, command))

    def release() -> None:
        until((tmp_path / "work" / "began").exists, "the check began", limit_s=20)
        halt.release()

    releasing = threading.Thread(target=release)
    releasing.start()
    outcome = rig.execute(taken, ["Done."], halt)
    releasing.join()
    assert outcome == Outcome(state=RunState.QUEUED)


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_jumps_in_the_run_takes_no_time_from_its_checks(rig: Rig, tmp_path: Path, hours: int) -> None:
    def jumping(request: ModelRequest) -> ModelReply:
        rig.clock.advance(hours * 3600)
        return reply({"text": "Done."}, request)

    outcome = rig.execute(rig.begin(job(tmp_path, "checks: [{report: {matches: Done}}]")), [jumping])
    assert (outcome.state, outcome.verdict) == (RunState.OK, "verified")


def test_checks_of_a_script_have_the_runs_time(rig: Rig) -> None:
    script = "---\nschedule: every day 9am\ntimezone: UTC\ntimeout: 1s\nscript: echo done\n{keys}---\n"
    alone = rig.begin(script.format(keys=""))
    checked = rig.begin(script.format(keys="checks: [{shell: {command: sleep 1.2}}]\n"), name="k")
    assert (alone.deadline_at - alone.started_at).total_seconds() == 1
    assert (checked.deadline_at - checked.started_at).total_seconds() == 1800
    assert rig.execute(checked).verdict == "verified"


# --- outcomes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault, reason, passing, model_fault",
    [
        (ModelAuth("no"), "model_auth", False, True),
        (PlaybookDatabaseUnreachable("gone"), "database_unreachable", True, False),
    ],
)
def test_faults_say_whose_they_are(
    rig: Rig, tmp_path: Path, fault: Exception, reason: str, passing: bool, model_fault: bool
) -> None:
    outcome = rig.execute(rig.begin(job(tmp_path)), [fault])
    assert (outcome.reason, outcome.passing, outcome.model_fault) == (reason, passing, model_fault)
    assert (outcome.progressed, outcome.retry_after_s) == (False, None)


def test_a_fault_before_the_first_request_is_no_models(rig: Rig, tmp_path: Path) -> None:
    taken = rig.begin(job(tmp_path).replace("skills: [greet]", "skills: [gone]"))
    outcome = rig.execute(taken)
    assert (outcome.state, outcome.passing, outcome.model_fault) == (RunState.FAILED, False, False)


def test_silence_refusal_and_emptiness_of_a_model(rig: Rig, tmp_path: Path) -> None:
    def said(text: Any) -> Outcome:
        return rig.execute(rig.begin(job(tmp_path)), [text, text])

    assert (said("x\n[SILENT]").state, said("x\n[SILENT]").silent) == (RunState.OK, True)
    refused = said("I can't help with that.")
    assert (refused.state, refused.reason, refused.passing) == (RunState.FAILED, "model_refused", False)
    assert said(EmptyReply("nothing")).reason == "empty_reply"


def test_the_title_is_rendered_as_the_prompt_is(rig: Rig, tmp_path: Path) -> None:
    keys = 'deliver: {to: [ops], title: "Greetings of {{ vars.town }}, {{ run.cause }}"}'
    outcome = rig.execute(rig.begin(job(tmp_path, keys)), ["Hello."])
    assert outcome.title == "Greetings of Lund, manual"


def test_other_models_are_asked_only_where_they_are_listed(rig: Rig, tmp_path: Path) -> None:
    taken = rig.begin(job(tmp_path, "fallback_models: [second-model]"))
    outcome = rig.execute(taken, [ModelRateLimited("slow"), "Hello."])
    assert [request.model for request in rig.model.requests] == [None, "second-model"]
    assert (outcome.state, outcome.text) == (RunState.OK, "Hello.")
