"""Which accounts are readers, and why the others are refused."""

from __future__ import annotations

import psycopg
import pytest

from hermes_cron.databases.connect import probe, require_reader
from hermes_cron.domain.database import Account, DatabaseConfig
from hermes_cron.errors import AccountTooPowerful
from tests.servers import READER, READER_PASSWORD, SUPERUSER, SUPERUSER_PASSWORD, PostgresServer, fresh_database

PASSWORD = "for-this-test"


@pytest.fixture
def owner(server: PostgresServer) -> str:
    return fresh_database(server, "accounts")


def account(server: PostgresServer, user: str, password: str) -> Account:
    config = DatabaseConfig(name="prod", engine="postgresql", url=server.url("accounts", user=user))
    return probe(config, password=password)


def test_the_reader_of_the_remedy_can_only_read(server: PostgresServer, owner: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("create table a (x int); create table b (x serial)")
    found = account(server, READER, READER_PASSWORD)
    assert (found.name, found.engine, found.tables, found.tls) == ("watcher", "postgresql", 2, False)
    assert found.version.split(".")[0].isdigit()
    assert found.rights == ("SELECT on 2 tables", "pg_monitor")
    assert found.powers == ()
    require_reader(found, allow=False)


def test_a_superuser_is_refused_with_a_remedy(server: PostgresServer, owner: str) -> None:
    found = account(server, SUPERUSER, SUPERUSER_PASSWORD)
    with pytest.raises(AccountTooPowerful, match="refused: account postgres is a superuser, it could write") as refused:
        require_reader(found, allow=False)
    assert "CREATE ROLE watcher LOGIN" in str(refused.value.details["make_a_reader"])
    assert "GRANT pg_monitor, pg_read_all_data TO watcher" in str(refused.value.details["make_a_reader"])
    assert "--allow-writable-account" in str(refused.value.details["or_insist"])
    require_reader(found, allow=True)


@pytest.mark.parametrize(
    "grant, power",
    [
        ("alter role suspect createrole", "may create roles"),
        ("alter role suspect createdb", "may create databases"),
        ("alter role suspect replication", "may replicate"),
        ("grant pg_write_all_data to suspect", "may write to every table (pg_write_all_data)"),
        ("grant pg_execute_server_program to suspect", "may run programs on the server (pg_execute_server_program)"),
        ("grant pg_write_server_files to suspect", "may write files of the server (pg_write_server_files)"),
        ("grant pg_read_server_files to suspect", "may read files of the server (pg_read_server_files)"),
        ("grant pg_signal_backend to suspect", "may end other sessions (pg_signal_backend)"),
        ("grant insert on a to suspect", "may write to 1 tables (such as public.a)"),
        ("grant update (x) on a to suspect", "may write to 1 tables (such as public.a)"),
        ("grant truncate on a to public", "may write to 1 tables (such as public.a)"),
        ("grant usage on sequence s to suspect", "may move 1 sequences (such as public.s)"),
        ("alter table a owner to suspect", "owns 1 tables, views or sequences (such as public.a)"),
        ("grant create on schema public to suspect", "may create tables in 1 schemas (such as public)"),
        ("grant create on database accounts to suspect", "may create schemas in accounts"),
        ("grant postgres to suspect", "may become postgres, which has more than reading"),
        ("alter role suspect noinherit; grant writer to suspect", "may write to 1 tables (such as public.a)"),
    ],
)
def test_each_way_to_write_is_found(server: PostgresServer, owner: str, grant: str, power: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("create table a (x int); create sequence s")
        connection.execute(f"create role suspect login password '{PASSWORD}'; create role writer")
        connection.execute("grant insert on a to writer")
        try:
            connection.execute(grant)
            assert power in account(server, "suspect", PASSWORD).powers
        finally:
            connection.execute("drop owned by suspect, writer; drop role suspect; drop role writer")


def test_what_every_role_could_before_version_15_has_its_own_remedy(server: PostgresServer, owner: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("grant create on schema public to public")
    with pytest.raises(AccountTooPowerful, match="may create tables in 1 schemas") as refused:
        require_reader(account(server, READER, READER_PASSWORD), allow=False)
    assert refused.value.details["revoke"] == "REVOKE CREATE ON SCHEMA public FROM PUBLIC;"
