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
    ModelQuota,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnknown,
)
from hermes_cron.models.limits import requested_of, window_of
from hermes_cron.models.wording import error_text

_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_REFUSAL_CODES = frozenset({"content_filter", "content_policy_violation", "data_inspection_failed"})
# OpenAI's, then those of servers that copied its interface: Moonshot, DashScope, Volcengine, gateways.
_QUOTA_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit",
        "billing_hard_limit_reached",
        "billing_not_active",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "project_spend_limit_exceeded",
        "exceeded_current_quota_error",
        "insufficient_balance",
        "insufficient_credits",
        "arrearage",
        "accountoverdueerror",
    }
)
_UNKNOWN_CODES = frozenset({"model_not_found", "model_not_exist", "invalid_model"})
_UNKNOWN_SENTENCES = ("model not exist", "模型不存在")  # DeepSeek's and Zhipu's, with 400
_RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "rate_limited"})
_OVERLOAD_CODES = frozenset({"overloaded_error", "server_error", "service_unavailable", "internal_error", "api_error"})
# vLLM, OpenRouter, Gemini, Anthropic's compatible endpoints, Moonshot, DashScope, xAI, LM Studio, Bedrock, Zhipu,
# text-generation-inference, Cohere, Groq, Qianfan and GitHub answer 400 with a sentence and no code of its own.
_CONTEXT_SENTENCES = (
    "maximum context length",
    "context length exceeded",
    "exceeds the context",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "prompt is too long",
    "exceed context limit",
    "exceeded model token limit",
    "range of input length should be",
    "maximum model length",
    "maximum prompt length",
    "max context length",
    "context length of only",
    "input is too long",
    "prompt 超长",
    "prompt exceeds max length",
    "max_new_tokens` must be <=",
    "number of tokens in the prompt cannot exceed",
    "reduce the length of the messages",
    "prompt tokens too long",
    "tokens长度超过",
    "request body too large for",
)
# Anthropic's and Zhipu's, which come as 400 and 429 without a code that says so. Gemini says "exceeded your current
# quota" of a limit by the minute, too, so that sentence proves nothing.
_QUOTA_SENTENCES = ("credit balance is too low", "insufficient balance", "余额不足")
_YEAR_S = 366 * 86_400.0
_BILLING = "The account's credit or quota is used up: see the provider's billing page. Waiting does not help."


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
    fault = _by_code(codes, error, fact, trusted=status != 429 and status < 500) or _by_status(status, error, fact)
    if fault.passing:
        fault.retry_after_s = read_retry_after(headers or {}, now)
    return _with_limits(fault, error)


def _with_limits(fault: ModelError, error: object) -> ModelError:
    """What the server said of its window goes with the refusal."""
    if isinstance(fault, ModelContextLength):
        fault.window, fault.requested = window_of(error), requested_of(error)
    return fault


def fault_inside(error: object, *, place: str) -> ModelError:
    """An error that came with status 200, as a body or as a frame: OpenRouter puts the status into ``code``."""
    codes = codes_of(error)
    for code in codes:
        if code.isdigit() and 400 <= int(code) < 600:
            return fault_of(int(code), {"error": error}, place=place)
    fact = f"{place} answered with an error: {error_text(error)}"
    return _with_limits(_by_code(codes, error, fact) or ModelGarbage(fact), error)


def codes_of(error: object) -> frozenset[str]:
    """``code`` and ``type`` of an error object, as text in lower case."""
    if not isinstance(error, Mapping):
        return frozenset()
    found = [error.get("code"), error.get("type")]
    inner = error.get("innererror")  # Azure
    if isinstance(inner, Mapping):
        found.append(inner.get("code"))
    return frozenset(str(code).lower() for code in found if isinstance(code, str | int) and not isinstance(code, bool))


def _by_code(codes: frozenset[str], error: object, fact: str, *, trusted: bool = True) -> ModelError | None:
    """Not ``trusted``: the status says what it is, but for a quota, which looks like a rate limit."""
    if codes & _QUOTA_CODES or _says(error, _QUOTA_SENTENCES):
        return ModelQuota(fact, hint=_BILLING)
    if not trusted:
        return None
    for known, kind in _BY_CODE:
        if codes & known:
            return kind(fact)
    return None


_BY_CODE: tuple[tuple[frozenset[str], type[ModelError]], ...] = (
    (_CONTEXT_CODES, ModelContextLength),
    (_REFUSAL_CODES, ModelRefused),
    (_UNKNOWN_CODES, ModelUnknown),
    (_RATE_CODES, ModelRateLimited),
    (_OVERLOAD_CODES, ModelOverloaded),
)


def _by_status(status: int, error: object, fact: str) -> ModelError:
    if (known := _BY_STATUS.get(status)) is not None:
        kind, hint = known
        return kind(fact, hint=hint)
    if status >= 500:
        return ModelOverloaded(fact)
    if _says(error, _CONTEXT_SENTENCES):
        return ModelContextLength(fact)
    if _says(error, _UNKNOWN_SENTENCES):
        return ModelUnknown(fact, hint=_NAMES)
    return ModelBadRequest(fact, hint=_NAMES)


_NAMES = "The model and its server: hermes-cron model show, hermes-cron model list"
_SET_KEY = "Set the key: hermes-cron model set NAME --key secret:NAME"
_BY_STATUS: Mapping[int, tuple[type[ModelError], str | None]] = {
    401: (ModelAuth, _SET_KEY),
    402: (ModelQuota, _BILLING),
    403: (ModelAuth, _SET_KEY),
    404: (ModelUnknown, _NAMES),
    408: (ModelTimeout, None),
    413: (ModelContextLength, None),
    429: (ModelRateLimited, None),
    # behind a gateway the model may have answered, and been paid for
    504: (ModelTimeout, None),
    524: (ModelTimeout, None),
}


def _says(error: object, sentences: tuple[str, ...]) -> bool:
    text = error_text(error, limit=4000).lower()
    return any(sentence in text for sentence in sentences)


def read_retry_after(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Seconds: RFC 9110 10.2.3 (a number or an HTTP date), or OpenAI's ``retry-after-ms``. None when not said.

    At most a year, which nobody waits for: a number of any size must not break the arithmetic of dates.
    """
    said = _read_retry_after(headers, now)
    return None if said is None else min(said, _YEAR_S)


def _read_retry_after(headers: Mapping[str, str], now: datetime | None) -> float | None:
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
