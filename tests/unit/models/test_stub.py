"""Does the stub play what its script says?"""

from __future__ import annotations

import dataclasses
import json
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes_cron.errors import Usage
from hermes_cron.testing import Script, ScriptExhausted, StubServer, load_script


def ask(stub: StubServer, messages: list[dict[str, Any]] | None = None, **members: Any) -> httpx2.Response:
    body = {"model": "m", **members, "messages": messages or [{"role": "user", "content": "q"}]}
    with httpx2.Client(trust_env=False) as http:
        return http.post(f"{stub.base_url}/chat/completions", json=body)


def text(response: httpx2.Response) -> str:
    said: str = response.json()["choices"][0]["message"]["content"]
    return said


def test_replies_come_in_order_and_one_too_many_is_refused() -> None:
    with StubServer(["a", "b"]) as stub:
        assert [text(ask(stub)), text(ask(stub))] == ["a", "b"]
        over = ask(stub)
        assert over.status_code == 400
        assert over.json()["error"]["code"] == "script_exhausted"


def test_a_loop_that_never_ends_varies_its_arguments() -> None:
    script = [{"repeat": True, "tool_calls": [{"name": "shell", "arguments": {"command": "echo {{n}}"}}]}]
    with StubServer(script) as stub:
        calls = [ask(stub).json()["choices"][0]["message"]["tool_calls"][0] for _ in range(30)]
    assert json.loads(calls[29]["function"]["arguments"]) == {"command": "echo 30"}
    assert len({call["id"] for call in calls}) == 30


def test_by_turn_each_conversation_has_its_own_place() -> None:
    with StubServer({"by": "turn", "replies": ["first", {"repeat": 2, "text": "then"}, "last"]}) as stub:
        user, assistant = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
        said = [text(ask(stub, [user] + [assistant, user] * turns)) for turns in (0, 0, 1, 3, 2, 0)]
    assert said == ["first", "first", "then", "last", "then", "first"]


def test_conversations_are_told_apart_by_text_and_model() -> None:
    parts = [{"contains": "Review", "replies": ["nothing to save"]}, {"model": "aux", "replies": ["summary"]}]
    with StubServer({"conversations": parts, "replies": ["main"]}) as stub:
        assert text(ask(stub, [{"role": "user", "content": "Review this"}])) == "nothing to save"
        assert text(ask(stub, model="aux")) == "summary"
        assert text(ask(stub)) == "main"


def test_status_headers_and_body_are_sent_as_written() -> None:
    with StubServer([{"status": 429, "headers": {"Retry-After": "7"}, "body": "<b>busy</b>"}]) as stub:
        got = ask(stub)
    assert (got.status_code, got.headers["retry-after"], got.text) == (429, "7", "<b>busy</b>")


def test_the_log_has_each_body_byte_for_byte(tmp_path: Path) -> None:
    log = tmp_path / "req.jsonl"
    with StubServer(["a", "b"], log=log) as stub:
        ask(stub, [{"role": "user", "content": "巡检\nprod"}])
        ask(stub)
        assert log.read_bytes() == b"".join(body + b"\n" for body in stub.bodies)
    assert [json.loads(line)["model"] for line in log.read_text("utf-8").splitlines()] == ["m", "m"]


def test_the_usage_log_has_what_each_request_used(tmp_path: Path) -> None:
    log = tmp_path / "usage.jsonl"
    counted = {"prompt_tokens": 70, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 64}}
    script = [
        {"text": "a", "usage": counted},
        "b",
        {"text": "c", "usage": None},
        {"status": 429, "body": "slow"},
        {"body": {"choices": [], "usage": counted}},
        {"chunks": [{"choices": [], "usage": counted}]},
        {"text": "d", "cut": 5},
        {"close": True},
        {"text": "e", "model": "other"},
    ]
    with StubServer(script, usage_log=log) as stub:
        for _ in range(len(script) + 1):
            with suppress(httpx2.TransportError):
                ask(stub)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    tokens = [(line["prompt_tokens"], line["completion_tokens"], line["cached_tokens"]) for line in lines]
    assert tokens == [
        (70, 9, 64), (100, 10, 0), (None, None, None), (0, 0, 0), (70, 9, 64), (70, 9, 64), (100, 10, 0), (0, 0, 0),
        (100, 10, 0), (0, 0, 0),
    ]  # fmt: skip
    assert [line["status"] for line in lines] == [200, 200, 200, 429, 200, 200, 200, 0, 200, 400]
    assert [line["request"] for line in lines if line["cut"]] == [7]
    assert [line["request"] for line in lines if line["model"] == "other"] == [9]
    assert [dataclasses.asdict(usage) for usage in stub.usages] == lines


