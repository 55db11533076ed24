"""Of which form is one value of a job file? The readers that several keys use.

A reader raises ``FaultsFound`` with the line of the very value that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from hermes_cron.domain.job import Scalar
from hermes_cron.jobs.frontmatter import Entry, Fault, FaultsFound, Several, Single, Table, Value
from hermes_cron.jobs.nearest import did_you_mean

Reader = Callable[[Value, str], Any]
"""Gives the type of the ``Job`` field of its key, or ``(text, line)`` where ``load`` has more to judge."""
Words = tuple[tuple[str, int], ...]
"""Texts with their lines."""

_E = TypeVar("_E", bound=StrEnum)

_OTHER_WORDS: Mapping[str, str] = {
    "prompt": 'the prompt is the text below the second "---"',
    "body": 'the prompt is the text below the second "---"',
    "name": "the file's name is the job's name: hermes-cron edit JOB --name NEW",
    **dict.fromkeys(("cron", "when", "every", "at", "on", "trigger"), 'did you mean "schedule"?'),
    **dict.fromkeys(("tz", "zone"), 'did you mean "timezone"?'),
    **dict.fromkeys(("enabled", "disabled", "active"), 'did you mean "paused: REASON"?'),
    **dict.fromkeys(("db", "dbs"), 'did you mean "databases"?'),
    **dict.fromkeys(("command", "shell", "run"), 'did you mean "script"?'),
    **dict.fromkeys(("send", "to", "target", "targets"), 'did you mean "deliver"?'),
}

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([1-9][0-9]{0,8})([smhd])", re.ASCII)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
LINE_MAX = 200
OFF = frozenset({"no", "off", "false"})
"""What habits of YAML 1.1 write for "none"."""
ON = frozenset({"yes", "on", "true"})


# --- faults -----------------------------------------------------------------------------------------------------------


def unknown_key(entry: Entry, known: Mapping[str, object] | frozenset[str], *, where: str = "") -> Fault:
    """The fault for a key that is not of the format; ``where`` names the mapping it stands in."""
    if not where and entry.key in _OTHER_WORDS:
        return Fault(line=entry.line, message=f'unknown key "{entry.key}", {_OTHER_WORDS[entry.key]}')
    inside = f" in {where}" if where else ""
    return Fault(line=entry.line, message=f'unknown key "{entry.key}"{inside}{did_you_mean(entry.key, known)}')


def not_yet(entry: Entry, *, where: str = "") -> Fault:
    """The fault for a key that a later version understands."""
    return Fault(line=entry.line, message=f'"{where}{entry.key}" is not yet available in this version')


def refuse(value: Value, message: str) -> NoReturn:
    """Raises the fault at the line of this value."""
    raise FaultsFound(Fault(line=value.line, message=message))


def wrong(value: Value, key: str, expected: str) -> NoReturn:
    """Raises the fault of a value that has another form than its key asks for."""
    refuse(value, f"{key}: expected {expected}, not {said(value)}")


def said(value: Value) -> str:
    """The value in a message, cut where it is long."""
    if isinstance(value, Several):
        return "a list"
    if isinstance(value, Table):
        return "a mapping"
    if value.value is None:
        return "nothing"
    if isinstance(value.value, str):
        return f'"{value.text if len(value.text) <= 40 else value.text[:37] + "..."}"'
    return value.text if isinstance(value.value, bool) else f"the number {value.text}"


# --- texts ------------------------------------------------------------------------------------------------------------


def text(value: Value, key: str) -> str:
    """Text that is not blank, of one or more lines."""
    if isinstance(value, Single) and isinstance(value.value, str) and value.text.strip():
        return value.text.strip("\n") if "\n" in value.text else value.text.strip()
    wrong(value, key, "text" if not isinstance(value, Single) or value.value is None else "text in quotes")


def line(value: Value, key: str) -> str:
    """Text of one line."""
    found = text(value, key)
    if "\n" in found or len(found) > LINE_MAX:
        refuse(value, f"{key}: one line of at most {LINE_MAX} characters")
    return found


def placed_text(value: Value, key: str) -> tuple[str, int]:
    """Text and its line."""
    return text(value, key), value.line


def placed_line(value: Value, key: str) -> tuple[str, int]:
    """Text of one line and where it stands."""
    return line(value, key), value.line


def words(value: Value, key: str) -> Words:
    """A list of different texts."""
    if not isinstance(value, Several):
        example = value.text if isinstance(value, Single) and value.text else "a, b"
        wrong(value, key, f"a list such as [{example}]")
    found = tuple(placed_text(item, key) for item in value.items)
    seen: set[str] = set()
    for word, at in found:
        if word in seen:
            raise FaultsFound(Fault(line=at, message=f'{key}: "{word}" stands twice'))
        seen.add(word)
    return found


def choice(kind: type[_E], *, off: _E | None = None) -> Callable[[Value, str], _E]:
    """One of the enum's words. YAML 1.1 habits write ``off``, ``no`` or ``false`` for "none"."""

    def read(value: Value, key: str) -> _E:
        if isinstance(value, Single):
            if off is not None and value.text.lower() in OFF:
                return off
            if value.text in set(kind):
                return kind(value.text)
        near = did_you_mean(value.text, kind) if isinstance(value, Single) else ""
        refuse(value, f"{key}: expected one of {', '.join(kind)}, not {said(value)}{near}")

    return read


