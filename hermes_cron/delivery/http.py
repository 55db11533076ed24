"""How is one request posted, and how far did it get when it failed?

No redirects, no cookies, a connection of its own each time: a kept one may be closed by the other side in the very
moment it is used, and then nobody knows whether the message arrived. The library is imported at the first request.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_cron.deadline import Deadline
from hermes_cron.delivery.said import ANSWER_BYTES, heard, line
from hermes_cron.domain.delivery import Answer, Heard

if TYPE_CHECKING:
    import httpx2

    from hermes_cron.ports import Clock


_MAYBE = "the request was sent whole and may have arrived"
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


@dataclass(slots=True)
class _Way:
    """What the library tells on the way: the socket, and whether the whole request went out."""

    deadline: Deadline
    sent: bool = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        self.deadline.trace(event, info)
        if event.endswith(".send_request_body.complete"):
            self.sent = True


class Poster:
    """Posts for all targets of a process. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: httpx2.Client | None = None

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Answer:
        """The receiver's answer, or what went wrong on the way. Never raises for either; the URL is not repeated."""
        import httpx2

        with Deadline(timeout_s) as deadline:
            way = _Way(deadline)
            try:
                with self._client().stream(
                    "POST",
                    url,
                    content=body,
                    headers=dict(headers),
                    timeout=timeout_s,
                    extensions={"trace": way.trace},
                ) as response:
                    start, whole = _start(response)
                    if not whole and 200 <= response.status_code < 300 and start.lstrip().startswith(b"{"):
                        return Answer(heard=Heard.LATER, text=_cut(response.status_code, start))
                    return heard(response.status_code, response.headers, start, self._clock.now())
            except (httpx2.InvalidURL, UnicodeError):  # UnicodeError: no name of a host
                return Answer(heard=Heard.FAILED, text="the address is no URL")
            except httpx2.UnsupportedProtocol:
                return Answer(heard=Heard.FAILED, text="the address begins neither with http:// nor https://")
            except httpx2.HTTPError as error:
                return Answer(heard=Heard.LATER, text=_failed(error, way, url, timeout_s))

    def _client(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._made is None:
                self._made = httpx2.Client(
                    follow_redirects=False, limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0)
                )
            return self._made


def _start(response: httpx2.Response) -> tuple[bytes, bool]:
    """The beginning of the body, and whether it came as far as we read."""
    import httpx2

    data = bytearray()
    try:
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) >= ANSWER_BYTES:
                break
    except httpx2.HTTPError:
        return bytes(data[:ANSWER_BYTES]), False
    return bytes(data[:ANSWER_BYTES]), True


def _cut(status: int, start: bytes) -> str:
    """Half an object may have said in its other half that it is no success: as good as no answer."""
    return f"{line(b'HTTP %d, but the answer was cut off: %b' % (status, start))}; {_MAYBE}"


def _failed(error: httpx2.HTTPError, way: _Way, url: str, timeout_s: float) -> str:
    """The host is named, never the path: it may be the secret."""
    import httpx2

    if way.deadline.passed or isinstance(error, httpx2.TimeoutException):
        what = "no answer" if way.sent else "no connection" if isinstance(error, httpx2.ConnectTimeout) else "no end"
        what = f"{what} within {timeout_s:g} s"
    else:
        what = _ERRNO.sub("", line(str(error) or type(error).__name__))
    what = f"{httpx2.URL(url).host}: {what}"
    return f"{what}; {_MAYBE}" if way.sent else what
