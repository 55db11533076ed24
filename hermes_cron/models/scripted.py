"""How does a script play as a model without a server? For tests of what calls a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hermes_cron.domain.transcript import Message, ModelReply, ModelRequest
from hermes_cron.models.script import Script, load_script
from hermes_cron.models.wire import estimated_usage, read_completion

Answer = ModelReply | BaseException | Callable[[ModelRequest], ModelReply]


class ScriptedModel:
    """Implements ``ports.Model``. ``replies`` are a stub script (a text, or an object of docs/formats/stub.md), or
    ready ``ModelReply`` values, errors to raise, functions of the request; kinds may be mixed in a list.

    ``requests`` keeps each request with its messages as they were then. Thread-safe.
    Raises ``ScriptExhausted`` past the end: not a ``ModelError``, since the test is wrong then.
    """

    def __init__(self, replies: Sequence[Any] | Mapping[str, Any] | Script, *, model: str = "stub-model") -> None:
        self._answers: dict[int, Answer] = {}
        if isinstance(replies, Sequence) and not isinstance(replies, str):
            self._answers = {
                i: reply for i, reply in enumerate(replies) if isinstance(reply, BaseException) or callable(reply)
            } | {i: reply for i, reply in enumerate(replies) if isinstance(reply, ModelReply)}
            replies = ["(ready)" if i in self._answers else reply for i, reply in enumerate(replies)]
        self._script = load_script(replies)
        self._model = model
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelReply:
        messages: list[Message] = list(request.messages)
        model = request.model or request.header.model or self._model
        with self._lock:
            self.requests.append(replace(request, messages=messages))
            reply = self._script.next(
                text="\n".join(str(message.get("content")) for message in messages),
                model=model,
                turn=sum(message.get("role") == "assistant" for message in messages),
            )
        ready = self._answers.get(reply.number - 1)
        if isinstance(ready, BaseException):
            raise ready
        if isinstance(ready, ModelReply):
            return ready
        if ready is not None:
            return ready(request)
        if not reply.is_message:
            raise TypeError(f"reply {reply.number} is an HTTP answer or a fault: only StubServer can play it")
        made = read_completion(reply.completion(model), asked_model=model)
        if made.usage is None:
            made = replace(made, usage=estimated_usage("".join(str(m.get("content")) for m in messages), made))
        return made
