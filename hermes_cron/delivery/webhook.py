"""How does a program get a message: JSON, posted and signed.

A receiver that keeps the last ids it saw needs nothing else to take each message once: the id is the same at every
try. That is why a try without an answer is made again, although it may have arrived (docs/formats/targets.md).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, ClassVar

from hermes_cron import __version__
from hermes_cron.domain.delivery import Answer, Message

if TYPE_CHECKING:
    from hermes_cron.delivery.http import Poster
    from hermes_cron.ports import Clock

SIGNATURE = "X-Hermes-Cron-Signature"
TIMESTAMP = "X-Hermes-Cron-Timestamp"
IDEMPOTENCY = "Idempotency-Key"
AGENT = {"User-Agent": f"hermes-cron/{__version__}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """``key`` signs; None: not signed. Both it and the URL are looked up at each send: a rotated secret counts."""

    url: Callable[[], str]
    key: Callable[[], str] | None
    timeout_s: float
    poster: Poster
    clock: Clock
    platform: ClassVar[str] = "webhook"
    provable: ClassVar[bool] = False

    def send(self, message: Message) -> Answer:
        body = payload(message)
        at = str(int(self.clock.now().timestamp()))
        headers = {"Content-Type": "application/json; charset=utf-8", IDEMPOTENCY: message.id, TIMESTAMP: at, **AGENT}
        if self.key is not None:
            headers[SIGNATURE] = sign(self.key(), at, body)
        return self.poster.post(self.url(), body, headers, self.timeout_s)


def payload(message: Message) -> bytes:
    """``text`` is title and report: what a chat that takes ``{"text": ...}`` shows."""
    told = {
        "id": message.id,
        "kind": message.kind.value,
        "job": message.job,
        "run_id": message.run_id,
        "title": message.title,
        "text": message.body,
        "created_at": message.created_at.astimezone(UTC).isoformat(),
        "facts": dict(message.facts),
    }
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")


def sign(key: str, timestamp: str, body: bytes) -> str:
    """``v1=`` and the HMAC-SHA256 of ``timestamp.body`` in hexadecimal."""
    return "v1=" + hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
