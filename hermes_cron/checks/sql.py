"""What does the database say? One read-only statement, through the same guard as the agent's."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hermes_cron.checks.bench import Bench, NotCheckable, Said
from hermes_cron.deadline import cancelled_after
from hermes_cron.domain.database import JsonScalar, QueryResult

DEFAULT_S = 30.0
_SHOWN = 80
_NUMERAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def judge(params: Mapping[str, Any], bench: Bench) -> Said:
    """Every comparison must hold; the first that does not is told."""
    result = _asked(params, bench)
    told: list[str] = []
    for word in ("rows", "equals", "at_least", "at_most"):
        if word not in params:
            continue
        good, said = _rows(result, params["rows"]) if word == "rows" else _value(result, word, params[word])
        if not good:
            return False, said
        told.append(said)
    return True, "; ".join(dict.fromkeys(told))


def _asked(params: Mapping[str, Any], bench: Bench) -> QueryResult:
    seconds = bench.seconds(params.get("timeout", DEFAULT_S))
    database = bench.databases.open(params["database"])
    try:
        with cancelled_after(seconds + 1, database):  # after the statement's own time-out on the server
            return database.query(params["query"], timeout_s=seconds, row_cap=_needed(params))
    finally:
        database.close()


def _needed(params: Mapping[str, Any]) -> int | None:
    """Rows enough to decide: one more than any bound. None: the database's own cap."""
    if "rows" not in params:
        return 1
    bounds = params["rows"] if isinstance(params["rows"], Mapping) else {"at_most": params["rows"]}
    return 1 + int(max(bounds.values()))


def _rows(result: QueryResult, wanted: Any) -> Said:
    came = len(result.rows)
    bounds = wanted if isinstance(wanted, Mapping) else {"at_least": wanted, "at_most": wanted}
    least, most = bounds.get("at_least", 0), bounds.get("at_most", math.inf)
    more = "more than " if result.truncated else ""
    said = f"{more}{came:,} {'row' if came == 1 and not more else 'rows'}"
    if came > most:
        return False, f"{said} came, not {_bounds(least, most)}"
    if came >= least and (not result.truncated or most == math.inf):
        return True, said
    if result.truncated:
        raise NotCheckable(f"{result.truncated}; count them in the query instead: select count(*)")
    return False, f"{said} came, not {_bounds(least, most)}"


def _bounds(least: float, most: float) -> str:
    if least == most:
        return f"{least:,}"
    if most == math.inf:
        return f"at least {least:,}"
    return f"at most {most:,}" if not least else f"{least:,} to {most:,}"


def _value(result: QueryResult, word: str, wanted: Any) -> Said:
    words = {"equals": "", "at_least": "at least ", "at_most": "at most "}[word]
    expected = f"{words}{shown(wanted)}"
    if not result.rows:
        return False, f"no row came, so no value to be {expected}"
    if not result.rows[0]:
        return False, f"no column came, so no value to be {expected}"
    value = result.rows[0][0]
    good = same(value, wanted) if word == "equals" else _ordered(value, word, wanted)
    return good, shown(value) if good else f"{shown(value)}, not {expected}"


def _ordered(value: JsonScalar, word: str, wanted: Any) -> bool:
    if value is None:
        return False
    number = _number(value)
    if number is not None and same(value, wanted):
        return True  # a sum of 0.1 and 0.2 is at most 0.3
    if number is None:
        raise NotCheckable(f"{shown(value)} is no number, so it is neither at least nor at most {shown(wanted)}")
    bound = Decimal(str(wanted))
    return number >= bound if word == "at_least" else number <= bound


def same(value: JsonScalar, wanted: Any) -> bool:
    """1, 1.0 and "1" are one value, as are true and the 1 of a database without truth values; null is only null."""
    if value is None or wanted is None:
        return value is None and wanted is None
    if isinstance(wanted, bool) or isinstance(value, bool):
        return _truth(value) is not None and _truth(value) is _truth(wanted)
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted
    left, right = _number(value), _number(wanted)
    if left is None or right is None:
        return False
    if left == right:
        return True
    return (isinstance(value, float) or isinstance(wanted, float)) and _one_double(left, right)


def _one_double(left: Decimal, right: Decimal) -> bool:
    """Whether only the rounding of binary numbers lies between them, never as much as a cent of ten billions."""
    if float(left) == float(right):
        return True
    exponent = right.as_tuple().exponent
    decimals = max(0, -exponent) if isinstance(exponent, int) else 0
    return abs(left - right) < Decimal(10) ** -(decimals + 2) and math.isclose(left, right, rel_tol=1e-12)


def _truth(value: JsonScalar) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "t": True, "false": False, "f": False}.get(value.lower())
    return bool(value) if value in (0, 1) else None


def _number(value: JsonScalar) -> Decimal | None:
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip()
    return Decimal(text) if _NUMERAL.fullmatch(text) else None


def shown(value: object) -> str:
    """As a sentence says it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
