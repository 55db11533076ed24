"""How does a whole completion look when it is streamed? Server-sent events, as the stub plays them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

DONE = b"data: [DONE]\n\n"
_PIECE = 16  # characters of text per delta: small enough that arguments are split


def frame(data: Any) -> bytes:
    """One event. A text is sent as written (``: ping``), anything else as ``data: JSON``."""
    if isinstance(data, str):
        return data.rstrip("\n").encode() + b"\n\n"
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def frames_of(completion: Mapping[str, Any], *, usage: bool) -> Iterator[bytes]:
    """The completion as deltas: reasoning, text, tool calls by index, the finish reason, then usage if asked for."""
    choice = completion["choices"][0]
    for delta in _deltas(choice["message"]):
        yield frame(_chunk(completion, [{"index": 0, "delta": delta, "finish_reason": None}]))
    yield frame(_chunk(completion, [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]))
    if usage and "usage" in completion:
        yield frame({**_chunk(completion, []), "usage": completion["usage"]})


def _chunk(completion: Mapping[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    kept = {key: completion[key] for key in ("id", "created", "model", "system_fingerprint") if key in completion}
    return {**kept, "object": "chat.completion.chunk", "choices": choices}


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for key in ("reasoning_content", "reasoning", "content"):
        for piece in _pieces(message.get(key)):
            yield {key: piece}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        yield {"tool_calls": [{**call, "index": index, "function": {"name": function["name"], "arguments": ""}}]}
        for piece in _pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: object) -> Iterator[str]:
    if isinstance(text, str):
        for start in range(0, len(text), _PIECE):
            yield text[start : start + _PIECE]
