"""Does a sentence say a password? "The password of prod is hunter2secret", 密码是 hunter2secret.

For what is kept for good and shared: memory and skills. A password that keys are told from by their form is none of
this; here it is the words around it. Only a value with letters and digits counts, so that "the password is rotated
monthly" and "password: see the vault" stay facts.
"""

from __future__ import annotations

import re

_WORD = r"(?:\b(?:passw(?:or)?d|passphrase|passcode|pwd|pw)\b|密码|口令)"
_OF = r"(?:\s+(?:of|for|on|at|in)\s+(?:the\s+)?[\w.@-]+(?:\s+(?!(?:is|was|of|for|on|at|in)\b)[\w.@-]+)?){0,2}"
_IS = rf"(?:{_OF}\s*(?:[:：=]|\b(?:is|was)\b(?:\s*[:：])?|是|为)\s*|\s+)"
_QUOTE = r"[\"'“”‘’`]?"
_NO_VALUE = r"(?!secret:|[a-z]+://|(?:scram|sha|md5|bcrypt|argon)[-\d])"
_VALUE = r"(?P<value>[A-Za-z0-9!@#%^&*+=_.-][^\s\"'“”‘’`,;，；。（）()<>\[\]{}$/\\]{5,})"
_SAID = re.compile(_WORD + _IS + _QUOTE + _NO_VALUE + _VALUE, re.I)


def said(text: str) -> bool:
    """Whether a password stands there. The value is never part of the answer."""
    return any(_mixed(found["value"].rstrip(".!?:")) for found in _SAID.finditer(text))


def _mixed(value: str) -> bool:
    return len(value) >= 6 and value.isascii() and bool(re.search(r"[A-Za-z]", value) and re.search(r"\d", value))
