"""What does the loop get, and what is sent?"""

from __future__ import annotations

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hermes_cron.domain.transcript import Header, Message, ModelReply, Usage
from hermes_cron.models.endpoint import DEFAULT_MAX_TOKENS, Endpoint, endpoint_of
from hermes_cron.models.prices import Prices
from hermes_cron.models.wire import estimate_tokens
from hermes_cron.settings import ModelSettings, Price
from tests.model_rig import USER, request, rig

TOOL = {"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}


def answer(message: dict[str, Any], *, stream: bool = False) -> ModelReply:
    with rig([{"message": {"role": "assistant", **message}}], stream=stream) as r:
        return r.model.complete(request())


def test_a_dict_of_arguments_becomes_text() -> None:
    reply = answer({"content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": "ü"}}}]})
    assert reply.tool_calls[0].arguments == '{"x": "ü"}'
    assert reply.message["tool_calls"][0]["function"]["arguments"] == '{"x": "ü"}'


@pytest.mark.parametrize("ids", [[None, None], ["a", "a"], ["", "b"], [7, 8]])
def test_every_call_has_an_id_of_its_own(ids: list[Any]) -> None:
    calls = [{"id": one, "function": {"name": "f", "arguments": "{}"}} for one in ids]
    reply = answer({"content": None, "tool_calls": calls})
    assert len({call.id for call in reply.tool_calls}) == 2
    assert all(isinstance(call.id, str) and call.id for call in reply.tool_calls)
    assert [call["id"] for call in reply.message["tool_calls"]] == [call.id for call in reply.tool_calls]


BROKEN_CALLS = [
    {"id": "b"},
    {"id": "b", "function": None},
    {"id": "b", "function": {"arguments": "{}"}},
    {"id": "b", "function": {"name": "", "arguments": "{}"}},
    {"id": "b", "function": {"name": None, "arguments": 3}},
    "call",
    None,
]


@pytest.mark.parametrize("broken", BROKEN_CALLS, ids=str)
def test_a_call_that_is_no_call_does_not_cost_the_others(broken: Any) -> None:
    good = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    other = {"id": "c", "function": {"name": "g", "arguments": "{}"}}
    reply = answer({"content": None, "tool_calls": [good, broken, other]})
    assert [call.name for call in reply.tool_calls] == ["f", "unnamed_tool", "g"]
    assert len({call.id for call in reply.tool_calls}) == 3


@pytest.mark.parametrize("arguments", ['{"path": "a', '{"path": "a"}'], ids=["broken", "whole-by-chance"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_a_reply_cut_at_its_output_limit_says_so_whatever_its_calls_look_like(arguments: str, stream: bool) -> None:
    with rig([{"tool_calls": [{"name": "w", "arguments": arguments}], "finish": "length"}], stream=stream) as r:
        reply = r.model.complete(request())
    assert (reply.finish, reply.tool_calls[0].arguments) == ("length", arguments)


def test_content_in_parts_is_text() -> None:
    reply = answer({"content": [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]})
    assert (reply.text, reply.message["content"]) == ("ab", "ab")


def test_the_message_is_kept_whole_but_for_nulls() -> None:
    reply = answer({"content": "a", "reasoning_content": "r", "audio": None, "refusal": None, "annotations": []})
    assert reply.message == {"role": "assistant", "content": "a", "reasoning_content": "r", "annotations": []}


def test_what_a_call_carries_beside_its_function_goes_back() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"google": {"sig": "s"}}}
    reply = answer({"content": None, "tool_calls": [call]})
    assert reply.message["tool_calls"][0]["extra_content"] == {"google": {"sig": "s"}}


