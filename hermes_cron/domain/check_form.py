"""Is an entry of ``checks:`` of its kind's form? The form only: whether a database or file exists is known later."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hermes_cron.domain.check import CheckKind

_TIMEOUT_MAX_S = 3600
_LARGEST = 10**300  # beyond any database's numbers; infinity and NaN are no numbers
_HASH = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FormFault:
    """What is wrong, and at which key (None: with the entry as a whole)."""

    key: str | None
    message: str


def fault(kind: CheckKind, params: Mapping[str, Any]) -> FormFault | None:
    """The first fault of a check's parameters (keys are known already), None when they can be judged."""
    for key in _NEEDED[kind]:
        if key not in params:
            return FormFault(None, f'a {kind} check needs "{key}"')
    for key, value in params.items():
        if (said := _VALUES[key](value)) is not None:
            return FormFault(key, said)
    asked = _ASKS.get(kind)
    if asked is not None and not set(asked) & set(params):
        return FormFault(None, f"a {kind} check needs one of {', '.join(asked)}")
    for key, bounds in (("at_least", params), ("rows", params.get("rows"))):
        if (said := _contradiction(bounds)) is not None:
            return FormFault(key, said)
    if kind is CheckKind.FILE and params.get("exists") is False and {"hash"} & set(params):
        return FormFault("hash", "a file that is to be gone has no hash")
    return None


def _contradiction(bounds: Any) -> str | None:
    """A check that cannot hold says nothing of any run."""
    if not isinstance(bounds, Mapping) or not {"at_least", "at_most"} <= set(bounds):
        return None
    least, most = bounds["at_least"], bounds["at_most"]
    return f"at_least {least} is above at_most {most}: nothing is both" if least > most else None


_NEEDED: Mapping[CheckKind, tuple[str, ...]] = {
    CheckKind.SQL: ("database", "query"),
    CheckKind.HTTP: ("url",),
    CheckKind.SHELL: ("command",),
    CheckKind.FILE: ("path",),
    CheckKind.REPORT: (),
}
_ASKS: Mapping[CheckKind, tuple[str, ...]] = {
    CheckKind.SQL: ("equals", "at_least", "at_most", "rows"),
    CheckKind.REPORT: ("matches", "schema"),
}


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() and "\0" not in value else "expected text"


def _number(value: Any) -> str | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    return None if good else "expected a number"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "expected true or false"


def _scalar(value: Any) -> str | None:
    if value is None or isinstance(value, str | bool):
        return None
    return _number(value) and "expected a single value"


def _whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _rows(value: Any) -> str | None:
    bounds = value if isinstance(value, Mapping) else {"at_least": value}
    good = bounds and set(bounds) <= {"at_least", "at_most"} and all(_whole(it, 0, 10**9) for it in bounds.values())
    return None if good else "expected a whole number, or {at_least: N, at_most: N}"


def _url(value: Any) -> str | None:
    good = isinstance(value, str) and re.fullmatch(r"https?://[^\s/@]+(?:[/?#]\S*)?", value)
    try:
        good = good and urlsplit(value).hostname and urlsplit(value).port != 0
    except ValueError:  # half an IPv6 address, a port above 65535
        good = False
    return None if good else "expected a URL that begins with http:// or https:// and holds no password"


def _status(value: Any) -> str | None:
    several = value if isinstance(value, list | tuple) else [value]
    good = several and all(_whole(it, 100, 599) for it in several)
    return None if good else "expected an HTTP status such as 200, or a list of them"


def _exit(value: Any) -> str | None:
    return None if _whole(value, 0, 255) else "expected an exit code, 0 to 255"


def _expression(value: Any) -> str | None:
    if (said := _text(value)) is not None:
        return said
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        return f"not a regular expression: {error}"
    return None


def _path(value: Any) -> str | None:
    if (said := _text(value)) is not None:
        return said
    return "~ is not expanded; write the whole path" if value.startswith("~") else None


def _paths(value: Any) -> str | None:
    if not isinstance(value, list | tuple) or not value:
        return "expected a list of paths"
    return next((said for it in value if (said := _path(it)) is not None), None)


def _hash(value: Any) -> str | None:
    good = isinstance(value, str) and _HASH.fullmatch(value)
    return None if good else 'expected "sha256:" and 64 hexadecimal digits'


def _schema(value: Any) -> str | None:
    if isinstance(value, Mapping):
        from hermes_cron.domain.json_schema import not_understood

        return not_understood(value)
    return _path(value) and "expected a JSON Schema as a mapping, or the path of a JSON file"


def _timeout(value: Any) -> str | None:
    good = _number(value) is None and 0 < value <= _TIMEOUT_MAX_S
    return None if good else "expected a duration of at most 1h"


_VALUES: Mapping[str, Callable[[Any], str | None]] = {
    "database": _text,
    "query": _text,
    "equals": _scalar,
    "at_least": _number,
    "at_most": _number,
    "rows": _rows,
    "url": _url,
    "status": _status,
    "matches": _expression,
    "redirects": _flag,
    "command": _text,
    "exit": _exit,
    "inputs": _paths,
    "path": _path,
    "exists": _flag,
    "changed": _flag,
    "hash": _hash,
    "schema": _schema,
    "timeout": _timeout,
}
