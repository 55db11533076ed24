"""What is a check called in one line?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hermes_cron.domain import clip
from hermes_cron.domain.check import Check, CheckKind

DETAIL_MAX = 300
_SAYS_MAX = 120
_SUBJECT = {
    CheckKind.SQL: ("database", "query"),
    CheckKind.HTTP: ("url",),
    CheckKind.SHELL: ("command",),
    CheckKind.FILE: ("path",),
    CheckKind.REPORT: (),
}
_UNSAID = frozenset({"timeout", "inputs"})


def says(check: Check) -> str:
    """``sql shop: select count(*) from orders, at_least 1``."""
    subject = ": ".join(str(check.params[key]) for key in _SUBJECT[check.kind] if key in check.params)
    left_out = {*_SUBJECT[check.kind], *_UNSAID}
    asked = ", ".join(f"{key} {_value(value)}" for key, value in check.params.items() if key not in left_out)
    room = max(20, _SAYS_MAX - len(asked))
    return one_line(" ".join(part for part in (str(check.kind), _joined(one_line(subject, room), asked)) if part))


def _joined(subject: str, asked: str) -> str:
    return f"{subject}, {asked}" if subject and asked else subject or asked


def _value(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False, default=str)


def one_line(text: str, cap: int = DETAIL_MAX) -> str:
    """Printable, on one line, at most ``cap`` characters."""
    return clip.one_line(text, cap, mark="...")
