"""What does the list under ``checks:`` ask for, and which entry of it at which line is not a check?

Each entry is a mapping with one key, the kind; what a kind may say is ``domain.check``'s. The form only: whether its
database exists and its query may be sent is judged in ``load``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes_cron.domain.check import KEYS, Check, CheckKind
from hermes_cron.domain.check_form import fault
from hermes_cron.jobs import forms
from hermes_cron.jobs.frontmatter import Entry, Fault, FaultsFound, Several, Single, Table, Value
from hermes_cron.jobs.nearest import did_you_mean

_MOST = 50
_KINDS = ", ".join(CheckKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A check, the line of its kind and those of its keys."""

    check: Check
    line: int
    lines: Mapping[str, int]


def read_checks(value: Value, key: str) -> tuple[Placed, ...]:
    """Every fault of the list at once, one per entry."""
    if not isinstance(value, Several):
        forms.wrong(value, key, 'a list of checks such as [{report: {matches: "done"}}]')
    if len(value.items) > _MOST:
        forms.refuse(value, f"{key}: at most {_MOST} checks")
    found: list[Placed] = []
    faults: list[Fault] = []
    for item in value.items:
        try:
            found.append(_check(item, key))
        except FaultsFound as stopped:
            faults.extend(stopped.faults)
    if faults:
        raise FaultsFound(*faults)
    return tuple(found)


def _check(item: Value, key: str) -> Placed:
    if not isinstance(item, Table) or len(item.entries) != 1:
        forms.wrong(item, key, f"one of {_KINDS} with its keys, such as report: {{matches: ...}}")
    entry = item.entries[0]
    if entry.key not in set(CheckKind):
        near = did_you_mean(entry.key, CheckKind)
        raise FaultsFound(Fault(line=entry.line, message=f'{key}: no check "{entry.key}"{near} (there are {_KINDS})'))
    kind = CheckKind(entry.key)
    where = f"{key}.{kind}"
    if not isinstance(entry.value, Table):
        forms.wrong(entry.value, where, f"a mapping of {', '.join(sorted(KEYS[kind]))}")
    params = _params(kind, entry.value.entries, where)
    lines = {member.key: member.line for member in entry.value.entries}
    wrong = fault(kind, params)
    if wrong is not None:
        named = f"{where}.{wrong.key}" if wrong.key else key
        raise FaultsFound(Fault(line=lines.get(wrong.key or "", entry.line), message=f"{named}: {wrong.message}"))
    return Placed(check=Check(kind=kind, params=params), line=entry.line, lines=lines)


def _params(kind: CheckKind, entries: tuple[Entry, ...], where: str) -> dict[str, Any]:
    unknown = [entry for entry in entries if entry.key not in KEYS[kind]]
    if unknown:
        raise FaultsFound(*(forms.unknown_key(entry, KEYS[kind], where=where) for entry in unknown))
    return {entry.key: _param(entry, where) for entry in entries}


def _param(entry: Entry, where: str) -> Any:
    if entry.key == "timeout":
        return forms.span(entry.value, f"{where}.timeout").total_seconds()
    if isinstance(entry.value, Single) and (word := _flag(entry)) is not None:
        return word
    return _plain(entry.value)


def _flag(entry: Entry) -> bool | None:
    """Habits of YAML 1.1 where only true or false can be meant."""
    if entry.key not in {"exists", "changed", "redirects"} or not isinstance(entry.value, Single):
        return None
    word = entry.value.text.lower()
    return word in forms.ON if word in forms.ON | forms.OFF else None


def _plain(value: Value) -> Any:
    """The value as JSON has it."""
    if isinstance(value, Table):
        return {entry.key: _plain(entry.value) for entry in value.entries}
    if isinstance(value, Several):
        return [_plain(item) for item in value.items]
    if isinstance(value.value, float) and re.fullmatch(r"[-+]?\.?(inf|nan)", value.text.lower()):
        return value.text  # JSON has no such number
    return value.value
