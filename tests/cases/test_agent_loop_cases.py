"""The faults of area agent-loop (and those of model-client that the loop answers), then more of each kind.

C200 asks for a tool that adds jobs and for recovery after a kill; what the loop owes it (intent before effect) is
tested here, the rest waits in tests/cases_later.txt.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.agent.stop import StopReason
from hermes_cron.domain.run import Effect, RunState
from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.domain.transcript import ModelReply, ToolCall
from hermes_cron.errors import EmptyReply
from tests import model_rig
from tests.agent_rig import call, calls, failing, rig, tool

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "agent-loop.jsonl").read_text("utf-8").splitlines())
}


def counting(texts: list[str], *, ok: bool = True) -> Any:
    answers = iter(texts)
    return lambda **_: ToolOutput(text=next(answers), ok=ok)


def cut_reply(name: str, arguments: str) -> ModelReply:
    """A reply that ended at the output limit, from a model whose client lets it through."""
    function = {"name": name, "arguments": arguments}
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    asked = ToolCall(id="c1", name=name, arguments=arguments)
    return ModelReply(message=message, text="", tool_calls=(asked,), finish="length")


# --- C195: polling that changes is no loop -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "ok"),
    [
        pytest.param([f"{n} %" for n in range(6)], True, id="C195"),
        pytest.param([f"{n} %" for n in range(40)], True, id="forty different answers"),
        pytest.param([f"not yet, {n}" for n in range(12)], False, id="different failures"),
        pytest.param(["a", "a", "b"] * 8, False, id="failures that change at the third"),
        pytest.param(["same"] * 9 + ["done"], True, id="nine equal answers"),
    ],
)
def test_polling_a_changing_status_goes_on(tmp_path: Path, answers: list[str], ok: bool) -> None:
    made = rig(
        tmp_path,
        [{**calls(call("status", {"job": 1})), "repeat": len(answers)}, {"text": "ready"}],
        tool("status", counting(answers, ok=ok)),
    )
    result = made.go()
    assert result.stop.state == CASES["C195"]["expected"]["state"] == RunState.OK
    assert (result.text, result.tool_calls) == ("ready", len(answers))


# --- C196: the same call with the same result ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "ok", "stops_after"),
    [
        pytest.param([{**calls(call("memory")), "repeat": 25}], False, 3, id="C196"),
        pytest.param([{**calls(call("memory", {"a": 1, "b": [2]})), "repeat": 25}], True, 10, id="ten times ok"),
        pytest.param([calls(*[call("memory")] * 3), {"text": "x"}], False, 3, id="three in one reply"),
        pytest.param(
            [calls(call("memory", '{"a":1,"b":2}')), calls(call("memory", '{ "b": 2, "a": 1 }')),
             calls(call("memory", {"a": 1, "b": 2})), {"text": "x"}],
            False, 3, id="the same arguments spelled otherwise",
        ),
        pytest.param(
            [calls(call("memory")), calls(call("memory", "{}")), calls(call("memory", "  ")), {"text": "x"}],
            False, 3, id="blank means no arguments",
        ),
        pytest.param(
            [calls(call("memory", {"n": 1})), calls(call("memory", {"n": 2}))] * 5, False, 5, id="two calls in turns"
        ),
        pytest.param([{**calls(call("memory", "{bad")), "repeat": 25}], True, 3, id="arguments that are no JSON"),
        pytest.param([{**calls(call("no_such_tool")), "repeat": 25}], True, 3, id="a tool that does not exist"),
    ],
)  # fmt: skip
def test_same_call_with_the_same_result_is_final(tmp_path: Path, script: list[Any], ok: bool, stops_after: int) -> None:
    made = rig(tmp_path, script, tool("memory", lambda **_: ToolOutput(text="no action given", ok=ok)))
    result = made.go()
    assert result.stop is StopReason.LOOP_DETECTED
    assert (result.stop.state, result.reason) == ("failed", CASES["C196"]["expected"]["reason"])
    assert result.tool_calls == stops_after
    assert len(made.model.requests) <= stops_after, "no model call after the loop was seen"


# --- C197: the limit of calls --------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [pytest.param(5, id="C197"), pytest.param(1, id="1"), pytest.param(90, id="90")])
def test_limit_ends_with_what_is_known(tmp_path: Path, limit: int) -> None:
    reply = {"text": "Look {{n}} of the disk", "tool_calls": [call("look", {"n": "{{n}}"})], "repeat": True}
    made = rig(tmp_path, [reply], tool("look", lambda n: f"disk {n} is full"), limit=limit)
    result = made.go()
    assert result.stop.state == CASES["C197"]["expected"]["state"]
    assert result.iterations == len(made.model.requests) == limit
    assert f"limit of {limit} model calls" in result.text
    assert f"Look {limit} of the disk" in result.text
    assert f"look: disk {limit} is full" in result.text
    assert result.reason == "iterations"


def test_limit_before_any_call_is_said_too(tmp_path: Path) -> None:
    made = rig(tmp_path, [], limit=0)
    result = made.go()
    assert result.stop is StopReason.BUDGET_EXHAUSTED
    assert "limit of 0 model calls" in result.text


# --- C200: the intent stands before the effect ---------------------------------------------------------------------


def test_intent_is_committed_before_the_effect_begins(tmp_path: Path) -> None:
    seen: list[tuple[list[str], list[bool]]] = []

    def add_job(**_: object) -> str:
        intents = [plan.call.name for plan in made.journal.intents.values()]
        seen.append((intents, list(made.journal.receipts.values())))
        return "added"

    made = rig(tmp_path, [calls(call("add_job")), {"text": "ok"}], tool("add_job", add_job, effect=Effect.EFFECT))
    made.go()
    assert seen == [(["add_job"], [])]
    assert list(made.journal.receipts.values()) == [True]


def test_effect_torn_down_before_its_result_leaves_its_intent(tmp_path: Path) -> None:
    def torn_down(**_: object) -> str:
        raise KeyboardInterrupt

    made = rig(tmp_path, [calls(call("add_job"))], tool("add_job", torn_down, effect=Effect.EFFECT))
    with pytest.raises(KeyboardInterrupt):
        made.go()
    assert [plan.call.name for plan in made.journal.intents.values()] == ["add_job"]
    assert made.journal.receipts == {}


# --- C201, C203, C205, C213: what the loop makes of broken replies -------------------------------------------------


@pytest.mark.parametrize(
    "arguments", ['{"path": "a.txt", "content": "hel', '{"path": "a.txt"}'], ids=["broken", "whole"]
)
def test_calls_of_a_reply_that_was_cut_are_not_run(tmp_path: Path, arguments: str) -> None:
    ran: list[object] = []
    made = rig(
        tmp_path,
        [cut_reply("write", arguments), {"text": "smaller now"}],
        tool("write", lambda **given: ran.append(given), effect=Effect.EFFECT),
    )
    result = made.go()
    assert ran == []
    assert made.journal.intents == {}
    assert "StreamTruncated" in made.tool_texts()[0]
    assert (result.stop, result.tool_errors) == (StopReason.FINAL, 1)


@pytest.mark.parametrize("arguments", ["", " ", "\n", "{}", "null"], ids=["C203", "blank", "newline", "object", "null"])
def test_no_arguments_are_an_empty_object(tmp_path: Path, arguments: str) -> None:
    ran: list[object] = []
    made = rig(
        tmp_path, [calls(call("list_jobs", arguments)), {"text": "ok"}], tool("list_jobs", lambda **a: ran.append(a))
    )
    assert made.go().tool_errors == 0
    assert ran == [{}]


@pytest.mark.parametrize(
    "bad",
    ['{"a": ', "[1]", '"text"', "7", "true", "{'a': 1}", "[" * 5000, '{"a": 1} trailing'],
    ids=["C205", "array", "string", "number", "boolean", "quotes", "deep", "trailing"],
)
def test_malformed_call_gets_its_own_answer_and_the_others_run(tmp_path: Path, bad: str) -> None:
    made = rig(
        tmp_path,
        [calls(call("ok", {"n": 1}), call("ok", bad), call("ok", {"n": 3})), {"text": "done"}],
        tool("ok", lambda n: f"ran {n}"),
    )
    result = made.go()
    first, second, third = made.tool_texts()
    assert (first, third) == ("ran 1", "ran 3")
    assert json.loads(second)["error"]["code"] == "InvalidArguments"
    assert (result.stop.state, result.tool_calls, result.tool_errors) == ("ok", 3, 1)


def test_empty_reply_of_the_model_is_a_failure_never_an_empty_success(tmp_path: Path) -> None:
    made = rig(tmp_path, [EmptyReply("nothing said"), EmptyReply("nothing said")])
    result = made.go()
    assert len(made.model.requests) == 2, "asked once more with the same messages"
    assert (result.stop.state, result.reason) == ("failed", "empty_reply")
    assert result.text


MODEL_CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "model-client.jsonl").read_text("utf-8").splitlines())
}
CUT = {"tool_calls": [call("write", MODEL_CASES["C201"]["input"]["stream"][0])], "finish": None}


def test_cut_stream_is_asked_for_once_more_with_the_same_messages_and_runs_nothing(tmp_path: Path) -> None:
    """C201, with the real client and a server that cuts."""
    ran: list[object] = []
    write = tool("write", lambda **given: ran.append(given), effect=Effect.EFFECT)
    with model_rig.rig([CUT, CUT, "too late"], stream=True) as server:
        result = rig(tmp_path, [], write, model=server.model).go()
        assert len(server.stub.bodies) == 1 + 1
        assert server.stub.bodies[0] == server.stub.bodies[1]
    assert (result.stop.state, result.reason) == ("failed", "stream_truncated")
    assert len(ran) == MODEL_CASES["C201"]["expected"]["tool_runs"]
    with model_rig.rig([CUT, "whole"], stream=True) as server:
        assert rig(tmp_path, [], write, model=server.model).go().text == "whole"


@pytest.mark.parametrize("message", MODEL_CASES["C213"]["input"]["message"], ids=["no content", "blank"])
def test_empty_reply_is_asked_for_once_more_and_paid_for(tmp_path: Path, message: dict[str, Any]) -> None:
    """C213, with the real client."""
    empty = {"message": {"role": "assistant", **message}}
    with model_rig.rig([empty, empty, "too late"]) as server:
        result = rig(tmp_path, [], model=server.model).go()
        assert len(server.stub.requests) == 1 + MODEL_CASES["C213"]["expected"]["retry"]
    expected = MODEL_CASES["C213"]["expected"]["then"]
    assert (result.stop.state, result.reason) == (expected["state"], expected["reason"])
    assert result.usage.input == 200
    with model_rig.rig([empty, "words"]) as server:
        made = rig(tmp_path, [], model=server.model)
        result = made.go()
    assert (result.text, result.usage.input) == ("words", 200)
    assert [usage.input for _, usage in made.journal.usages] == [100, 100]


def test_connection_that_broke_once_is_made_again(tmp_path: Path) -> None:
    with model_rig.rig([{"close": True}, "back"]) as server:
        assert rig(tmp_path, [], model=server.model).go().text == "back"


def test_failures_that_differ_do_not_add_up(tmp_path: Path) -> None:
    made = rig(
        tmp_path,
        [{**calls(call("a", {"n": "{{n}}"})), "repeat": 8}, {"text": "gave up politely"}],
        tool("a", failing()),
    )
    assert made.go().stop is StopReason.FINAL
