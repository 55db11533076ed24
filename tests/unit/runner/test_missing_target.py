"""A report that can reach nobody is not paid for; a script does its work all the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hermes_cron.domain.command import Halt
from hermes_cron.domain.run import RunState
from hermes_cron.domain.transcript import ModelReply, ModelRequest
from hermes_cron.home import Home
from hermes_cron.testing import ScriptedModel
from tests.runner_rig import Rig

JOB = (
    "---\nschedule: every day 9am\ntimezone: UTC\nmodel: test-model\ndeliver: [archive, gone]\n---\nGreet the world.\n"
)
SCRIPT = "---\nschedule: every day 9am\ntimezone: UTC\nscript: echo done\ndeliver: [gone]\n---\n"


@pytest.fixture
def rig(home: Home) -> Iterator[Rig]:
    add_target(home, "archive")
    with Rig(home) as made:
        yield made


def add_target(home: Home, name: str) -> None:
    with home.config.open("a") as config:
        config.write(f'\n[targets.{name}]\nkind = "file"\npath = "{name}.md"\n')


def test_a_run_with_a_target_that_is_gone_fails_before_any_model_call(rig: Rig) -> None:
    outcome = rig.execute(rig.begin(JOB), ["Hello."])
    assert (outcome.state, outcome.reason, outcome.passing) == (RunState.FAILED, "not_found", False)
    assert outcome.error == (
        'deliver: no target "gone"; nothing was asked of a model '
        "(hermes-cron targets add gone, or take it out of jobs/j.md)"
    )
    assert rig.model.requests == []


def test_a_target_that_came_back_is_known_to_a_scheduler_that_runs(rig: Rig) -> None:
    rig.execute(rig.begin(JOB), ["Hello."])
    add_target(rig.home, "gone")
    assert rig.execute(rig.begin(JOB), ["Hello."]).state is RunState.OK


def test_a_script_is_more_than_its_report(rig: Rig) -> None:
    assert rig.execute(rig.begin(SCRIPT)).state is RunState.OK


def test_a_run_that_has_begun_is_not_thrown_away(rig: Rig) -> None:
    add_target(rig.home, "gone")
    halt = Halt()

    def first(request: ModelRequest) -> ModelReply:
        halt.release()
        return ScriptedModel([{"tool_calls": [{"name": "now", "arguments": {}}]}]).complete(request)

    taken = rig.begin(JOB)
    outcome = rig.execute(taken, [first], halt)
    rig.home.config.write_text(rig.home.config.read_text().replace("[targets.gone]", "[targets.other]"))
    rig.anew()
    assert rig.execute(rig.again(taken, outcome), ["Hello."]).state is RunState.OK
