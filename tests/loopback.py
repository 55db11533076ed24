"""Receivers on 127.0.0.1: a web server and a mail server that keep what they got and answer as told."""

from __future__ import annotations

import email.policy
import json
import socketserver
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """``headers`` beside Content-Length."""

    status: int = 200
    body: str = "ok"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Posted:
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Web(ThreadingHTTPServer):
    """Answers ``answers`` by path, else 200."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _WebTalk)
        self.answers = dict(answers)
        self.posted: list[Posted] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def at(self, path: str) -> list[Posted]:
        return [posted for posted in self.posted if posted.path == path]


class _WebTalk(BaseHTTPRequestHandler):
    server: Web

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.posted.append(Posted(self.path, dict(self.headers), body))
        answer = self.server.answers.get(self.path, Answer())
        data = answer.body.encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST  # noqa: N815  # the name that http.server looks for

    def log_message(self, format: str, *args: Any) -> None:
        """Tests print nothing."""


class Mail(socketserver.ThreadingTCPServer):
    """Takes every mail."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _MailTalk)
        self.mails: list[EmailMessage] = []

    @property
    def port(self) -> int:
        port: int = self.server_address[1]
        return port


class _MailTalk(socketserver.StreamRequestHandler):
    server: Mail

    def handle(self) -> None:
        self._say("220 loopback")
        while line := self.rfile.readline().decode("ascii", "replace").strip():
            word = line.split(" ")[0].upper()
            if word == "DATA":
                self._say("354 go on")
                self.server.mails.append(email.message_from_bytes(self._data(), policy=email.policy.default))
            self._say("221 bye" if word == "QUIT" else "250 ok")
            if word == "QUIT":
                return

    def _data(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        return b"".join(lines)

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def served(*servers: socketserver.BaseServer) -> Iterator[None]:
    """They answer until the end of ``with``."""
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join(timeout=5)


@contextmanager
def web(answers: Mapping[str, Answer] | Sequence[tuple[str, Answer]] = ()) -> Iterator[Web]:
    server = Web(dict(answers))
    with served(server):
        yield server


@contextmanager
def mail() -> Iterator[Mail]:
    server = Mail()
    with served(server):
        yield server
