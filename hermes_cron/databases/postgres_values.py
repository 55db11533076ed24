"""What does a value of PostgreSQL look like as JSON?

Numbers become numbers, booleans booleans, NULL null; everything else is the server's own text (dates in ISO form,
arrays as ``{1,2}``, bytes as ``\\x...``): exact, also for dates before Christ, infinity, and text that is not UTF-8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from psycopg.adapt import Buffer, Loader

if TYPE_CHECKING:
    import psycopg

_LONGEST: Final = 300  # digits of a whole number that stays one: int() refuses thousands
_KEPT: Final = frozenset({"bool", "int2", "int4", "int8", "oid"})


class _Text(Loader):
    def load(self, data: Buffer) -> str:
        return bytes(data).decode("utf-8", "replace")


class _Number(Loader):
    def load(self, data: Buffer) -> int | float | str:
        text = bytes(data).decode("ascii")
        if text.lstrip("-").isdigit():
            return int(text) if len(text) <= _LONGEST else text
        number = float(text)
        return number if math.isfinite(number) else text


class _Float(Loader):
    def load(self, data: Buffer) -> float | str:
        text = bytes(data).decode("ascii")
        number = float(text)
        return number if math.isfinite(number) else text


def adapt(connection: psycopg.Connection[Any]) -> None:
    """Set the loaders of this one connection."""
    for info in connection.adapters.types:
        if info.name in ("float4", "float8"):
            connection.adapters.register_loader(info.oid, _Float)
        elif info.name == "numeric":
            connection.adapters.register_loader(info.oid, _Number)
        elif info.name not in _KEPT:
            connection.adapters.register_loader(info.oid, _Text)
        if info.array_oid:
            connection.adapters.register_loader(info.array_oid, _Text)
    connection.adapters.register_loader(0, _Text)  # types psycopg does not know
