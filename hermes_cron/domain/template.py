"""Which braces of a prompt are ours? Only ``{{ NAME.key }}`` of known names; all others stay as typed (decision 11)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

NAMES = ("job", "run", "last", "gate", "event", "context", "vars")
NOT_YET = ("gate", "event")
KEYS: Mapping[str, tuple[str, ...]] = {
    "job": ("name", "description", "timezone", "schedule"),
    "run": ("id", "scheduled_at", "started_at", "attempt", "cause", "late"),
    "last": ("run_id", "scheduled_at", "started_at", "ended_at", "state", "output"),
    "context": ("reports", "own", "others", "count", "left_out"),
}
_PLACEHOLDER = re.compile(r"\{\{[ \t]*(" + "|".join(NAMES) + r")\.([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """``{{ name.key }}`` at ``line`` (1-based within the text)."""

    name: str
    key: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}.{self.key}"


def placeholders(text: str) -> list[Placeholder]:
    """Every placeholder of a known name, in order."""
    return [
        Placeholder(name=found[1], key=found[2], line=text.count("\n", 0, found.start()) + 1)
        for found in _PLACEHOLDER.finditer(text)
    ]


def fault(placeholder: Placeholder, variables: Mapping[str, object]) -> str | None:
    """Why the placeholder can not be rendered; None when it can."""
    if placeholder.name in NOT_YET:
        return f"{{{{ {placeholder} }}}} is not yet available"
    known = tuple(variables) if placeholder.name == "vars" else KEYS[placeholder.name]
    if placeholder.key in known:
        return None
    return f"unknown value {{{{ {placeholder} }}}}; {placeholder.name} has: {', '.join(known) or 'nothing'}"


def render(text: str, values: Mapping[str, Mapping[str, object]]) -> str:
    """Replace each placeholder by its value's text; None becomes the empty text. Raises KeyError for an unknown one:
    ``fault`` finds those before anything runs. What a value holds is never read as a placeholder again."""

    def value(found: re.Match[str]) -> str:
        held = values[found[1]][found[2]]
        return "" if held is None else str(held)

    return _PLACEHOLDER.sub(value, text)


class Fence(StrEnum):
    """What a fenced text is to its reader: material, a way of working, conventions of a folder, known facts, or what
    comes to mind."""

    DATA = "data"
    SKILL = "skill"
    NOTES = "notes"
    MEMORY = "memory"
    RECALLED = "recalled"


_FENCES = "|".join(Fence)


def fence(text: str, *, source: str, kind: Fence = Fence.DATA) -> str:
    """``text`` between two lines that nothing inside can imitate, of whatever kind. ``source`` is a name of ours."""
    return f'<{kind} source="{source}">\n{harmless(text)}\n</{kind}>'


def harmless(text: str) -> str:
    """As it stands inside a fence. What is harmless already stays as it is."""
    return re.sub(rf"<(?=\s*/?\s*(?:{_FENCES})\b)", "&lt;", text, flags=re.IGNORECASE)
