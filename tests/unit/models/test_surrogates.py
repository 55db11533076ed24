"""A reply that is JSON but no UTF-8 is kept as far as it can be."""

from __future__ import annotations

from hermes_cron.models.wire import read_completion
from hermes_cron.store.journal import encode


def test_half_a_surrogate_pair_can_be_stored() -> None:
    half = "caf\u00e9 \ud83d \U0001f680"
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": f'{{"a": "{half}"}}'}}
    message = {"role": "assistant", "content": half, "tool_calls": [call]}
    reply = read_completion({"choices": [{"message": message, "finish_reason": "tool_calls"}]}, asked_model="m")
    encode(reply.message)
    assert reply.text == "caf\u00e9 ? \U0001f680"
    assert reply.tool_calls[0].arguments == '{"a": "caf\u00e9 ? \U0001f680"}'
