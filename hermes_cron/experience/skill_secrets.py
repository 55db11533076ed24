"""Does a change bring a secret into a skill, which every run reads and which is pushed with the history?

What is new is looked at file by file and together: a private key is none line by line.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from hermes_cron.domain.plain_password import said
from hermes_cron.experience.skill_state import State


def comes_in(before: State | None, after: State, redact: Callable[[str], str]) -> bool:
    """``redact`` knows the vault's values and the forms of keys. What the skill had before does not count."""
    old = {} if before is None else before.files
    for path, file in after.files.items():
        data = old[path].data if path in old else b""
        if file.data != data:
            new = _added(data, file.data)
            if redact(new) != new or said(new):
                return True
    return False


def _added(one: bytes, other: bytes) -> str:
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (one, other))
    told = difflib.unified_diff(old, new, n=0, lineterm="")
    return "\n".join(line[1:] for line in list(told)[2:] if line.startswith("+"))
