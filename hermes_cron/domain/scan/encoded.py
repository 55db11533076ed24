"""Which parts of a text say something only after they are decoded? Base64, hexadecimal, escapes, ROT13."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{16,}(?:[ \t]{0,8}\r?\n[ \t>]{0,8}[A-Za-z0-9+/_-]{16,})*+={0,2}")
_HEX = re.compile(r"\b(?:0x)?[0-9a-fA-F]{24,}\b|\b(?:[0-9a-fA-F]{2} ){12,}[0-9a-fA-F]{0,2}")
_ONE = r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]{1,6}\}|&#x?[0-9a-fA-F]{1,6};|%[0-9a-fA-F]{2})"
_ESCAPES = re.compile(rf"[^\s\\&%]{{0,8}}{_ONE}(?:[^\n\\&%]{{0,24}}{_ONE})*+[^\n]{{0,80}}")
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}")
_ROTATED_WORDS = ("vtaber", "qvfertneq", "sbetrg", "bireevqr", "olcnff")
_ROTATED = re.compile(rf"\b(?:{'|'.join(_ROTATED_WORDS)})\b", re.IGNORECASE)
_ROTATED_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Decoded:
    """A place in the original text and what it says."""

    start: int
    end: int
    text: str


def decoded(text: str) -> Iterator[Decoded]:
    """What can be read; whether it is an attack is for the rules. Each part is decoded once."""
    for found in _BASE64.finditer(text):
        said = _of_base64(found[0])
        if said:
            yield Decoded(found.start(), found.end(), said)
    for found in _HEX.finditer(text):
        said = _of_hex(found[0])
        if said:
            yield Decoded(found.start(), found.end(), said)
    if "\\" in text or "&#" in text or "%" in text:
        for found in _ESCAPES.finditer(text):
            said = _of_escapes(found[0])
            if said != found[0]:
                yield Decoded(found.start(), found.end(), said)
    lower = text.lower()
    if not any(word in lower for word in _ROTATED_WORDS):
        return
    for found in _ROTATED.finditer(text):
        part = text[found.start() : found.start() + _ROTATED_LENGTH]
        yield Decoded(found.start(), found.start() + len(part), codecs.encode(part, "rot13"))


def _of_base64(token: str) -> str | None:
    letters = "".join(token.split()).replace(">", "").rstrip("=").replace("-", "+").replace("_", "/")
    letters = letters[: len(letters) - (1 if len(letters) % 4 == 1 else 0)]
    try:
        return _readable(base64.b64decode(letters + "=" * (-len(letters) % 4)))
    except (binascii.Error, ValueError):
        return None


def _of_hex(token: str) -> str | None:
    digits = "".join(token.split()).removeprefix("0x")
    return _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _of_escapes(part: str) -> str:
    def char(found: re.Match[str]) -> str:
        point = int(found[1] or found[2] or found[3], 16)
        return chr(point) if point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF else " "

    return unquote(html.unescape(_ESCAPE.sub(char, part)), errors="replace")


def _readable(data: bytes) -> str | None:
    """Text as people write it, in UTF-8 or the UTF-16 that PowerShell uses; None for what is just bytes."""
    wide = len(data) >= 4 and data[1::2].count(0) > len(data) // 2 - len(data) // 8
    try:
        text = data[: len(data) // 2 * 2].decode("utf-16-le") if wide else data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    plain = sum(char.isprintable() or char in "\n\r\t" for char in text)
    return text if text and plain >= 0.9 * len(text) else None
