"""``hermes-cron db`` against a real server: what is said, what is saved, and where the password is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from hermes_cron.home import Home
from tests.servers import READER, READER_PASSWORD, SUPERUSER, SUPERUSER_PASSWORD, PostgresServer, fresh_database

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def shop(server: PostgresServer) -> PostgresServer:
    with psycopg.connect(fresh_database(server, "cli"), autocommit=True) as owner:
        owner.execute(
            "create table items (id int primary key, name text); insert into items values (1, 'one'), (2, null)"
        )
    return server


@pytest.fixture
def added(shop: PostgresServer, run_cli: Run) -> str:
    ran = run_cli("db", "add", "prod", "--url", shop.url("cli", user=READER), "--password-stdin", stdin=READER_PASSWORD)
    assert (ran.rc, ran.err) == (0, "")
    return str(ran.out)


def test_add_says_what_the_account_may_do_and_hides_the_password(added: str, home: Home, run_cli: Run) -> None:
    lines = added.splitlines()
    assert re.fullmatch(r"prod: PostgreSQL [\d.]+, TLS off, 1 table, \d+\.\d s", lines[0])
    assert lines[1:] == [
        "account watcher: SELECT on 1 table, pg_monitor; cannot write    ok",
        "saved; password encrypted in vault.json",
        'next: hermes-cron run --prompt "inspect prod"',
    ]
    written = b"".join(path.read_bytes() for path in home.root.rglob("*") if path.is_file())
    assert READER_PASSWORD.encode() not in written
    assert b'password = "secret:db-prod"' in written
    assert READER_PASSWORD not in run_cli("db", "show", "prod", "--json").out


def test_query_prints_a_table_and_json(added: str, run_cli: Run) -> None:
    ran = run_cli("db", "query", "prod", "select * from items order by id")
    assert (ran.rc, ran.out) == (0, "id  name\n 1  one\n 2  NULL\n")
    assert re.fullmatch(r"2 rows, \d+ ms\n", ran.err)
    as_json = json.loads(run_cli("db", "query", "prod", "--json", "-", stdin="table items").out)
    assert (as_json["columns"], as_json["rows"]) == (["id", "name"], [[1, "one"], [2, None]])


def test_query_refuses_what_could_write(added: str, run_cli: Run) -> None:
    ran = run_cli("db", "query", "prod", "delete from items", "--json")
    assert (ran.rc, ran.out) == (4, "")
    assert json.loads(ran.err)["error"]["code"] == "SqlNotReadOnly"


def test_test_show_list_and_remove(added: str, home: Home, run_cli: Run) -> None:
    assert run_cli("db", "test", "prod").out.splitlines()[1] == added.splitlines()[1]
    assert "table public.items (rows unknown)\n  id    integer not null" in run_cli("db", "show", "prod", "items").out
    assert "prod  PostgreSQL  postgresql://watcher@" in run_cli("db", "list").out
    home.jobs.joinpath("a.md").write_text("---\nschedule: every day 9am\ndatabases: [prod]\n---\nx\n", encoding="utf-8")
    kept = run_cli("db", "remove", "prod")
    assert (kept.rc, "used in  jobs/a.md" in kept.err) == (5, True)
    assert run_cli("db", "remove", "prod", "-y").rc == 0
    assert json.loads(run_cli("db", "list", "--json").out) == {"databases": []}
    assert json.loads(run_cli("secrets", "list", "--json").out)["secrets"] == []


def test_doctor_sees_what_was_granted_after_the_database_was_added(
    added: str, shop: PostgresServer, run_cli: Run
) -> None:
    def databases() -> dict[str, Any]:
        (found,) = [it for it in json.loads(run_cli("doctor", "--json").out)["findings"] if it["check"] == "databases"]
        return dict(found)

    assert databases()["fact"] == "the database answers, its account can only read"
    with psycopg.connect(shop.dsn("cli"), autocommit=True) as owner:
        owner.execute(f"grant insert on items to {READER}")
        try:
            found = databases()
        finally:
            owner.execute(f"revoke insert on items from {READER}")
    assert (found["level"], found["command"]) == ("FAIL", "hermes-cron db test prod")
    assert found["fact"].startswith(f"prod: account {READER} may write to 1 tables")
    assert databases()["level"] == "ok"


def test_a_superuser_is_refused_until_it_is_insisted_on(shop: PostgresServer, home: Home, run_cli: Run) -> None:
    command = ("db", "add", "prod", "--url", shop.url("cli", user=SUPERUSER), "--password-from", "env:PGPW")
    refused = run_cli(*command, env={"PGPW": SUPERUSER_PASSWORD})
    assert (refused.rc, refused.out) == (4, "")
    assert refused.err == (
        "error: refused: account postgres is a superuser, it could write\n"
        "  make a reader  psql ... <<'SQL'\n"
        "                 CREATE ROLE watcher LOGIN PASSWORD '...';  GRANT pg_monitor, pg_read_all_data TO watcher;\n"
        "                 SQL\n"
        "  or insist      --allow-writable-account (two fences still hold; `db list` says so)\n"
    )
    assert "databases" not in home.config.read_text(encoding="utf-8")
    insisted = run_cli(*command, "--allow-writable-account", env={"PGPW": SUPERUSER_PASSWORD})
    assert insisted.rc == 0
    assert "account postgres: SELECT on 1 table, pg_monitor; could write: is a superuser" in insisted.out
    assert run_cli("db", "query", "prod", "select nextval('x')").rc == 4


@pytest.mark.parametrize(
    "url, options, rc, said",
    [
        ("postgresql://watcher:hunter2@127.0.0.1/cli", (), 4, "there is a password in the URL"),
        ("postgresql://127.0.0.1/cli?user=watcher&password=hunter2", (), 4, "there is a password in the URL"),
        ("postgresql://watcher@127.0.0.1/cli", ("--password-from", "hunter2"), 4, "never the password itself"),
        ("postgresql://watcher@127.0.0.1:1/cli", (), 1, "prod does not answer: connection refused by 127.0.0.1:1"),
        ("mysql://watcher@127.0.0.1/cli", (), 2, "MySQL has no driver in this version"),
    ],
)
def test_what_is_refused_is_not_saved(
    home: Home, run_cli: Run, url: str, options: tuple[str, ...], rc: int, said: str
) -> None:
    ran = run_cli("db", "add", "prod", "--url", url, *options)
    assert (ran.rc, ran.out) == (rc, "")
    assert said in ran.err
    assert "hunter2" not in ran.err
    assert home.config.read_text(encoding="utf-8") == 'timezone = "UTC"\n'


def test_a_wrong_password_is_not_repeated(shop: PostgresServer, run_cli: Run) -> None:
    ran = run_cli(
        "db", "add", "prod", "--url", shop.url("cli", user=READER), "--password-stdin", stdin="wr0ng-secret\n"
    )
    assert (ran.rc, ran.out) == (1, "")
    assert 'password authentication failed for user "watcher"' in ran.err
    assert "wr0ng-secret" not in ran.err
