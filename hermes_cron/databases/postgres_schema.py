"""Which tables, columns, keys and indexes does a PostgreSQL database have?"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from hermes_cron.domain.database import ColumnInfo, ForeignKeyInfo, IndexInfo, Schema, TableInfo

if TYPE_CHECKING:
    import psycopg

MOST_TABLES: Final = 200

# A pattern of * and ? as LIKE; without a pattern everything fits.
_TABLES: Final = """
select c.oid::bigint, n.nspname || '.' || c.relname, case when c.relkind in ('v', 'm') then 'view' else 'table' end,
       case when c.reltuples < 0 then null else c.reltuples::bigint end
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'f', 'v', 'm') and n.nspname not in ('pg_catalog', 'information_schema')
  and n.nspname !~ '^pg_(toast|temp)'
  and (%(like)s::text is null or n.nspname || '.' || c.relname ilike %(like)s or c.relname ilike %(like)s)
order by 2
"""
_COLUMNS: Final = """
select a.attrelid::bigint, a.attname, format_type(a.atttypid, a.atttypmod), not a.attnotnull,
       pg_get_expr(d.adbin, d.adrelid)
from pg_catalog.pg_attribute a
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = any(%(oids)s::bigint[]::oid[]) and a.attnum > 0 and not a.attisdropped
order by a.attrelid, a.attnum
"""
_KEYS: Final = """
select k.conrelid::bigint, k.contype,
       (select json_agg(a.attname order by o) from unnest(k.conkey) with ordinality u(num, o)
          join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.num)::text,
       coalesce((select n.nspname || '.' || c.relname from pg_catalog.pg_class c
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.oid = k.confrelid), ''),
       (select json_agg(a.attname order by o) from unnest(k.confkey) with ordinality u(num, o)
          join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.num)::text
from pg_catalog.pg_constraint k where k.conrelid = any(%(oids)s::bigint[]::oid[]) and k.contype in ('p', 'f')
order by k.conrelid, k.conname
"""
_INDEXES: Final = """
select i.indrelid::bigint, c.relname, i.indisunique, pg_get_indexdef(i.indexrelid),
       (select json_agg(pg_get_indexdef(i.indexrelid, g.n, true) order by g.n)
          from generate_series(1, i.indnkeyatts) g(n))::text
from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
where i.indrelid = any(%(oids)s::bigint[]::oid[]) and not i.indisprimary order by i.indrelid, c.relname
"""


def read_schema(connection: psycopg.Connection[Any], pattern: str | None) -> Schema:
    """By ``schema.name``; at most ``MOST_TABLES``. Row estimates are the planner's, None before the first ANALYZE."""
    like = None if pattern is None else _as_like(pattern)
    found = connection.execute(_TABLES, {"like": like}).fetchall()
    oids = [row[0] for row in found[:MOST_TABLES]]
    columns, keys, indexes = (_by_table(connection, query, oids) for query in (_COLUMNS, _KEYS, _INDEXES))
    tables = tuple(
        TableInfo(
            name=name,
            kind=kind,
            columns=tuple(ColumnInfo(name=c[0], type=c[1], nullable=c[2], default=c[3]) for c in columns[oid]),
            primary_key=next((_json_list(key[1]) for key in keys[oid] if key[0] == "p"), ()),
            foreign_keys=tuple(
                ForeignKeyInfo(columns=_json_list(key[1]), target=key[2], target_columns=_json_list(key[3]))
                for key in keys[oid]
                if key[0] == "f"
            ),
            indexes=tuple(
                IndexInfo(name=i[0], unique=i[1], definition=i[2], columns=_json_list(i[3])) for i in indexes[oid]
            ),
            row_estimate=estimate,
        )
        for oid, name, kind, estimate in found[:MOST_TABLES]
    )
    more = len(found) - MOST_TABLES
    return Schema(tables=tables, truncated=f"{more:,} more; ask with a pattern" if more > 0 else None)


def _by_table(connection: psycopg.Connection[Any], query: str, oids: list[int]) -> dict[int, list[tuple[Any, ...]]]:
    grouped: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for oid, *rest in connection.execute(query.encode(), {"oids": oids}).fetchall():
        grouped[oid].append(tuple(rest))
    return grouped


def _as_like(pattern: str) -> str:
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%").replace("?", "_")


def _json_list(text: str | None) -> tuple[str, ...]:
    import json

    return tuple(json.loads(text)) if text else ()
