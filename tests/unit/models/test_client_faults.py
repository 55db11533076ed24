"""Which error does each refusal of a server become?"""

from __future__ import annotations

import socket
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hermes_cron.errors import (
    ModelAuth,
    ModelBadRequest,
    ModelContextLength,
    ModelError,
    ModelGarbage,
    ModelOverloaded,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
)
from hermes_cron.models.endpoint import Endpoint
from hermes_cron.models.openai_compatible import OpenAICompatible
from hermes_cron.testing import FixedClock
from tests.model_rig import NOW, request, rig


def error(message: str = "no", **members: Any) -> dict[str, Any]:
    return {"error": {"message": message, **members}}


REFUSALS = [
    (401, error("Incorrect API key provided: sk-very-secret"), ModelAuth),
    (403, error(), ModelAuth),
    (402, error("Insufficient credits"), ModelAuth),
    (400, error(code="context_length_exceeded"), ModelContextLength),
    (400, error("This model's maximum context length is 4096 tokens.", code=400), ModelContextLength),
    (400, error("the request is long", type="exceed_context_size_error"), ModelContextLength),
    (400, error("prompt is too long: 210000 tokens > 200000 maximum"), ModelContextLength),
    (413, "payload too large", ModelContextLength),
    (400, error(code="content_filter"), ModelRefused),
    (400, error(code=None, innererror={"code": "content_policy_violation"}), ModelRefused),
    (400, error("Unsupported parameter: 'max_tokens'", code="unsupported_parameter"), ModelBadRequest),
    (404, error('model "x" not found', type="not_found_error"), ModelBadRequest),
    (404, "<html>nothing here</html>", ModelBadRequest),
    (422, {"detail": [{"msg": "field required"}]}, ModelBadRequest),
    (409, error(), ModelBadRequest),
    (301, "", ModelBadRequest),
    (408, error(), ModelTimeout),
    (429, error(), ModelRateLimited),
    (429, error(code="insufficient_quota"), ModelRateLimited),
    (500, error(), ModelOverloaded),
    (502, "<html>bad gateway</html>", ModelOverloaded),
    (529, error(type="overloaded_error"), ModelOverloaded),
    (200, "<html>log in</html>", ModelGarbage),
    (200, "", ModelGarbage),
    (200, '{"choices": [', ModelGarbage),
    (200, "null", ModelGarbage),
    (200, [], ModelGarbage),
    (200, {}, ModelGarbage),
    (200, {"choices": []}, ModelGarbage),
    (200, {"choices": None}, ModelGarbage),
    (200, {"choices": ["x"]}, ModelGarbage),
    (200, {"choices": [{"message": None, "finish_reason": "stop"}]}, ModelGarbage),
    (200, {"choices": [{"message": {"tool_calls": "none"}}]}, ModelGarbage),
    (200, error("nope"), ModelGarbage),
    (200, error("slow", code=429), ModelRateLimited),
    (200, error("down", code=502), ModelOverloaded),
    (200, {"choices": [{"message": {"content": None, "refusal": "I can't"}, "finish_reason": "stop"}]}, ModelRefused),
    (200, {"choices": [{"message": {"content": "so"}, "finish_reason": "content_filter"}]}, ModelRefused),
    (200, {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}, ModelContextLength),
]  # fmt: skip


# a text with 200 that is no event is a stream that ended early: see the cases
BOTH_WAYS = [(*row, False) for row in REFUSALS]
BOTH_WAYS += [(*row, True) for row in REFUSALS if not (row[0] == 200 and isinstance(row[1], str))]


