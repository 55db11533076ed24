"""Which window did the server name, in its list of models or when it refused a request as too long?

Servers that know it say it, in a field or in a sentence, each in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hermes_cron.models.wording import error_text

_WINDOW_FIELDS = ("n_ctx", "max_context_length", "context_length", "context_window", "max_model_len")
_REQUEST_FIELDS = ("n_prompt_tokens", "prompt_tokens", "input_tokens")
_NUMBER = r"(\d[\d,_]*)"
# llama.cpp; OpenAI, DeepSeek, vLLM, OpenRouter; vLLM's older one; Anthropic (two); Gemini; Mistral; DashScope;
# Moonshot; LM Studio; xAI; text-generation-inference, Cohere, GitHub, Qianfan and Groq. The number that is meant stands
# in brackets, behind "is", "of", ">" or a colon.
_WINDOW = tuple(
    re.compile(pattern.replace("N", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"available context size\s*\(?\s*N",
        r"(?:maximum|max\.?) (?:context|prompt|model) (?:length|size|window)(?: is| of|:)?\s*\(?\s*N",
        r"tokens? > N",
        r"exceed context limit: [\d, +_]+> N",
        r"maximum number of (?:input )?tokens(?: allowed)?\s*\(?\s*N",
        r"with N maximum context length",
        r"input length should be \[\d+, ?N",
        r"token limit: ?N",
        r"context length of only N",
        r"context (?:length|size|window|limit)(?: is| of|:)?\s*\(?\s*N",
        r"max_new_tokens` must be <= N",
        r"cannot exceed N",
        r"(?:max(?:imum)? size|max is|model limit of|最大)[:：]?\s*N",
        r"\blimit N, requested",
    )
)
_REQUESTED = tuple(
    re.compile(pattern.replace("N", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"\(N in the messages",
        r"N tokens from the input messages",
        r"request \(N tokens",
        r"requested:? (?:about )?N",
        r"resulted in N",
        r"request has N",
        r"prompt is too long: N",
        r"input token count\s*\(?N",
        r"prompt \(length N",
        r"contains N tokens",
        r"given: N `inputs`",
        r"received N",
    )
)
_LEAST, _MOST = 256, 100_000_000


def window_of(error: object) -> int | None:
    """Tokens of the model's window, None where the error does not say."""
    return _field(error, _WINDOW_FIELDS) or _sentence(error, _WINDOW)


def requested_of(error: object) -> int | None:
    """Tokens that the refused request has, None where the error does not say."""
    return _field(error, _REQUEST_FIELDS) or _sentence(error, _REQUESTED)


def offered_window(row: Mapping[str, object]) -> int | None:
    """Of a row of the server's list: OpenRouter's and Together's ``context_length``, vLLM's ``max_model_len``, Groq's
    ``context_window``, Mistral's ``max_context_length``, LM Studio's of what it has loaded, llama.cpp's in ``meta``.
    The least of them: a model may read more than whoever serves it.
    """
    places = (row, row.get("top_provider"), row.get("meta"))
    said = [_field(place, (name,)) for place in places for name in (*_WINDOW_FIELDS, "loaded_context_length")]
    return min((tokens for tokens in said if tokens is not None), default=None)


def _field(error: object, names: Iterable[str]) -> int | None:
    if not isinstance(error, Mapping):
        return None
    held = (error.get(name) for name in names)
    return next((it for it in held if isinstance(it, int) and not isinstance(it, bool) and _LEAST <= it <= _MOST), None)


def _sentence(error: object, patterns: Iterable[re.Pattern[str]]) -> int | None:
    text = error_text(error, limit=4_000)
    for pattern in patterns:
        for found in pattern.findall(text):
            number = int(re.sub(r"[,_]", "", found)[:12])
            if _LEAST <= number <= _MOST:
                return number
    return None
