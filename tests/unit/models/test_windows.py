"""How many tokens a model reads: who is believed."""

from __future__ import annotations

import pytest

from hermes_cron.models.windows import SAFE, Windows, shipped


@pytest.mark.parametrize(
    ("model", "configured", "of", "window"),
    [
        ("gpt-4o", None, None, 128_000),
        ("openai/gpt-4o-2024-08-06", None, None, 128_000),
        ("Claude-Haiku-4-5", None, None, 200_000),
        ("my-local-model", None, None, SAFE),
        ("my-local-model", 8_192, "my-local-model", 8_192),
        ("gpt-4o", 30_000, "gpt-4o", 30_000),
        ("gpt-4o", 30_000, "my-local-model", 128_000),
        ("another-local-model", 8_192, "my-local-model", 8_192),
    ],
)
def test_configured_goes_before_listed_and_listed_before_a_guess(
    model: str, configured: int | None, of: str | None, window: int
) -> None:
    assert Windows().of(model, configured=configured, of=of) == window


def test_what_a_server_said_is_believed_where_it_is_less() -> None:
    windows = Windows()
    windows.learn("My-Model", 4_096)
    assert windows.of("my-model", configured=8_192, of="my-model") == 4_096
    windows.learn("gpt-4o", 500_000)
    assert windows.of("gpt-4o") == 128_000
    assert windows.of("other") == SAFE


def test_the_list_holds_plausible_numbers() -> None:
    assert len(shipped()) > 50
    assert all(4_000 <= tokens <= 10_000_000 for tokens in shipped().values())