def test_the_old_function_call_is_a_call() -> None:
    reply = answer({"content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}})
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("f", '{"a": 1}')]
    assert "function_call" not in reply.message


STREAMED = [
    {"content": "words " * 20},
    {"content": "巡检 prod 数据库，没有发现问题。"},
    {"content": None, "reasoning_content": "why", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": json.dumps({"path": "a" * 40})}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]},
]  # fmt: skip


@pytest.mark.parametrize("message", STREAMED)
def test_a_stream_gives_what_a_plain_call_gives(message: dict[str, Any]) -> None:
    plain, streamed = answer(message), answer(message, stream=True)
    assert (streamed.message["content"] or "") == (plain.message["content"] or "")
    assert (streamed.text, streamed.tool_calls, streamed.usage) == (plain.text, plain.tool_calls, plain.usage)
    assert streamed.message.get("reasoning_content") == plain.message.get("reasoning_content")


def test_a_server_that_streams_unasked_and_one_that_does_not_stream_when_asked() -> None:
    frames = [{"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}]
    with rig([{"chunks": frames}]) as r:
        assert r.model.complete(request()).text == "hi"
    body = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    with rig([{"body": body}], stream=True) as r:
        assert r.model.complete(request()).text == "hi"


def test_ollama_answers_like_any_other() -> None:
    script = {"shape": "ollama", "models": ["qwen3:8b"], "replies": [{"tool_calls": [{"name": "f"}]}, "done", "done"]}
    for stream in (False, True):
        with rig(script, key=None, model="qwen3:8b", stream=stream) as r:
            called = r.model.complete(request(header=Header(system="", tools=(TOOL,))))
            assert [call.name for call in called.tool_calls] == ["f"]
            result = {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": "r"}
            assert r.model.complete(request([USER, called.message, result])).text == "done"
            assert r.model.models(timeout_s=5) == ["qwen3:8b"]
            assert r.stub.requests[0].json()["max_tokens"] == 8192


def test_each_request_begins_with_the_previous_one() -> None:
    """Byte for byte up to the closing brackets (design decision 15), streamed or not, whoever made the lists."""
    with rig({"replies": [{"repeat": True, "text": "answer {{n}} ✓"}]}) as r:
        messages: list[Message] = [{"role": "system", "content": "s"}, USER]
        for _ in range(5):
            reply = r.model.complete(request([dict(message) for message in messages]))  # equal, not the same
            messages += [reply.message, {"role": "user", "content": "go on"}]
        bodies = r.stub.bodies
    for earlier, later in itertools.pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}") + b",")
    assert "✓".encode() in bodies[-1]  # not escaped
    assert list(json.loads(bodies[-1]))[-1] == "messages"


def test_a_body_holds_what_was_asked_and_nothing_null() -> None:
    header = Header(system="", model="other", tools=(TOOL,), parameters={"temperature": 0.1, "seed": None})
    with rig(["a"]) as r:
        r.model.complete(request(header=header))
        sent = r.stub.requests[0]
    assert sent.json() == {
        "model": "other",
        "max_tokens": 8192,
        "temperature": 0.1,
        "tools": [TOOL],
        "messages": [USER],
    }
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["authorization"] == "Bearer sk-very-secret"


def test_a_shorter_conversation_is_sent_as_it_is() -> None:
    with rig(["a", "b", "c"]) as r:
        for messages in ([USER, USER, USER], [USER], [{"role": "user", "content": "other"}, USER]):
            r.model.complete(request(messages))
            assert r.stub.requests[-1].messages == messages


def test_no_tools_no_member() -> None:
    with rig(["a"]) as r:
        r.model.complete(request())
        assert "tools" not in r.stub.requests[0].json()


def test_the_default_of_the_settings_is_that_of_an_endpoint() -> None:
    assert ModelSettings().max_tokens == DEFAULT_MAX_TOKENS == 8192
    assert endpoint_of(ModelSettings(name="m", max_tokens=9), str).max_tokens == 9


@pytest.mark.parametrize(
    "base_url, name",
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1/", "max_completion_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
    ],
)
def test_the_limits_name_follows_the_host(base_url: str, name: str) -> None:
    assert Endpoint(model="m", base_url=base_url).output_limit == name


@pytest.mark.parametrize(
    "host, local",
    [("127.0.0.1", True), ("localhost", True), ("[::1]", True), ("10.1.2.3", True), ("192.168.0.9", True),
     ("ollama", True), ("api.openai.com", False), ("8.8.8.8", False)],
)  # fmt: skip
def test_local_hosts(host: str, local: bool) -> None:
    assert Endpoint(model="m", base_url=f"http://{host}:8000/v1").is_local is local


def test_no_usage_is_an_estimate_that_says_so() -> None:
    with rig([{"text": "x" * 40, "usage": None}]) as r:
        usage = r.model.complete(request()).usage
    assert usage is not None
    assert usage.estimated
    assert (usage.output, usage.input > 10) == (10, True)


@pytest.mark.parametrize("text, tokens", [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("巡检", 2), ("巡检 prod", 4)])
def test_tokens_are_guessed_from_bytes_and_characters(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    "usage, cached",
    [
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 8}}, 8),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None}, 0),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 7}, 7),
    ],
)
def test_cached_tokens_are_read_where_providers_put_them(usage: dict[str, Any], cached: int) -> None:
    with rig([{"text": "a", "usage": usage, "model": "m-2026"}]) as r:
        reply = r.model.complete(request())
    assert reply.usage == Usage(input=9, output=1, cached=cached)
    assert reply.model == "m-2026"


