"""Statements that write, and two thousand disguises of them: what the read-only fences are thrown at."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

CASES = Path(__file__).parent / "cases" / "data" / "sql-guard.jsonl"

# Against the schema of PLANTED below. {F} is a folder of the test that every file would be made in.
POSTGRES_WRITES = r"""
INSERT INTO items VALUES (99, 'x')
INSERT INTO items SELECT 98, 'y'
INSERT INTO items VALUES (1, 'z') ON CONFLICT (id) DO UPDATE SET name = 'z'
UPDATE items SET name = 'changed'
DELETE FROM items
TRUNCATE items
MERGE INTO items USING other ON items.id = other.id WHEN MATCHED THEN DELETE
CREATE TABLE made (a int)
CREATE TABLE made AS SELECT * FROM items
CREATE TEMP TABLE made AS SELECT 1
CREATE VIEW made AS SELECT 1
CREATE INDEX made ON items (name)
CREATE FUNCTION made() RETURNS int LANGUAGE sql AS 'select 1'
CREATE SCHEMA made
CREATE SEQUENCE made
CREATE ROLE made SUPERUSER
CREATE EXTENSION hstore
ALTER TABLE items ADD COLUMN made int
ALTER ROLE watcher SUPERUSER
ALTER SYSTEM SET work_mem = '8MB'
ALTER DATABASE attacked SET work_mem = '8MB'
DROP TABLE items
DROP SCHEMA public CASCADE
COMMENT ON TABLE items IS 'made'
GRANT ALL ON items TO PUBLIC
REVOKE ALL ON items FROM watcher
REFRESH MATERIALIZED VIEW seen
SELECT * INTO made FROM items
SELECT * FROM items FOR UPDATE
COPY items FROM PROGRAM 'echo 5'
COPY items TO '{F}/made.txt'
COPY (SELECT 1) TO PROGRAM 'cat > {F}/made.txt'
COPY (DELETE FROM items RETURNING *) TO STDOUT
DO $$ BEGIN DELETE FROM items; END $$
CALL wipe()
SELECT evil()
SELECT public.evil()
SELECT "evil"()
SELECT i.evil_row FROM items i
SELECT (i).evil_row FROM items i
SELECT * FROM evil()
SELECT i ==> 1 FROM items i
SELECT nextval('counter')
SELECT setval('counter', 1000)
SELECT ('counter'::regclass).nextval
SELECT x.nextval FROM unnest(ARRAY['counter'::regclass]) x
SELECT x.lo_creat FROM generate_series(1, 1) x
SELECT lo_create(4242)
SELECT lo_from_bytea(4243, 'x')
SELECT lo_import('/etc/hostname')
SELECT lo_unlink(7777)
SELECT lo_put(7777, 0, 'made')
SELECT lo_export(7777, '{F}/made.txt')
SELECT set_config('default_transaction_read_only', 'off', false)
SELECT pg_advisory_lock(4711)
SELECT pg_notify('made', 'x')
SELECT pg_switch_wal()
SELECT pg_create_physical_replication_slot('made')
SELECT pg_create_restore_point('made')
SELECT pg_logical_emit_message(false, 'a', 'b')
SELECT pg_stat_reset()
SELECT pg_file_write('{F}/made.txt', 'x', false)
SELECT query_to_xml('delete from items', true, true, '')
SELECT * FROM ts_stat('select evil()')
SELECT ts_rewrite('a'::tsquery, 'select evil()')
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'witness'
SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'witness'
SELECT pg_reload_conf()
SELECT pg_current_xact_id()
SELECT pg_export_snapshot()
SELECT pg_sleep(30)
SELECT pg_read_file('/etc/hostname')
VALUES (nextval('counter'))
TABLE items FOR UPDATE
SELECT 1 ORDER BY nextval('counter')
SELECT count(*) FILTER (WHERE nextval('counter') > 0) FROM items
WITH x AS (DELETE FROM items RETURNING *) SELECT * FROM x
WITH x AS (SELECT 1) DELETE FROM items
EXPLAIN ANALYZE DELETE FROM items
EXPLAIN (ANALYZE, COSTS OFF) UPDATE items SET name = 'explained'
EXPLAIN ANALYZE SELECT nextval('counter')
SET TRANSACTION READ WRITE
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
SET ROLE postgres
BEGIN READ WRITE
COMMIT
PREPARE made AS DELETE FROM items
LISTEN made
VACUUM items
CLUSTER items USING items_pkey
REINDEX TABLE items
ANALYZE items
LOCK TABLE items IN ACCESS EXCLUSIVE MODE
""".strip().split("\n")

SQLITE_WRITES = r"""
INSERT INTO items VALUES (99, 'x')
INSERT OR REPLACE INTO items VALUES (1, 'x')
REPLACE INTO items VALUES (1, 'x')
UPDATE items SET name = 'changed'
DELETE FROM items
CREATE TABLE made (a int)
CREATE TABLE made AS SELECT * FROM items
CREATE TEMP TABLE made (a int)
CREATE VIEW made AS SELECT 1
CREATE INDEX made ON items (name)
CREATE TRIGGER made AFTER INSERT ON items BEGIN DELETE FROM items; END
CREATE VIRTUAL TABLE made USING fts5(a)
ALTER TABLE items ADD COLUMN made int
DROP TABLE items
WITH x AS (SELECT 1) DELETE FROM items
WITH x AS (SELECT 1) INSERT INTO items SELECT 5, 'x'
ATTACH '{F}/made.db' AS made
ATTACH DATABASE '{F}/made.db' AS made KEY 'x'
DETACH main
VACUUM
VACUUM INTO '{F}/made.db'
REINDEX
ANALYZE
PRAGMA user_version = 7
PRAGMA user_version(7)
PRAGMA journal_mode = wal
PRAGMA journal_mode(wal)
PRAGMA main.journal_mode = delete
PRAGMA query_only = off
PRAGMA writable_schema = on
PRAGMA wal_checkpoint(truncate)
PRAGMA incremental_vacuum
PRAGMA optimize
PRAGMA application_id(5)
PRAGMA schema_version = 99
SELECT load_extension('{F}/made.so')
SELECT writefile('{F}/made.txt', 'x')
SELECT edit('x')
SELECT fts3_tokenizer('a', x'00')
SELECT * FROM pragma_user_version(7)
SELECT * FROM pragma_journal_mode('wal')
EXPLAIN DELETE FROM items
BEGIN IMMEDIATE
BEGIN EXCLUSIVE
COMMIT
SAVEPOINT made
""".strip().split("\n")


def from_cases() -> list[str]:
    """Every statement of the cases, whatever its dialect and verdict: none of them may change anything."""
    found: list[str] = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        sql = json.loads(line)["input"]["sql"]
        found += [sql] if isinstance(sql, str) else sql
    return found


def _case(sql: str, dice: random.Random) -> str:
    return "".join(c.upper() if dice.random() < 0.5 else c.lower() for c in sql) if "'" not in sql else sql


def _blanks(sql: str, dice: random.Random) -> str:
    if "'" in sql or "$" in sql:
        return dice.choice(["\n", "\t", "\r\n", "\f"]) + sql
    return dice.choice(["\n", "\t", "  ", "\r\n", "\f"]).join(sql.split(" "))


def _comments(sql: str, dice: random.Random) -> str:
    mark = dice.choice(
        ["/**/", "/* x */", "--\n", "-- ; select 1\n", "/* /* nested */ */", "/*+ hint */", "/*!50000*/"]
    )
    return mark + sql if "'" in sql or dice.random() < 0.5 else f" {mark} ".join(sql.split(" "))


def _stacked(sql: str, dice: random.Random) -> str:
    return dice.choice(
        [
            "SELECT 1; {}",
            "SELECT 1;{}",
            "{};SELECT 1",
            "COMMIT; {}",
            "ROLLBACK;{}",
            "END; {}; BEGIN",
            ";{}",
            "SELECT 1\n;\n{}",
            "SELECT ';'; {}",
            "SELECT 1 -- x\n; {}",
            "SELECT $$a$$; {}",
            "SELECT 'a\\'; {} --'",
            "SELECT E'a\\\\'; {}",
            "SELECT 1;;;{}",
            "(SELECT 1); {}",
            "SHOW work_mem; {}",
            "EXPLAIN SELECT 1; {}",
            "PRAGMA page_count; {}",
            "VALUES (1); {}",
            "SET TRANSACTION READ WRITE; {}",
            "BEGIN; {}; COMMIT",
        ]
    ).replace("{}", sql)


def _wrapped(sql: str, dice: random.Random) -> str:
    return dice.choice(
        [
            "WITH a AS ({}) SELECT * FROM a",
            "WITH a AS MATERIALIZED ({}) TABLE a",
            "WITH a AS (SELECT 1) {}",
            "SELECT * FROM ({}) x",
            "SELECT ({})",
            "SELECT EXISTS ({})",
            "({})",
            "(({}))",
            "SELECT 1 UNION ALL ({})",
            "SELECT 1 WHERE 1 IN ({})",
            "VALUES (({}))",
            "SELECT ARRAY({})",
            "SELECT CASE WHEN true THEN ({}) END",
            "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL {}) SELECT * FROM a",
            "SELECT * FROM items, LATERAL ({}) x",
            "WITH a AS (WITH b AS ({}) SELECT * FROM b) SELECT * FROM a",
            "SELECT coalesce(({}), 1)",
            "SELECT 1 LIMIT ({})",
            "SELECT 1 ORDER BY ({})",
            "SELECT * FROM items WHERE id = ({})",
        ]
    ).replace("{}", sql.rstrip(";"))


def _explained(sql: str, dice: random.Random) -> str:
    head = dice.choice(
        [
            "EXPLAIN ANALYZE ",
            "EXPLAIN (ANALYZE) ",
            "explain (analyze on, verbose) ",
            "EXPLAIN(ANALYZE true)",
            "EXPLAIN ",
            "EXPLAIN VERBOSE ",
            "EXPLAIN (VERBOSE, ANALYZE 1) ",
            "EXPLAIN /**/ ANALYZE ",
            "EXPLAIN ANALYSE ",
            "EXPLAIN (ANALYZE false, ANALYZE) ",
            "EXPLAIN QUERY PLAN ",
            "PREPARE p AS ",
            "DECLARE c CURSOR FOR ",
            "CREATE TABLE made AS ",
            "COPY (SELECT 1) TO STDOUT; ",
            "EXECUTE ",
            "EXPLAIN (FORMAT JSON, ANALYZE) ",
        ]
    )
    return head + sql


def _quoted(sql: str, dice: random.Random) -> str:
    if "(" not in sql or sql.upper().startswith(("WITH", "COPY", "CREATE", "INSERT", "MERGE", "DO", "EXPLAIN")):
        return dice.choice(["\ufeff", "\u00a0", "\u200b", "\x00", "\u3000"]) + sql
    head, _, rest = sql.partition("(")
    words = head.split(" ")
    return (
        " ".join(
            [
                *words[:-1],
                dice.choice(
                    ['"{}"', "pg_catalog.{}", 'pg_catalog."{}"', "public.{}", 'U&"{}"', "`{}`", "[{}]"]
                ).replace("{}", words[-1]),
            ]
        )
        + "("
        + rest
    )


def _encoded(sql: str, dice: random.Random) -> str:
    swapped = {"e": "\u0435", "a": "\uff41", "s": "\u017f", "(": "\uff08", ";": "\uff1b", "'": "\u2019", "k": "\u212a"}
    letter = dice.choice([key for key in swapped if key in sql] or ["e"])
    return sql.replace(letter, swapped[letter], 1)


def _limited(sql: str, dice: random.Random) -> str:
    return sql + dice.choice(
        [
            " -- limit 1",
            " /* limit 1 */",
            ";",
            " ; ",
            ";--",
            " LIMIT 1",
            "\\g",
            "\n;\n",
            " FOR UPDATE",
            " RETURNING *",
            "; COMMIT",
            " INTO made",
            " \\gset",
            " UNION SELECT 1",
        ]
    )


_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _case,
    _blanks,
    _comments,
    _stacked,
    _wrapped,
    _explained,
    _quoted,
    _encoded,
    _limited,
)


def mutated(writes: list[str], count: int, *, seed: int) -> Iterator[str]:
    """``count`` different statements: each a write under one to three disguises. The same for the same seed."""
    dice = random.Random(seed)
    seen = set(writes)
    while len(seen) < count + len(writes):
        sql = dice.choice(writes)
        for mutation in dice.sample(_MUTATIONS, dice.choice([1, 1, 2, 3])):
            sql = mutation(sql, dice)
        if sql not in seen:
            seen.add(sql)
            yield sql
