"""No secret leaves, and ordinary text stays readable."""

from __future__ import annotations

import base64
import json
import secrets
import string
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_cron.vault.redaction import Redactor

VALUE = "p@ss w/ö?rd&1"


@pytest.mark.parametrize(
    "shown",
    [
        VALUE, f"password is {VALUE}.", quote(VALUE, safe=""), quote(VALUE), quote_plus(VALUE),
        f"postgresql://u:{quote(VALUE, safe='').lower()}@h/db".replace("postgresql", "x"),
        json.dumps({"k": VALUE}), json.dumps({"k": VALUE}, ensure_ascii=False),
        base64.b64encode(f"user:{VALUE}".encode()).decode(), base64.b64encode(f"u2:{VALUE}:x".encode()).decode(),
        base64.urlsafe_b64encode(VALUE.encode()).decode(),
    ],
)  # fmt: skip
def test_a_known_value_goes_in_every_disguise(shown: str) -> None:
    redacted = Redactor({"db-prod": VALUE}).redact(shown)
    assert "[secret:db-prod]" in redacted
    assert VALUE not in redacted


@given(
    value=st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=6, max_size=40),
    before=st.text(max_size=20),
    after=st.text(max_size=20),
)
@settings(max_examples=200, deadline=None)
def test_a_value_never_survives(value: str, before: str, after: str) -> None:
    if value in before + after or value in "[secret:a]":
        return
    assert value not in Redactor({"a": value}).redact(f"{before}{value}{after}").replace("[secret:a]", "")


@given(value=st.binary(min_size=8, max_size=40).map(lambda b: base64.b85encode(b).decode()), pad=st.binary(max_size=7))
@settings(max_examples=200, deadline=None)
def test_base64_of_a_longer_text_is_found_at_any_offset(value: str, pad: bytes) -> None:
    encoded = base64.b64encode(pad + value.encode() + b"tail").decode()
    assert "[secret:a]" in Redactor({"a": value}).redact(encoded)


def test_the_longer_of_two_values_goes_first() -> None:
    redactor = Redactor({"short": "abcdef", "long": "abcdef-123456"})
    assert redactor.redact("x abcdef-123456 abcdef") == "x [secret:long] [secret:short]"


def test_short_values_stay() -> None:
    assert Redactor({"pin": "12345"}).redact("12345 rows") == "12345 rows"


def test_a_line_of_a_long_value_is_enough() -> None:
    body = "\n".join(secrets.token_urlsafe(32) for _ in range(3))
    redacted = Redactor({"cert": body}).redact("log: " + body.splitlines()[1])
    assert redacted == "log: [secret:cert]"


def _random(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(count))


HEX = "0123456789abcdef"
FAKE = {
    "openai": ("sk-proj-" + _random(48), ""),
    "anthropic": ("sk-ant-api03-" + _random(60), ""),
    "plain sk": ("sk-" + _random(48), ""),
    "stripe": ("sk_live_" + _random(24), ""),
    "github": ("ghp_" + _random(36), ""),
    "github fine": ("github_pat_" + _random(60), ""),
    "gitlab": ("glpat-" + _random(20), ""),
    "slack": ("xoxb-" + _random(12, string.digits) + "-" + _random(24), ""),
    "slack hook": (_random(9) + "/" + _random(11) + "/" + _random(24), "https://hooks.slack.com/services/"),
    "discord hook": (_random(18, string.digits) + "/" + _random(68), "https://discord.com/api/webhooks/"),
    "feishu hook": ("f1e2d3c4-0000-4000-8000-" + _random(12, HEX), "https://open.feishu.cn/open-apis/bot/v2/hook/"),
    "dingtalk": (_random(64, HEX), "https://oapi.dingtalk.com/robot/send?access_token="),
    "wecom": ("693a91f6-7000-4bc4-97a0-" + _random(12, HEX), "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key="),
    "telegram": (_random(10, "123456789") + ":" + _random(35), "bot "),
    "aws": ("AKIA" + _random(16, string.ascii_uppercase), ""),
    "aliyun": ("LTAI" + _random(20), ""),
    "google": ("AIza" + _random(35), ""),
    "google oauth": ("ya29." + _random(60), ""),
    "hugging face": ("hf_" + _random(34), ""),
    "npm": ("npm_" + _random(36), ""),
    "jwt": ("eyJ" + _random(20) + ".eyJ" + _random(40) + "." + _random(43), ""),
    "bearer": (_random(40), "Authorization: Bearer "),
    "basic": (base64.b64encode(b"user:" + _random(12).encode()).decode(), "Authorization: Basic "),
    "url": (_random(12), "postgresql://watcher:"),
    "connection string": (_random(12), "Server=db;User=sa;Password="),
    "environment": (_random(12), "PGPASSWORD="),
}


@pytest.mark.parametrize("kind", FAKE)
def test_keys_that_the_vault_never_saw_go_too(kind: str) -> None:
    secret, lead = FAKE[kind]
    tail = "@db.internal/shop" if kind == "url" else " and more"
    redacted = Redactor({}).redact(f"before {lead}{secret}{tail}")
    assert secret not in redacted
    assert "[redacted:" in redacted
    assert redacted.startswith("before ")


def test_a_private_key_goes_whole() -> None:
    body = "\n".join(_random(64) for _ in range(4))
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nrest"
    assert Redactor({}).redact(text) == "[redacted:private-key]\nrest"


@pytest.mark.parametrize(
    "text",
    [
        "The password policy was reviewed; no password: see wiki.",
        "commit 2c4b0a4f9d8e7c6b5a4f3e2d1c0b9a8f7e6d5c4b",
        "uuid 0b8c7a52-4a39-4f0e-9d5b-3f8f4f0a8a11",
        "token count 120394, cached 5000; tokens=4096",
        "select password_hash from users where password = $1",
        "https://example.com/docs/api-keys?page=2#create",
        "postgresql://watcher@10.0.3.17/shop",
        "run r7k2m took 2.9 s, sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Bearer of bad news; the bearer token was rotated",
        "12:30:45 2026-12-01T09:00:00Z every 5 min",
        "任务 sk 正常，密码已更新。",
        "ssh://git@github.com/org/repo.git",
        "password=<hidden>  pwd=$PASSWORD  PASSWORD=${DB_PASSWORD}",
        "risk-adjusted-return-of-the-portfolio-in-2026",
    ],
)
def test_harmless_text_stays(text: str) -> None:
    assert Redactor({}).redact(text) == text
    assert Redactor({"other": "something else"}).redact(text) == text


def test_a_redactor_shows_nothing_of_its_values() -> None:
    assert "hunter2" not in repr(Redactor({"a": "hunter2!"}))
