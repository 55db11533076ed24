"""A value that looks like a secret is refused; what people write into variables is not."""

from __future__ import annotations

import pytest

from hermes_cron.jobs.plain_sight import looks_secret, spelled_out

# Put together here, so that no scanner of repositories takes this file for a leak.
FAKE = {
    "openai": "sk-" + "proj-Ab3dEf6hIj9kLm2nOp5q",
    "github": "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6q",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0.c2ln",
    "key": "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
    "url": "postgresql://watcher:" + "hunter2@10.0.3.17/shop",
    "bearer": "Authorization: Bearer " + "abcdef1234567890",
    "random": "q8Zr2LmX" + "9vT4bN7cK1sD6fGh3J",
}


@pytest.mark.parametrize("value", FAKE.values(), ids=FAKE.keys())
def test_secrets_are_seen_whatever_the_name(value: str) -> None:
    assert looks_secret("SETTING", value)


@pytest.mark.parametrize("name", ["PASSWORD", "DB_PASSWORD", "api_key", "GITHUB_TOKEN", "AUTH", "SECRET_VALUE"])
def test_a_name_that_says_secret_is_enough(name: str) -> None:
    assert looks_secret(name, "hunter2")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANG", "zh_CN.UTF-8"),
        ("PATH", "/usr/local/bin:/usr/bin"),
        ("COMMIT", "9f0e2f5d36b7d9b1f6a4a5f0b1c2d3e4f5a6b7c8"),
        ("ID", "123e4567-e89b-12d3-a456-426614174000"),
        ("URL", "https://example.test/a?b=c"),
        ("URL", "postgresql://watcher@10.0.3.17/shop"),
        ("TEXT", "a sentence with many words that goes on and on"),
        ("TOKEN_LIMIT", "4000"),
        ("PASSWORD_FILE", "/run/secrets/db"),
        ("SECRET_NAME", "prod"),
        ("TOKEN", ""),
        ("USE_TOKEN", "false"),
        ("KEYBOARD", "de"),
        ("AUTHOR", "me"),
        ("WORD", "Donaudampfschifffahrtsgesellschaft"),
        ("DATE", "2026-12-01T09:00:00+08:00"),
    ],
)
def test_plain_values_pass(name: str, value: str) -> None:
    assert looks_secret(name, value) is None


def test_the_answer_never_repeats_the_value() -> None:
    assert all(value not in str(looks_secret("X", value)) for value in FAKE.values())


@pytest.mark.parametrize("kind", ["openai", "github", "slack", "aws", "google", "jwt", "key", "url"])
def test_a_secret_inside_a_sentence_is_seen_with_its_line(kind: str) -> None:
    found = spelled_out(f"look at the shop\nwith {FAKE[kind] if kind != 'aws' else 'AKIA' + 'IOSFODNN7EXAMPL3'} please")
    assert found is not None
    assert found[1] == 2


@pytest.mark.parametrize(
    "text",
    [
        "check that bearer authentication works",
        "run the sk-learn-based-pipeline-of-friday",
        "psql postgresql://watcher:$PGPASSWORD@db/shop -c 'select 1'",
        "the form is postgresql://USER:<password>@HOST/DB, and ${X} or {{ vars.x }} stays",
        "curl http://localhost:8080/@me and mail ops@example.com",
        "summarise https://example.com/a:b and 12:30@noon",
    ],
)
def test_sentences_without_a_secret_pass(text: str) -> None:
    assert spelled_out(text) is None