def test_cost_is_unknown_or_right_and_own_prices_come_first() -> None:
    usage = Usage(input=1_000_000, output=100_000, cached=400_000)
    prices = Prices({"mine": Price(input=1, output=2), "GPT-5-mini": Price(input=10, output=0, cached=0)})
    assert prices.cost("nobody-priced-this", usage) is None
    assert prices.cost("mine", usage) == pytest.approx(1.2)
    assert prices.cost("gpt-5-mini-2025-08-07", usage) == pytest.approx(6.0)
    shipped = Prices()
    assert shipped.cost("openai/gpt-5-mini", usage) == pytest.approx(0.6 * 0.25 + 0.4 * 0.025 + 0.1 * 2)
    assert shipped.cost("gpt-5-mini-fancy", usage) is None
    assert shipped.cost("gpt-5.5", Usage(input=300_000)) == pytest.approx(3.0)  # above 272,000 the prompt costs double


def test_the_reply_has_its_cost() -> None:
    with rig([{"text": "a", "model": "gpt-5-mini"}, {"text": "a", "model": "unpriced"}], price=Prices().cost) as r:
        assert r.model.complete(request()).cost_usd == pytest.approx((100 * 0.25 + 10 * 2) / 1e6)
        assert r.model.complete(request()).cost_usd is None


def test_fifty_runs_at_once_keep_their_conversations_apart() -> None:
    script = {"by": "turn", "replies": ["one", "two", "three"]}
    with rig(script) as r:

        def run(number: int) -> list[str]:
            messages: list[Message] = [{"role": "user", "content": f"run {number}"}]
            said = []
            for _ in range(3):
                reply = r.model.complete(request(messages))
                said.append(reply.text)
                messages += [reply.message, {"role": "user", "content": f"on {number}"}]
            return said

        with ThreadPoolExecutor(50) as pool:
            assert list(pool.map(run, range(50))) == [["one", "two", "three"]] * 50
        for sent in r.stub.requests:
            own = {message["content"].split()[-1] for message in sent.messages if message["role"] == "user"}
            assert len(own) == 1


def test_the_environments_key_comes_first_and_the_vault_is_asked_only_for_a_reference() -> None:
    asked: list[str] = []

    def secret(reference: str) -> str:
        asked.append(reference)
        return "from-vault"

    assert endpoint_of(ModelSettings(name="m", key="env", key_ref="secret:a"), secret).key == "env"
    assert endpoint_of(ModelSettings(name="m"), secret).key is None
    assert asked == []
    made = endpoint_of(ModelSettings(name="m", key_ref="secret:a"), secret)
    assert made.key == "from-vault"
    assert "from-vault" not in repr(made)