@pytest.mark.parametrize(
    "status, body, kind, stream", BOTH_WAYS, ids=[f"{s}-{str(b)[:40]}-{stream}" for s, b, _, stream in BOTH_WAYS]
)
def test_each_refusal_has_its_kind_and_no_text_has_the_key(
    status: int, body: Any, kind: type[ModelError], stream: bool
) -> None:
    script = [{"status": status, "body": body, "repeat": True}]
    with rig(script, stream=stream) as r, pytest.raises(ModelError) as caught:
        r.model.complete(request())
    assert type(caught.value) is kind
    assert "sk-very-secret" not in f"{caught.value} {caught.value.hint} {caught.value!r}"
    assert "sk-very-secret" not in "".join(traceback.format_exception(caught.value))
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    "kind, status",
    [(ModelAuth, 401), (ModelBadRequest, 400), (ModelGarbage, 200), (ModelContextLength, 413)],
)
def test_what_asking_again_cannot_mend_is_asked_once(kind: type[ModelError], status: int) -> None:
    with rig([{"status": status, "body": "no", "repeat": True}]) as r:
        with pytest.raises(kind):
            r.model.complete(request())
        assert len(r.stub.requests) == 1


def test_a_used_up_quota_is_not_waited_for() -> None:
    script = [{"status": 429, "body": error(code="insufficient_quota")}, "no"]
    with rig(script) as r, pytest.raises(ModelRateLimited) as caught:
        r.model.complete(request())
    assert (caught.value.retry_after_s or 0) >= 3600
    assert len(r.stub.requests) == 1


def test_an_error_frame_inside_a_stream_has_its_kind() -> None:
    frames = [{"choices": [{"index": 0, "delta": {"content": "so"}}]}, error("overloaded", code=503)]
    with rig([{"chunks": frames, "repeat": True}], stream=True) as r, pytest.raises(ModelOverloaded):
        r.model.complete(request())


@contextmanager
def raw_server(answer: bytes, *, pause_s: float = 0, close: bool = True) -> Iterator[str]:
    """Sends ``answer`` byte by byte with pauses to whoever connects, whatever he asks."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    if pause_s:
                        for index in range(len(answer)):
                            connection.sendall(answer[index : index + 1])
                            if over.wait(pause_s):
                                break
                    else:
                        connection.recv(65536)
                        connection.sendall(answer)
                    if not close:
                        over.wait()
                except OSError:
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=5)


def client(base_url: str) -> OpenAICompatible:
    return OpenAICompatible(Endpoint(model="m", base_url=base_url), clock=FixedClock(NOW), sleep=lambda _: None)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(HEAD + b"Content-Length: 90000\r\n\r\n" + b" " * 90000, id="body"),
        pytest.param(HEAD + b"X-Pad: y\r\n" * 9000, id="headers"),
    ],
)
def test_a_server_that_trickles_does_not_outlive_the_calls_limit(answer: bytes) -> None:
    """Each read gets its byte in time: only a limit on the sum of them helps."""
    started = time.monotonic()
    with raw_server(answer, pause_s=0.02) as base_url:
        model = client(base_url)
        with pytest.raises(ModelTimeout):
            model.complete(request(timeout_s=0.5))
        model.close()
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("answer", [b"", b"not http at all\r\n\r\n", b"HTTP/1.1 "])
def test_a_server_that_speaks_no_http_is_unreachable(answer: bytes) -> None:
    with raw_server(answer) as base_url:
        model = client(base_url)
        with pytest.raises(ModelUnreachable):
            model.complete(request(timeout_s=5))
        model.close()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    model = client(f"http://127.0.0.1:{port}/v1")
    with pytest.raises(ModelUnreachable):
        model.complete(request(timeout_s=5))
    model.close()


def test_a_name_that_does_not_resolve_is_unreachable() -> None:
    model = client("http://no-such-host.invalid/v1")
    with pytest.raises(ModelUnreachable):
        model.complete(request(timeout_s=5))
    model.close()


def test_a_connection_that_broke_once_is_made_again() -> None:
    with rig([{"close": True}, "back"]) as r:
        assert r.model.complete(request()).text == "back"


def test_a_proxy_of_the_environment_does_not_see_local_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with rig(["here"]) as r:
        assert r.model.complete(request()).text == "here"
