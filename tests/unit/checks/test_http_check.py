"""An address's answer: its status, its body, redirects only where they are asked for, and never a wait without end."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.checks_rig import BAD, GOOD, UNKNOWN, Bench


@dataclass
class Site:
    """Path to (status, headers, body); ``/slow`` answers when ``go`` is set."""

    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)
    port: int = 0


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            if self.path == "/slow":
                made.go.wait(20)
            status, headers, body = made.pages.get(self.path, (200, {}, b"fine"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # readers that stop early are the point
    made.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.go.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work")


def ask(bench: Bench, site: Site, path: str, **params: Any) -> tuple[object, str]:
    return bench.ask("http", url=f"http://127.0.0.1:{site.port}{path}", **params)


def test_a_private_address_may_be_asked_and_200_is_expected(bench: Bench, site: Site) -> None:
    assert ask(bench, site, "/health") == (GOOD, "answered 200")
    site.pages["/health"] = (503, {}, b"no")
    assert ask(bench, site, "/health") == (BAD, "answered 503, not 200")


def test_other_statuses_where_they_are_asked_for(bench: Bench, site: Site) -> None:
    site.pages["/gone"] = (410, {}, b"")
    assert ask(bench, site, "/gone", status=410) == (GOOD, "answered 410")
    assert ask(bench, site, "/gone", status=[404, 410])[0] is GOOD
    assert ask(bench, site, "/gone", status=[200, 404]) == (BAD, "answered 410, not 200 or 404")


def test_the_body_is_looked_at_where_it_is_asked_for(bench: Bench, site: Site) -> None:
    site.pages["/"] = (200, {"Content-Type": "text/plain; charset=gbk"}, "状态\n正常 12 项".encode("gbk"))
    assert ask(bench, site, "/", matches=r"^正常 \d+ 项$")[0] is GOOD
    assert ask(bench, site, "/", matches="异常") == (BAD, 'answered 200, and the body has no "异常"')


def test_a_redirect_is_the_answer_unless_it_is_to_be_followed(bench: Bench, site: Site) -> None:
    site.pages["/old"] = (302, {"Location": "/new"}, b"")
    assert ask(bench, site, "/old") == (BAD, "answered 302, not 200")
    assert site.asked == ["/old"]
    assert ask(bench, site, "/old", redirects=True)[0] is GOOD
    site.pages["/new"] = (302, {"Location": "/old"}, b"")
    assert ask(bench, site, "/old", redirects=True)[0] is UNKNOWN


def test_only_the_first_megabyte_is_read(bench: Bench, site: Site) -> None:
    site.pages["/"] = (200, {}, b"x" * 999_990 + b"early" + b"y" * 2_000_000 + b"late")
    assert ask(bench, site, "/", matches="early")[0] is GOOD
    assert ask(bench, site, "/", matches="late")[0] is BAD


def test_no_answer_proves_nothing(bench: Bench, site: Site) -> None:
    began = time.monotonic()
    assert ask(bench, site, "/slow", timeout=0.3) == (UNKNOWN, "no answer within 0.3 s")
    assert time.monotonic() - began < 10
    verdict, detail = bench.ask("http", url="http://127.0.0.1:9/")
    assert verdict is UNKNOWN
    assert detail.startswith("no answer: ")


class _Drip(threading.Thread):
    """Sends ``start`` to whoever comes, then one byte after another, without end."""

    def __init__(self, start: bytes) -> None:
        super().__init__(daemon=True)
        self._start, self._socket = start, socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]

    def run(self) -> None:
        peer, _ = self._socket.accept()
        with peer, self._socket, contextlib.suppress(OSError):
            peer.recv(1000)
            peer.sendall(self._start)
            while True:
                peer.sendall(b"x")
                time.sleep(0.02)


@pytest.mark.parametrize(
    "start, said",
    [
        (b"HTTP/1.1 200 OK\r\nX-Long: ", "no answer within 0.5 s"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "the answer did not end within 0.5 s"),
    ],
)
def test_an_answer_that_drips_is_ended_as_a_whole(bench: Bench, start: bytes, said: str) -> None:
    drip = _Drip(start)
    drip.start()
    began = time.monotonic()
    url = f"http://127.0.0.1:{drip.port}/"
    assert bench.ask("http", url=url, matches="y", timeout=0.5) == (UNKNOWN, said)
    assert time.monotonic() - began < 5
    drip.join(20)
    assert not drip.is_alive()
