"""About how many tokens is a text? For when no provider has counted them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_cron.domain.transcript import Message

_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
_A_MESSAGE = 4  # its role and the marks around it


def estimate_tokens(text: str) -> int:
    """A quarter of the bytes; a CJK character counts one. Rounded up, so that a text is never free."""
    if text.isascii():
        return -(-len(text) // 4)
    rest = _CJK.sub("", text)
    return len(text) - len(rest) + -(-len(rest.encode("utf-8", "surrogatepass")) // 4)


def first_of(texts: Iterable[str], room: int) -> list[str]:
    """As many of the first ones as have at most ``room`` tokens."""
    kept: list[str] = []
    for text in texts:
        room -= estimate_tokens(text)
        if room < 0:
            break
        kept.append(text)
    return kept


def message_tokens(message: Message) -> int:
    """Of one message with its calls."""
    content = message.get("content")
    size = _A_MESSAGE + estimate_tokens(content if isinstance(content, str) else json_text(content or ""))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        size += _A_MESSAGE + estimate_tokens(f"{function['name']}{function.get('arguments') or ''}")
    return size


def json_text(value: object) -> str:
    """A value as it goes out."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
