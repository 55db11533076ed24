"""Which keys may a job file have, and of which form is each one's value?

The form only: what needs the zone, the clock, other keys or the home's names is judged in ``load``. A reader raises
``FaultsFound`` with the line of the very value that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from hermes_cron.domain.job import CatchUp, Keep, Limits, Overlap, PlaybookMode, PlaybookUse, Scalar, Template
from hermes_cron.jobs.frontmatter import Entry, Fault, FaultsFound, Several, Single, Table, Value
from hermes_cron.jobs.nearest import did_you_mean
from hermes_cron.jobs.plain_sight import looks_secret

Reader = Callable[[Value, str], Any]
"""Gives the type of the ``Job`` field of its key, or ``(text, line)`` where ``load`` has more to judge."""
Words = tuple[tuple[str, int], ...]
"""Texts with their lines."""

_E = TypeVar("_E", bound=StrEnum)

NOT_YET = frozenset(
    {
        "calendar", "triggers", "window", "priority", "owner", "gate", "action", "for_each", "accounts", "secrets",
        "environment", "fallback_models", "reasoning", "policy", "approval", "context", "memory", "learn", "retries",
        "pause_after", "checks", "on_check_failure", "deliver", "notify", "ping",
    }
)  # fmt: skip
"""Keys of the format that this version refuses by name: a key that is accepted and does nothing would be a lie."""

_LIMITS_NOT_YET = frozenset({"tokens", "cost_usd", "cost_usd_per_day", "writes"})

_OTHER_WORDS: Mapping[str, str] = {
    "prompt": 'the prompt is the text below the second "---"',
    "body": 'the prompt is the text below the second "---"',
    "name": "the file's name is the job's name: hermes-cron edit JOB --name NEW",
    **dict.fromkeys(("cron", "when", "every", "at", "on", "trigger"), 'did you mean "schedule"?'),
    **dict.fromkeys(("tz", "zone"), 'did you mean "timezone"?'),
    **dict.fromkeys(("enabled", "disabled", "active"), 'did you mean "paused: REASON"?'),
    **dict.fromkeys(("db", "dbs"), 'did you mean "databases"?'),
    **dict.fromkeys(("command", "shell", "run"), 'did you mean "script"?'),
}

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([1-9][0-9]{0,8})([smhd])", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
DESCRIPTION_MAX = 200
_OFF = frozenset({"no", "off", "false"})
_ON = frozenset({"yes", "on", "true"})


def unknown_key(entry: Entry, known: Mapping[str, object] | frozenset[str], *, where: str = "") -> Fault:
    """The fault for a key that is not of the format; ``where`` names the mapping it stands in."""
    if not where and entry.key in _OTHER_WORDS:
        return Fault(line=entry.line, message=f'unknown key "{entry.key}", {_OTHER_WORDS[entry.key]}')
    inside = f" in {where}" if where else ""
    return Fault(line=entry.line, message=f'unknown key "{entry.key}"{inside}{did_you_mean(entry.key, known)}')


def not_yet(entry: Entry, *, where: str = "") -> Fault:
    """The fault for a key that a later version understands."""
    return Fault(line=entry.line, message=f'"{where}{entry.key}" is not yet available in this version')


def _wrong(value: Value, key: str, expected: str) -> NoReturn:
    raise FaultsFound(Fault(line=value.line, message=f"{key}: expected {expected}, not {_said(value)}"))


def _said(value: Value) -> str:
    if isinstance(value, Several):
        return "a list"
    if isinstance(value, Table):
        return "a mapping"
    if value.value is None:
        return "nothing"
    if isinstance(value.value, str):
        return f'"{value.text if len(value.text) <= 40 else value.text[:37] + "..."}"'
    return value.text if isinstance(value.value, bool) else f"the number {value.text}"


# --- readers ----------------------------------------------------------------------------------------------------------


def _text(value: Value, key: str) -> str:
    if isinstance(value, Single) and isinstance(value.value, str) and value.text.strip():
        return value.text.strip("\n") if "\n" in value.text else value.text.strip()
    _wrong(value, key, "text" if not isinstance(value, Single) or value.value is None else "text in quotes")


def _line(value: Value, key: str) -> str:
    text = _text(value, key)
    if "\n" in text or len(text) > DESCRIPTION_MAX:
        raise FaultsFound(Fault(line=value.line, message=f"{key}: one line of at most {DESCRIPTION_MAX} characters"))
    return text


def _placed_text(value: Value, key: str) -> tuple[str, int]:
    return _text(value, key), value.line


def _schedule(value: Value, key: str) -> Words:
    if isinstance(value, Several):
        if not value.items:
            _wrong(value, key, "a phrase or a list of phrases")
        return tuple(_placed_text(item, key) for item in value.items)
    return (_placed_text(value, key),)


def _words(value: Value, key: str) -> Words:
    """A list of different texts."""
    if not isinstance(value, Several):
        example = value.text if isinstance(value, Single) and value.text else "a, b"
        _wrong(value, key, f"a list such as [{example}]")
    words = tuple(_placed_text(item, key) for item in value.items)
    seen: set[str] = set()
    for word, line in words:
        if word in seen:
            raise FaultsFound(Fault(line=line, message=f'{key}: "{word}" stands twice'))
        seen.add(word)
    return words


def _tags(value: Value, key: str) -> Words:
    words = _words(value, key)
    for word, line in words:
        if not re.fullmatch(r"[^\W_][\w.:/-]{0,63}", word):
            raise FaultsFound(Fault(line=line, message=f'{key}: "{word}" is not a label (letters, digits, - _ . : /)'))
    return words


def duration(text: str) -> timedelta | None:
    """``90s 5m 2h 7d``; None for anything else, zero included."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    seconds = int(found[1]) * _UNITS[found[2]]
    return timedelta(seconds=seconds) if seconds <= 3660 * 86400 else None


