"""The shipped PostgreSQL playbook finds every planted fault with its figure, and invents none (check 8)."""

from __future__ import annotations

import pytest

from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import DatabaseError
from tests import planted
from tests.inspection_rig import inspect
from tests.servers import READER, READER_PASSWORD, PostgresServer, fresh_database

NO_STATISTICS_AGE = {"stats_min_days": 0, "transaction_warning_min": 0}


@pytest.fixture(scope="module")
def shop(server: PostgresServer) -> DatabaseConfig:
    dsn = fresh_database(server, "inspected")
    planted.plant_postgres(dsn)
    return DatabaseConfig(name="prod", engine="postgresql", url=server.url("inspected", user=READER))


@pytest.fixture(scope="module")
def owner(server: PostgresServer, shop: DatabaseConfig) -> str:
    return server.dsn("inspected")


@pytest.mark.parametrize(
    ("language", "figures"),
    [
        (
            "en",
            [
                "public.tickets_id_seq at 1,986,422,310 of 2,147,483,647 (92 %)",
                "public.orders has 62,000 dead of about 200,000 rows (31 %), last vacuum never",
                "public.audit_log (about 48,210 rows)",
                "Foreign key without an index: orders (customer_id)",
                "invoices_due_b on invoices is the same as invoices_due_a",
                "Invalid index: invoices_broken",
                "Unused index: invoices_note on invoices: 1.1 MB, 0 scans",
            ],
        ),
        (
            "zh",
            [
                "public.tickets_id_seq 已到 1,986,422,310 / 2,147,483,647（92%）",
                "public.orders 约 200,000 行中有 62,000 行死元组（31%），从未 vacuum",
                "public.audit_log（约 48,210 行）",
                "外键缺索引：orders（customer_id）",
                "invoices 的 invoices_due_b 与 invoices_due_a 相同",
                "无效索引：invoices 的 invoices_broken",
                "invoices_note（invoices）：1.1 MB，",
            ],
        ),
    ],
)
def test_every_planted_fault_is_named_with_its_figure_and_none_is_invented(
    shop: DatabaseConfig, language: str, figures: list[str]
) -> None:
    found = inspect(shop, password=READER_PASSWORD, language=language, params={"stats_min_days": 0})

    assert [figure for figure in figures if figure not in found.text] == []
    assert found.found() == {
        "sequence_end/public.tickets_id_seq",
        "dead_rows/public.orders",
        "no_primary_key/public.audit_log",
        "fk_without_index/orders, orders_customer_id_fkey",
        "duplicate_indexes/invoices_due_b",
        "invalid_indexes/invoices_broken",
        "unused_indexes/invoices_note",
    }
    assert set(found.not_checked) <= {"growth", "cache_hit"}


def test_an_open_transaction_and_a_blocked_session_are_named_by_pid(shop: DatabaseConfig, owner: str) -> None:
    with planted.long_transaction(owner) as pid, planted.blocked_session(owner) as (waiting, holding):
        found = inspect(shop, password=READER_PASSWORD, params=NO_STATISTICS_AGE)

    assert f"pid {pid} (postgres, idle in transaction) open for 0 min" in found.text
    assert f"pid {waiting} has waited" in found.text
    assert f"s for pid {holding}" in found.text
    assert found.found(step="blocked_sessions") == {f"blocked_sessions/{waiting}"}


def test_what_is_gone_and_what_is_new_since_the_last_run_is_said(shop: DatabaseConfig, owner: str) -> None:
    with planted.long_transaction(owner) as pid:
        earlier = inspect(shop, password=READER_PASSWORD, params=NO_STATISTICS_AGE)
    with planted.long_transaction(owner) as other:
        found = inspect(shop, password=READER_PASSWORD, params=NO_STATISTICS_AGE, last=earlier.result)

    number = next(f["number"] for f in found.result["findings"] if f["key"] == f"long_transactions/{other}")
    assert f"**Since Mon 2026-11-30**: new {number}. Gone: long transaction ({pid})." in found.text


def test_a_database_without_faults_is_three_lines(server: PostgresServer) -> None:
    import psycopg

    with psycopg.connect(fresh_database(server, "healthy"), autocommit=True) as dsn:
        dsn.execute("create table t (id bigint generated always as identity primary key)")
    config = DatabaseConfig(name="prod", engine="postgresql", url=server.url("healthy", user=READER))
    first = inspect(config, password=READER_PASSWORD, params={"cache_min_blocks": 0, "cache_warning_pct": 0})
    params = {"cache_min_blocks": 0, "cache_warning_pct": 0, "stats_min_days": 0}
    found = inspect(config, password=READER_PASSWORD, params=params, last=first.result)

    title, header, since = found.text.split("\n")
    assert title == "# prod: nothing found"
    assert "Checked 12 of 12 on Tue 2026-12-01 09:00 (Asia/Shanghai), read only." in header
    assert since == "Since Mon: no change."


