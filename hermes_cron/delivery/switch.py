"""What does an outside dead man's switch hear? The conventions of healthchecks.io.

``POST URL/start``, ``URL`` after a success, ``URL/fail`` after a failure; ``rid`` holds start and end of a run
together. The body is one line.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlencode, urlsplit, urlunsplit

from hermes_cron.delivery.webhook import AGENT
from hermes_cron.domain.delivery import Answer, Heard, Message

if TYPE_CHECKING:
    from hermes_cron.delivery.http import Poster

_ENDINGS = {"start": "/start", "fail": "/fail"}
_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """The title of a message is the signal: ``start``, ``success`` or ``fail``."""

    url: Callable[[], str]
    poster: Poster
    platform: ClassVar[str] = "ping"
    provable: ClassVar[bool] = False

    def send(self, message: Message) -> Answer:
        url = address(self.url(), message.title, message.run_id)
        answer = self.poster.post(url, message.body.encode(), {"Content-Type": "text/plain; charset=utf-8", **AGENT},
                                  _TIMEOUT_S)  # fmt: skip
        if answer.heard is Heard.SENT and "not found" in answer.text.lower():
            return Answer(heard=Heard.FAILED, text=answer.text)  # healthchecks.io says so with a 200
        return answer


def address(url: str, signal: str, run_id: str | None) -> str:
    """Where a signal goes; a query of the address is kept."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/") + _ENDINGS.get(signal, "")
    rid = urlencode({"rid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"hermes-cron:{run_id}"))}) if run_id else ""
    return urlunsplit((parts.scheme, parts.netloc, path, "&".join(filter(None, [parts.query, rid])), ""))
