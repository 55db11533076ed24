"""Does a value that stands in a file look like a secret?

Deliberately narrow: what is refused here stops a job, so a folder, a commit id, a UUID or a sentence must pass.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from hermes_cron.errors import SecretInPlainSight

_PEM = "a private key"
_URL = "a URL with a password"
_PLACEHOLDERS = ("$", "{", "<", "*", "[", "@", "...")

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (_PEM, re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")),
    (_URL, re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.I)),
    ("an API key", re.compile(r"(?<![\w-])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}")),
    ("an access token", re.compile(r"(?<!\w)(?:gh[opusr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})")),
    ("an access token", re.compile(r"(?<!\w)(?:xox[abeprs]-[\w-]{10,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,})")),
    ("an access key", re.compile(r"(?<!\w)(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)|(?<!\w)LTAI[A-Za-z0-9]{12,}")),
    ("an API key", re.compile(r"(?<!\w)AIza[\w-]{30,}")),
    ("a signed token", re.compile(r"(?<!\w)eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")),
    ("a bearer token", re.compile(r"\bbearer\s+[\w.~+/-]{12,}", re.I)),
)
_NAME = re.compile(
    r"(?:^|_)(?:password|passwd|pwd|passphrase|secret|token|api_?key|access_?key|private_?key|credentials?|auth)"
    r"(?:$|_(?!file|path|dir|url|name|id|ttl|type|command|limit|count|max|min))",
    re.I,
)
_HARMLESS = frozenset({"", "true", "false", "yes", "no", "on", "off", "none", "null", "0", "1"})
_LONG_WORD = re.compile(r"[A-Za-z0-9+/=_-]{24,}")


def looks_secret(name: str, value: str) -> str | None:
    """The kind of secret in words (``an API key``), None for a plain value. The value is never part of the answer."""
    for kind, shape in _SHAPES:
        if shape.search(value):
            return kind
    text = value.strip()
    if _NAME.search(name) and text.lower() not in _HARMLESS and not text.startswith(("/", "~", "$")):
        return "a password or token by its name"
    return "a random key" if _is_random(text) else None


def spelled_out(text: str) -> tuple[str, int] | None:
    """The kind of secret that stands within a prompt or script, and its line (from 1).

    Narrower still, since it is prose: a key has a digit, and ``postgresql://user:$PASSWORD@host`` is no secret.
    """
    for kind, shape in _SHAPES[:-1]:  # "bearer authentication" is a sentence
        for found in shape.finditer(text):
            said = found[0]
            if kind == _URL and said.rpartition(":")[2].startswith(_PLACEHOLDERS):
                continue
            if kind in (_URL, _PEM) or re.search(r"[0-9]", said):
                return kind, text.count("\n", 0, found.start()) + 1
    return None


_FOR_A_RUN = "a database: hermes-cron db add NAME, and name it in the prompt; any other: a file that only you read"


def refuse_spelled_out(text: str, *, what: str = "the prompt", hint: str = _FOR_A_RUN) -> None:
    """For what people type on the command line. Raises ``SecretInPlainSight``, which does not repeat it."""
    found = spelled_out(text)
    if found is not None:
        raise SecretInPlainSight(f"there is {found[0]} in {what}", hint=hint)


def _is_random(text: str) -> bool:
    """24 characters or more without a blank, of three classes mixed, with 4 bits of entropy a character."""
    if not _LONG_WORD.fullmatch(text) or text.startswith("/") or "://" in text:
        return False
    if not (re.search(r"[a-z]", text) and re.search(r"[A-Z]", text) and len(re.findall(r"[0-9]", text)) >= 3):
        return False
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values()) >= 3.9
