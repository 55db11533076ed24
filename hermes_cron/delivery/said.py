"""What did a receiver say, in one bounded line, and does its answer mean that the message arrived?"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.delivery import Answer, Heard

if TYPE_CHECKING:
    from datetime import datetime

ANSWER_BYTES = 65_536
"""Of an answer that are read: enough for every error message, and nobody's memory is filled."""

_LINE = 300
_LATER = frozenset({408, 425, 429})
_WELL = frozenset({"", "0", "ok", "success", "succeed", "succeeded"})
_SUCCESS = re.compile(r"2[0-9]{2}")
_BAD_WORDS = frozenset({"error", "fail", "failed", "failure"})


def line(text: str | bytes, limit: int = _LINE) -> str:
    """Foreign text as one line without control characters, at most ``limit`` characters."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return one_line(text, limit)


def heard(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> Answer:
    """The answer of an HTTP receiver. ``headers`` are looked up in lower case.

    A success whose body says that it was none is ``failed``: many chat services answer 200 to everything.
    """
    text = line(body)
    told = f"HTTP {status}" + (f": {text}" if text else "")
    if 200 <= status < 300:
        wrong = fault_in(body)
        if wrong is not None:
            return Answer(heard=Heard.FAILED, text=line(f"HTTP {status}, but the answer says {wrong}: {text}"))
        return Answer(heard=Heard.SENT, text=told)
    if 300 <= status < 400:
        return Answer(heard=Heard.FAILED, text=f"HTTP {status}: it points elsewhere; redirects are not followed")
    if status >= 500 or status in _LATER:
        return Answer(heard=Heard.LATER, text=told, retry_after_s=retry_after(headers.get("retry-after"), now))
    return Answer(heard=Heard.FAILED, text=told)


def fault_in(body: bytes) -> str | None:
    """What in a JSON object says that the request failed; None: nothing does."""
    try:
        told: Any = json.loads(body)
    except (ValueError, RecursionError):  # no JSON, or brackets without end
        return None
    if not isinstance(told, dict):
        return None
    for key in ("error", "errors"):
        if told.get(key):
            return key
    for key in ("ok", "success"):
        if told.get(key) in (False, "false"):  # 0 is false too
            return f"{key}: false"
    for key in ("code", "errcode", "status_code"):
        if key in told and not _is_well(told[key]):
            return f"{key}: {line(str(told[key]), 40)}"
    status = told.get("status")
    return f"status: {status}" if isinstance(status, str) and status.lower() in _BAD_WORDS else None


def _is_well(code: object) -> bool:
    """0, a 2xx that repeats the HTTP status, nothing at all, or a word for it."""
    if code is None or isinstance(code, bool):
        return True
    if isinstance(code, int | float):
        return code == 0 or 200 <= code < 300
    text = str(code).strip().lower()
    return text in _WELL or _SUCCESS.fullmatch(text) is not None


def retry_after(text: str | None, now: datetime) -> float | None:
    """Seconds that a ``Retry-After`` asks for (RFC 9110 10.2.3: a number or a date); None for what is neither."""
    if not text:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (at - now).total_seconds()) if at.tzinfo else None
