"""What a person sees of a run's steps while it goes on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hermes_cron.cli.progress import Progress


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "  big gave no answer (rate_limited): small is asked"),
        ("zh", "  big 没有回答（rate_limited），改用 small"),
    ],
)
def test_another_model_is_named_when_it_is_asked(lang: str, said: str) -> None:
    notes: list[str] = []
    progress = Progress(cast("Any", SimpleNamespace(lang=lang, note=notes.append)))
    progress.emit("model_fallback", {"model": "big", "fallback": "small", "reason": "rate_limited"})
    assert notes == [said]
