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

from hermes_cron.domain.transcript import Usage
from hermes_cron.errors import (
    EmptyReply,
    ModelAuth,
    ModelBadRequest,
    ModelContextLength,
    ModelError,
    ModelGarbage,
    ModelNotConfigured,
    ModelOverloaded,
    ModelQuota,
    ModelRateLimited,
    ModelRefused,
    ModelReplyCut,
    ModelTimeout,
    ModelUnknown,
    ModelUnreachable,
    PlaybookDatabaseUnreachable,
    PlaybookFailed,
    PlaybookOneDatabase,
    StreamStalled,
    StreamTruncated,
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
    (402, error("Insufficient credits"), ModelQuota),
    (403, error(code="AccountOverdueError"), ModelQuota),
    (400, error("Your credit balance is too low to access the API", type="invalid_request_error"), ModelQuota),
    (400, error(code="billing_hard_limit_reached"), ModelQuota),
    (429, error(code="billing_hard_limit"), ModelQuota),
    (429, error(code="credit_balance_exhausted", type="insufficient_quota"), ModelQuota),
    (429, error("您的账户余额不足，请充值", code="1113"), ModelQuota),
    (500, error(type="insufficient_quota"), ModelQuota),
    (429, error("You exceeded your current quota, retry in 7 s", status="RESOURCE_EXHAUSTED"), ModelRateLimited),
    (400, error(code="context_length_exceeded"), ModelContextLength),
    (400, error("This model's maximum context length is 4096 tokens.", code=400), ModelContextLength),
    (400, error("the request is long", type="exceed_context_size_error"), ModelContextLength),
    (400, error("prompt is too long: 210000 tokens > 200000 maximum"), ModelContextLength),
    (413, "payload too large", ModelContextLength),
    (400, error(code="content_filter"), ModelRefused),
    (400, error(code=None, innererror={"code": "content_policy_violation"}), ModelRefused),
    (400, error("Unsupported parameter: 'max_tokens'", code="unsupported_parameter"), ModelBadRequest),
    (404, error('model "x" not found', type="not_found_error"), ModelUnknown),
    (404, "<html>nothing here</html>", ModelUnknown),
    (400, error("no", code="model_not_found"), ModelUnknown),
    (400, error("Model Not Exist", type="invalid_request_error"), ModelUnknown),
    (422, {"detail": [{"msg": "field required"}]}, ModelBadRequest),
    (409, error(), ModelBadRequest),
    (301, "", ModelBadRequest),
    (408, error(), ModelTimeout),
    (429, error(), ModelRateLimited),
    (429, error(code="insufficient_quota"), ModelQuota),
    (500, error(), ModelOverloaded),
    (502, "<html>bad gateway</html>", ModelOverloaded),
    (504, "<html>gateway time-out</html>", ModelTimeout),
    (524, "", ModelTimeout),
    (529, error(type="overloaded_error"), ModelOverloaded),
    (200, "<html>log in</html>", ModelGarbage),
    (200, "", ModelGarbage),
    (200, "[1, 2", ModelGarbage),
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
    (200, error("pay", code=402), ModelQuota),
    (200, error("pay", code="insufficient_quota"), ModelQuota),
    (200, {"choices": [{"message": {"content": None, "refusal": "I can't"}, "finish_reason": "stop"}]}, ModelRefused),
    (200, {"choices": [{"message": {"content": "so", "refusal": "no"}, "finish_reason": "stop"}]}, ModelRefused),
    (200, {"choices": [{"message": {"content": "so"}, "finish_reason": "content_filter"}]}, ModelRefused),
    (200, {"choices": [{"message": {"content": None}, "finish_reason": "SAFETY"}]}, ModelRefused),
    (200, {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}, ModelReplyCut),
    (200, {"choices": [{"message": {"content": "so"}, "finish_reason": "error"}]}, ModelOverloaded),
    (200, {"choices": [{"message": {"content": "so"}, "error": {"code": 429}}]}, ModelRateLimited),
]  # fmt: skip


BOTH_WAYS = [(*row, stream) for row in REFUSALS for stream in (False, True)]


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
    spent = {"status": 429, "headers": {"Retry-After": "1"}, "body": error(code="insufficient_quota")}
    with rig([spent, "no"]) as r, pytest.raises(ModelQuota) as caught:
        r.model.complete(request())
    assert (caught.value.reason, caught.value.passing, caught.value.retry_after_s) == ("quota_exhausted", False, None)
    assert "billing" in (caught.value.hint or "")
    assert len(r.stub.requests) == 1
    assert r.time.slept == []


FLAGS = {
    ModelError: ("model_error", False, False),
    ModelRateLimited: ("rate_limited", True, False),
    ModelQuota: ("quota_exhausted", False, False),
    ModelOverloaded: ("model_overloaded", True, False),
    ModelUnreachable: ("model_unreachable", True, False),
    ModelTimeout: ("model_timeout", True, True),
    ModelAuth: ("model_auth", False, False),
    ModelBadRequest: ("model_bad_request", False, False),
    ModelUnknown: ("model_bad_request", False, False),
    ModelContextLength: ("context_length", False, False),
    ModelReplyCut: ("reply_truncated", False, True),
    ModelRefused: ("model_refused", False, True),
    ModelGarbage: ("model_garbage", False, True),
    StreamTruncated: ("stream_truncated", True, True),
    StreamStalled: ("stream_stalled", True, True),
    EmptyReply: ("empty_reply", False, True),
    ModelNotConfigured: ("no_model", False, False),
    PlaybookOneDatabase: ("several_databases", False, False),
    PlaybookFailed: ("nothing_checked", False, False),
    PlaybookDatabaseUnreachable: ("database_unreachable", True, False),
}


