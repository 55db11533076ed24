"""Which tables, columns, keys and indexes does a SQLite file have?"""

from __future__ import annotations

import fnmatch
import sqlite3
from typing import Final

from hermes_cron.domain.database import ColumnInfo, ForeignKeyInfo, IndexInfo, Schema, TableInfo

MOST_TABLES: Final = 200


def read_schema(connection: sqlite3.Connection, pattern: str | None) -> Schema:
    """By name; at most ``MOST_TABLES``. Row estimates come from sqlite_stat1, so only after ANALYZE."""
    found = connection.execute(
        "select name, type, sql from sqlite_master where type in ('table', 'view') and name not like 'sqlite\\_%'"
        " escape '\\' order by name"
    ).fetchall()
    wanted = [row for row in found if pattern is None or fnmatch.fnmatchcase(row[0].lower(), pattern.lower())]
    estimates = _estimates(connection)
    tables = tuple(_table(connection, name, kind, estimates.get(name)) for name, kind, _ in wanted[:MOST_TABLES])
    more = len(wanted) - MOST_TABLES
    return Schema(tables=tables, truncated=f"{more:,} more; ask with a pattern" if more > 0 else None)


def _estimates(connection: sqlite3.Connection) -> dict[str, int]:
    if not connection.execute("select 1 from sqlite_master where name = 'sqlite_stat1'").fetchone():
        return {}
    rows = connection.execute("select tbl, max(stat) from sqlite_stat1 group by tbl").fetchall()
    return {name: int(stat.split()[0]) for name, stat in rows if stat and stat.split()[0].isdigit()}


def _table(connection: sqlite3.Connection, name: str, kind: str, estimate: int | None) -> TableInfo:
    columns = connection.execute(
        'select name, type, "notnull", dflt_value, pk from pragma_table_xinfo(?) order by cid', (name,)
    ).fetchall()
    return TableInfo(
        name=name,
        kind=kind,
        columns=tuple(ColumnInfo(name=c[0], type=c[1] or "any", nullable=not c[2], default=c[3]) for c in columns),
        primary_key=tuple(c[0] for c in sorted((c for c in columns if c[4]), key=lambda c: c[4])),
        foreign_keys=_foreign_keys(connection, name),
        indexes=_indexes(connection, name),
        row_estimate=estimate,
    )


def _foreign_keys(connection: sqlite3.Connection, table: str) -> tuple[ForeignKeyInfo, ...]:
    keys: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, target, here, there in connection.execute(
        'select id, "table", "from", "to" from pragma_foreign_key_list(?) order by id, seq', (table,)
    ):
        keys.setdefault(number, []).append((target, here, there))
    return tuple(
        ForeignKeyInfo(
            columns=tuple(part[1] for part in parts),
            target=parts[0][0],
            target_columns=tuple(part[2] or "primary key" for part in parts),
        )
        for parts in keys.values()
    )


def _indexes(connection: sqlite3.Connection, table: str) -> tuple[IndexInfo, ...]:
    listed = connection.execute(
        "select l.name, l.\"unique\", coalesce(m.sql, '') from pragma_index_list(?) l"
        " left join sqlite_master m on m.type = 'index' and m.name = l.name order by l.name",
        (table,),
    ).fetchall()
    return tuple(
        IndexInfo(
            name=name,
            columns=tuple(
                column or "(expression)"
                for (column,) in connection.execute("select name from pragma_index_info(?) order by seqno", (name,))
            ),
            unique=bool(unique),
            definition=sql,
        )
        for name, unique, sql in listed
    )
