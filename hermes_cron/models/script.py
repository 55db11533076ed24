"""What does a script of replies say, and which reply comes next? (docs/formats/stub.md)

Played by the stub server and by the scripted model, so that a test and ``hermes-cron dev stub`` read the same files.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hermes_cron.errors import Usage as UsageError

_NUMBER = "{{n}}"
_MESSAGE_KEYS = frozenset({"text", "tool_calls", "reasoning", "message", "finish", "usage", "model", "id"})
_HTTP_KEYS = frozenset({"status", "headers", "body"})
_STREAM_KEYS = frozenset({"chunks", "end"})
_NO_ANSWER = frozenset({"hang", "close", "refuse_ms"})
_FAULT_KEYS = _NO_ANSWER | {"cut"}
_COMMON_KEYS = frozenset({"delay_ms", "chunk_delay_ms", "repeat"})
_KEYS = _MESSAGE_KEYS | _HTTP_KEYS | _STREAM_KEYS | _FAULT_KEYS | _COMMON_KEYS
_SCRIPT_KEYS = frozenset({"replies", "by", "conversations", "models", "shape"})
_PART_KEYS = frozenset({"replies", "by", "contains", "model"})
_STREAM_ENDS = ("done", "close", "hang")


class By(StrEnum):
    """How the next reply is found: by the order of requests, or by the assistant messages a request holds."""

    ORDER = "order"
    TURN = "turn"


class Shape(StrEnum):
    """Whose spelling the answers have."""

    OPENAI = "openai"
    OLLAMA = "ollama"


class ScriptExhausted(Exception):
    """More requests came than the script has replies: the test, or the loop under test, is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply as written, checked. ``number`` replaced ``{{n}}``: 1 for the first reply given."""

    spec: Mapping[str, Any]
    number: int = 1

    @property
    def delay_ms(self) -> float:
        return float(self.spec.get("delay_ms", 0))

    @property
    def is_message(self) -> bool:
        """True for a reply that a model would give; False for a raw HTTP answer, raw frames or a fault."""
        return not (self.spec.keys() & (_HTTP_KEYS | _STREAM_KEYS | _NO_ANSWER))

    @property
    def status(self) -> int:
        """The HTTP status; 0 where nothing is answered."""
        return 0 if self.spec.keys() & _NO_ANSWER else int(self.spec.get("status", 200))

    @property
    def usage(self) -> Mapping[str, Any] | None:
        """The usage object that the answer reports; None: it reports none."""
        if self.is_message:
            reported = self.spec.get("usage", _DEFAULT_USAGE)
        else:
            holders = [self.spec.get("body"), *reversed(self.spec.get("chunks", ()))]
            found = (holder.get("usage") for holder in holders if isinstance(holder, Mapping))
            reported = next((usage for usage in found if usage), None)
        return reported if isinstance(reported, Mapping) else None

    def message(self) -> dict[str, Any]:
        """The assistant message, as a provider would send it."""
        if "message" in self.spec:
            raw: dict[str, Any] = dict(self.spec["message"])
            return raw
        message: dict[str, Any] = {"role": "assistant", "content": self.spec.get("text")}
        if "reasoning" in self.spec:
            message["reasoning_content"] = self.spec["reasoning"]
        if "tool_calls" in self.spec:
            message["tool_calls"] = [
                _tool_call(call, f"call_{self.number}_{index}") for index, call in enumerate(self.spec["tool_calls"])
            ]
        return message

    def completion(self, model: str) -> dict[str, Any]:
        """The whole ``chat.completion`` object."""
        message = self.message()
        finish = self.spec.get("finish", "tool_calls" if message.get("tool_calls") else "stop")
        completion: dict[str, Any] = {
            "id": self.spec.get("id", f"chatcmpl-stub-{self.number}"),
            "object": "chat.completion",
            "created": 1767225600,  # fixed, so that two plays of one script give equal bytes
            "model": self.spec.get("model", model),
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        }
        usage = self.spec.get("usage", _DEFAULT_USAGE)
        if usage is not None:
            completion["usage"] = usage
        return completion


_DEFAULT_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def _tool_call(spec: Mapping[str, Any], made_id: str) -> dict[str, Any]:
    """``arguments`` as text stays as written, broken or not; an object becomes JSON text."""
    arguments = spec.get("arguments", {})
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {
        "id": spec.get("id", made_id),
        "type": "function",
        "function": {"name": spec["name"], "arguments": arguments},
    }


@dataclass(slots=True, kw_only=True)
class _Part:
    """One list of replies with its own position."""

    replies: tuple[Mapping[str, Any], ...]
    by: By = By.ORDER
    contains: str | None = None
    model: str | None = None
    given: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def accepts(self, text: str, model: str) -> bool:
        return (self.contains is None or self.contains in text) and (self.model is None or self.model == model)

    def next(self, turn: int) -> Reply:
        with self.lock:
            position = turn if self.by is By.TURN else self.given
            self.given += 1
        return Reply(spec=_numbered(self._at(position), position + 1), number=position + 1)

    def _at(self, position: int) -> Mapping[str, Any]:
        passed = 0
        for spec in self.replies:
            repeat = spec.get("repeat", 1)
            if repeat is True or position < passed + repeat:
                return spec
            passed += repeat
        raise ScriptExhausted(f"the script has {passed} replies, request {position + 1} finds none")


class Script:
    """A parsed script. Thread-safe; a part in ``order`` has one position for all callers."""

    def __init__(
        self, parts: Sequence[_Part], *, models: tuple[str | Mapping[str, Any], ...] = (), shape: Shape = Shape.OPENAI
    ) -> None:
        self._parts = tuple(parts)
        self.models = models
        self.shape = shape

    @property
    def looks_inside(self) -> bool:
        """Whether choosing a reply needs the request's text; if not, a server need not parse it."""
        return len(self._parts) > 1 or any(
            part.by is By.TURN or part.contains is not None or part.model is not None for part in self._parts
        )

    def next(self, *, text: str = "", model: str = "", turn: int = 0) -> Reply:
        """The first part that accepts the request gives its next reply. Raises ``ScriptExhausted``."""
        for part in self._parts:
            if part.accepts(text, model):
                return part.next(turn)
        raise ScriptExhausted("no conversation of the script fits this request")


