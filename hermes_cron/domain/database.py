"""What is a database to this program: how is it reached, what did it answer, what may its account do?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Engine: TypeAlias = Literal["sqlite", "postgresql"]
JsonScalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseConfig:
    """One entry of ``[databases]``.

    ``url`` never holds a password; ``password_ref`` names where it lies (``secret:db-prod``). The caps are per
    statement: rows, bytes of all values as UTF-8, seconds on the server.
    """

    name: str
    engine: Engine
    url: str
    password_ref: str | None = None
    allow_writable_account: bool = False
    statement_timeout_s: float = 30.0
    row_cap: int = 1000
    byte_cap: int = 256_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """Rows in the server's order. ``truncated`` says in words what was cut, None when nothing was."""

    columns: tuple[str, ...]
    rows: tuple[tuple[JsonScalar, ...], ...]
    truncated: str | None
    elapsed_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What the connected account is and may do.

    ``version`` is the server's bare number. ``powers`` are the reasons why the account could change something; empty
    means that it can only read. ``tls`` is None where there is no wire (SQLite).
    """

    name: str
    engine: Engine
    version: str
    tls: bool | None
    tables: int
    rights: tuple[str, ...]
    powers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnInfo:
    """``type`` is the server's own spelling. ``default`` is SQL text, None when there is none."""

    name: str
    type: str
    nullable: bool
    default: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """``definition`` is SQL; empty for an index that SQLite made by itself."""

    name: str
    columns: tuple[str, ...]
    unique: bool
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyInfo:
    """``columns`` here point at ``target_columns`` of ``target``."""

    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo:
    """``row_estimate`` is the planner's guess, None when there are no statistics. ``kind``: table or view."""

    name: str
    kind: str
    columns: tuple[ColumnInfo, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKeyInfo, ...]
    indexes: tuple[IndexInfo, ...]
    row_estimate: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Tables and views by name. ``truncated`` says in words what was left out, None when nothing was."""

    tables: tuple[TableInfo, ...]
    truncated: str | None

    def text(self) -> str:
        """Plain lines for a screen or a model: one block a table, names first."""
        blocks = ["\n".join(_table_lines(table)) for table in self.tables]
        if self.truncated:
            blocks.append(f"({self.truncated})")
        return "\n\n".join(blocks) if blocks else "no tables"


def _table_lines(table: TableInfo) -> list[str]:
    rows = "rows unknown" if table.row_estimate is None else f"about {table.row_estimate:,} rows"
    lines = [f"{table.kind} {table.name}" + (f" ({rows})" if table.kind == "table" else "")]
    width = max((len(column.name) for column in table.columns), default=0)
    for column in table.columns:
        extra = ("" if column.nullable else " not null") + (f" default {column.default}" if column.default else "")
        lines.append(f"  {column.name:<{width}}  {column.type}{extra}")
    if table.kind == "table":
        lines.append(f"  primary key: {', '.join(table.primary_key) or 'none'}")
    lines.extend(
        f"  foreign key: {', '.join(key.columns)} -> {key.target} ({', '.join(key.target_columns)})"
        for key in table.foreign_keys
    )
    lines.extend(
        f"  {'unique index' if index.unique else 'index'}: {index.name} ({', '.join(index.columns)})"
        for index in table.indexes
    )
    return lines
