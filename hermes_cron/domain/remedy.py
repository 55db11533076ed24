"""Which command is the next one after a failure? Failures of one kind are looked at in one place."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DATABASE = frozenset({"database_unreachable", "database_error"})
_MODEL = frozenset(
    {
        "model_auth", "model_bad_request", "model_garbage", "model_overloaded", "model_timeout", "model_unreachable",
        "no_model", "quota_exhausted", "rate_limited", "stream_stalled", "stream_truncated",
    }
)  # fmt: skip
"""What a call by hand shows as well. A refusal or too long a conversation is the run's own and shows in its steps."""


def look(reason: str | None, *, run_id: str, databases: Sequence[str] = (), error: str | None = None) -> str:
    """The command that shows why. Of several databases the one that ``error`` names; without a name, the run."""
    if reason in _MODEL:
        return "hermes-cron model test"
    if reason in _DATABASE and (name := _named(databases, error or "")) is not None:
        return f"hermes-cron db test {name}"
    return f"hermes-cron runs show {run_id}"


def _named(databases: Sequence[str], error: str) -> str | None:
    if len(databases) == 1:
        return databases[0]
    found = [name for name in databases if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", error)]
    return found[0] if len(found) == 1 else None