def test_a_server_that_is_down_refuses_and_comes_back_on_its_port() -> None:
    with StubServer(["a", "b"]) as stub, httpx2.Client(trust_env=False) as http:
        url = f"{stub.base_url}/chat/completions"
        body = {"model": "m", "messages": []}
        assert text(http.post(url, json=body)) == "a"
        stub.refuse()
        for _ in range(3):  # the kept connection is gone, too
            with pytest.raises(httpx2.TransportError):
                http.post(url, json=body)
        with pytest.raises(httpx2.ConnectError):
            ask(stub)
        stub.listen()
        assert text(http.post(url, json=body)) == "b"
        assert len(stub.requests) == 2


def test_a_script_may_take_the_server_down_for_a_while() -> None:
    with StubServer([{"refuse_ms": 150}, "back"]) as stub:
        with pytest.raises(httpx2.TransportError):
            ask(stub)
        end, refused = time.monotonic() + 20, 0
        while True:
            try:
                assert text(ask(stub)) == "back"
                break
            except httpx2.ConnectError:
                refused += 1
                assert time.monotonic() < end
        assert refused > 0


def test_a_server_that_is_down_can_be_stopped() -> None:
    stub = StubServer([{"refuse_ms": 60_000}]).start()
    with pytest.raises(httpx2.TransportError):
        ask(stub)
    started = time.monotonic()
    stub.stop()
    assert time.monotonic() - started < 4


def test_models_are_listed_and_other_paths_are_not_there() -> None:
    with StubServer({"models": ["x", "y"], "replies": ["a"]}) as stub, httpx2.Client(trust_env=False) as http:
        assert [row["id"] for row in http.get(f"{stub.base_url}/models").json()["data"]] == ["x", "y"]
        assert http.get(f"{stub.base_url}/other").status_code == 404
        assert stub.requests == []


def test_a_bare_sdk_loop_works_on_it() -> None:
    import openai

    question: Any = [{"role": "user", "content": "q"}]
    with ExitStack() as stack:
        stub = stack.enter_context(StubServer([{"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}, "done"]))
        http = stack.enter_context(httpx2.Client(trust_env=False))
        client = openai.OpenAI(api_key="x", base_url=stub.base_url, http_client=http)
        made = client.chat.completions.create(model="m", messages=question)
        assert made.choices[0].message.tool_calls is not None
        stream = client.chat.completions.create(model="m", messages=question, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "done"


def test_stopping_wakes_clients_that_hang() -> None:
    import threading

    ended = threading.Event()
    stub = StubServer([{"hang": True}]).start()

    def call() -> None:
        with pytest.raises(httpx2.TransportError):
            ask(stub)
        ended.set()

    thread = threading.Thread(target=call)
    thread.start()
    while not stub.in_flight:
        pass
    stub.stop()
    assert ended.wait(60)
    thread.join()


@pytest.mark.parametrize(
    "script, fact",
    [
        ("[", "not JSON"),
        ("3", "a list of replies or an object"),
        ({}, "neither"),
        ([3], "a text or an object"),
        ([{"txt": "a"}], "'txt'"),
        ([{"delay_ms": 3}], "without text"),
        ([{"tool_calls": [{"arguments": {}}]}], "needs a name"),
        ([{"text": "a", "repeat": 0}], "repeat"),
        ([{"chunks": [], "end": "bang"}], "end is one of"),
        ({"by": "luck", "replies": []}, "by is one of"),
    ],
)
def test_a_wrong_script_says_where(script: Any, fact: str) -> None:
    with pytest.raises(Usage, match=fact):
        load_script(script)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Usage, match=r"no\.json"):
        load_script(tmp_path / "no.json")


def test_a_script_can_be_read_without_a_server() -> None:
    script: Script = load_script(["a"])
    assert script.next().message()["content"] == "a"
    with pytest.raises(ScriptExhausted):
        script.next()
