"""The screens of ``run``, ``status`` and ``db add`` as samples.md shows them; what later releases fill shows ``-``."""

from __future__ import annotations

import json
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


CHECKED = """\
---
schedule: every day 9am
databases: [prod]
checks:
  - sql: {database: prod, query: "select count(*) from orders", at_least: 0}
  - report: {matches: "Checked \\\\d+ of \\\\d+"}
deliver: [ops-chat]
---
inspect prod db
"""


def with_targets(home: Home, **targets: str) -> None:
    with home.config.open("a") as config:
        for name, table in targets.items():
            config.write(f"[targets.{name.replace('_', '-')}]\n{table}\n")


FILE = 'kind = "file"\npath = "chat.md"'
NOBODY = 'kind = "webhook"\nurl = "http://127.0.0.1:9/"'


def test_run_with_checks_and_a_target(screens: Screens, home: Home) -> None:
    with_targets(home, ops_chat=FILE)
    screens.job("inspect-prod-db", CHECKED)
    ran = screens("run", "inspect-prod-db")
    assert plain(ran.err).splitlines()[-2:] == [
        "ok, verified 2 of 2 checks, sent to ops-chat, 0 tokens, 0.0 s",
        "again with every step: hermes-cron runs show r7k2m00",
    ]
    assert ran.out.strip() in (home.root / "chat.md").read_text()
    assert screens("list").out.splitlines()[1].endswith("ok      verified  1 of 1")


def test_run_json_has_the_three_facts(screens: Screens, home: Home) -> None:
    with_targets(home, ops_chat=FILE)
    screens.job("inspect-prod-db", CHECKED)
    told = json.loads(screens("run", "inspect-prod-db", "--json").out)
    assert (told["state"], told["verified"], told["cost_usd"]) == ("ok", "verified", 0)
    (message,) = told["deliveries"]
    assert (message["target"], message["state"], message["attempts"]) == ("ops-chat", "sent", 1)


def test_run_that_did_nothing_is_told_so(screens: Screens, home: Home) -> None:
    with_targets(home, ops_chat=FILE)
    screens.job("inspect-prod-db", CHECKED.replace("at_least: 0", "at_least: 1"))
    ran = screens("run", "inspect-prod-db", rc=1)
    assert plain(ran.err).splitlines()[-3:] == [
        "ok, check_failed 1 of 2 checks, sent to ops-chat, 0 tokens, 0.0 s",
        "  check_failed  sql prod: select count(*) from orders, at_least 1: 0, not at least 1",
        "again with every step: hermes-cron runs show r7k2m00",
    ]


def test_run_whose_report_did_not_arrive(screens: Screens, home: Home) -> None:
    with_targets(home, ops_chat=FILE, gone='kind = "file"\npath = "jobs"')
    screens.job("j", "---\nschedule: every day 9am\nscript: echo hello\ndeliver: [ops-chat, gone]\n---\n")
    ran = screens("run", "j", rc=1)
    lines = plain(ran.err).splitlines()
    assert lines[-3] == "ok, sent to ops-chat, not sent to gone, 0 tokens, 0.0 s"
    assert lines[-2].startswith("  gone  ")
    assert lines[-2].endswith("  retry: hermes-cron outbox retry d2")


def test_run_whose_report_waits_for_a_scheduler(screens: Screens, home: Home) -> None:
    with_targets(home, chat=NOBODY)
    screens.job("j", "---\nschedule: every day 9am\nscript: echo hello\ndeliver: [chat]\n---\n")
    lines = plain(screens("run", "j", rc=1).err).splitlines()
    assert lines[-3:-1] == [
        "ok, not sent yet to chat, 0 tokens, 0.0 s",
        "No scheduler is running; the next one sends it: hermes-cron serve",
    ]


def test_run_that_is_silent(screens: Screens, home: Home) -> None:
    with_targets(home, chat=FILE)
    screens.job("quiet", "---\nschedule: every day 9am\nscript: 'true'\ndeliver: [chat]\n---\n")
    screens.job("same", "---\nschedule: every day 9am\nscript: echo x\ndeliver: {to: [chat], when: change}\n---\n")
    assert "ok, silent: it had nothing to say, 0 tokens, " in screens("run", "quiet").err
    assert "ok, sent to chat, 0 tokens, " in screens("run", "same").err
    assert "ok, sent to nobody: it is as the last one, 0 tokens, " in screens("run", "same").err


def test_run_that_fails_says_what_comes_next(screens: Screens, home: Home) -> None:
    with home.config.open("a") as config:
        config.write('[databases.far]\nurl = "postgresql://me@127.0.0.1:9/x"\n')
    screens.job("far", "---\nschedule: every day 9am\ndatabases: [far]\n---\ninspect far db\n")
    lines = plain(screens("run", "far", rc=1).err).splitlines()
    assert lines[-4].startswith("error: far does not answer: ")
    assert lines[-3:] == [
        "  kept      outputs/far/r7k2m00.md",
        "  next try  none for a run by hand; the schedule tries again 3 times",
        "  look      hermes-cron db test far",
    ]


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
