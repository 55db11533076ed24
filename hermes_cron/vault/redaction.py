"""Which parts of a text are secrets, and what stands in their place?

Two nets. Values that the vault holds are replaced wherever they appear, also in their usual disguises; that net has
no holes it could know of. Key-like patterns catch what the vault never saw; that net is deliberately coarse-meshed,
since a report full of black bars is no report.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHORTEST = 6
"""Values with fewer characters stay: replacing every ``1234`` would mangle text and prove the value."""

_LINE = 16
"""A line of a value of several lines (a PEM key) counts alone from this length on."""

_B64 = 8
"""Shortest base64 fragment that is looked for: 6 bytes."""

PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private-key",
        ("private key-----",),
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    ),
    (
        "api-key",
        ("sk-", "sk_", "rk-", "rk_", "pk-", "pk_"),
        r"(?<![\w-])(?:sk|rk|pk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{20,}",
    ),
    (
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?<!\w)(?:gh[opusr]_[A-Za-z0-9]{30,}|github_pat_\w{40,})",
    ),
    ("gitlab-token", ("glpat-",), r"(?<!\w)glpat-[\w-]{20,}"),
    ("slack-token", ("xox",), r"(?<!\w)xox[abeprs]-[\w-]{10,}"),
    ("webhook", ("hooks.slack.com/",), r"(?<=hooks\.slack\.com/)(?:services|triggers|workflows)/[\w/]{20,}"),
    ("webhook", ("/api/webhooks/",), r"(?<=/api/webhooks/)\d{10,}/[\w-]{30,}"),
    ("webhook", ("/bot/v2/hook/",), r"(?<=/bot/v2/hook/)[0-9a-f-]{30,}"),
    ("access-token", ("access_token=",), r"(?<=access_token=)[\w.~+/-]{20,}"),
    ("webhook", ("/webhook/send?key=",), r"(?<=/webhook/send\?key=)[0-9a-f-]{30,}"),
    ("telegram-token", (":",), r"(?<!\d)\d{8,10}:[A-Za-z0-9_-]{35}(?![\w-])"),
    (
        "aws-key",
        ("akia", "asia"),
        r"(?<!\w)(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)",
    ),
    ("aws-key", ("aws_secret_access_key=",), r"(?i)(?<=aws_secret_access_key=)[A-Za-z0-9/+]{40}"),
    ("aliyun-key", ("ltai",), r"(?<!\w)LTAI[A-Za-z0-9]{16,}(?!\w)"),
    ("google-key", ("aiza",), r"(?<!\w)AIza[\w-]{35}"),
    ("google-token", ("ya29.",), r"(?<!\w)ya29\.[\w-]{20,}"),
    ("hf-token", ("hf_",), r"(?<!\w)hf_[A-Za-z0-9]{30,}"),
    ("npm-token", ("npm_",), r"(?<!\w)npm_[A-Za-z0-9]{36}"),
    ("jwt", ("eyj",), r"(?<!\w)eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    ("bearer", ("bearer ",), r"(?i)(?<=\bbearer )[\w.~+/-]{16,}=*"),
    ("basic-auth", ("authorization: basic ",), r"(?i)(?<=authorization: basic )[A-Za-z0-9+/]{8,}=*"),
    ("url-password", ("://",), r"(?i)(?<=://)([^\s/:@\"']*:)(?!\[secret:)[^\s/@\"']+(?=@)"),
    (
        "password",
        ("passw", "pwd="),
        r"(?i)((?<!\w)\w*passw(?:or)?d=|(?<![\w-])pwd=(?!/))[^\s;&\"'<>\[\]{}()$*]{4,}",
    ),
)
"""Kind, clues, regex. Without one of the clues in the casefolded text the regex can not match, and looking for a
literal costs a fiftieth. A first group is kept, the rest replaced."""


class Redactor:
    """``redact`` for one set of values. Immutable; make a new one after the vault changed."""

    __slots__ = ("_exact", "_names", "_patterns")

    def __init__(self, values: Mapping[str, str]) -> None:
        names: dict[str, str] = {}
        for name, value in values.items():
            for form in _forms(value):
                names.setdefault(form, name)
        self._names = names
        # longest first: a value that contains another is replaced whole
        forms = sorted(names, key=len, reverse=True)
        self._exact = re.compile("|".join(map(re.escape, forms))) if forms else None
        self._patterns = tuple((f"[redacted:{kind}]", clues, re.compile(regex)) for kind, clues, regex in PATTERNS)

    def redact(self, text: str) -> str:
        """The text with ``[secret:NAME]`` for values of the vault and ``[redacted:KIND]`` for key-like words."""
        if self._exact is not None:
            text = self._exact.sub(lambda found: f"[secret:{self._names[found[0]]}]", text)
        folded = text.casefold()
        for bar, clues, pattern in self._patterns:
            if not any(clue in folded for clue in clues):
                continue
            if pattern.groups:
                text = pattern.sub(lambda found, bar=bar: f"{found[1]}{bar}", text)  # type: ignore[misc]
            else:
                text = pattern.sub(bar, text)
        return text

    def __repr__(self) -> str:
        return f"Redactor({len(set(self._names.values()))} secrets)"


def _forms(value: str) -> Iterator[str]:
    """A value as it may appear: itself, in a URL, in JSON, in base64 at any offset, and its long lines."""
    if len(value) < SHORTEST:
        return
    yield value
    for form in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield form
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), form)
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield from _base64_forms(value.encode())
    lines = value.splitlines()
    if len(lines) > 1:
        for line in (line.strip() for line in lines):
            if len(line) >= _LINE and not line.startswith("-----"):
                yield line


def _base64_forms(value: bytes) -> Iterator[str]:
    """The characters that ``value`` alone decides, at each of three offsets inside longer encoded text."""
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + value).decode("ascii")
        first = (offset * 8 + 5) // 6
        last = (offset + len(value)) * 8 // 6
        middle = encoded[first:last]
        if len(middle) >= _B64:
            yield middle
            yield middle.translate(str.maketrans("+/", "-_"))
