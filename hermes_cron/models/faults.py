"""Which ``ModelError`` is it, when a provider says no? By status and code; by text only where servers give no code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from hermes_cron.errors import (
    ModelAuth,
    ModelBadRequest,
    ModelContextLength,
    ModelError,
    ModelGarbage,
    ModelOverloaded,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
)
from hermes_cron.models.wording import error_text

_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_REFUSAL_CODES = frozenset({"content_filter", "content_policy_violation"})
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "rate_limited"})
_OVERLOAD_CODES = frozenset({"overloaded_error", "server_error", "service_unavailable", "internal_error", "api_error"})
# vLLM, OpenRouter, Gemini and Anthropic's compatible endpoints answer 400 with a sentence and no code of its own.
_CONTEXT_SENTENCES = (
    "maximum context length",
    "context length exceeded",
    "exceeds the context",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "prompt is too long",
)


def fault_of(
    status: int,
    body: object,
    *,
    place: str,
    headers: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> ModelError:
    """``body`` is the parsed JSON, or the text, of the answer; ``now`` is needed to read a Retry-After date."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    codes = codes_of(error)
    fact = f"{place} answered {status}: {error_text(error)}"
    by_code = _by_code(codes, fact)
    if by_code is not None and not (status == 429 or status >= 500):
        return by_code
    if status == 429:
        return _rate_limited(codes, fact, retry_after_s=read_retry_after(headers or {}, now))
    return _by_status(status, error, fact)


def fault_inside(error: object, *, place: str) -> ModelError:
    """An error that came with status 200, as a body or as a frame: OpenRouter puts the status into ``code``."""
    codes = codes_of(error)
    for code in codes:
        if code.isdigit() and 400 <= int(code) < 600:
            return fault_of(int(code), {"error": error}, place=place)
    fact = f"{place} answered with an error: {error_text(error)}"
    return _by_code(codes, fact) or ModelGarbage(fact)


def codes_of(error: object) -> frozenset[str]:
    """``code`` and ``type`` of an error object, as text."""
    if not isinstance(error, Mapping):
        return frozenset()
    found = [error.get("code"), error.get("type")]
    inner = error.get("innererror")  # Azure
    if isinstance(inner, Mapping):
        found.append(inner.get("code"))
    return frozenset(str(code) for code in found if isinstance(code, str | int) and not isinstance(code, bool))


def _by_code(codes: frozenset[str], fact: str) -> ModelError | None:
    if codes & _CONTEXT_CODES:
        return ModelContextLength(fact)
    if codes & _REFUSAL_CODES:
        return ModelRefused(fact)
    if codes & (_RATE_CODES | _QUOTA_CODES):
        return _rate_limited(codes, fact, retry_after_s=None)
    if codes & _OVERLOAD_CODES:
        return ModelOverloaded(fact)
    return None


def _rate_limited(codes: frozenset[str], fact: str, *, retry_after_s: float | None) -> ModelRateLimited:
    if codes & _QUOTA_CODES:
        # Waiting does not help: an hour is the least after which asking again could make sense.
        hint = "The account's quota is used up: see the provider's billing page."
        return ModelRateLimited(fact, retry_after_s=retry_after_s or 3600.0, hint=hint)
    return ModelRateLimited(fact, retry_after_s=retry_after_s)


def _by_status(status: int, error: object, fact: str) -> ModelError:
    if status >= 500:
        return ModelOverloaded(fact)
    if status in (401, 403):
        return ModelAuth(fact, hint="Set the key: hermes-cron model set NAME --key secret:NAME")
    if status == 402:
        return ModelAuth(fact, hint="The account has no credit: see the provider's billing page.")
    if status == 408:
        return ModelTimeout(fact)
    if status == 413 or _says_too_long(error):
        return ModelContextLength(fact)
    return ModelBadRequest(fact, hint="The model and its server: hermes-cron model show, hermes-cron model list")


def _says_too_long(error: object) -> bool:
    text = error_text(error, limit=4000).lower()
    return any(sentence in text for sentence in _CONTEXT_SENTENCES)


def read_retry_after(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Seconds: RFC 9110 10.2.3 (a number or an HTTP date), or OpenAI's ``retry-after-ms``. None when not said."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    millis = _number(lower.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    text = lower.get("retry-after")
    if not text:
        return None
    seconds = _number(text)
    if seconds is not None or now is None:
        return seconds
    try:
        instant = parsedate_to_datetime(text)
    except ValueError:
        return None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return max(0.0, (instant - now).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
