"""Which heads of a SKILL.md can be read without YAML, a hundred times faster and to the very same values?

Those that are what people mostly write: `key: value` lines and one level below a key, plain or simply quoted. Whatever
else stands there, faults above all, is for the YAML reader: it answers None.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z][\w.-]*):(?: +(?P<value>\S.*?))? *", re.ASCII)
_QUOTED = re.compile(r"""(?:"(?P<double>[^"\\]*)"|'(?P<single>[^']*)')""")
_PLAIN = re.compile(r"[^\W_].*")
_NULL = frozenset({"null", "Null", "NULL"})

Read = tuple[dict[str, str | dict[str, str | None] | None], dict[str, int]]
"""Fields by key, and the line of each top-level key (and of each below, as ``key.below``), the fence being line 1."""


def quick(head: str) -> Read | None:
    """What ``frontmatter.parse`` would say, or None."""
    fields: dict[str, str | dict[str, str | None] | None] = {}
    lines: dict[str, int] = {}
    below: dict[str, str | None] | None = None
    above, depth = "", 0
    for number, line in enumerate(head.split("\n"), start=2):
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        key, indent = match["key"], len(match["indent"])
        understood, value = _value(match["value"])
        if not understood:
            return None
        if indent == 0:
            if key in fields:
                return None
            fields[key], lines[key] = value, number
            above, depth, below = key, 0, {} if match["value"] is None else None
            continue
        if below is None or key in below or (depth and indent != depth):
            return None
        depth = indent
        below[key] = value
        lines[f"{above}.{key}"] = number
        fields[above] = below
    return (fields, lines) if fields else None


def _value(raw: str | None) -> tuple[bool, str | None]:
    """Whether it is understood, and what it says."""
    if raw is None or raw in _NULL:
        return True, None
    if not raw.isprintable():
        return False, None
    if raw[0] in "\"'":
        quoted = _QUOTED.fullmatch(raw)
        return (False, None) if quoted is None else (True, quoted["double"] or quoted["single"] or "")
    plain = _PLAIN.fullmatch(raw) is not None and ": " not in raw and " #" not in raw and not raw.endswith(":")
    return plain, raw
