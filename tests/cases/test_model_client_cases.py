"""The faults of area model-client: each with its stated value, then more inputs of its kind."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.errors import (
    EmptyReply,
    ModelOverloaded,
    ModelRateLimited,
    ModelTimeout,
    StreamStalled,
    StreamTruncated,
)
from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.model_rig import Monotonic, request, rig
from tests.serving import Serving, write_job

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "model-client.jsonl").read_text("utf-8").splitlines())
}


def delta(**members: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": members, "finish_reason": None}]}


def call_piece(text: str, **members: Any) -> dict[str, Any]:
    return delta(tool_calls=[{"index": 0, "function": {"arguments": text, **members}}])


FINISH = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
START = delta(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "write_file", "arguments": ""}}])


# --- C201 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param({"chunks": [START, call_piece(CASES["C201"]["input"]["stream"][0])], "end": "close"}, id="C201"),
        pytest.param({"chunks": [START, call_piece("{}")], "end": "close"}, id="arguments-happen-to-be-whole"),
        pytest.param({"chunks": [START, call_piece('{"a": 1')], "end": "done"}, id="a-proxy-says-done"),
        pytest.param({"chunks": [delta(content="half a sen")], "end": "close"}, id="text"),
        pytest.param({"chunks": [], "end": "close"}, id="nothing-at-all"),
        pytest.param({"text": "x" * 300, "cut": 4}, id="frames-lost"),
    ],
)
def test_a_cut_stream_is_no_reply(cut: dict[str, Any]) -> None:
    """The loop asks once more, with the same messages and money of its own (tests/unit/agent/test_asking.py)."""
    with rig([cut, "whole"], stream=True) as r:
        with pytest.raises(StreamTruncated):
            r.model.complete(request())
        assert len(r.stub.bodies) == 1
        assert r.model.complete(request()).text == "whole"
        assert r.stub.bodies[0] == r.stub.bodies[1]


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param({"text": "x" * 100, "cut": 60}, id="body-shorter-than-announced"),
        pytest.param({"tool_calls": [{"name": "w", "arguments": '{"path": "a'}], "finish": None}, id="no-finish"),
    ],
)
def test_a_cut_reply_is_no_reply_without_streaming_either(cut: dict[str, Any]) -> None:
    with rig([cut]) as r, pytest.raises(StreamTruncated):
        r.model.complete(request())


# --- C203, C205 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("blank", [CASES["C203"]["input"]["tool_call"]["arguments"], " ", "\n\t"])
def test_blank_arguments_mean_none(blank: str, stream: bool) -> None:
    with rig([{"tool_calls": [{"name": "list_jobs", "arguments": blank}]}], stream=stream) as r:
        reply = r.model.complete(request())
    assert [json.loads(call.arguments) for call in reply.tool_calls] == [{}]
    assert json.loads(reply.message["tool_calls"][0]["function"]["arguments"]) == {}


@pytest.mark.parametrize("null", [None, "absent"])
def test_arguments_that_are_null_or_absent_mean_none(null: str | None) -> None:
    function = {"name": "list_jobs"} | ({} if null else {"arguments": None})
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": function}]}
    with rig([{"message": message}]) as r:
        assert r.model.complete(request()).tool_calls[0].arguments == "{}"


def test_one_malformed_call_of_three_leaves_the_other_two_and_the_next_request_is_taken() -> None:
    calls = [
        {"name": "a", "arguments": {"x": 1}},
        {"name": "b", "arguments": '{"x": '},
        {"name": "c", "arguments": {"x": 3}},
    ]
    with rig([{"tool_calls": calls}, "done"]) as r:
        reply = r.model.complete(request())
        assert [call.name for call in reply.tool_calls] == ["a", "b", "c"]
        assert len({call.id for call in reply.tool_calls}) == 3
        assert reply.tool_calls[1].arguments == '{"x": '
        results = [{"role": "tool", "tool_call_id": call.id, "content": "r"} for call in reply.tool_calls]
        assert r.model.complete(request([*request().messages, reply.message, *results])).text == "done"
        sent = r.stub.requests[1].messages[1]["tool_calls"]
    # Ollama and vLLM answer 400 to a past call that is not JSON
    assert [json.loads(call["function"]["arguments"]) for call in sent] == [
        {"x": 1},
        {"invalid_json": '{"x": '},
        {"x": 3},
    ]


# --- C206 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers, least",
    [
        pytest.param({"Retry-After": CASES["C206"]["input"]["responses"][0]["Retry-After"]}, 7, id="C206"),
        pytest.param({"Retry-After": "Mon, 30 Nov 2026 12:00:09 GMT"}, 9, id="http-date"),
        pytest.param({"retry-after-ms": "7500"}, 7.5, id="milliseconds"),
        pytest.param({}, 1, id="not-said"),
        pytest.param({"Retry-After": "soon"}, 1, id="unreadable"),
        pytest.param({"Retry-After": "-5"}, 1, id="negative"),
        pytest.param({"Retry-After": "nan"}, 1, id="nan"),
    ],
)
def test_the_wait_that_the_server_asked_for_is_kept(headers: dict[str, str], least: float) -> None:
    busy = {"status": 429, "headers": headers, "body": {"error": {"message": "slow down"}}}
    with rig([busy, "ready"], time=Monotonic()) as r:
        assert r.model.complete(request()).text == "ready"
        assert len(r.stub.requests) == 2
        assert [wait >= least for wait in r.time.slept] == [True]


def test_a_longer_wait_is_the_runs_to_decide_and_no_request_is_sent_meanwhile() -> None:
    with rig([{"status": 429, "headers": {"Retry-After": "3600"}, "body": ""}, "never"]) as r:
        with pytest.raises(ModelRateLimited) as caught:
            r.model.complete(request(timeout_s=7200))
        assert caught.value.retry_after_s == 3600
        assert len(r.stub.requests) == 1
        assert r.time.slept == []


def test_a_wait_never_goes_beyond_the_calls_own_limit() -> None:
    with rig([{"status": 429, "headers": {"Retry-After": "20"}, "body": ""}, "never"]) as r:
        with pytest.raises(ModelRateLimited):
            r.model.complete(request(timeout_s=10))
        assert r.time.slept == []


def test_a_server_in_trouble_is_asked_three_times_and_no_more() -> None:
    with rig([{"status": 503, "body": "busy", "repeat": True}]) as r:
        with pytest.raises(ModelOverloaded):
            r.model.complete(request())
        assert len(r.stub.requests) == 3


# --- C209, C210 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param({}, id="C209-empty-data"),
        pytest.param(": ping", id="C209-comment"),
        pytest.param(delta(role="assistant", content=""), id="empty-delta"),
        pytest.param({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}, id="usage"),
        pytest.param("event: ping", id="named-event"),
    ],
)
@pytest.mark.parametrize("begun", [False, True], ids=["before-the-first-word", "after-a-word"])
def test_frames_without_content_keep_nothing_alive(frame: Any, begun: bool) -> None:
    clock = Monotonic(step=1)
    chunks = [delta(content="so ")] if begun else []
    with rig([{"chunks": chunks + [frame] * 400, "chunk_delay_ms": 0.5}], time=clock, stream=True, stall_s=180) as r:
        with pytest.raises(StreamStalled) as caught:
            r.model.complete(request(timeout_s=600))
        assert 180 <= clock.at <= 210
    assert "180" in caught.value.message


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param({"content": "w"}, id="C210"),
        pytest.param({"reasoning_content": "w"}, id="reasoning"),
        pytest.param({"reasoning": "w"}, id="reasoning-as-ollama-spells-it"),
        pytest.param({"tool_calls": [{"index": 0, "function": {"arguments": " "}}]}, id="a-call-in-pieces"),
    ],
)
def test_a_long_answer_lives_while_words_arrive(piece: dict[str, Any]) -> None:
    """A piece a second for 900 s under a limit of 600 s on silence: each frame is at least one look at the clock."""
    limit_s = CASES["C210"]["input"]["inactivity_timeout"]
    frames = [START, *[delta(**piece)] * 900] if "tool_calls" in piece else [delta(**piece)] * 900
    clock = Monotonic(step=1)
    with rig([{"chunks": [*frames, delta(content="end"), FINISH]}], time=clock, stream=True, stall_s=limit_s) as r:
        assert r.model.complete(request(timeout_s=limit_s)).text.endswith("end")
    assert clock.at > 900


def test_a_stream_ends_with_the_run_however_many_words_arrive() -> None:
    started = time.monotonic()
    endless = {"chunks": [delta(content="w")] * 500, "chunk_delay_ms": 20}
    asked = replace(request(timeout_s=0.2), run_left_s=0.4)
    with rig([endless], real_time=True, stream=True) as r, pytest.raises(ModelTimeout):
        r.model.complete(asked)
    assert 0.35 < time.monotonic() - started < 2


def test_a_stream_that_goes_silent_stalls_in_real_time() -> None:
    script = [{"chunks": [delta(content="so "), ": ping"], "end": "hang"}]
    started = time.monotonic()
    with rig(script, real_time=True, stream=True, stall_s=0.3) as r, pytest.raises(StreamStalled):
        r.model.complete(request())
    assert time.monotonic() - started < 2


# --- C211 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    "silence",
    [
        pytest.param({"hang": True}, id="C211"),
        pytest.param({"chunks": [], "end": "hang"}, id="headers-and-no-more"),
        pytest.param({"chunks": [": ping"] * 400, "chunk_delay_ms": 20}, id="pings-alone"),
    ],
)
def test_a_server_that_never_answers_meets_the_limit(silence: dict[str, Any], stream: bool) -> None:
    started = time.monotonic()
    with rig([silence], real_time=True, stream=stream) as r, pytest.raises((ModelTimeout, StreamStalled)) as caught:
        r.model.complete(request(timeout_s=0.3))
    assert 0.25 < time.monotonic() - started < 5
    assert caught.value.passing
    assert stream or type(caught.value) is ModelTimeout


def test_c211_a_run_by_hand_fails_in_its_limit_and_gives_its_job_free(home: Home) -> None:
    """One of a schedule waits first (tests/integration/test_model_faults.py, never-answers)."""
    home.config.write_text('timezone = "UTC"\n[model]\ntimeout_s = 1\n', encoding="utf-8")
    write_job(home, "j", "schedule: every day 9am", prompt="look")
    with StubServer([{"hang": True}, "all is well"]) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "m", "OPENAI_API_KEY": "k"}
        serving = Serving(home, env=env)
        ran = serving.cli("run", "j")
        expected = CASES["C211"]["expected"]
        (run,) = serving.runs("j")
        assert (ran.rc, run["state"], run["reason"]) == (1, "failed", expected["reason"])
        assert run["slot"] is None
        assert len(stub.requests) == 1
        assert serving.cli("run", "j").rc == 0  # the claim was released


# --- C213 ---------------------------------------------------------------------------------------------------------

EMPTY = [
    *CASES["C213"]["input"]["message"],
    {"content": None},
    {},
    {"content": "  \n"},
    {"content": []},
    {"content": [{"type": "text", "text": ""}]},
    {"content": None, "tool_calls": None},
    {"content": "", "reasoning_content": "I could look at the disk"},
]


@pytest.mark.parametrize("message", EMPTY, ids=[json.dumps(message) for message in EMPTY])
def test_an_empty_reply_is_an_error_that_was_paid_for(message: dict[str, Any]) -> None:
    """The loop asks once more and keeps what the empty one cost (tests/unit/agent/test_asking.py)."""
    empty = {"message": {"role": "assistant", **message}}
    with rig([empty], price=lambda _model, usage: usage.input / 1000) as r:
        with pytest.raises(EmptyReply) as caught:
            r.model.complete(request())
        assert len(r.stub.requests) == 1
    assert caught.value.usage is not None
    assert (caught.value.usage.input, caught.value.cost_usd) == (100, 0.1)


@pytest.mark.parametrize("frames", [[FINISH], [delta(content=""), FINISH], [delta(tool_calls=[]), FINISH]])
def test_an_empty_stream_is_an_empty_reply(frames: list[Any]) -> None:
    with rig([{"chunks": frames, "repeat": True}], stream=True) as r:
        with pytest.raises(EmptyReply):
            r.model.complete(request())
        assert len(r.stub.requests) == 1
