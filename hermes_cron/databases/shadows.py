"""Does a name in a checked statement mean a function or operator that somebody put into this database?

The guard's list knows names; a database may hold its own ``lower(items)`` beside the system's, and PostgreSQL calls a
function also by attribute notation (``items.evil`` where there is no such column) and by a cast or an operator. Before
a statement is sent, the server is asked for such functions of the names used. Functions of extensions are trusted under
a listed name (citext brings its own ``replace``), never by attribute notation. Behind casts and operators only volatile
functions count: PostgreSQL lets the others write nothing.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

from hermes_cron.databases.dialects import DIALECTS
from hermes_cron.databases.functions import POSTGRES
from hermes_cron.databases.refusal import refusal

_QUERY: Final = """
with own as (
  select p.oid, p.proname, n.nspname, p.pronargs - p.pronargdefaults <= 1 and p.pronargs >= 1 as attribute,
         p.provolatile,
         n.nspname in ('pg_catalog', 'information_schema') as system,
         exists (select 1 from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
                   and d.objid = p.oid and d.deptype = 'e') as extension
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where p.prokind in ('f', 'a', 'w'))
select 'function', nspname || '.' || proname from own
  where proname = any(%(calls)s) and not system and not extension
union all
select 'function (called where a column is missing)', nspname || '.' || proname from own
  where proname = any(%(words)s) and not (proname = any(%(listed)s))
    and attribute and (not system or provolatile = 'v')
union all
select 'cast by the function', own.nspname || '.' || own.proname
  from own join pg_catalog.pg_cast c on c.castfunc = own.oid join pg_catalog.pg_type t on t.oid = c.casttarget
  where not own.system and not own.extension and own.provolatile = 'v' and t.typname = any(%(words)s)
union all
select 'operator of the function', own.nspname || '.' || own.proname
  from own join pg_catalog.pg_operator o on o.oprcode = own.oid
  where not own.system and not own.extension and own.provolatile = 'v' and o.oprname = any(%(operators)s)
limit 1
"""

# Words that PostgreSQL reads as operators.
_OPERATOR_WORDS: Final = {
    "in": ("=", "<>"),
    "like": ("~~", "!~~"),
    "ilike": ("~~*", "!~~*"),
    "between": ("<=", ">=", "<", ">"),
    "distinct": ("=",),
    "case": ("=",),
}


def refuse_shadowed(connection: psycopg.Connection[Any], text: str) -> None:
    """Raises SqlNotReadOnly when a name used in ``text`` is also code of this database's own."""
    calls, words, operators = _names_in(text)
    found = connection.execute(
        _QUERY,
        {"calls": calls, "words": words, "operators": operators, "listed": sorted(POSTGRES)},
    ).fetchone()
    if found is not None:
        raise refusal(
            f"it may call the {found[0]} {found[1]}, which belongs to this database and not to the system",
            hint="write pg_catalog.NAME(...) for a system function, or leave the name out",
        )


def _names_in(text: str) -> tuple[list[str], list[str], list[str]]:
    calls: set[str] = set()
    attributes: set[str] = set()
    operators: set[str] = set()
    tokens = DIALECTS["postgres"]().tokenize(text)
    for at, token in enumerate(tokens):
        kind = token.token_type.name
        if kind in ("STRING", "NUMBER"):
            continue
        word = token.text if kind == "IDENTIFIER" else token.text.lower()
        following = tokens[at + 1].text if at + 1 < len(tokens) else ""
        before = tokens[at - 1].text if at else ""
        if not word[:1].isalpha() and not word.startswith("_") and kind != "IDENTIFIER":
            operators.add(word)
        elif following != "(":
            attributes.add(word)
        elif before != "." or tokens[at - 2].text.lower() not in ("pg_catalog", "information_schema"):
            calls.add(word)
    operators.update(sign for word, signs in _OPERATOR_WORDS.items() if word in attributes for sign in signs)
    return sorted(calls), sorted(attributes), sorted(operators)
