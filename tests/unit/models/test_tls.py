"""Does the client speak TLS, and does it refuse a certificate that nobody vouches for?"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_cron.errors import ModelTimeout, ModelUnreachable
from hermes_cron.models.endpoint import Endpoint
from hermes_cron.models.openai_compatible import OpenAICompatible
from hermes_cron.testing import FixedClock
from tests.model_rig import NOW, request
from tests.receivers import certificate

REPLY = b'{"model":"m","choices":[{"message":{"role":"assistant","content":"safe"},"finish_reason":"stop"}]}'


@contextmanager
def tls_server(pem: Path, *, answers: bool) -> Iterator[str]:
    """Answers one request of a connection, or takes it and says nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with plain:
                talk(plain)

    def talk(plain: socket.socket) -> None:
        try:
            with context.wrap_socket(plain, server_side=True) as connection:
                connection.recv(65536)
                if answers:
                    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n"
                    connection.sendall(head.encode() + REPLY)
                over.wait()
        except OSError:
            return  # the client did not trust us

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        over.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=5)


def client(base_url: str) -> OpenAICompatible:
    return OpenAICompatible(Endpoint(model="m", base_url=base_url), clock=FixedClock(NOW), sleep=lambda _: None)


def test_an_authority_named_by_the_environment_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    with tls_server(pem, answers=True) as base_url:
        model = client(base_url)
        assert model.complete(request()).text == "safe"
        model.close()


def test_the_limit_holds_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    with tls_server(pem, answers=False) as base_url:
        model = client(base_url)
        started = time.monotonic()
        with pytest.raises(ModelTimeout):
            model.complete(request(timeout_s=0.5))
        assert time.monotonic() - started < 2
        model.close()


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    with tls_server(certificate(tmp_path), answers=True) as base_url:
        model = client(base_url)
        with pytest.raises(ModelUnreachable, match="certificate"):
            model.complete(request(timeout_s=5))
        model.close()