def _duration(value: Value, key: str) -> timedelta:
    if isinstance(value, Single):
        found = duration(value.text)
        if found is not None:
            return found
        if isinstance(value.value, int | float) and not isinstance(value.value, bool):
            _wrong(value, key, f"a duration with its unit such as {value.text}s")
    _wrong(value, key, "a duration such as 90s, 5m, 2h or 7d")


def _span_or_zero(value: Value, key: str) -> timedelta:
    if isinstance(value, Single) and value.text == "0":
        return timedelta(0)
    return _duration(value, key)


def _number(value: Value, key: str) -> int | float:
    if isinstance(value, Single) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
        return value.value
    _wrong(value, key, "a number")


def _count(value: Value, key: str) -> int:
    number = _number(value, key)
    if not isinstance(number, int) or not 0 < number <= 10**9:
        _wrong(value, key, "a whole number above 0")
    return number


def _minutes(value: Value, key: str) -> float:
    number = _number(value, key)
    if not 0 < number <= 60 * 24 * 30:
        _wrong(value, key, "minutes above 0 and at most 43200 (30 days)")
    return number


def _choice(kind: type[_E], *, off: _E | None = None) -> Callable[[Value, str], _E]:
    """One of the enum's words. YAML 1.1 habits write ``off``, ``no`` or ``false`` for "none"."""

    def read(value: Value, key: str) -> _E:
        if isinstance(value, Single):
            if off is not None and value.text.lower() in _OFF:
                return off
            if value.text in set(kind):
                return kind(value.text)
        near = did_you_mean(value.text, kind) if isinstance(value, Single) else ""
        message = f"{key}: expected one of {', '.join(kind)}, not {_said(value)}{near}"
        raise FaultsFound(Fault(line=value.line, message=message))

    return read


def _paused(value: Value, key: str) -> str | None:
    """The reason. ``off`` and ``false`` say that the job is not paused; ``on`` gives no reason but pauses."""
    if isinstance(value, Single) and value.text.lower() in _OFF:
        return None
    if isinstance(value, Single) and value.text.lower() in _ON:
        return "no reason given"
    return _text(value, key)


def _scalars(value: Value, key: str) -> dict[str, Scalar]:
    """Names as a template can say them, values without structure."""
    if not isinstance(value, Table):
        _wrong(value, key, "a mapping of names to values")
    found: dict[str, Scalar] = {}
    for entry in value.entries:
        if not isinstance(entry.value, Single):
            _wrong(entry.value, f"{key}.{entry.key}", "text, a number, true or false")
        if not _VARIABLE.fullmatch(entry.key):
            raise FaultsFound(
                Fault(line=entry.line, message=f'{key}: "{entry.key}" is not a name (letters, digits, _)')
            )
        found[entry.key] = entry.value.value
    return found


def _not_a_name(entry: Entry, key: str) -> Fault:
    return Fault(line=entry.line, message=f'{key}: "{entry.key}" is not a name (letters, digits, _)')


def _env(value: Value, key: str) -> dict[str, str]:
    """Plain variables, as text the way they are written; what looks like a secret is refused and not repeated."""
    values = _scalars(value, key)
    assert isinstance(value, Table)  # noqa: S101 - _scalars refused anything else
    found: dict[str, str] = {}
    for entry in value.entries:
        if not isinstance(entry.value, Single) or values[entry.key] is None:
            _wrong(entry.value, f"{key}.{entry.key}", "text")
        if not _VARIABLE.fullmatch(entry.key):
            raise FaultsFound(_not_a_name(entry, key))
        kind = looks_secret(entry.key, entry.value.text)
        if kind is not None:
            message = f"{key}.{entry.key}: the value looks like {kind}; secrets do not belong in job files"
            raise FaultsFound(Fault(line=entry.value.line, message=message))
        found[entry.key] = entry.value.text
    return found


def _playbook(value: Value, key: str) -> PlaybookUse:
    """``auto``, ``only``, ``never``, or ``{params: {...}}`` (with ``mode`` beside it where both are meant)."""
    mode = _choice(PlaybookMode)
    if not isinstance(value, Table):
        return PlaybookUse(mode=mode(value, key))
    return PlaybookUse(**_members(value, key, {"mode": mode, "params": _scalars}))


def _limits(value: Value, key: str) -> Limits:
    return Limits(**_members(value, key, {"minutes": _minutes, "iterations": _count}, later=_LIMITS_NOT_YET))


def _keep(value: Value, key: str) -> Keep:
    return Keep(**_members(value, key, {"runs": _count, "days": _count}))


def _members(
    value: Value, key: str, readers: Mapping[str, Reader], *, later: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """A mapping with these members only, every fault of it at once."""
    if not isinstance(value, Table):
        _wrong(value, key, "a mapping such as {" + f"{next(iter(readers))}: ..." + "}")
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


KEYS: Mapping[str, Reader] = {
    "description": _line,
    "schedule": _schedule,
    "timezone": _placed_text,
    "start": _placed_text,
    "until": _placed_text,
    "max_runs": _count,
    "jitter": _span_or_zero,
    "catch_up": _choice(CatchUp, off=CatchUp.NONE),
    "grace": _duration,
    "overlap": _choice(Overlap),
    "paused": _paused,
    "tags": _tags,
    "template": _choice(Template),
    "vars": _scalars,
    "script": _text,
    "timeout": _duration,
    "skills": _words,
    "playbook": _playbook,
    "databases": _words,
    "env": _env,
    "workdir": _placed_text,
    "model": _line,
    "tools": _words,
    "limits": _limits,
    "keep": _keep,
}
"""In the order in which a new file is written."""