def test_an_account_without_pg_monitor_gets_its_session_checks_as_not_checked(
    server: PostgresServer, owner: str, shop: DatabaseConfig
) -> None:
    import psycopg

    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("drop role if exists blind")
        connection.execute("create role blind login password 'blind'")
        connection.execute("grant pg_read_all_data to blind")
    config = DatabaseConfig(name="prod", engine="postgresql", url=server.url("inspected", user="blind"))
    found = inspect(config, password="blind")

    blind = {"connections", "long_transactions", "blocked_sessions"}
    assert {step: why for step, why in found.not_checked.items() if step in blind} == dict.fromkeys(
        blind, "the account lacks the role pg_monitor"
    )
    assert "sequence_end/public.tickets_id_seq" in found.found()


def test_a_sequence_that_the_account_may_not_read_is_not_called_fine(
    server: PostgresServer, owner: str, shop: DatabaseConfig
) -> None:
    import psycopg

    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("drop role if exists weak")
        connection.execute("create role weak login password 'weak'")
        connection.execute("create schema if not exists closed")
        connection.execute("create sequence if not exists closed.hidden")
    config = DatabaseConfig(name="prod", engine="postgresql", url=server.url("inspected", user="weak"))
    said = {"en": "the account may not read 2 of the sequences", "zh": "账号无权读取其中 2 个序列"}
    for language, why in said.items():
        found = inspect(config, password="weak", language=language)
        assert found.not_checked["sequence_end"] == why
        assert "sequence_end" not in found.result["fine"]
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("grant select on tickets_id_seq to weak")
    found = inspect(config, password="weak")
    assert "sequence_end/public.tickets_id_seq" in found.found()
    assert found.not_checked["sequence_end"] == "the account may not read 1 of the sequences"
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("drop schema closed cascade")
        connection.execute("revoke select on tickets_id_seq from weak")


def test_a_server_that_does_not_answer_fails_the_run_and_says_so() -> None:
    config = DatabaseConfig(name="prod", engine="postgresql", url="postgresql://watcher@127.0.0.1:1/shop")

    with pytest.raises(DatabaseError, match=r"127\.0\.0\.1") as caught:
        inspect(config, password="x")
    assert caught.value.hint == "hermes-cron db test prod"


SOUND = """
create schema "My App";
create table "My App"."Users" (id bigint primary key, "eMail" text);
create table "My App"."Or der" (id bigint primary key, "user Id" bigint references "My App"."Users", a int, b int);
create index "or der a" on "My App"."Or der" (a);
create index "or der a2" on "My App"."Or der" (a) where b > 1;
create index on "My App"."Or der" (a desc);
create index on "My App"."Or der" (a, b);
create index on "My App"."Or der" (lower(a::text));
create table parted (id int, k int references "My App"."Or der2", primary key (id)) partition by range (id);
create table parted_1 partition of parted for values from (1) to (10);
create index parted_k on parted (k);
create table pair_target (a int, b int, primary key (a, b));
create table pair (id int primary key, x int, y int, foreign key (x, y) references pair_target (a, b));
create index pair_yx on pair (y, x, id);
create sequence small_cycle as smallint cycle;
select setval('small_cycle', 32000);
create sequence big; select setval('big', 2147483000);
create table keyed (id smallserial primary key);
"""


def test_names_in_quotes_partitions_and_sequences_of_other_types(server: PostgresServer) -> None:
    import psycopg

    dsn = fresh_database(server, "odd")
    script = SOUND.replace('"My App"."Or der2"', '"My App"."Or der"')
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(script.encode())
        owner.execute("select setval('keyed_id_seq', 30000)")
    config = DatabaseConfig(name="prod", engine="postgresql", url=server.url("odd", user=READER))
    found = inspect(config, password=READER_PASSWORD)

    assert found.found() == {
        'fk_without_index/"My App"."Or der", Or der_user Id_fkey',
        "sequence_end/public.keyed_id_seq",
    }
    assert "public.keyed_id_seq at 30,000 of 32,767 (92 %)" in found.text
    with psycopg.connect(dsn, autocommit=True) as owner:
        for line in found.text.split("\n"):
            if line.startswith("   Do: create index"):
                owner.execute(line.removeprefix("   Do: ").encode())
    assert inspect(config, password=READER_PASSWORD).found() == {"sequence_end/public.keyed_id_seq"}
