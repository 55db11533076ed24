"""Stores of every earlier schema, made by the migrations of their time, with rows in every table."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hermes_cron.store.migrate import migrations

ROWS = 3
PROMPT = "检查 prod 数据库: \"quotes\", 'apostrophes', a % and a \\ — ".ljust(2618, "x")
OLDER = [number for number, _ in migrations()][:-1]
"""Every schema but the newest."""

_STATES = re.compile(r"CHECK \(state IN \('(\w+)'")


def old_store(path: Path, schema: int) -> None:
    """A store of that schema whose tables all have rows; texts have quotes, marks and no ASCII only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode=WAL")
        for number, sql in migrations():
            if number <= schema:
                conn.executescript(f"BEGIN;{sql}\nPRAGMA user_version={number};COMMIT;")
        conn.execute("PRAGMA foreign_keys=ON")
        waiting = tables(conn)
        while waiting:
            ready = [name for name in waiting if not _parents(conn, name) & set(waiting)]
            for name in ready:
                for row in range(ROWS):
                    _fill(conn, name, row)
            waiting = [name for name in waiting if name not in ready]


def tables(conn: sqlite3.Connection) -> list[str]:
    """Without those of the index of words, which is filled by saying something."""
    found = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return [name for name in found if not name.startswith("message_index")]


def contents(path: Path, like: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Every row of every table, over the columns of ``like`` where it is given. Read without any of our code."""
    with closing(sqlite3.connect(path)) as conn:
        shape = like or {name: _names(conn, name) for name in tables(conn)}
        rows = {
            name: sorted(map(repr, conn.execute(f"SELECT {', '.join(map(_quoted, names))} FROM {_quoted(name)}")))
            for name, names in shape.items()
        }
        return {"rows": rows, "shape": shape}


def schema_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as conn:
        return int(conn.execute("PRAGMA user_version").fetchone()[0])


def _fill(conn: sqlite3.Connection, table: str, row: int) -> None:
    states = _STATES.search(conn.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0])
    parents = {
        child: (parent, key) for _, _, parent, child, key, *_ in conn.execute(f"PRAGMA foreign_key_list({table})")
    }
    values: dict[str, Any] = {}
    for at, (_, name, kind, *_rest) in enumerate(conn.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()):
        if name in parents:
            parent, key = parents[name]
            values[name] = conn.execute(f"SELECT {_quoted(key)} FROM {_quoted(parent)} ORDER BY rowid").fetchall()[row][
                0
            ]
        elif name == "state" and states:
            values[name] = states[1]
        else:
            values[name] = _value(table, name, kind, at, row)
    marks = ", ".join("?" * len(values))
    columns = ", ".join(map(_quoted, values))
    conn.execute(f"INSERT INTO {_quoted(table)} ({columns}) VALUES ({marks})", list(values.values()))


def _value(table: str, name: str, kind: str, at: int, row: int) -> Any:
    if name == "spec":
        return json.dumps({"name": f"daily brief {row}", "prompt": PROMPT}, ensure_ascii=False)
    made: dict[str, Any] = {
        "INTEGER": 1000 * at + row,
        "FLOAT": 0.1 + row + at / 3,
        "BOOLEAN": row % 2,
        "DATETIME": f"2026-11-{row + 1:02} 09:00:00.{at:06}",
        "BLOB": bytes(range(256)) + bytes([row]),
    }
    return made.get(kind, f"{table}.{name} '{row}' 巡检\n\x1b[0m")


def _parents(conn: sqlite3.Connection, table: str) -> set[str]:
    return {row[2] for row in conn.execute(f"PRAGMA foreign_key_list({_quoted(table)})")} - {table}


def _names(conn: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in conn.execute(f"PRAGMA table_info({_quoted(table)})")]


def _quoted(name: str) -> str:
    return f'"{name}"'
