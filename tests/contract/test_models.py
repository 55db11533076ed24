"""What must every ``ports.Model`` do? One suite for the client on a server, streamed and not, and for the double."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hermes_cron.domain.transcript import Header, Message
from hermes_cron.errors import EmptyReply
from hermes_cron.ports import Model
from hermes_cron.testing import ScriptedModel
from tests.model_rig import USER, request, rig

Make = Callable[[list[Any]], Model]


@pytest.fixture(params=["scripted", "client", "client-streamed"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Builds a model that gives these replies."""
    with ExitStack() as stack:

        def build(replies: list[Any]) -> Model:
            if request.param == "scripted":
                return ScriptedModel(replies)
            return stack.enter_context(rig(replies, stream=request.param == "client-streamed")).model

        yield build


CALL = {"name": "shell", "arguments": {"command": "df -h"}}


def test_text_is_the_message_and_the_text(make: Make) -> None:
    reply = make(["all is well"]).complete(request())
    assert (reply.text, reply.tool_calls, reply.finish) == ("all is well", (), "stop")
    assert reply.message == {"role": "assistant", "content": "all is well"}


def test_calls_keep_their_order_and_their_text(make: Make) -> None:
    calls = [CALL, {"name": "read_file", "arguments": '{"path": "a b"}', "id": "mine"}, CALL]
    reply = make([{"text": "let me look", "tool_calls": calls}]).complete(request())
    assert [call.name for call in reply.tool_calls] == ["shell", "read_file", "shell"]
    assert reply.tool_calls[1].id == "mine"
    assert reply.tool_calls[1].arguments == '{"path": "a b"}'
    assert (reply.text, reply.finish) == ("let me look", "tool_calls")
    stored = [(call["id"], call["function"]["name"]) for call in reply.message["tool_calls"]]
    assert stored == [(call.id, call.name) for call in reply.tool_calls]


def test_the_message_is_plain_json_without_nulls_but_content(make: Make) -> None:
    message = make([{"tool_calls": [CALL]}]).complete(request()).message
    assert json.loads(json.dumps(message)) == message
    assert [key for key, value in message.items() if value is None] in ([], ["content"])


def test_a_reply_can_be_sent_back(make: Make) -> None:
    model = make([{"tool_calls": [CALL]}, "done"])
    first = model.complete(request())
    result: Message = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "r"}
    assert model.complete(request([USER, first.message, result])).text == "done"


def test_usage_is_always_there_and_says_when_it_is_a_guess(make: Make) -> None:
    counted = {"prompt_tokens": 7, "completion_tokens": 3}
    model = make([{"text": "a", "usage": counted}, {"text": "b", "usage": None}])
    first, second = model.complete(request()).usage, model.complete(request()).usage
    assert first is not None
    assert second is not None
    assert (first.input, first.output, first.estimated) == (7, 3, False)
    assert second.estimated
    assert second.output == 1


def test_the_model_that_answered_is_named(make: Make) -> None:
    model = make([{"text": "a", "model": "m-2026-11"}, "b"])
    asked = Header(system="", model="m")
    assert model.complete(request(header=asked)).model == "m-2026-11"
    assert model.complete(request(header=asked)).model == "m"


def test_blank_arguments_are_an_empty_object(make: Make) -> None:
    reply = make([{"tool_calls": [{"name": "list_jobs", "arguments": ""}]}]).complete(request())
    assert reply.tool_calls[0].arguments == "{}"


def test_an_empty_reply_is_never_returned(make: Make) -> None:
    model = make([{"text": ""}, {"text": "  "}])
    with pytest.raises(EmptyReply):
        model.complete(request())


def test_the_messages_given_are_left_alone(make: Make) -> None:
    messages: list[Message] = [dict(USER)]
    make(["a"]).complete(request(messages))
    assert messages == [USER]
