"""What people and the scheduler say to a run while it works, and a session whose last word is said already."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.agent.loop import run_agent
from hermes_cron.agent.stop import LoopResult, StopReason
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.command import Halt, Why
from hermes_cron.domain.run import Effect, RunState
from hermes_cron.domain.transcript import Header, ModelReply, ModelRequest
from hermes_cron.errors import ModelReplyCut
from hermes_cron.testing import ScriptedModel
from hermes_cron.testing_journal import MemoryJournal
from tests.agent_rig import Rig, call, calls, rig, tool, writer


def again(made: Rig, *replies: Any, **more: Any) -> LoopResult:
    """Another loop goes on with the session."""
    made.model = ScriptedModel(list(replies))
    values = {"model": made.model, "budget": Budget(90), "cancel": Halt(), "guard": type(made.run.guard)(), **more}
    made.run = replace(made.run, **values)
    return run_agent(made.run)


def saying(text: str, then: Callable[[], object]) -> Callable[[ModelRequest], ModelReply]:
    """A last word; ``then`` happens while it is made."""

    def complete(_request: ModelRequest) -> ModelReply:
        then()
        return ModelReply(message={"role": "assistant", "content": text}, text=text)

    return complete


def contents(made: Rig, at: int) -> list[object]:
    return [message["content"] for message in made.model.requests[at].messages]


# --- steering ------------------------------------------------------------------------------------------------------


def test_next_request_holds_what_a_person_said(tmp_path: Path) -> None:
    made = rig(
        tmp_path,
        [calls(call("look")), {"text": "done"}],
        tool("look", lambda: made.journal.steer("先看订单表") or "seen"),
    )
    result = made.go()
    assert contents(made, 1)[-2:] == ["seen", "先看订单表"]
    assert made.model.requests[1].messages[-1]["role"] == "user"
    assert (result.text, made.journal.asked().steer) == ("done", False)


def test_every_text_is_taken_in_order_before_the_first_request(tmp_path: Path) -> None:
    made = rig(tmp_path, [{"text": "done"}])
    made.journal.steer("one")
    made.journal.steer("two")
    made.go()
    assert contents(made, 0)[-2:] == ["one", "two"]


def test_word_that_comes_while_the_last_answer_is_made_goes_on(tmp_path: Path) -> None:
    made = rig(tmp_path, [saying("done", lambda: made.journal.steer("and the other one")), {"text": "both done"}])
    result = made.go()
    assert (result.stop, result.text) == (StopReason.FINAL, "both done")
    assert contents(made, 1)[-2:] == ["done", "and the other one"]


def test_word_that_comes_after_a_last_word_is_heard_by_the_next_loop(tmp_path: Path) -> None:
    made = rig(tmp_path, [{"text": "done"}])
    made.go()
    made.journal.steer("and the other one")
    assert again(made, {"text": "both done"}).text == "both done"


def test_requests_stay_a_growing_prefix(tmp_path: Path) -> None:
    made = rig(
        tmp_path,
        [{**calls(call("look")), "repeat": 3}, {"text": "done"}],
        tool("look", lambda: made.journal.steer("hm") or "seen"),
    )
    made.go()
    bodies = made.bodies()
    assert all(after.startswith(before[:-1]) for before, after in pairwise(bodies))


# --- releasing -----------------------------------------------------------------------------------------------------


def test_released_run_stops_between_steps_and_goes_on_elsewhere(tmp_path: Path) -> None:
    halt = Halt()
    made = rig(tmp_path, [calls(call("look"))], tool("look", lambda: halt.release() or "seen"), cancel=halt)
    result = made.go()
    assert (result.stop, result.stop.state) == (StopReason.RELEASED, RunState.QUEUED)
    assert made.tool_texts() == ["seen"], "what runs is finished and kept"
    assert again(made, {"text": "done"}).text == "done"
    assert contents(made, 0)[-1] == "seen"


def test_released_run_leaves_later_groups_open(tmp_path: Path) -> None:
    halt, done = Halt(), []

    def write(path: str) -> str:
        done.append(path)
        halt.release()
        return f"wrote {path}"

    both = calls(call("write", {"path": "/a"}), call("write", {"path": "/a"}), call("look"))
    made = rig(tmp_path, [both], writer("write", write), tool("look", lambda: "seen"), cancel=halt)
    assert made.go().stop is StopReason.RELEASED
    assert (done, made.tool_texts()) == (["/a"], ["wrote /a"])
    assert [call.begun for call in made.journal.pending()] == [False, False]
    assert again(made, {"text": "done"}).text == "done"
    assert (done, made.tool_texts()) == (["/a", "/a"], ["wrote /a", "wrote /a", "seen"])


def test_effect_that_a_release_left_open_needs_nobodys_word(tmp_path: Path) -> None:
    halt, done = Halt(), []

    def act(n: int) -> str:
        done.append(n)
        halt.release()
        return f"did {n}"

    made = rig(
        tmp_path,
        [calls(call("look"), call("act", {"n": 1}))],
        tool("act", act, effect=Effect.EFFECT),
        tool("look", lambda: halt.release() or "seen"),
        cancel=halt,
    )
    assert made.go().stop is StopReason.RELEASED
    assert done == []
    released = Halt()
    released.release()
    assert again(made, cancel=released).stop is StopReason.RELEASED, "at once, while it goes on with the reply"
    result = again(made, {"text": "done"})
    assert (result.stop, done) == (StopReason.FINAL, [1])


def test_persons_cancel_goes_before_a_release(tmp_path: Path) -> None:
    halt = Halt()
    made = rig(tmp_path, [{"text": "never"}], cancel=halt)
    made.journal.cancel()
    halt.release()
    assert made.go().stop is StopReason.CANCELLED
    assert made.model.requests == []


def test_run_whose_time_is_over_is_not_called_cancelled_because_it_was_told_so(tmp_path: Path) -> None:
    """The scheduler tells a run past its deadline to stop; whoever looks then must not find a person's word."""
    halt = Halt()

    def look() -> str:
        halt.halt(Why.OVERDUE)
        while time.monotonic() < made.run.deadline:
            time.sleep(0.01)
        return "seen"

    made = rig(tmp_path, [calls(call("look")), {"text": "never"}], tool("look", look))
    made.run = replace(made.run, cancel=halt, deadline=time.monotonic() + 0.1)
    result = made.go()
    assert (result.stop, result.reason, made.tool_texts()) == (StopReason.DEADLINE, "deadline", ["seen"])


