"""The screens of ``run``, ``status`` and ``db add`` as samples.md shows them; what later releases fill shows ``-``."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.golden.screens import Screens, made


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    return made(home, run_cli)


def plain(text: str) -> str:
    """Run ids, times of steps and process ids differ from run to run."""
    text = re.sub(r"\br[0-9a-z]{7}\b", "r7k2m00", text)
    text = re.sub(r"\b\d+\.\d s\b", "0.0 s", text)
    return re.sub(r"/\S*/(shop|other)\.db", r"~/\1.db", text)


RUN = """\
run r7k2m00  inspect-prod-db  playbook inspect-database on prod
  integrity            ok          0.0 s
  broken_foreign_keys  ok          0.0 s
  no_primary_key       ok          0.0 s
  fk_without_index     ok          0.0 s
  redundant_indexes    ok          0.0 s
  missing_statistics   ok          0.0 s
  free_pages           ok          0.0 s
  largest_table        ok          0.0 s
  growth               not checked: no earlier size to compare with
ok, 0 tokens, 0.0 s
again with every step: hermes-cron runs show r7k2m00
"""
REPORT = """\
# prod: nothing found
SQLite 3.x, 0 MB. Checked 8 of 9 on Tue 2026-12-01 08:00 (Asia/Shanghai), read only.
"""
STATUS = """\
scheduler   not running; nothing starts by itself:  hermes-cron serve
last 24 h   0 due, 0 accounted for
truth       -
sent        -
money       -
learned     -
next        09:00 inspect-prod-db

nothing needs you
"""
DB_ADD = """\
other: SQLite 3.x, 1 table, 0.0 s
opened read-only; cannot write    ok
saved; no password
next: hermes-cron run --prompt "inspect other"
"""


def test_run(screens: Screens) -> None:
    screens("add", "every day 9am: inspect prod db")
    ran = screens("run", "inspect-prod-db")
    assert plain(ran.err) == RUN
    shown = re.sub(r"SQLite 3[\d.]+", "SQLite 3.x", ran.out)
    assert shown.startswith(REPORT)
    assert "**Not checked**: growth since the last run" in shown


def test_status(screens: Screens) -> None:
    screens("add", "every day 9am: inspect prod db")
    assert plain(screens("status", rc=1).out) == STATUS


def test_db_add(screens: Screens, home: Home) -> None:
    other = home.root / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    connection.close()
    told = screens("db", "add", "other", "--url", f"sqlite:///{other}")
    assert re.sub(r"SQLite 3[\d.]+", "SQLite 3.x", plain(told.out + told.err)) == DB_ADD