def load_script(source: Script | Path | str | Sequence[Any] | Mapping[str, Any]) -> Script:
    """From a file, JSON text or parsed JSON: a list of replies, or an object. Raises ``Usage`` naming the place."""
    if isinstance(source, Script):
        return source
    place = "the script"
    if isinstance(source, Path):
        place = str(source)
        try:
            source = source.read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{place}: {error.strerror}", hint="The format: docs/formats/stub.md") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{place}: not UTF-8", hint="The format: docs/formats/stub.md") from error
    if isinstance(source, str):
        try:
            source = json.loads(source)
        except ValueError as error:
            raise UsageError(f"{place}: not JSON: {error}", hint="The format: docs/formats/stub.md") from error
    return _parse(source, place)


def _parse(data: object, place: str) -> Script:
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return Script([_part({"replies": data}, place)])
    if not isinstance(data, Mapping):
        raise _wrong(place, "a list of replies or an object was expected")
    _known(data, _SCRIPT_KEYS, place)
    parts = [_part(part, f"{place}: conversations[{i}]") for i, part in enumerate(data.get("conversations", ()))]
    if "replies" in data:
        parts.append(_part({key: data[key] for key in ("replies", "by") if key in data}, place))
    if not parts:
        raise _wrong(place, "neither 'replies' nor 'conversations'")
    return Script(parts, models=tuple(data.get("models", ())), shape=_choice(Shape, data, "shape", place))


def _part(data: Mapping[str, Any], place: str) -> _Part:
    _known(data, _PART_KEYS, place)
    replies = tuple(_reply(reply, f"{place}: replies[{i}]") for i, reply in enumerate(data.get("replies", ())))
    return _Part(
        replies=replies,
        by=_choice(By, data, "by", place),
        contains=data.get("contains"),
        model=data.get("model"),
    )


def _choice(kind: Any, data: Mapping[str, Any], key: str, place: str) -> Any:
    try:
        return kind(data[key]) if key in data else next(iter(kind))
    except ValueError:
        raise _wrong(place, f"{key} is one of {', '.join(kind)}") from None


def _reply(data: object, place: str) -> Mapping[str, Any]:
    if isinstance(data, str):
        return {"text": data}
    if not isinstance(data, Mapping):
        raise _wrong(place, "a reply is a text or an object")
    _known(data, _KEYS, place)
    if not data.keys() - _COMMON_KEYS:
        raise _wrong(place, "a reply without text, tool_calls, status, body, chunks, hang, close or refuse_ms")
    for call in data.get("tool_calls", None) or ():
        if not isinstance(call, Mapping) or "name" not in call:
            raise _wrong(place, "a tool call needs a name")
        _known(call, frozenset({"name", "arguments", "id"}), f"{place}: tool_calls")
    if data.get("end", "done") not in _STREAM_ENDS:
        raise _wrong(place, f"end is one of {', '.join(_STREAM_ENDS)}")
    repeat = data.get("repeat", 1)
    if repeat is not True and (not isinstance(repeat, int) or repeat < 1):
        raise _wrong(place, "repeat is true or a number from 1")
    return data


def _known(data: Mapping[str, Any], keys: frozenset[str], place: str) -> None:
    for key in data:
        if key not in keys:
            raise _wrong(place, f"unknown key {key!r} (known: {', '.join(sorted(keys))})")


def _wrong(place: str, fact: str) -> UsageError:
    return UsageError(f"{place}: {fact}", hint="The format: docs/formats/stub.md")


def _numbered(value: Any, number: int) -> Any:
    """``{{n}}`` in every text, keys excepted, becomes the number."""
    if isinstance(value, str):
        return value.replace(_NUMBER, str(number)) if _NUMBER in value else value
    if isinstance(value, Mapping):
        return {key: _numbered(inner, number) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_numbered(inner, number) for inner in value]
    return value
