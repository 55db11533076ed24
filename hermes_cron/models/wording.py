"""How is foreign text quoted in an error? One line, shortened, never a key."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hermes_cron.domain.clip import one_line

_SHOWN = 200  # characters of a foreign body that an error quotes


def error_text(error: object, *, limit: int = _SHOWN) -> str:
    """The message of an error object as servers spell it."""
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or json.dumps(dict(error), ensure_ascii=False)
    return quote(str(error), limit=limit) or "no explanation"


def quote(text: str, *, limit: int = _SHOWN) -> str:
    """One line, shortened; control characters are dropped, so that a server cannot colour a terminal."""
    return one_line(text[: limit * 4], limit)


def kind_of(value: object) -> str:
    """What came in place of the object that was expected."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"a text ({quote(value)})"
    return f"JSON of another kind ({type(value).__name__})"


def without(text: str, secret: str | None) -> str:
    """Providers quote the key they refuse."""
    return text.replace(secret, "[key]") if secret and len(secret) >= 4 else text
