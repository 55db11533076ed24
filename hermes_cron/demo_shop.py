"""What stands in the demo's database? A shop of realistic size with six kinds of faults, the same in every run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

CUSTOMERS = 12_000
ORDERS = 60_000
LINES = 90_000
PAYMENTS = 21_500
EVENTS = 48_210
OLD_SESSIONS = 9_000

# The faults, in figures. tests/integration/test_demo.py looks for each of them in the report.
LOST_ORDERS = 428  # orders deleted by hand; their lines stayed ...
ORPHANED_LINES = LOST_ORDERS * LINES // ORDERS  # ... and point at nothing

_SCHEMA = """
pragma journal_mode = delete;
create table customers (id integer primary key, email text not null unique, city text not null);
create table orders (
  id integer primary key, customer_id integer not null references customers (id),
  status text not null, created text not null, total_cents integer not null);
create index orders_created on orders (created);
create index orders_customer on orders (customer_id);
create index orders_status on orders (status);
create index orders_status_created on orders (status, created);
create table order_lines (
  id integer primary key, order_id integer not null references orders (id),
  product text not null, pieces integer not null);
create table payments (
  id integer primary key, order_id integer not null references orders (id), cents integer not null);
create index payments_order on payments (order_id);
create table audit_log (at text not null, who text not null, what text not null);
create table old_sessions (id integer primary key, payload text not null);
"""
_ANALYZE = "analyze customers; analyze orders; analyze order_lines; analyze audit_log; analyze old_sessions;"
_CITIES = ("Shanghai", "Lyon", "Porto", "Graz", "Leeds", "Osaka")
_STATES = ("paid", "sent", "sent", "sent", "returned", "open")


def make(path: Path) -> None:
    """Write the file; about a second. Raises ``sqlite3.Error``."""
    connection = sqlite3.connect(path)
    connection.executescript(_SCHEMA)
    connection.executemany("insert into customers values (?, ?, ?)", _customers())
    connection.executemany("insert into orders values (?, ?, ?, ?, ?)", _orders())
    connection.executemany("insert into order_lines values (?, ?, ?, ?)", _lines())
    connection.executemany("insert into payments values (?, ?, ?)", _payments())
    connection.executemany("insert into audit_log values (?, ?, ?)", _events())
    connection.executemany(
        "insert into old_sessions values (?, ?)", ((number, "s" * 900) for number in range(1, OLD_SESSIONS + 1))
    )
    connection.commit()
    connection.execute("delete from orders where id <= ?", (LOST_ORDERS,))  # fault: lines without their orders
    connection.execute("delete from old_sessions where id > ?", (OLD_SESSIONS // 50,))  # fault: free pages
    connection.commit()
    connection.executescript(_ANALYZE)  # fault: everything but payments has statistics
    connection.close()


def _customers() -> Iterator[tuple[object, ...]]:
    for number in range(1, CUSTOMERS + 1):
        yield number, f"customer{number}@example.com", _CITIES[number % len(_CITIES)]


def _orders() -> Iterator[tuple[object, ...]]:
    for number in range(1, ORDERS + 1):
        day = f"2026-{1 + number % 11:02}-{1 + number % 28:02}"
        yield number, 1 + number * 7 % CUSTOMERS, _STATES[number % len(_STATES)], day, 900 + number * 37 % 20_000


def _lines() -> Iterator[tuple[object, ...]]:
    for number in range(LINES):
        yield number + 1, 1 + number * ORDERS // LINES, f"product {number % 400}", 1 + number % 3


def _payments() -> Iterator[tuple[object, ...]]:
    for number in range(1, PAYMENTS + 1):
        yield number, LOST_ORDERS + number * 2, 900 + number * 37 % 20_000


def _events() -> Iterator[tuple[object, ...]]:
    for number in range(EVENTS):
        yield f"2026-11-{1 + number % 30:02}T{number % 24:02}:00:00Z", f"user{number % 40}", f"viewed order {number}"