def test_what_each_kind_says_of_waiting_and_of_money() -> None:
    def family(kind: type[ModelError]) -> list[type[ModelError]]:
        return [kind, *(found for sub in kind.__subclasses__() for found in family(sub))]

    assert {kind: (kind.reason, kind.passing, kind.paid) for kind in family(ModelError)} == FLAGS
    assert len({kind.code for kind in FLAGS}) == len(FLAGS)


PAID = {"prompt_tokens": 70, "completion_tokens": 9}


@pytest.mark.parametrize(
    "reply, kind, paid, usage",
    [
        pytest.param({"text": "", "usage": PAID}, EmptyReply, True, Usage(input=70, output=9), id="empty"),
        pytest.param({"text": "", "usage": None}, EmptyReply, True, None, id="empty-and-uncounted"),
        pytest.param(
            {"message": {"refusal": "no"}, "usage": PAID}, ModelRefused, True, Usage(input=70, output=9), id="refused"
        ),
        pytest.param(
            {"text": "", "finish": "length", "usage": PAID}, ModelReplyCut, True, Usage(input=70, output=9), id="cut"
        ),
        pytest.param(
            {"body": {"choices": [], "usage": PAID}}, ModelGarbage, True, Usage(input=70, output=9), id="no-choices"
        ),
        pytest.param({"body": error("slow", code=429)}, ModelRateLimited, False, None, id="error-with-200"),
        pytest.param({"status": 503, "body": error()}, ModelOverloaded, False, None, id="503"),
        pytest.param({"status": 504, "body": ""}, ModelTimeout, True, None, id="504"),
        pytest.param({"text": "x" * 90, "cut": 40}, StreamTruncated, True, None, id="cut-body"),
        pytest.param({"close": True}, ModelUnreachable, True, None, id="closed-after-the-request"),
    ],
)
def test_whether_a_call_without_a_reply_may_have_cost_something(
    reply: dict[str, Any], kind: type[ModelError], paid: bool, usage: Usage | None
) -> None:
    with rig([{**reply, "repeat": True}]) as r, pytest.raises(kind) as caught:
        r.model.complete(request())
    assert (caught.value.paid, caught.value.usage) == (paid, usage)


@pytest.mark.parametrize(
    "words, paid", [([], False), ([{"choices": [{"index": 0, "delta": {"content": "so"}}]}], True)]
)
def test_an_error_frame_after_words_was_paid_for(words: list[Any], paid: bool) -> None:
    with (
        rig([{"chunks": [*words, error("overloaded", code=503)], "repeat": True}], stream=True) as r,
        pytest.raises(ModelOverloaded) as caught,
    ):
        r.model.complete(request())
    assert caught.value.paid is paid


@pytest.mark.parametrize(
    "status, headers, waits",
    [
        (503, {"Retry-After": "7"}, 7.0),
        (429, {"Retry-After": "3600"}, 3600.0),
        (529, {}, None),
        (429, {"Retry-After": "1e300"}, 366 * 86_400.0),
        (401, {"Retry-After": "7"}, None),
    ],
)
def test_what_the_server_asked_to_wait_is_told(status: int, headers: dict[str, str], waits: float | None) -> None:
    script = [{"status": status, "headers": headers, "body": error(), "repeat": True}]
    with rig(script) as r, pytest.raises(ModelError) as caught:
        r.model.complete(request())
    assert caught.value.retry_after_s == waits


@pytest.mark.parametrize("body", ['{"choices": [', '{"choices": [{"message": {"content": "half a sen', " {"])
def test_a_body_that_ends_early_without_a_length_is_a_cut_reply(body: str) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + body.encode()
    with raw_server(answer) as base_url:
        model = client(base_url)
        with pytest.raises(StreamTruncated):
            model.complete(request(timeout_s=5))
        model.close()


def test_a_refusal_whose_explanation_is_cut_keeps_its_kind() -> None:
    with rig([{"status": 401, "body": error("x" * 300), "cut": 20}]) as r, pytest.raises(ModelAuth):
        r.model.complete(request())
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


def test_a_connection_that_broke_after_the_request_is_made_again_by_the_loop_not_here() -> None:
    """The request may have been paid for: each try has its own reservation (agent/asking.py)."""
    with rig([{"close": True}, "back"]) as r:
        with pytest.raises(ModelUnreachable) as caught:
            r.model.complete(request())
        assert (caught.value.paid, len(r.stub.requests)) == (True, 1)
        assert r.model.complete(request()).text == "back"


def test_a_proxy_of_the_environment_does_not_see_local_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with rig(["here"]) as r:
        assert r.model.complete(request()).text == "here"