# --- numbers and spans ------------------------------------------------------------------------------------------------


def duration(text: str) -> timedelta | None:
    """``90s 5m 2h 7d``; None for anything else, zero included."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    seconds = int(found[1]) * _UNITS[found[2]]
    return timedelta(seconds=seconds) if seconds <= 3660 * 86400 else None


def span(value: Value, key: str) -> timedelta:
    """A duration above zero."""
    if isinstance(value, Single):
        found = duration(value.text)
        if found is not None:
            return found
        if isinstance(value.value, int | float) and not isinstance(value.value, bool):
            wrong(value, key, f"a duration with its unit such as {value.text}s")
    wrong(value, key, "a duration such as 90s, 5m, 2h or 7d")


def span_or_zero(value: Value, key: str) -> timedelta:
    """A duration, or ``0``."""
    if isinstance(value, Single) and value.text == "0":
        return timedelta(0)
    return span(value, key)


def number(value: Value, key: str) -> int | float:
    """A finite number."""
    if isinstance(value, Single) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
        found = value.value
        if found == found and abs(found) != float("inf"):  # noqa: PLR0124  # NaN is the number that is not itself
            return found
    wrong(value, key, "a number")


def count(value: Value, key: str) -> int:
    """A whole number above 0."""
    found = number(value, key)
    if not isinstance(found, int) or not 0 < found <= 10**9:
        wrong(value, key, "a whole number above 0")
    return found


def count_or_zero(value: Value, key: str) -> int:
    """A whole number, 0 included."""
    found = number(value, key)
    if not isinstance(found, int) or not 0 <= found <= 10**9:
        wrong(value, key, "a whole number, 0 or more")
    return found


def scalar(value: Value, key: str) -> Scalar:
    """Text, a number, true or false."""
    if not isinstance(value, Single) or value.value is None:
        wrong(value, key, "text, a number, true or false")
    return value.value


# --- mappings ---------------------------------------------------------------------------------------------------------


def scalars(value: Value, key: str) -> dict[str, Scalar]:
    """Names as a template can say them, values without structure."""
    if not isinstance(value, Table):
        wrong(value, key, "a mapping of names to values")
    found: dict[str, Scalar] = {}
    for entry in value.entries:
        if not isinstance(entry.value, Single):
            wrong(entry.value, f"{key}.{entry.key}", "text, a number, true or false")
        if not VARIABLE.fullmatch(entry.key):
            raise FaultsFound(
                Fault(line=entry.line, message=f'{key}: "{entry.key}" is not a name (letters, digits, _)')
            )
        found[entry.key] = entry.value.value
    return found


def members(
    value: Value, key: str, readers: Mapping[str, Reader], *, later: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """A mapping with these members only, every fault of it at once."""
    if not isinstance(value, Table):
        wrong(value, key, "a mapping such as {" + f"{next(iter(readers))}: ..." + "}")
    found: dict[str, Any] = {}
    faults: list[Fault] = []
    for entry in value.entries:
        if entry.key in later:
            faults.append(not_yet(entry, where=f"{key}."))
        elif entry.key not in readers:
            faults.append(unknown_key(entry, frozenset(readers) | later, where=key))
        else:
            try:
                found[entry.key] = readers[entry.key](entry.value, f"{key}.{entry.key}")
            except FaultsFound as stopped:
                faults.extend(stopped.faults)
    if faults:
        raise FaultsFound(*faults)
    return found
