"""How many tokens a model reads: who is believed."""

from __future__ import annotations

import pytest

from hermes_cron.models.limits import offered_window
from hermes_cron.models.windows import SAFE, Windows, shipped
from tests import model_rig


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


def test_the_servers_list_is_asked_about_once_and_only_of_what_nobody_knows() -> None:
    windows = Windows()
    assert not windows.guessed("gpt-4o")
    assert windows.guessed("mine")
    windows.offered("mine", 1_000_000)
    assert not windows.guessed("mine")
    assert windows.of("mine") == 1_000_000
    assert windows.of("mine", configured=8_000) == 8_000
    windows.offered("theirs", None)
    assert not windows.guessed("theirs")
    assert windows.of("theirs") == SAFE


@pytest.mark.parametrize(
    ("row", "window"),
    [
        ({"id": "m", "context_length": 262_144, "top_provider": {"context_length": 131_072}}, 131_072),
        ({"id": "m", "max_model_len": 8_192}, 8_192),
        ({"id": "m", "context_window": 131_072}, 131_072),
        ({"id": "m", "max_context_length": 32_768, "loaded_context_length": 4_096}, 4_096),
        ({"id": "m", "meta": {"n_ctx": 16_384, "n_ctx_train": 131_072}}, 16_384),
        ({"id": "m", "context_length": None, "top_provider": None}, None),
        ({"id": "m", "context_length": "many", "max_model_len": True, "meta": []}, None),
        ({"id": "m", "max_model_len": 0}, None),
    ],
)
def test_every_servers_way_to_list_it(row: dict[str, object], window: int | None) -> None:
    assert offered_window(row) == window


def test_the_client_reads_the_window_from_the_list() -> None:
    script = {"replies": ["x"], "models": ["other", {"id": "m", "max_model_len": 8_192}]}
    with model_rig.rig(script) as server:
        assert server.model.window("m", timeout_s=5) == 8_192
        assert server.model.window("other", timeout_s=5) is None
        assert server.model.window("absent", timeout_s=5) is None
        assert server.model.models(timeout_s=5) == ["m", "other"]


def test_the_list_holds_plausible_numbers() -> None:
    assert len(shipped()) > 50
    assert all(4_000 <= tokens <= 10_000_000 for tokens in shipped().values())
