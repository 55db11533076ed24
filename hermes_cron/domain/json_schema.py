"""Does a JSON value fit a schema? The part of JSON Schema that reports need: docs/formats/checks.md lists it.

``type``, ``required``, ``properties``, ``items``, ``enum``, ``minimum``, ``maximum`` and ``pattern``. Any other word is
refused, never passed over: a rule that is not looked at would be a check that cannot fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_NOTES = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples"})
"""Words that say something to people and rule nothing."""
_DEEPEST = 50


def misfit(value: Any, schema: Mapping[str, Any], *, at: str = "$") -> str | None:
    """The first place where ``value`` breaks the schema, in one line; None when it fits. The schema is understood."""
    for word, rule in _RULES.items():
        if word in schema and (said := rule(value, schema[word], at)) is not None:
            return said
    return None


def not_understood(schema: Any, *, at: str = "schema", depth: int = 0) -> str | None:
    """Why a schema cannot be judged by, in one line; None when it can."""
    if depth > _DEEPEST:
        return f"{at}: nested too deeply"
    if not isinstance(schema, Mapping):
        return f"{at}: expected a mapping"
    for word, value in schema.items():
        if word in _NOTES:
            continue
        if word not in _FORMS:
            return f'{at}: "{word}" is not understood; known: {", ".join(_FORMS)}'
        if (said := _FORMS[word](value, f"{at}.{word}", depth + 1)) is not None:
            return said
    return None


# --- rules ------------------------------------------------------------------------------------------------------------


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _number(value) and (isinstance(value, int) or value.is_integer()),
    "number": _number,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _type(value: Any, wanted: Any, at: str) -> str | None:
    names = [wanted] if isinstance(wanted, str) else wanted
    if any(_TYPES[name](value) for name in names):
        return None
    return f"{at} is {_kind(value)}, not {' or '.join(names)}"


def _kind(value: Any) -> str:
    return next(name for name, fits in _TYPES.items() if name != "integer" and fits(value))


def _enum(value: Any, wanted: Any, at: str) -> str | None:
    return None if any(_same(value, one) for one in wanted) else f"{at} is none of the values of enum"


def _same(left: Any, right: Any) -> bool:
    """JSON's equality: 1 is 1.0, and true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return bool(left == right)


def _minimum(value: Any, wanted: Any, at: str) -> str | None:
    return f"{at} is {value}, below {wanted}" if _number(value) and value < wanted else None


def _maximum(value: Any, wanted: Any, at: str) -> str | None:
    return f"{at} is {value}, above {wanted}" if _number(value) and value > wanted else None


def _pattern(value: Any, wanted: Any, at: str) -> str | None:
    fits = not isinstance(value, str) or re.search(wanted, value) is not None
    return None if fits else f"{at} does not match {wanted}"


def _required(value: Any, wanted: Any, at: str) -> str | None:
    missing = [name for name in wanted if name not in value] if isinstance(value, dict) else []
    return f"{at} has no {missing[0]}" if missing else None


def _properties(value: Any, wanted: Any, at: str) -> str | None:
    if not isinstance(value, dict):
        return None
    found = (misfit(value[name], rule, at=f"{at}.{name}") for name, rule in wanted.items() if name in value)
    return next((said for said in found if said is not None), None)


def _items(value: Any, wanted: Any, at: str) -> str | None:
    if not isinstance(value, list):
        return None
    found = (misfit(item, wanted, at=f"{at}[{number}]") for number, item in enumerate(value))
    return next((said for said in found if said is not None), None)


_RULES: Mapping[str, Callable[[Any, Any, str], str | None]] = {
    "type": _type,
    "enum": _enum,
    "minimum": _minimum,
    "maximum": _maximum,
    "pattern": _pattern,
    "required": _required,
    "properties": _properties,
    "items": _items,
}


# --- the form of the rules themselves ---------------------------------------------------------------------------------


def _type_form(value: Any, at: str, _depth: int) -> str | None:
    names = [value] if isinstance(value, str) else value
    good = isinstance(names, Sequence) and names and all(isinstance(name, str) and name in _TYPES for name in names)
    return None if good else f"{at}: expected one or more of {', '.join(_TYPES)}"


def _list_form(value: Any, at: str, _depth: int) -> str | None:
    good = isinstance(value, Sequence) and not isinstance(value, str) and value
    return None if good else f"{at}: expected a list"


def _names_form(value: Any, at: str, depth: int) -> str | None:
    good = _list_form(value, at, depth) is None and all(isinstance(name, str) for name in value)
    return None if good else f"{at}: expected a list of names"


def _bound_form(value: Any, at: str, _depth: int) -> str | None:
    return None if _number(value) else f"{at}: expected a number"


def _pattern_form(value: Any, at: str, _depth: int) -> str | None:
    try:
        re.compile(value)
    except (TypeError, re.error, RecursionError, OverflowError) as error:
        return f"{at}: not a regular expression: {error}"
    return None


def _properties_form(value: Any, at: str, depth: int) -> str | None:
    if not isinstance(value, Mapping):
        return f"{at}: expected a mapping"
    found = (not_understood(rule, at=f"{at}.{name}", depth=depth) for name, rule in value.items())
    return next((said for said in found if said is not None), None)


def _items_form(value: Any, at: str, depth: int) -> str | None:
    return not_understood(value, at=at, depth=depth)


_FORMS: Mapping[str, Callable[[Any, str, int], str | None]] = {
    "type": _type_form,
    "required": _names_form,
    "properties": _properties_form,
    "items": _items_form,
    "enum": _list_form,
    "minimum": _bound_form,
    "maximum": _bound_form,
    "pattern": _pattern_form,
}
