"""A sentence that says a password is told from one that speaks of passwords."""

from __future__ import annotations

import time

import pytest

from hermes_cron.domain.plain_password import said


@pytest.mark.parametrize(
    "text",
    [
        "the password of prod is hunter2secret",
        "db password: hunter2secret",
        "login bob, pw hunter2secret",
        "Password for bob on prod is 'Tr0ub4dor&3'.",
        "The prod DB's password is hunter2secret.",
        "passphrase = correct1horse",
        "口令是 Abc12345!",
        "密码：Abc12345",
        "密码为`x9y8z7w6`",
    ],
)
def test_a_password_in_words_is_seen(text: str) -> None:
    assert said(text)


@pytest.mark.parametrize(
    "text",
    [
        "The password is rotated monthly",
        "password: see the vault",
        "The password policy is 12 characters",
        "password is secret:prod1db",
        "The password is in secret:prod-db1",
        "The password for prod1 is rotated every 90d",
        "password_encryption is scram-sha-256, the password is SCRAM-SHA-256",
        "login needs no password on host web12.example",
        "password file is /etc/pw1.conf",
        "Password reset: https://x.example/a1b2c3",
        "The pwd command prints dir1name",
        "密码每90天轮换",
        "密码在 vault 的 prod1 里",
    ],
)
def test_a_sentence_about_passwords_is_a_fact(text: str) -> None:
    assert not said(text)


@pytest.mark.parametrize("text", ["password " * 9_000, "password of x " * 6_000, "pw" + " " * 90_000, "密码" * 40_000])
def test_long_texts_take_no_time(text: str) -> None:
    begun = time.monotonic()
    assert not said(text)
    assert time.monotonic() - begun < 2
