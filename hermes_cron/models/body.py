"""Which bytes are a request? Each request begins with the previous one's, byte for byte (design decision 15).

``messages`` stands last, so that a provider's prompt cache sees one growing text. Serialising only what is new keeps
a call at the same cost after 200 steps as after the first.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_cron.domain.transcript import Message, ModelRequest
from hermes_cron.models.endpoint import OPENAI_OUTPUT_LIMIT, OUTPUT_LIMIT, Endpoint


class _Last(threading.local):
    """The messages that this thread sent last, and their bytes. One run is one thread (design decision 6)."""

    messages: Sequence[Message] = ()
    joined: bytes = b""


class BodyWriter:
    """Thread-safe. Relies on the transcript's rule that a message is never changed once it was sent."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._last = _Last()

    def body(self, request: ModelRequest) -> bytes:
        head = _dumps(self._head(request))
        return b'%s,"messages":[%s]}' % (head[:-1], self._joined(list(request.messages)))

    def _head(self, request: ModelRequest) -> dict[str, Any]:
        endpoint, header = self._endpoint, request.header
        head: dict[str, Any] = {"model": request.model or header.model or endpoint.model}
        given = {key: value for key, value in header.parameters.items() if value is not None}
        limit = given.pop(OUTPUT_LIMIT, None) or given.pop(OPENAI_OUTPUT_LIMIT, None) or endpoint.max_tokens
        given.pop(OPENAI_OUTPUT_LIMIT, None)
        head[endpoint.output_limit] = limit
        head.update(given)
        if header.tools:
            head["tools"] = header.tools
        if endpoint.stream:
            head["stream"] = True
            head["stream_options"] = {"include_usage": True}
        return head

    def _joined(self, messages: list[Message]) -> bytes:
        last = self._last
        known = len(last.messages)
        if known and len(messages) >= known and messages[:known] == last.messages:  # equal by identity: no deep look
            new = [_dumps(_sendable(message)) for message in messages[known:]]
            joined = b",".join([last.joined, *new])
        else:
            joined = b",".join(_dumps(_sendable(message)) for message in messages)
        last.messages, last.joined = messages, joined
        return joined


def _dumps(value: object) -> bytes:
    """Lone surrogates, which no UTF-8 text may hold, go out escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=_plain).encode()


def _plain(value: object) -> object:
    """Read-only mappings as dicts: json knows only those. Asked for what it does not know, not for every value."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _sendable(message: Message) -> Message:
    """Ollama and vLLM parse the arguments of past calls and refuse the request if one is broken: a broken text goes
    out wrapped as ``{"invalid_json": text}``. A pure function of the message, so the prefix stays stable.
    """
    calls = message.get("tool_calls")
    if not calls or all(_is_object(call["function"]["arguments"]) for call in calls):
        return message
    return {**message, "tool_calls": [_wrapped(call) for call in calls]}


def _wrapped(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    if _is_object(function["arguments"]):
        return call
    text = json.dumps({"invalid_json": function["arguments"]}, ensure_ascii=False)
    return {**call, "function": {**function, "arguments": text}}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
