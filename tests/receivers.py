"""What do messages arrive at in tests? A web server and a mail server of our own, on loopback, that behave as told."""

from __future__ import annotations

import base64
import contextlib
import email
import email.policy
import json
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

WAIT_S = 20.0


def until(condition: Callable[[], object], what: str, limit_s: float = WAIT_S) -> None:
    """Wait for something that others bring about."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"did not happen: {what}"
        time.sleep(0.005)


@dataclass(frozen=True)
class Reply:
    """``silent``: no answer before the server ends. ``trickle``: one byte of the head every 50 ms, for ever."""

    status: int = 200
    body: bytes = b"ok"
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    trickle: bool = False


@dataclass(frozen=True)
class Got:
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]

    def json(self) -> Any:
        return json.loads(self.body)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class Receiver:
    """``by_path`` answers its paths. Elsewhere ``replies`` are given in turn, then ``otherwise``, to requests whose
    body has ``about`` in it; all others are welcome. ``got`` has every request that came whole."""

    def __init__(
        self,
        *replies: Reply,
        otherwise: Reply | None = None,
        about: bytes = b"",
        by_path: Mapping[str, Reply] | None = None,
    ) -> None:
        self._about = about
        self._by_path = by_path or {}
        self.got: list[Got] = []
        self.answered: list[str] = []  # keys of requests whose answer was written
        self._replies = list(replies)
        self._otherwise = otherwise or Reply()
        self._lock = threading.Lock()
        self.ended = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(size)
                if len(body) < size:
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = receiver._next(Got(self.path, headers, body, time.monotonic()))
                with contextlib.suppress(OSError):
                    self._give(reply)
                    receiver.answered.append(headers.get("idempotency-key", ""))

            do_GET = do_POST  # noqa: N815  # the name that http.server looks for; who follows a redirect asks so

            def _give(self, reply: Reply) -> None:
                if reply.silent:
                    receiver.ended.wait(WAIT_S)
                    return
                if reply.trickle:
                    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 10_000:
                        self.wfile.write(bytes([byte]))
                        if receiver.ended.wait(0.05):
                            return
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Http(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.root}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def at(self, path: str) -> list[Got]:
        return [got for got in self.got if got.path == path]

    def _next(self, got: Got) -> Reply:
        with self._lock:
            self.got.append(got)
            if got.path in self._by_path:
                return self._by_path[got.path]
            if self._about not in got.body:
                return Reply()
            return self._replies.pop(0) if self._replies else self._otherwise

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


def dead_port() -> int:
    """A port of 127.0.0.1 where nobody listens."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# --- mail -------------------------------------------------------------------------------------------------------------


@dataclass
class Manners:
    """How the mail server behaves. Codes for commands; ``rcpt`` by address; ``silent_after`` a command's word."""

    greeting: bytes = b"220 mail.test ready"
    mail: bytes = b"250 ok"
    rcpt: dict[str, bytes] = field(default_factory=dict)
    data: bytes = b"354 go on"
    taken: bytes = b"250 2.0.0 queued as 4711"
    silent_after: str | None = None  # "text": the mail came whole and gets no answer
    starttls: bool = False
    accounts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mail:
    sender: str
    recipients: tuple[str, ...]
    text: bytes
    tls: bool
    user: str | None

    @property
    def content(self) -> str:
        return str(email.message_from_bytes(self.text, policy=email.policy.default).get_content())


class MailServer:
    """As much of RFC 5321 as a client of ours needs. ``mails`` has what was taken or came whole."""

    def __init__(self, manners: Manners | None = None, *, certificate: Path | None = None, tls: bool = False) -> None:
        self.manners = manners or Manners()
        self.mails: list[Mail] = []
        self.commands: list[str] = []
        self.ended = threading.Event()
        self.context: ssl.SSLContext | None = None
        if certificate is not None:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate)
        mail_server = self
        secured = tls

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    sock = self.request
                    if secured:
                        assert mail_server.context is not None
                        sock = mail_server.context.wrap_socket(sock, server_side=True)
                    _Dialogue(mail_server, sock, tls=secured).hold_and_close()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> MailServer:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


class _Dialogue:
    def __init__(self, server: MailServer, sock, *, tls: bool) -> None:  # type: ignore[no-untyped-def]
        self._server = server
        self._sock = sock
        self._file = sock.makefile("rb")
        self._tls = tls
        self._user: str | None = None
        self._sender = ""
        self._recipients: list[str] = []

    def hold_and_close(self) -> None:
        try:
            self.hold()
        finally:
            self._file.close()
            self._sock.close()

    def hold(self) -> None:
        self._say(self._server.manners.greeting)
        for line in self._lines():
            word = line.split(b" ")[0].split(b":")[0].upper().decode()
            self._server.commands.append(word)
            if self._server.manners.silent_after == word:
                self._server.ended.wait(WAIT_S)
                return
            if word == "QUIT" or not self._answer(word, line):
                return

    def _lines(self) -> Iterator[bytes]:
        while line := self._file.readline():
            yield line.rstrip(b"\r\n")

    def _answer(self, word: str, line: bytes) -> bool:
        manners = self._server.manners
        match word:
            case "EHLO":
                self._introduce()
            case "STARTTLS":
                self._say(b"220 go")
                assert self._server.context is not None
                self._file.close()
                self._sock = self._server.context.wrap_socket(self._sock, server_side=True)
                self._file = self._sock.makefile("rb")
                self._tls = True
            case "AUTH":
                _, user, password = base64.b64decode(line.split()[-1]).decode().split("\0")
                good = manners.accounts.get(user) == password
                self._user = user if good else None
                self._say(b"235 ok" if good else b"535 5.7.8 wrong password")
            case "MAIL":
                self._sender = line.split(b"<")[1].split(b">")[0].decode()
                self._say(manners.mail)
            case "RCPT":
                self._address(line.split(b"<")[1].split(b">")[0].decode())
            case "DATA":
                self._say(manners.data)
                return not manners.data.startswith(b"3") or self._take()
            case _:
                self._say(b"250 ok")
        return True

    def _introduce(self) -> None:
        manners = self._server.manners
        extensions = [b"mail.test", b"SIZE 1000000"]
        extensions += [b"STARTTLS"] if manners.starttls and not self._tls else []
        extensions += [b"AUTH PLAIN"] if manners.accounts else []
        for at, text in enumerate(extensions):
            self._say(b"250" + (b" " if at == len(extensions) - 1 else b"-") + text)

    def _address(self, address: str) -> None:
        said = self._server.manners.rcpt.get(address, b"250 ok")
        if said.startswith(b"2"):
            self._recipients.append(address)
        self._say(said)

    def _take(self) -> bool:
        lines = []
        for line in self._lines():
            if line == b".":
                break
            lines.append(line[1:] if line.startswith(b".") else line)
        self._server.mails.append(
            Mail(self._sender, tuple(self._recipients), b"\r\n".join(lines) + b"\r\n", self._tls, self._user)
        )
        if self._server.manners.silent_after == "text":
            self._server.ended.wait(WAIT_S)
            return False
        self._say(self._server.manners.taken)
        return True

    def _say(self, line: bytes) -> None:
        self._sock.sendall(line + b"\r\n")


def certificate(folder: Path) -> Path:
    """A key and a certificate for ``localhost`` and 127.0.0.1 that signed itself, in one PEM file. It counts where
    SSL_CERT_FILE says."""
    import ipaddress
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path
