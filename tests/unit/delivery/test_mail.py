"""Mail to a server on loopback: what each of its words means, and what the mail looks like."""

from __future__ import annotations

import email
import time
from dataclasses import replace
from datetime import UTC, datetime
from email.policy import default
from pathlib import Path

import pytest

from hermes_cron.delivery.mail import Mailbox, is_address
from hermes_cron.domain.delivery import Answer, DeliveryKind, Heard, Message
from hermes_cron.domain.target import TargetConfig, TargetKind, Tls
from tests.receivers import MailServer, Manners, certificate, dead_port

MESSAGE = Message(
    id="d7-0123456789abcdef",
    kind=DeliveryKind.FAILURE,
    title="失败 inspect-prod-db，应于 2026-11-27 周五 09:00 执行\nBcc: evil@example.org",
    body="连不上 prod\n.\n..dots\nFrom here on\n" + "x" * 2000,
    job="inspect-prod-db",
    created_at=datetime(2026, 11, 27, 9, tzinfo=UTC),
)
OPS = "ops@example.org"


def target(port: int, **changes: object) -> TargetConfig:
    made = TargetConfig(
        name="mail", kind=TargetKind.EMAIL, to=(OPS,), sender="Hermes <cron@example.net>", host="localhost", port=port,
        tls=Tls.NONE, timeout_s=5,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def send(config: TargetConfig, message: Message = MESSAGE, password: str | None = None) -> Answer:
    return Mailbox(config=config, password=None if password is None else (lambda: password)).send(message)


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made))
    return made


def test_the_mail_is_plain_utf8_with_an_id_of_its_own_and_no_header_of_a_strangers_making() -> None:
    with MailServer() as server:
        answer = send(target(server.port))
    assert answer == Answer(heard=Heard.SENT, text="250 2.0.0 queued as 4711")
    (mail,) = server.mails
    assert (mail.sender, mail.recipients) == ("cron@example.net", (OPS,))
    read = email.message_from_bytes(mail.text, policy=default)
    assert read["Subject"] == "失败 inspect-prod-db，应于 2026-11-27 周五 09:00 执行 Bcc: evil@example.org"
    assert read["Bcc"] is None
    assert read["Message-ID"] == "<d7-0123456789abcdef@example.net>"
    assert read["To"] == OPS
    assert read["Date"].datetime == MESSAGE.created_at
    assert read.get_content_type() == "text/plain"
    assert read.get_content().replace("\r\n", "\n").rstrip("\n") == MESSAGE.body
    assert all(len(line) <= 998 for line in mail.text.split(b"\r\n"))
    assert mail.text.isascii()


def test_one_recipient_of_two_is_refused_who_has_it_and_who_has_not_is_said() -> None:
    manners = Manners(rcpt={"gone@example.org": b"550 5.1.1 no such user"})
    with MailServer(manners) as server:
        answer = send(target(server.port, to=(OPS, "gone@example.org")))
    assert answer.heard is Heard.FAILED  # a second try would be a second copy for the other
    assert answer.text == f"accepted for {OPS}; refused: gone@example.org (550 5.1.1 no such user)"
    assert server.mails[0].recipients == (OPS,)


@pytest.mark.parametrize(
    "manners, expected, words",
    [
        (Manners(rcpt={OPS: b"550 no such user"}), Heard.FAILED, "550 no such user"),
        (Manners(rcpt={OPS: b"450 greylisted"}), Heard.LATER, "450 greylisted"),
        (Manners(mail=b"553 sender not allowed"), Heard.FAILED, "553 sender not allowed"),
        (Manners(data=b"554 no"), Heard.FAILED, "554 no"),
        (Manners(data=b"451 try later"), Heard.LATER, "451 try later"),
        (Manners(taken=b"554 5.7.1 spam"), Heard.FAILED, "554 5.7.1 spam"),
        (Manners(taken=b"452 disk full"), Heard.LATER, "452 disk full"),
        (Manners(greeting=b"554 go away"), Heard.FAILED, "554 go away"),
        (Manners(greeting=b"421 busy"), Heard.LATER, "421 busy"),
    ],
)
def test_what_the_server_says_decides(manners: Manners, expected: Heard, words: str) -> None:
    with MailServer(manners) as server:
        answer = send(target(server.port))
    assert answer.heard is expected
    assert words in answer.text


