"""What may the connected PostgreSQL role do, and why could it write?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hermes_cron.domain.database import Account

if TYPE_CHECKING:
    import psycopg

_OWN_TABLES: Final = """
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)' and c.relkind in
"""

# Membership in one of these lets a role write rows or files, run programs or end sessions.
_STRONG_ROLES: Final = {
    "pg_write_all_data": "may write to every table (pg_write_all_data)",
    "pg_execute_server_program": "may run programs on the server (pg_execute_server_program)",
    "pg_write_server_files": "may write files of the server (pg_write_server_files)",
    "pg_read_server_files": "may read files of the server (pg_read_server_files)",
    "pg_signal_backend": "may end other sessions (pg_signal_backend)",
    "pg_checkpoint": "may force checkpoints (pg_checkpoint)",
    "pg_maintain": "may vacuum, reindex and lock every table (pg_maintain)",
    "pg_create_subscription": "may create subscriptions (pg_create_subscription)",
}
_USEFUL_ROLES: Final = ("pg_monitor",)

_ROLE: Final = """
select r.rolname, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, current_setting('server_version'),
       coalesce((select s.ssl from pg_catalog.pg_stat_ssl s where s.pid = pg_catalog.pg_backend_pid()), false)
from pg_catalog.pg_roles r where r.rolname = current_user
"""
_MEMBER_OF: Final = """
select r.rolname from pg_catalog.pg_roles r
where r.rolname <> current_user and pg_catalog.pg_has_role(current_user, r.oid, 'member')
"""
_INHERITED_POWERS: Final = """
select r.rolname from pg_catalog.pg_roles r
where r.rolname <> current_user and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication)
  and pg_catalog.pg_has_role(current_user, r.oid, 'member')
"""
_COUNTS: Final = f"""
select count(*), count(*) filter (where has_table_privilege(c.oid, 'SELECT')) {_OWN_TABLES} ('r', 'p', 'f', 'm')
"""
# Every role that the account is a member of counts, also with NOINHERIT: SET ROLE takes it on.
_SELVES: Final = """
(select array_agg(r.oid) from pg_catalog.pg_roles r where pg_catalog.pg_has_role(current_user, r.oid, 'member'))
"""
_WRITABLE: Final = f"""
select count(*), min(n.nspname || '.' || c.relname) {_OWN_TABLES} ('r', 'p', 'f', 'v')
  and exists (select from unnest({_SELVES}) me where has_table_privilege(me, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
              or has_any_column_privilege(me, c.oid, 'INSERT, UPDATE'))
"""  # noqa: S608 the parts are constants of this module
_OWNED: Final = f"""
select count(*), min(n.nspname || '.' || c.relname) {_OWN_TABLES} ('r', 'p', 'f', 'v', 'm', 'S')
  and pg_has_role(current_user, c.relowner, 'member')
"""
_SEQUENCES: Final = f"""
select count(*), min(n.nspname || '.' || c.relname) {_OWN_TABLES} ('S') and case when c.relkind = 'S'
  then exists (select from unnest({_SELVES}) me where has_sequence_privilege(me, c.oid, 'USAGE, UPDATE')) else false end
"""  # noqa: S608 the parts are constants of this module
_SCHEMAS: Final = f"""
select count(*), min(nspname) from pg_catalog.pg_namespace s where nspname !~ '^pg_(toast|temp)'
  and exists (select from unnest({_SELVES}) me where has_schema_privilege(me, s.oid, 'CREATE'))
"""  # noqa: S608 the parts are constants of this module
_DATABASE: Final = f"""
select exists (select from unnest({_SELVES}) me where has_database_privilege(me, current_database(), 'CREATE')),
       current_database()
"""  # noqa: S608 the parts are constants of this module


def read_account(connection: psycopg.Connection[Any]) -> Account:
    """``powers`` in the order of their weight; a superuser has only that one, it says all."""
    name, superuser, *flags, version, tls = _row(connection, _ROLE)
    tables, readable = _row(connection, _COUNTS)
    roles = [row[0] for row in connection.execute(_MEMBER_OF).fetchall()]
    rights = (
        f"SELECT on {readable:,} {'table' if readable == 1 else 'tables'}",
        *(role for role in _USEFUL_ROLES if role in roles),
    )
    powers = ("is a superuser",) if superuser else tuple(_powers(connection, flags, roles))
    return Account(
        name=name,
        engine="postgresql",
        version=str(version).split()[0],
        tls=bool(tls),
        tables=tables,
        rights=rights,
        powers=powers,
    )


def _powers(connection: psycopg.Connection[Any], flags: list[Any], roles: list[str]) -> list[str]:
    labels = ("may create roles", "may create databases", "may replicate")
    powers = [label for label, has in zip(labels, flags, strict=False) if has]
    strong = [row[0] for row in connection.execute(_INHERITED_POWERS).fetchall()]
    powers += [f"may become {role}, which has more than reading" for role in strong]
    powers += [text for role, text in _STRONG_ROLES.items() if role in roles]
    for query, words in (
        (_OWNED, "owns {n} tables, views or sequences (such as {example})"),
        (_WRITABLE, "may write to {n} tables (such as {example})"),
        (_SEQUENCES, "may move {n} sequences (such as {example})"),
        (_SCHEMAS, "may create tables in {n} schemas (such as {example})"),
    ):
        n, example = _row(connection, query)
        if n:
            powers.append(words.format(n=n, example=example))
    may_create, database = _row(connection, _DATABASE)
    if may_create:
        powers.append(f"may create schemas in {database}")
    return powers


def _row(connection: psycopg.Connection[Any], query: str) -> tuple[Any, ...]:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None, query  # each of these queries gives exactly one row  # noqa: S101
    return tuple(row)
