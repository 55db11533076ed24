"""What did a stream say, taken together? Deltas become the completion that a plain call would have given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hermes_cron.errors import ModelGarbage, StreamTruncated
from hermes_cron.models.faults import fault_inside
from hermes_cron.models.wording import quote

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_PROGRESS = (*_TEXTS, "tool_calls", "function_call", "reasoning_details")


def events(chunks: Iterable[bytes], *, on_chunk: Callable[[], None]) -> Iterator[str]:
    """The data of each server-sent event. ``on_chunk`` runs after every read, a comment's too, and may raise."""
    rest = b""
    lines: list[str] = []
    for chunk in chunks:
        on_chunk()
        *complete, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for raw in complete:
            line = raw.decode("utf-8", "replace")
            if line.startswith("data:"):
                lines.append(line[5:].lstrip(" "))
            elif not line and lines:
                yield "\n".join(lines)
                lines = []
    if rest.startswith(b"data:"):
        lines.append(rest[5:].decode("utf-8", "replace").lstrip(" "))
    if lines:
        yield "\n".join(lines)


class Assembly:
    """Collects frames. ``add`` tells whether a frame was progress: words, reasoning or a piece of a call."""

    def __init__(self, *, place: str) -> None:
        self._place = place
        self._message: dict[str, Any] = {"role": "assistant"}
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish: str | None = None
        self._begun = False
        self._about: dict[str, Any] = {}
        self.ended = False

    def add(self, data: str) -> bool:
        """Raises the fault that an error frame names, ``ModelGarbage`` for a frame that is not JSON."""
        if data.strip() == "[DONE]":
            self.ended = True
            return False
        try:
            frame = json.loads(data)
        except ValueError as error:
            raise ModelGarbage(f"{self._place} sent a frame that is not JSON: {quote(data)}") from error
        if not isinstance(frame, Mapping):
            raise ModelGarbage(f"{self._place} sent a frame that is no object: {quote(data)}")
        if frame.get("error"):
            fault = fault_inside(frame["error"], place=self._place)
            fault.paid = fault.paid or self._begun
            raise fault
        for key in ("id", "model", "usage"):
            if frame.get(key):
                self._about[key] = frame[key]
        choices = frame.get("choices")
        return self._choice(choices[0]) if isinstance(choices, list) and choices else False

    def _choice(self, choice: object) -> bool:
        if not isinstance(choice, Mapping) or choice.get("index", 0) not in (0, None):
            return False
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])
        delta = choice.get("delta") or choice.get("message") or {}
        if not isinstance(delta, Mapping):
            return False
        for key, value in delta.items():
            self._delta(key, value)
        progress = any(delta.get(key) for key in _PROGRESS)
        self._begun = self._begun or progress
        return progress

    def _delta(self, key: str, value: Any) -> None:
        if key == "tool_calls" and isinstance(value, list):
            for piece in value:
                self._call_piece(piece)
        elif key == "function_call" and isinstance(value, Mapping):
            self._call_piece({"index": 0, "function": value})
        elif key in _TEXTS and isinstance(value, str):
            self._message[key] = self._message.get(key, "") + value
        elif isinstance(value, list) and isinstance(self._message.get(key), list):
            self._message[key] = [*self._message[key], *value]
        elif value is not None and key != "role":
            self._message[key] = value

    def _call_piece(self, piece: object) -> None:
        """Pieces belong together by index. A server that gives none starts a new call with each new id."""
        if not isinstance(piece, Mapping):
            raise ModelGarbage(f"{self._place} sent a piece of a call that is no object")
        index = piece.get("index")
        if not isinstance(index, int):
            starts = bool(piece.get("id")) or not self._calls
            index = max(self._calls, default=-1) + (1 if starts else 0)
        call = self._calls.setdefault(index, {"type": "function", "function": {"name": "", "arguments": ""}})
        function = piece.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call["function"]["arguments"] += arguments
        elif arguments is not None:
            call["function"]["arguments"] = arguments
        call.update({key: value for key, value in piece.items() if key not in ("function", "index") and value})

    def completion(self) -> dict[str, Any]:
        """Raises ``StreamTruncated`` when no finish reason came: half a reply looks like a whole one otherwise."""
        if self._finish is None:
            raise StreamTruncated(f"{self._place} ended the stream without a finish reason")
        message = dict(self._message)
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        return {**self._about, "choices": [{"index": 0, "message": message, "finish_reason": self._finish}]}
