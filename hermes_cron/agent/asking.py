"""How does the loop get a reply: which model, on whose money, and what if there is none?

A reply that is cut, empty or lost on its way is chance, so the same request is made once more at once. A fault that
may pass, or a model that the server does not know, hands the request to the next listed model, which then stays. Every
try has its own reservation, and what a useless reply cost is kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hermes_cron.domain.money import worst_case
from hermes_cron.domain.transcript import Header, Message, ModelReply, ModelRequest, Usage
from hermes_cron.errors import BudgetExceeded, EmptyReply, ModelError, ModelUnknown, ModelUnreachable, StreamTruncated
from hermes_cron.ports import Emit, Journal, Model, Purse


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What replies are asked with. ``fallbacks`` are asked in order after the header's model."""

    model: Model
    journal: Journal
    header: Header
    emit: Emit
    deadline: float
    timeout_s: float
    phase: str
    fallbacks: tuple[str, ...] = ()
    purse: Purse | None = None
    max_tokens: int = 0


class Asking:
    """The model calls of one loop. ``usage`` sums them, useless replies included; ``model`` answered last."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._names: tuple[str | None, ...] = (None, *means.fallbacks)
        self._at = 0
        self._last: Usage | None = None  # reported by the model that is asked now
        self._covered = 0  # messages that it counts
        self._due: tuple[str | None, ModelReply] | None = None
        self.usage = Usage()
        self.model = means.header.model or None

    def reply(
        self, messages: Sequence[Message], *, called: Callable[[], None], stopped: Callable[[], bool]
    ) -> ModelReply:
        """One usable reply. ``called`` is told when the first request goes out; ``stopped`` ends the search.

        Raises ``ModelError`` (of several models: the first fault that may pass, else the first) and ``BudgetExceeded``
        when the first call is more than a cap leaves.
        """
        faults: list[ModelError] = []
        while True:
            try:
                return self._twice(messages, called if not faults else _nothing)
            except BudgetExceeded:
                if not faults:
                    raise
            except ModelError as error:
                faults.append(error)
                if not (error.passing or isinstance(error, ModelUnknown)):
                    break
            if stopped() or not self._next_model(faults[-1]):
                break
        raise next((fault for fault in faults if fault.passing), faults[0])

    @property
    def asked_now(self) -> str:
        """The model that the next request goes to."""
        return self._names[self._at] or self._means.header.model

    def anew(self) -> None:
        """The next request does not begin with the last one: what was reported of that says nothing about it."""
        self._last, self._covered = None, 0

    def settle(self) -> None:
        """The last reply is in the journal: until then its reservation stood for it, should this process die."""
        if self._due is not None and self._means.purse is not None:
            reservation, reply = self._due
            self._means.purse.settle(reservation, usage=reply.usage, cost_usd=reply.cost_usd, model=reply.model)
        self._due = None

    def _twice(self, messages: Sequence[Message], called: Callable[[], None]) -> ModelReply:
        try:
            return self._once(messages, called)
        except (EmptyReply, StreamTruncated):
            pass
        except ModelUnreachable as error:
            if not error.paid:  # the client tried as long as that makes sense
                raise
        return self._once(messages, _nothing)

    def _once(self, messages: Sequence[Message], called: Callable[[], None]) -> ModelReply:
        means = self._means
        name = self.asked_now
        reservation = self._reserve(name, messages)
        called()
        try:
            reply = _said(means.model.complete(self._request(messages)))
        except ModelError as error:
            self._lost(error, name, reservation)
            raise
        if not reply.model:
            reply = replace(reply, model=name)
        self._due = (reservation, reply)
        self.usage = _sum(self.usage, reply.usage)
        self.model = reply.model or self.model
        self._last, self._covered = reply.usage, len(messages) + 1
        return reply

    def _request(self, messages: Sequence[Message]) -> ModelRequest:
        means = self._means
        left_s = means.deadline - time.monotonic()
        return ModelRequest(
            header=means.header,
            messages=[{"role": "system", "content": means.header.system}, *messages],
            timeout_s=max(0.001, min(means.timeout_s, left_s)),
            run_left_s=max(0.001, left_s),
            model=self._names[self._at],
        )

    def _reserve(self, name: str, messages: Sequence[Message]) -> str | None:
        means = self._means
        if means.purse is None:
            return None
        new = sum(_size(message) for message in messages[self._covered :])
        whole = 0
        if self._last is None or self._last.estimated:
            header = means.header
            whole = sum(_size(part) for part in (header.system, header.tools, header.parameters, *messages))
        tokens = worst_case(self._last, new_bytes=new, whole_bytes=whole)
        return means.purse.reserve(model=name, tokens_input=tokens, tokens_output=means.max_tokens)

    def _lost(self, error: ModelError, name: str, reservation: str | None) -> None:
        """A call without a usable reply: free, or paid as the server reported, or at worst as was reserved."""
        means = self._means
        free = error.usage is None and not error.paid
        if error.usage is not None:
            means.journal.spent(error.usage, model=name, cost_usd=error.cost_usd, phase=means.phase)
            self.usage = _sum(self.usage, error.usage)
        if means.purse is not None:
            usage, cost = (Usage(), 0.0) if free else (error.usage, error.cost_usd)
            means.purse.settle(reservation, usage=usage, cost_usd=cost, model=name)

    def _next_model(self, fault: ModelError) -> bool:
        if self._at + 1 == len(self._names):
            return False
        before = self.asked_now
        self._at += 1
        self._last = None
        facts = {"model": before, "fallback": self._names[self._at], "reason": fault.reason}
        self._means.emit("model_fallback", facts)
        return True


def _nothing() -> None:
    """A try that is told to nobody."""


def _said(reply: ModelReply) -> ModelReply:
    if not reply.tool_calls and not reply.text.strip():
        error = EmptyReply("the model answered with neither text nor tool calls")
        error.usage, error.cost_usd = reply.usage, reply.cost_usd
        raise error
    return reply


def _size(part: Any) -> int:
    """Bytes of its JSON: no fewer than the model has tokens of it."""
    return len(json.dumps(part, ensure_ascii=False, default=_plain).encode("utf-8", "surrogatepass"))


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _sum(total: Usage, more: Usage | None) -> Usage:
    if more is None:
        return total
    return Usage(
        input=total.input + more.input,
        output=total.output + more.output,
        cached=total.cached + more.cached,
        cache_write=total.cache_write + more.cache_write,
        estimated=total.estimated or more.estimated,
    )
