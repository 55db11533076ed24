"""The embedded model: from what the tools answered so far to the next call, or to the report (design decision 9).

``complete`` reads nothing but its request: the program and its inputs from the header, the tools' texts from the
messages. Only the seconds it reports to people come from a clock.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_cron.domain.transcript import Message, ModelReply, ModelRequest, ToolCall, Usage
from hermes_cron.errors import PlaybookFailed
from hermes_cron.models.playbook.expressions import ExpressionFailed
from hermes_cron.models.playbook.inputs import Inputs, from_header
from hermes_cron.models.playbook.judge import Judged
from hermes_cron.models.playbook.report import Report, report
from hermes_cron.models.playbook.walk import Call, Done, walk
from hermes_cron.ports import Emit

STEP_EVENT = "playbook_step"


def _silent(event: str, facts: Mapping[str, object]) -> None:
    del event, facts


class PlaybookModel:
    """One for a run: it remembers when it asked, to tell people how long a step took. Its replies do not depend on it.

    Emits ``playbook_started`` with ``steps`` (their ids) before the first call, and after every step ``playbook_step``
    with ``step``, ``status`` (``ok``, ``1 warning``, ``not checked: why``, in the run's language), ``checked`` and
    ``elapsed_s``.
    """

    def __init__(self, emit: Emit = _silent) -> None:
        self._emit = emit
        self._asked_at = time.monotonic()
        self._told = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises ``PlaybookFailed`` when nothing could be checked, ``PlaybookInvalid`` for a header of another make."""
        data = request.header.playbook
        if data is None:
            raise PlaybookFailed("the run's header holds no playbook")
        inputs = from_header(data)
        texts = _results(request.messages)
        if not texts:
            self._emit("playbook_started", {"steps": [step.id for step in inputs.program.steps]})
        try:
            judged, last_word = _replay(inputs, texts)
        except ExpressionFailed as error:
            raise PlaybookFailed(f"playbook {inputs.skill}: {error.message}") from error
        self._tell(judged, inputs.language)
        if isinstance(last_word, Call):
            return _call(inputs, last_word, number=len(texts) + 1)
        return _final(inputs, last_word)

    def _tell(self, judged: Sequence[Judged], language: str) -> None:
        now = time.monotonic()
        for position, one in enumerate(judged[self._told :], start=self._told):
            seconds = now - self._asked_at if position == self._told else 0.0
            facts = {"step": one.step, "status": one.status(language), "checked": one.checked}
            self._emit(STEP_EVENT, {**facts, "elapsed_s": round(seconds, 1)})
        self._told = max(self._told, len(judged))
        self._asked_at = now


def _results(messages: Sequence[Message]) -> list[str]:
    return [_text(message.get("content")) for message in messages if message.get("role") == "tool"]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _replay(inputs: Inputs, texts: Sequence[str]) -> tuple[tuple[Judged, ...], Call | Report]:
    """The steps judged so far and what comes next."""
    judged: list[Judged] = []
    going = walk(inputs, judged)
    try:
        call = next(going)
        for text in texts:
            call = going.send(text)
    except StopIteration as end:
        done: Done = end.value
        return done.judged, report(inputs, done)
    return tuple(judged), call


def _call(inputs: Inputs, call: Call, *, number: int) -> ModelReply:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    asked = ToolCall(id=f"call_{number}", name=call.tool, arguments=arguments)
    message: Message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": asked.id, "type": "function", "function": {"name": asked.name, "arguments": asked.arguments}}
        ],
    }
    return ModelReply(
        message=message,
        text="",
        tool_calls=(asked,),
        finish="tool_calls",
        usage=Usage(),
        model=inputs.model,
        cost_usd=0.0,
    )


def _final(inputs: Inputs, last_word: Report) -> ModelReply:
    return ModelReply(
        message={"role": "assistant", "content": last_word.text},
        text=last_word.text,
        finish="stop",
        usage=Usage(),
        cost_usd=0.0,
        model=inputs.model,
        state_json=json.dumps(last_word.result, ensure_ascii=False, default=str),
    )
