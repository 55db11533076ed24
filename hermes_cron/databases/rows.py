"""How much of a result is kept, and what is said about the rest?"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_cron.domain.database import JsonScalar

Row = tuple[JsonScalar, ...]

_CUT = "... [cut]"


def collect(rows: Iterable[Row], *, row_cap: int, byte_cap: int) -> tuple[tuple[Row, ...], str | None]:
    """At most ``row_cap`` rows and ``byte_cap`` bytes (values as UTF-8), and what was cut, in words.

    One row more than is kept is read, never the rest: the cap holds by fetching, whatever LIMIT the text has or
    pretends to have. A first row that alone exceeds the bytes is kept with its long texts cut.
    """
    kept: list[Row] = []
    used = 0
    for row in rows:
        if len(kept) >= row_cap:
            return tuple(kept), f"only the first {row_cap:,} rows; there are more"
        size = sum(_size(value) for value in row)
        if used + size > byte_cap:
            if kept:
                return tuple(kept), f"only the first {len(kept):,} rows: {byte_cap:,} bytes are the limit"
            return (
                _shortened(row, byte_cap),
            ), f"only the first row, with long values cut at {byte_cap:,} bytes in all"
        used += size
        kept.append(row)
    return tuple(kept), None


def _size(value: JsonScalar) -> int:
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else 8


def _shortened(row: Row, byte_cap: int) -> Row:
    share = max(16, byte_cap // max(1, len(row)))
    return tuple(
        value.encode("utf-8", "replace")[:share].decode("utf-8", "ignore") + _CUT
        if isinstance(value, str) and _size(value) > share
        else value
        for value in row
    )
