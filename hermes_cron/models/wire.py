"""What did the provider answer? From the JSON of a chat completion to a ``ModelReply``, nothing taken on trust.

The SDK validates nothing: ids may be null, arguments an object, content a list, choices absent.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_cron.domain.tokens import estimate_tokens
from hermes_cron.domain.transcript import Message, ModelReply, ToolCall, Usage
from hermes_cron.errors import (
    EmptyReply,
    ModelError,
    ModelGarbage,
    ModelOverloaded,
    ModelRefused,
    ModelReplyCut,
    StreamTruncated,
)
from hermes_cron.models.faults import fault_inside
from hermes_cron.models.wording import kind_of, quote

_UNNAMED = "unnamed_tool"
_CUT = "length"
_FILTERED = frozenset({"content_filter", "refusal", "safety", "sensitive"})  # OpenAI, Anthropic, Gemini, Zhipu
_GAVE_UP = frozenset({"error", "insufficient_system_resource", "network_error"})  # OpenRouter, DeepSeek, Zhipu


def read_completion(data: object, *, asked_model: str) -> ModelReply:
    """Raises the ``ModelError`` that the answer amounts to, with its usage; whatever held a choice was paid for.

    A reply that was cut at its output limit has ``finish`` ``length``, its calls as they came: none can be trusted.
    """
    if not isinstance(data, Mapping):
        raise ModelGarbage(f"the server answered with {kind_of(data)}, not with a completion")
    try:
        return _read_completion(data, asked_model=asked_model)
    except ModelError as error:
        error.usage = read_usage(data.get("usage"))
        error.paid = error.paid or error.usage is not None or bool(data.get("choices"))
        raise


def _read_completion(data: Mapping[str, Any], *, asked_model: str) -> ModelReply:
    choice = _first_choice(data)
    message, calls = read_message(choice.get("message"))
    finish = choice.get("finish_reason")
    text = text_of(message.get("content"))
    _check_finish(choice, message, text=text, calls=calls)
    return ModelReply(
        message=message,
        text=text,
        tool_calls=calls,
        finish="tool_calls" if calls and finish != _CUT else str(finish or "stop"),
        usage=read_usage(data.get("usage")),
        model=str(data.get("model") or asked_model),
    )


def _first_choice(data: Mapping[str, Any]) -> Mapping[str, Any]:
    error = data.get("error")
    if error:
        raise fault_inside(error, place="the server")
    choices = data.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise ModelGarbage(f"the completion has no choices: {quote(json.dumps(data, ensure_ascii=False))}")
    choice = choices[0]
    if not isinstance(choice, Mapping):
        raise ModelGarbage(f"the completion's first choice is {kind_of(choice)}")
    return choice


def read_message(raw: object) -> tuple[Message, tuple[ToolCall, ...]]:
    """The message to store and send back: whole, without nulls, calls with ids and text arguments."""
    if not isinstance(raw, Mapping):
        raise ModelGarbage(f"the completion's message is {kind_of(raw)}")
    raw = _storable(raw)
    message: Message = {"role": "assistant", **{key: value for key, value in raw.items() if value is not None}}
    message["role"] = "assistant"
    written = message.pop("tool_calls", None) or []
    legacy = message.pop("function_call", None)
    if legacy and not written:
        written = [{"function": legacy}]
    if isinstance(written, Mapping):
        written = [written]
    if not isinstance(written, Sequence) or isinstance(written, str):
        raise ModelGarbage(f"tool_calls is {kind_of(written)}, not a list")
    if isinstance(message.get("content"), list):
        message["content"] = text_of(message["content"])
    calls = _calls(written)
    if not calls:
        message.setdefault("content", "")
        return message, ()
    # Servers differ in whether an assistant message with calls may lack content; all take null or a text.
    message.setdefault("content", None)
    message["tool_calls"] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    _keep_extras(message["tool_calls"], written)
    return message, calls


def _storable(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Half of a surrogate pair is JSON but no UTF-8: it could be neither stored nor sent back, so it becomes ``?``."""
    text = json.dumps(raw, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        whole: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
        return whole
    return raw


def _calls(written: Sequence[Any]) -> tuple[ToolCall, ...]:
    """One value a call, however broken, since each gets one result and one bad call must not cost the others.

    Ids are unique inside the message: a missing or repeated one is replaced. A call that names no function is named
    ``unnamed_tool``, which no tool is: the model is told so, and servers refuse an empty name in the next request.
    """
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for raw in written:
        call = raw if isinstance(raw, Mapping) else {}
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id, name = call.get("id"), function.get("name")
        if not isinstance(call_id, str) or not call_id or call_id in taken:
            call_id = f"call_{secrets.token_hex(8)}"
        taken.add(call_id)
        if not isinstance(name, str) or not name.strip():
            name = _UNNAMED
        calls.append(ToolCall(id=call_id, name=name, arguments=_arguments(function.get("arguments"))))
    return tuple(calls)


def _arguments(value: object) -> str:
    """As the model wrote them; blank means no arguments. An object, which some servers send, becomes JSON text."""
    if value is None:
        return "{}"
    if isinstance(value, str):
        return value if value.strip() else "{}"
    return json.dumps(value, ensure_ascii=False)


def _keep_extras(calls: list[dict[str, Any]], written: Sequence[Any]) -> None:
    """Members beside id, type and function go back as they came (``extra_content`` holds Gemini's signature)."""
    for call, raw in zip(calls, written, strict=True):
        if not isinstance(raw, Mapping):
            continue
        extras = {
            key: value
            for key, value in raw.items()
            if key not in ("id", "type", "function", "index") and value is not None
        }
        call.update(extras)


def text_of(content: object) -> str:
    """Content as text: a text, null, or a list of parts of which those with text count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part if isinstance(part, str) else part.get("text", "") for part in content if part]
    return "".join(part for part in parts if isinstance(part, str))


def _check_finish(choice: Mapping[str, Any], message: Message, *, text: str, calls: tuple[ToolCall, ...]) -> None:
    finish = str(choice.get("finish_reason") or "").lower()
    if choice.get("error"):
        raise fault_inside(choice["error"], place="the server")
    if finish in _FILTERED:
        raise ModelRefused("the provider's content filter withheld the reply")
    if finish in _GAVE_UP:
        raise ModelOverloaded(f"the server gave up in the middle of the reply: {finish}")
    if not calls:
        _check_words(finish, message, text=text)
    elif not finish and not is_json(calls[-1].arguments):
        raise StreamTruncated(f"the reply ends inside the arguments of {calls[-1].name}")


def _check_words(finish: str, message: Message, *, text: str) -> None:
    if refusal := str(message.get("refusal") or "").strip():
        raise ModelRefused(f"the model refused: {quote(refusal)}")
    if text.strip():
        return
    if finish == _CUT:
        raise ModelReplyCut(
            "the reply was cut before its first word",
            hint="Raise model.max_tokens; a model that reasons spends them before it answers.",
        )
    raise EmptyReply("the model said nothing: no text and no tool call")


def is_cut(text: str) -> bool:
    """A body that begins as an object and does not end as one: a connection without a length was closed in it."""
    line = text.strip()
    return line.startswith("{") and not line.endswith("}")


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def read_usage(raw: object) -> Usage | None:
    """None when the provider reported none. ``input`` counts all of the prompt, cached tokens included."""
    if not isinstance(raw, Mapping):
        return None
    given, made = raw.get("prompt_tokens"), raw.get("completion_tokens")
    if not isinstance(given, int) or not isinstance(made, int):
        return None
    details = raw.get("prompt_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    cached = details.get("cached_tokens")
    if not isinstance(cached, int):
        cached = raw.get("prompt_cache_hit_tokens")  # DeepSeek's place for it
    written = details.get("cache_write_tokens")
    return Usage(
        input=given,
        output=made,
        cached=cached if isinstance(cached, int) else 0,
        cache_write=written if isinstance(written, int) else 0,
    )


def estimated_usage(sent: str, reply: ModelReply) -> Usage:
    """From the lengths of the texts, marked as a guess."""
    made = reply.text + "".join(call.name + call.arguments for call in reply.tool_calls)
    return Usage(input=estimate_tokens(sent), output=estimate_tokens(made), estimated=True)
