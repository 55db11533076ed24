"""The loop: order, ends, journal, and going on where rows leave off."""

from __future__ import annotations

import itertools
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.agent.loop import run_agent
from hermes_cron.agent.stop import StopReason
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.run import Effect, RunState
from hermes_cron.domain.transcript import ModelReply, ModelRequest, Usage
from hermes_cron.errors import ModelAuth, ModelTimeout
from hermes_cron.ports import Fenced
from tests.agent_rig import call, calls, failing, rig, tool, writer


def echo(**given: Any) -> str:
    return json.dumps(given)


def test_two_tool_turns_and_an_answer(tmp_path: Path) -> None:
    made = rig(
        tmp_path,
        [
            calls(call("look", {"n": 1}), call("look", {"n": 2})),
            calls(call("look", {"n": 3})),
            {"text": "All is well."},
        ],
        tool("look", echo),
    )
    result = made.go()
    assert (result.stop, result.text, result.iterations, result.tool_calls) == (
        StopReason.FINAL, "All is well.", 3, 3,
    )  # fmt: skip
    assert [message["role"] for message in made.journal.messages()] == [
        "user", "assistant", "tool", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert made.tool_texts() == ['{"n": 1}', '{"n": 2}', '{"n": 3}']
    assert result.usage == Usage(input=300, output=30)
    assert result.model == "stub-model"


def test_each_request_is_the_one_before_plus_new_messages(tmp_path: Path) -> None:
    made = rig(tmp_path, [{**calls(call("look", {"n": "{{n}}"})), "repeat": 5}, {"text": "done"}], tool("look", echo))
    made.go()
    bodies = made.bodies()
    assert len(bodies) == 6
    for before, after in itertools.pairwise(bodies):
        assert after.startswith(before[:-1]), "only the closing bracket may differ"
    last = json.loads(bodies[-1])
    assert last[1:] == made.journal.messages()[:-1], "sent is stored"


def test_header_is_sent_as_stored(tmp_path: Path) -> None:
    made = rig(tmp_path, [{"text": "hi"}], tool("look", echo))
    made.go()
    request = made.model.requests[0]
    assert request.header == made.journal.header()
    assert request.messages[0] == {"role": "system", "content": "You are a test."}


def test_reads_of_a_group_commit_together_and_effects_alone(tmp_path: Path) -> None:
    made = rig(
        tmp_path,
        [
            calls(call("look", {"n": 1}), call("look", {"n": 2}), call("act", {"n": 1}), call("act", {"n": 2}),
                  call("look", {"n": 3})),
            {"text": "done"},
        ],
        tool("look", echo), tool("act", echo, effect=Effect.EFFECT),
    )  # fmt: skip
    made.go()
    assert made.journal.commits == [
        ("append", (1,)),
        ("assistant", (2, 3, 4, 5, 6, 7)),
        ("result", (3, 4)), ("result", (5,)), ("result", (6,)), ("result", (7,)),
        ("assistant", (8,)),
    ]  # fmt: skip


def test_result_rows_have_times_and_exit_codes(tmp_path: Path) -> None:
    made = rig(tmp_path, [calls(call("look")), {"text": "x"}], tool("look", failing()), started=time.monotonic() - 5)
    made.go()
    row = made.journal.rows[3].result
    assert row is not None
    assert not row.ok
    assert row.started_ms >= 5000
    assert 0 <= row.elapsed_ms < 1000


# --- cancel and deadline -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["flag", "journal"])
def test_cancel_lets_the_running_write_end_and_asks_no_more(tmp_path: Path, how: str) -> None:
    target = tmp_path / "big.txt"

    def slow_write(**_: object) -> str:
        with target.open("w") as file:
            file.write("first half, ")
            cancel.set() if how == "flag" else made.journal.cancel()
            file.write("second half")
        return "written"

    cancel = threading.Event()
    made = rig(
        tmp_path,
        [calls(call("write"), call("write", {"again": 1})), {"text": "never asked"}],
        tool("write", slow_write, effect=Effect.EFFECT),
        cancel=cancel,
    )
    result = made.go()
    assert target.read_text() == "first half, second half"
    assert (result.stop, result.stop.state) == (StopReason.CANCELLED, RunState.CANCELLED)
    assert len(made.model.requests) == 1
    assert made.tool_texts()[0] == "written"
    assert "not run: the run was cancelled" in made.tool_texts()[1], "every call has its result"
    assert list(made.journal.receipts.values()) == [True, False]


def test_cancel_before_the_first_call_asks_nothing(tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    made = rig(tmp_path, [], cancel=cancel)
    assert made.go().stop is StopReason.CANCELLED
    assert made.run.budget.used == 0


def test_passed_deadline_is_a_timeout_with_what_is_known(tmp_path: Path) -> None:
    made = rig(tmp_path, [], deadline=time.monotonic() - 1)
    result = made.go()
    assert (result.stop.state, result.reason) == (RunState.TIMEOUT, "deadline")
    assert "time limit" in result.text


def test_model_call_gets_no_more_time_than_the_run_has(tmp_path: Path) -> None:
    made = rig(tmp_path, [{"text": "x"}], deadline=time.monotonic() + 5, model_timeout_s=600.0)
    made.go()
    assert 4 < made.model.requests[0].timeout_s <= 5


def test_model_time_out_at_the_deadline_is_the_runs_timeout(tmp_path: Path) -> None:
    made = rig(tmp_path, [])

    def late(_request: ModelRequest) -> ModelReply:
        object.__setattr__(made.run, "deadline", time.monotonic() - 1)
        raise ModelTimeout("no answer")

    made = rig(tmp_path, [late])
    assert made.go().stop is StopReason.DEADLINE


# --- model faults --------------------------------------------------------------------------------------------------


def test_model_error_ends_the_run_with_its_reason_and_what_was_known(tmp_path: Path) -> None:
    made = rig(tmp_path, [calls(call("look")), ModelAuth("key refused")], tool("look", lambda: "42 rows"))
    result = made.go()
    assert (result.stop.state, result.reason, result.error) == (RunState.FAILED, "model_auth", "key refused")
    assert "42 rows" in result.text
    assert result.iterations == 2


def test_last_word_that_was_cut_is_no_success(tmp_path: Path) -> None:
    result = rig(tmp_path, [{"text": "The report beg", "finish": "length"}]).go()
    assert (result.stop.state, result.reason) == (RunState.FAILED, "reply_truncated")
    assert "The report beg" in result.text


def test_reply_that_says_nothing_is_not_ok(tmp_path: Path) -> None:
    nothing = ModelReply(message={"role": "assistant", "content": " \n"}, text=" \n")
    result = rig(tmp_path, [nothing, nothing]).go()
    assert (result.stop.state, result.reason) == (RunState.FAILED, "empty_reply")


def test_state_of_the_last_reply_comes_along(tmp_path: Path) -> None:
    last = ModelReply(message={"role": "assistant", "content": "x"}, text="x", state_json='{"a":1}')
    assert rig(tmp_path, [last]).go().state_json == '{"a":1}'


# --- tools that fail -----------------------------------------------------------------------------------------------


def test_tool_that_crashes_is_an_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def crash() -> str:
        raise ZeroDivisionError("division by zero")

    made = rig(tmp_path, [calls(call("bad")), {"text": "noted"}], tool("bad", crash))
    result = made.go()
    assert (result.stop, result.tool_errors) == (StopReason.FINAL, 1)
    assert json.loads(made.tool_texts()[0])["error"]["message"] == "bad crashed: ZeroDivisionError: division by zero"
    assert "tool bad crashed" in caplog.text


def test_unknown_tool_is_answered_with_the_nearest(tmp_path: Path) -> None:
    made = rig(tmp_path, [calls(call("sql_qeury")), {"text": "x"}], tool("sql_query", echo))
    made.go()
    assert json.loads(made.tool_texts()[0])["error"] == {
        "code": "InvalidArguments",
        "message": "no tool 'sql_qeury'; the tools are: sql_query",
        "hint": "did you mean sql_query?",
    }


def test_lost_run_stops_at_once(tmp_path: Path) -> None:
    def taken_over() -> str:
        made.journal.fence()
        return "late"

    made = rig(tmp_path, [calls(call("act")), {"text": "x"}], tool("act", taken_over, effect=Effect.EFFECT))
    with pytest.raises(Fenced):
        made.go()
    assert len(made.model.requests) == 1
    assert made.journal.receipts == {}


# --- going on from rows --------------------------------------------------------------------------------------------


def test_session_with_rows_is_gone_on_with(tmp_path: Path) -> None:
    first = rig(tmp_path, [{**calls(call("look", {"n": "{{n}}"})), "repeat": True}], tool("look", echo), limit=2)
    first.go()
    second = rig(tmp_path, [{"text": "done"}], tool("look", echo), messages=first.journal.messages(), limit=3)
    result = second.go()
    assert second.bodies()[0].startswith(first.bodies()[-1][:-1])
    assert (result.text, result.iterations, result.tool_calls) == ("done", 3, 2)
    assert second.run.budget.left == 0, "calls already made count"


def test_session_whose_last_row_is_the_answer_asks_nothing(tmp_path: Path) -> None:
    first = rig(tmp_path, [{"text": "done"}])
    first.go()
    second = rig(tmp_path, [], messages=first.journal.messages())
    assert (second.go().text, len(second.model.requests)) == ("done", 0)


def test_circle_is_counted_over_rows(tmp_path: Path) -> None:
    first = rig(tmp_path, [{**calls(call("look")), "repeat": 2}], tool("look", failing('{"error": {}}')), limit=2)
    first.go()
    second = rig(
        tmp_path, [calls(call("look"))], tool("look", failing('{"error": {}}')), messages=first.journal.messages()
    )
    assert second.go().stop is StopReason.LOOP_DETECTED


def test_used_up_budget_of_rows_stops_before_another_call(tmp_path: Path) -> None:
    first = rig(tmp_path, [{**calls(call("look", {"n": "{{n}}"})), "repeat": True}], tool("look", echo), limit=4)
    first.go()
    again = replace(first.run, budget=Budget(4), guard=type(first.run.guard)())
    assert run_agent(again).stop is StopReason.BUDGET_EXHAUSTED
    assert len(first.model.requests) == 4


def test_progress_is_told(tmp_path: Path) -> None:
    made = rig(tmp_path, [calls(call("look")), {"text": "x"}], tool("look", echo))
    made.go()
    assert [name for name, _ in made.events] == ["model_called", "tool_started", "tool_finished", "model_called"]


def test_process_group_of_an_effect_is_noted_before_it_works(tmp_path: Path) -> None:
    from hermes_cron.tools.terminal import TOOL as TERMINAL

    made = rig(tmp_path, [calls(call("terminal", {"command": "echo $$"})), {"text": "x"}], TERMINAL)
    made.go()
    group = made.journal.groups[3]
    assert str(group.pgid) == json.loads(made.tool_texts()[0])["output"].strip()
    assert group.started.isdigit()
    assert group.boot_id


def test_writers_name_their_paths(tmp_path: Path) -> None:
    made = rig(tmp_path, [calls(call("write", {"path": "/a"})), {"text": "x"}], writer("write", echo))
    assert made.go().stop is StopReason.FINAL
    assert [plan.effect for plan in made.journal.intents.values()] == ["idempotent"]
