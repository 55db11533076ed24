"""How does a Prometheus fetch the metrics? ``GET /metrics``, on an address of this host unless told otherwise."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TIMEOUT_S = 10.0  # for who connects and says nothing
_LOG = logging.getLogger(__name__)


def address(text: str) -> tuple[str, int]:
    """``127.0.0.1:9464`` or ``[::1]:9464``. Raises ValueError."""
    host, mark, port = text.rpartition(":")
    if not mark or not host or not port.isdecimal() or not 0 <= int(port) < 65_536:
        raise ValueError("HOST:PORT, such as 127.0.0.1:9464")
    return host.removeprefix("[").removesuffix("]"), int(port)


class Exporter:
    """Answers on threads of its own from ``start`` to ``stop``. ``text`` makes a scrape; it may raise."""

    def __init__(self, listen: str, text: Callable[[], bytes]) -> None:
        self.listen = listen
        self._text = text
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> str:
        """The address that is served. Raises OSError: it is taken, or not one of this host."""
        host, port = address(self.listen)
        text = self._text

        class Handler(_Handler):
            scrape = staticmethod(text)

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            daemon_threads = True

        self._server = Server((host, port), Handler)
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
        return f"{self.listen.rpartition(':')[0]}:{self._server.server_address[1]}"

    def stop(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Handler(BaseHTTPRequestHandler):
    server_version = "hermes-cron"
    sys_version = ""
    timeout = _TIMEOUT_S
    scrape: Callable[[], bytes]

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self._answer(404, f"the metrics are at {PATH}\n".encode(), "text/plain; charset=utf-8")
            return
        try:
            body = self.scrape()
        except Exception:  # noqa: BLE001  # a scrape that fails is told to the one who scrapes, and logged
            _LOG.exception("the metrics cannot be told")
            self._answer(503, b"the metrics cannot be told now; see the log\n", "text/plain; charset=utf-8")
            return
        self._answer(200, body, CONTENT_TYPE)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a line a scrape is noise."""
