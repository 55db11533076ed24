"""Databases with known faults, for tests of the inspection: each fault's figures are constants here.

``plant_postgres`` wants an empty database and its owner's DSN; ``long_transaction`` and ``blocked_session`` are faults
that last as long as their ``with`` block. ``plant_sqlite`` makes one file.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SEQUENCE = "public.tickets_id_seq"
SEQUENCE_LAST = 1_986_422_310
SEQUENCE_END = 2_147_483_647
SEQUENCE_PCT = 92  # rounded

DEAD_TABLE = "public.orders"
LIVE_ROWS = 138_000
DEAD_ROWS = 62_000
DEAD_PCT = 31

NO_KEY_TABLE = "public.audit_log"
NO_KEY_ROWS = 48_210

FK_TABLE = "orders"
FK_COLUMNS = "customer_id"
FK_NAME = "orders_customer_id_fkey"

DUPLICATE_INDEXES = ("public.invoices_due_a", "public.invoices_due_b")
UNUSED_INDEX = "public.invoices_note"  # over 1 MB, never scanned
INVALID_INDEX = "public.invoices_broken"

_POSTGRES = f"""
create table customers (id int primary key, name text not null);
insert into customers select g, 'customer ' || g from generate_series(1, 2000) g;
create table orders (id int primary key, customer_id int not null references customers (id), total numeric not null)
  with (autovacuum_enabled = off);
insert into orders select g, 1 + g % 2000, g % 500 from generate_series(1, {LIVE_ROWS + DEAD_ROWS}) g;
delete from orders where id > {LIVE_ROWS};
create table audit_log (at timestamptz not null, line text not null);
insert into audit_log select now(), 'line ' || g from generate_series(1, {NO_KEY_ROWS}) g;
create table tickets (id serial primary key, title text not null);
select setval('tickets_id_seq', {SEQUENCE_LAST});
create table invoices (id int primary key, due date not null, note text not null);
insert into invoices select g, date '2026-01-01' + g % 365, md5(g::text) from generate_series(1, 20000) g;
create index invoices_due_a on invoices (due);
create index invoices_due_b on invoices (due);
create index invoices_note on invoices (note);
create index invoices_broken on invoices (id, due);
update pg_index set indisvalid = false where indexrelid = 'invoices_broken'::regclass;
analyze customers, audit_log, tickets, invoices;
"""


def plant_postgres(dsn: str) -> None:
    """Make the tables and wait until the server's statistics show them (a few tenths of a second)."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("set allow_system_table_mods = on")
        for statement in _POSTGRES.strip().removesuffix(";").split(";\n"):
            owner.execute(statement.encode())
        # the session's counters reach the others at once; without it they may come a second later
        owner.execute("select pg_stat_force_next_flush()")
    with psycopg.connect(dsn, autocommit=True) as reader:
        row = reader.execute(
            "select n_dead_tup, n_live_tup from pg_stat_user_tables where relname = 'orders'"
        ).fetchone()
        assert row == (DEAD_ROWS, LIVE_ROWS), f"the statistics say {row}"


@contextmanager
def long_transaction(dsn: str) -> Iterator[int]:
    """An open transaction, idle; yields its pid."""
    import psycopg

    with psycopg.connect(dsn) as session:
        session.execute("select 1")
        yield session.info.backend_pid


@contextmanager
def blocked_session(dsn: str) -> Iterator[tuple[int, int]]:
    """A session that waits for another's row lock; yields (waiting pid, holding pid)."""
    import psycopg

    with psycopg.connect(dsn) as holder, psycopg.connect(dsn) as waiter, psycopg.connect(dsn, autocommit=True) as eye:
        holder.execute("update invoices set note = note where id = 1")
        thread = threading.Thread(target=_wait_for_row, args=(waiter,))
        thread.start()
        try:
            pid = waiter.info.backend_pid
            for _ in range(10_000):
                row = eye.execute("select cardinality(pg_blocking_pids(%s))", [pid]).fetchone()
                if row is not None and row[0] > 0:
                    break
            else:
                raise AssertionError("the second session never waited")
            yield pid, holder.info.backend_pid
        finally:
            holder.rollback()
            thread.join(timeout=10)
            waiter.rollback()


def _wait_for_row(waiter: object) -> None:
    import psycopg

    assert isinstance(waiter, psycopg.Connection)
    waiter.execute("update invoices set note = note where id = 1")


SQLITE_ORPHANS = 3  # rows of `lines` without their `items`
SQLITE_FREE_PAGES_PCT = 40  # at least
SQLITE_NO_KEY_TABLE = "notes"
SQLITE_FK_TABLE = "lines"
SQLITE_FK_COLUMN = "item"
SQLITE_DUPLICATE_INDEXES = ("items_name_a", "items_name_b")


def plant_sqlite(path: Path) -> None:
    """A file with orphaned rows, many free pages, no statistics, a table without a key, a foreign key without an index
    and two equal indexes.
    """
    connection = sqlite3.connect(path)
    connection.executescript("""
        create table items (id integer primary key, name text not null);
        create index items_name_a on items (name);
        create index items_name_b on items (name);
        create table lines (id integer primary key, item integer not null references items (id), n integer);
        create table notes (body text);
        create table bulk (id integer primary key, filler text);
    """)
    connection.executemany("insert into items values (?, ?)", [(n, f"item {n}") for n in range(1, 501)])
    connection.executemany("insert into lines values (?, ?, 1)", [(n, 1 + n % 500) for n in range(1, 1001)])
    connection.executemany("insert into lines values (?, ?, 1)", [(5000 + n, 9000 + n) for n in range(SQLITE_ORPHANS)])
    connection.executemany("insert into notes values (?)", [(f"note {n}",) for n in range(50)])
    connection.executemany("insert into bulk values (?, ?)", [(n, "x" * 900) for n in range(500)])
    connection.execute("delete from bulk")
    connection.commit()
    connection.close()
