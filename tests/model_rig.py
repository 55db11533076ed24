"""What do tests of the model client share: a client on a stub, and clocks that run as told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hermes_cron.domain.transcript import Header, Message, ModelRequest
from hermes_cron.models.endpoint import Endpoint
from hermes_cron.models.openai_compatible import OpenAICompatible
from hermes_cron.testing import FixedClock, StubServer

USER: Message = {"role": "user", "content": "q"}
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass
class Monotonic:
    """A monotonic clock that moves by ``step`` seconds at each look, and by what is slept."""

    at: float = 0.0
    step: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        self.at += self.step
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds


def request(
    messages: Sequence[Message] = (USER,), *, timeout_s: float = 30, header: Header | None = None
) -> ModelRequest:
    return ModelRequest(header=header or Header(system=""), messages=list(messages), timeout_s=timeout_s)


@dataclass
class Rig:
    stub: StubServer
    model: OpenAICompatible
    time: Monotonic


@contextmanager
def rig(
    script: Any, *, time: Monotonic | None = None, real_time: bool = False, price: Callable[..., Any] | None = None,
    **endpoint: Any,
) -> Iterator[Rig]:  # fmt: skip
    """A client on a stub. Waits are recorded, not slept, unless ``real_time``."""
    time = time or Monotonic()
    with StubServer(script) as stub:
        place = Endpoint(**{"model": "m", "base_url": stub.base_url, "key": "sk-very-secret", **endpoint})
        clocks: dict[str, Any] = {} if real_time else {"monotonic": time, "sleep": time.sleep}
        model = OpenAICompatible(place, clock=FixedClock(NOW), price=price, **clocks)
        try:
            yield Rig(stub, model, time)
        finally:
            model.close()