# --- the last word is said already ---------------------------------------------------------------------------------


def test_last_word_is_not_asked_for_again(tmp_path: Path) -> None:
    made = rig(tmp_path, [{"text": "done"}])
    made.go()
    result = again(made)
    assert (result.stop, result.text, result.progressed) == (StopReason.FINAL, "done", False)
    assert made.model.requests == []


def test_result_of_a_playbook_is_made_again_from_the_same_rows(tmp_path: Path) -> None:
    made = rig(tmp_path, [])
    journal = MemoryJournal(Header(system="", playbook={"id": "p"}), [{"role": "user", "content": "go"}])
    journal.assistant(ModelReply(message={"role": "assistant", "content": "report"}, text="report"), [])
    last = ModelReply(message={"role": "assistant", "content": "report"}, text="report", state_json='{"a":1}')
    result = again(made, last, journal=journal)
    assert (result.stop, result.text, result.state_json) == (StopReason.FINAL, "report", '{"a":1}')
    assert [message["role"] for message in made.model.requests[0].messages] == ["system", "user"]
    assert len(journal.messages()) == 2, "nothing is added to the transcript"


def test_last_word_that_was_cut_is_asked_for_again(tmp_path: Path) -> None:
    cut = ModelReply(message={"role": "assistant", "content": "The rep"}, text="The rep", finish="length")
    made = rig(tmp_path, [cut])
    result = made.go()
    assert (result.stop, result.reason) == (StopReason.MODEL_ERROR, "reply_truncated")
    assert isinstance(result.fault, ModelReplyCut)
    assert "The rep" in result.text
    assert again(made, {"text": "The report"}).text == "The report"
    assert contents(made, 0) == ["You are a test.", "do it"]


@pytest.mark.parametrize("replies", [[], [{"text": "done"}]])
def test_fresh_session_asks(tmp_path: Path, replies: list[Any]) -> None:
    made = rig(tmp_path, replies or [{"text": "x"}])
    assert made.go().stop is StopReason.FINAL
    assert len(made.model.requests) == 1