@pytest.mark.parametrize("word", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_a_silence_before_the_mail_is_handed_over_is_tried_again(word: str) -> None:
    with MailServer(Manners(silent_after=word)) as server:
        began = time.monotonic()
        answer = send(target(server.port, timeout_s=0.3))
    assert answer == Answer(heard=Heard.LATER, text=f"localhost:{server.port}: no answer within 0.3 s")
    assert time.monotonic() - began < 5


def test_a_silence_after_it_means_that_nobody_knows() -> None:
    with MailServer(Manners(silent_after="text")) as server:
        answer = send(target(server.port, timeout_s=0.3))
    assert answer.heard is Heard.UNKNOWN
    assert "the mail was handed over whole" in answer.text
    assert len(server.mails) == 1


@pytest.mark.parametrize("taken", [b"\xff\xfe hello", b"354 go on", b"hello", b"999 what"])
def test_an_answer_to_the_whole_mail_that_is_neither_yes_nor_no_leaves_it_unknown(taken: bytes) -> None:
    with MailServer(Manners(taken=taken)) as server:
        answer = send(target(server.port))
    assert answer.heard is Heard.UNKNOWN
    assert len(server.mails) == 1


@pytest.mark.parametrize(
    ("manners", "expected"),
    [
        (Manners(taken=b"250-and more\r\n" * 100_000), Heard.UNKNOWN),
        (Manners(mail=b"250-and more\r\n" * 100_000), Heard.LATER),
    ],
    ids=["of the mail", "before"],
)
def test_an_answer_without_end_is_not_kept(manners: Manners, expected: Heard) -> None:
    with MailServer(manners) as server:
        answer = send(target(server.port))
    assert answer.heard is expected
    assert "more than 65,536 bytes" in answer.text


def test_nobody_listens() -> None:
    answer = send(target(dead_port()))
    assert answer.heard is Heard.LATER
    assert "refused" in answer.text.lower()


def test_starttls_and_login(trusted: Path) -> None:
    manners = Manners(starttls=True, accounts={"cron": "the-password"})
    with MailServer(manners, certificate=trusted) as server:
        config = target(server.port, tls=Tls.STARTTLS, user="cron")
        assert send(config, password="the-password").heard is Heard.SENT
        wrong = send(config, password="another")
    assert (server.mails[0].tls, server.mails[0].user) == (True, "cron")
    assert wrong == Answer(
        heard=Heard.FAILED, text=f"localhost:{server.port} refused the login: 535 5.7.8 wrong password"
    )


def test_tls_from_the_first_byte(trusted: Path) -> None:
    with MailServer(certificate=trusted, tls=True) as server:
        assert send(target(server.port, tls=Tls.TLS)).heard is Heard.SENT
    assert server.mails[0].tls


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    with MailServer(Manners(starttls=True), certificate=certificate(tmp_path)) as server:
        answer = send(target(server.port, tls=Tls.STARTTLS))
    assert answer.heard is Heard.FAILED
    assert "TLS refused" in answer.text
    assert server.mails == []


def test_a_server_without_starttls_gets_nothing_in_the_clear() -> None:
    with MailServer() as server:
        answer = send(target(server.port, tls=Tls.STARTTLS))
    assert (answer.heard, "offers no STARTTLS" in answer.text) == (Heard.FAILED, True)
    assert server.mails == []


def test_no_login_without_tls() -> None:
    with MailServer(Manners(accounts={"cron": "the-password"})) as server:
        answer = send(target(server.port, user="cron"), password="the-password")
    assert (answer.heard, "login without TLS" in answer.text) == (Heard.FAILED, True)
    assert server.commands == []


def test_addresses() -> None:
    assert is_address("ops@example.org")
    assert is_address("Ops <ops@example.org>")
    assert not any(is_address(text) for text in ("ops", "a b@example.org", "x@y\r\nRCPT TO:<z@y>", "@", ""))
    with MailServer() as server:
        assert send(target(server.port, to=("nonsense",))) == Answer(
            heard=Heard.FAILED, text="'nonsense' is no mail address"
        )
