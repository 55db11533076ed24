"""How does a try end in time although the other side sends one byte a minute, or nothing at all?

Libraries bound each read, not the sum of them. A timer acts: it shuts the socket down, so that the read that waits
fails at once, or cancels what a database is doing.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_cron.ports import Database


class Deadline:
    """``with Deadline(seconds) as deadline: deadline.watch(socket)``. ``passed`` says whether it had to act."""

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._over)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def watch(self, sock: socket.socket) -> None:
        """The socket to shut down from now on; the one of before is not looked at any more."""
        with self._lock:
            self._socket = sock
            if self.passed:
                _shut(sock)

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """As httpx's ``trace`` extension: each connection that is made is watched."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            sock = info["return_value"].get_extra_info("socket")
            if sock is not None:
                self.watch(sock)

    def _over(self) -> None:
        with self._lock:
            self.passed = True
            if self._socket is not None:
                _shut(self._socket)


@contextlib.contextmanager
def cancelled_after(seconds: float, database: Database) -> Iterator[None]:
    """What the connection does then is cancelled. Holds also where a server does not answer at all."""
    timer = threading.Timer(seconds, database.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # Of the plain socket, also where TLS is around it: a TLS goodbye would wait for the other side.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
