"""A webhook on loopback that answers as receivers do: what each answer means, and what went over the wire."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hermes_cron.delivery.http import Poster
from hermes_cron.delivery.said import fault_in, heard, line, retry_after
from hermes_cron.delivery.switch import Switch, address
from hermes_cron.delivery.webhook import Webhook
from hermes_cron.domain.delivery import Answer, DeliveryKind, Heard, Message
from hermes_cron.testing import FixedClock
from tests.receivers import Receiver, Reply, dead_port

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
KEY = "the-key-of-the-hook"
MESSAGE = Message(
    id="d52-0123456789abcdef",
    kind=DeliveryKind.REPORT,
    title="prod: 1 项严重",
    body="# prod：1 项严重\n\nfooter",
    job="inspect-prod-db",
    created_at=NOON,
    run_id="r7k2m",
    facts={"state": "ok", "verdict": "verified"},
)


def post(url: str, *, timeout_s: float = 5, key: str | None = KEY, message: Message = MESSAGE) -> Answer:
    clock = FixedClock(NOON)
    signing = None if key is None else (lambda: key)
    return Webhook(url=lambda: url, key=signing, timeout_s=timeout_s, poster=Poster(clock), clock=clock).send(message)


def test_what_goes_over_the_wire_is_json_with_an_id_and_a_signature_that_anybody_can_compute() -> None:
    with Receiver() as receiver:
        answer = post(receiver.url)
    assert answer == Answer(heard=Heard.SENT, text="HTTP 200: ok")
    (got,) = receiver.got
    told = json.loads(got.body)
    assert told == {
        "id": MESSAGE.id, "kind": "report", "job": "inspect-prod-db", "run_id": "r7k2m", "title": "prod: 1 项严重",
        "text": "# prod：1 项严重\n\nfooter", "created_at": "2026-12-01T12:00:00+00:00",
        "facts": {"state": "ok", "verdict": "verified"},
    }  # fmt: skip
    assert got.headers["idempotency-key"] == MESSAGE.id
    at = got.headers["x-hermes-cron-timestamp"]
    assert at == str(int(NOON.timestamp()))
    expected = hmac.new(KEY.encode(), f"{at}.".encode() + got.body, hashlib.sha256).hexdigest()
    assert got.headers["x-hermes-cron-signature"] == f"v1={expected}"
    assert got.headers["content-type"].startswith("application/json")


def test_without_a_key_nothing_is_signed() -> None:
    with Receiver() as receiver:
        post(receiver.url, key=None)
    assert "x-hermes-cron-signature" not in receiver.got[0].headers


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 413, 422])
def test_a_refusal_is_final(status: int) -> None:
    with Receiver(Reply(status, b"no such hook")) as receiver:
        answer = post(receiver.url)
    assert answer == Answer(heard=Heard.FAILED, text=f"HTTP {status}: no such hook")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_trouble_is_tried_again(status: int) -> None:
    with Receiver(Reply(status, b"later")) as receiver:
        assert post(receiver.url).heard is Heard.LATER


def test_retry_after_in_seconds_and_as_a_date() -> None:
    at = (NOON + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    with Receiver(Reply(429, headers={"Retry-After": "7"}), Reply(503, headers={"Retry-After": at})) as receiver:
        assert post(receiver.url).retry_after_s == 7
        assert post(receiver.url).retry_after_s == 90
    assert [retry_after(text, NOON) for text in ("soon", "-3", "1.5", "", None)] == [None] * 5


@pytest.mark.parametrize(
    "body",
    [
        {"error": "invalid token"}, {"errors": ["x"]}, {"ok": False, "error_code": 400}, {"success": False},
        {"code": 19024, "msg": "Key Words Not Found"}, {"errcode": 310000, "errmsg": "sign not match"},
        {"code": "invalid_payload"}, {"status": "error"}, {"StatusCode": 0, "code": 9499}, {"ok": "false"}, {"ok": 0},
        {"success": 0}, {"code": "²"}, {"code": "9" * 50}, {"code": "0200"},
    ],
)  # fmt: skip
def test_200_with_an_error_in_it_is_a_failure_and_the_answer_is_kept(body: dict[str, object]) -> None:
    with Receiver(Reply(200, json.dumps(body).encode())) as receiver:
        answer = post(receiver.url)
    assert answer.heard is Heard.FAILED
    assert answer.text.startswith("HTTP 200, but the answer says ")
    assert json.dumps(body) in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b"ok", b"", b"[]", b"{}", b'{"ok": true}', b'{"code": 0, "msg": "success"}', b'{"code": 200}',
        b'{"errcode": 0}',
        b'{"error": null, "errors": []}', b'{"error": "", "success": true}', b'{"status": "ok"}', b'{"code": "0"}',
        b'{"code": "success"}', b"<html>thanks</html>", b'{"result": "error"', b'{"code": "201"}',
        b"[" * 60_000, b'{"a":' * 10_000,
    ],
)  # fmt: skip
def test_200_with_nothing_wrong_in_it_is_sent(body: bytes) -> None:
    assert fault_in(body) is None
    assert heard(200, {}, body, NOON).heard is Heard.SENT


@pytest.mark.parametrize("text", ["Mon, 01 Jan 99999999999999 00:00:00 GMT", "²", "x" * 9000, "\0"])
def test_trouble_with_an_odd_retry_after_is_trouble_all_the_same(text: str) -> None:
    assert heard(503, {"retry-after": text}, b"later", NOON) == Answer(heard=Heard.LATER, text="HTTP 503: later")


def test_redirects_are_not_followed() -> None:
    with Receiver() as elsewhere, Receiver(Reply(307, headers={"Location": elsewhere.url})) as receiver:
        answer = post(receiver.url)
    assert answer.heard is Heard.FAILED
    assert "redirects are not followed" in answer.text
    assert elsewhere.got == []


def test_nobody_listens() -> None:
    answer = post(f"http://127.0.0.1:{dead_port()}/hook")
    assert answer == Answer(heard=Heard.LATER, text="127.0.0.1: Connection refused")


def test_no_answer_in_time_says_that_it_may_have_arrived() -> None:
    with Receiver(otherwise=Reply(silent=True)) as receiver:
        began = time.monotonic()
        answer = post(receiver.url, timeout_s=0.3)
    assert answer == Answer(
        heard=Heard.LATER, text="127.0.0.1: no answer within 0.3 s; the request was sent whole and may have arrived"
    )
    assert time.monotonic() - began < 5


def test_an_answer_that_trickles_ends_with_the_time_out_all_the_same() -> None:
    with Receiver(otherwise=Reply(trickle=True)) as receiver:
        began = time.monotonic()
        answer = post(receiver.url, timeout_s=0.4)
    assert time.monotonic() - began < 5  # each byte comes within the read's own time-out
    assert answer.heard is Heard.LATER
    assert "no answer within 0.4 s" in answer.text


def test_an_endless_answer_is_bounded() -> None:
    with Receiver(Reply(500, b"x" * 3_000_000)) as receiver:
        answer = post(receiver.url)
    assert answer.heard is Heard.LATER
    assert len(answer.text) < 400


@pytest.mark.parametrize(
    ("body", "expected"), [(b'{"ok": false, "descri', Heard.LATER), (b"ok, thank you", Heard.SENT), (b"", Heard.SENT)]
)
def test_half_an_object_that_might_go_on_with_an_error_is_no_receipt(body: bytes, expected: Heard) -> None:
    with Receiver(Reply(200, body, headers={"Content-Length": "1000", "Connection": "close"})) as receiver:
        answer = post(receiver.url)
    assert answer.heard is expected
    assert ("was cut off" in answer.text and "may have arrived" in answer.text) is (expected is Heard.LATER)


def test_an_address_that_is_none() -> None:
    assert post("hook").heard is Heard.FAILED
    assert post("ftp://127.0.0.1/x").heard is Heard.FAILED
    for url in ("http://a..b/", f"http://{'a' * 70}.test/", "http://127.0.0.1:1/\ud800"):
        assert post(url) == Answer(heard=Heard.FAILED, text="the address is no URL")


def test_foreign_text_is_one_line_without_control_characters() -> None:
    assert line("a\n\tb\x1b[31m  c\u202e") == "a b [31m c"
    assert len(line("x" * 1000)) == 300


# --- the outside switch -----------------------------------------------------------------------------------------------


def ping(url: str, signal: str) -> Answer:
    message = replace(MESSAGE, kind=DeliveryKind.PING, title=signal, body="one line")
    return Switch(url=lambda: url, poster=Poster(FixedClock(NOON))).send(message)


def test_start_success_and_fail_go_where_healthchecks_expects_them_with_one_run_id() -> None:
    with Receiver() as receiver:
        for signal in ("start", "success", "fail"):
            assert ping(receiver.url, signal).heard is Heard.SENT
    paths = [got.path.partition("?") for got in receiver.got]
    assert [path for path, _, _ in paths] == ["/hook/start", "/hook", "/hook/fail"]
    rids = {query for _, _, query in paths}
    assert len(rids) == 1
    assert rids.pop().startswith("rid=")
    assert {got.body for got in receiver.got} == {b"one line"}


def test_a_query_of_the_address_is_kept() -> None:
    assert address("https://hc/ping/x?create=1", "start", None) == "https://hc/ping/x/start?create=1"
    assert address("https://hc/ping/x/?create=1", "fail", "r1").startswith("https://hc/ping/x/fail?create=1&rid=")


def test_healthchecks_says_not_found_with_200() -> None:
    with Receiver(Reply(200, b"OK (not found)")) as receiver:
        assert ping(receiver.url, "success") == Answer(heard=Heard.FAILED, text="HTTP 200: OK (not found)")
