"""A home with a fixed clock for screens: Tuesday 2026-12-01 08:00 in Shanghai, one database, `~` beside the home."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hermes_cron.home import Home

ZONE = ZoneInfo("Asia/Shanghai")
START = datetime(2026, 12, 1, 8, 0, tzinfo=ZONE)


@dataclass(frozen=True)
class Screens:
    home: Home
    run_cli: Callable[..., Any]

    def __call__(self, *argv: str, rc: int = 0, **env: str) -> Any:
        clock = self.home.root / "clock"
        done = self.run_cli(
            *argv,
            env={
                "HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(clock), "HOME": str(self.home.root.parent),
                **env,
            },
        )  # fmt: skip
        assert done.rc == rc, done.err or done.out
        return done

    def at(self, moment: datetime) -> None:
        (self.home.root / "clock").write_text(moment.isoformat())

    def job(self, name: str, text: str) -> None:
        (self.home.jobs / f"{name}.md").write_text(text, encoding="utf-8")

    @contextmanager
    def store(self) -> Iterator[sqlite3.Connection]:
        """The rows themselves, for a past that no scheduler of the test made."""
        connection = sqlite3.connect(self.home.store)
        try:
            yield connection
            connection.commit()
        finally:
            connection.close()


def made(home: Home, run_cli: Callable[..., Any]) -> Screens:
    database = home.root / "shop.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    home.config.write_text(
        f'timezone = "Asia/Shanghai"\n[databases.prod]\nengine = "sqlite"\nurl = "sqlite:///{database}"\n'
    )
    screens = Screens(home=home, run_cli=run_cli)
    screens.at(START)
    return screens


def stored(moment: datetime) -> str:
    """An instant as the store keeps it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"


def insert_run(
    connection: sqlite3.Connection, uid: str, run_id: str, due: datetime, *, after: float = 0, took: float | None = 2.9,
    **columns: object,
) -> None:  # fmt: skip
    """A run of a due instant, started ``after`` seconds late, with its occurrence."""
    started = due + timedelta(seconds=after)
    row: dict[str, object] = {
        "id": run_id, "job_uid": uid, "job_name": "x", "cause": "schedule", "scheduled_at": stored(due), "late": 0,
        "spec": "{}", "arguments": "{}", "priority": 0, "state": "ok", "queued_at": stored(started),
        "started_at": stored(started), "ended_at": None if took is None else stored(started + timedelta(seconds=took)),
        "fence": 1, "attempt": 1, "takeovers": 0, "iterations": 0, "tool_calls": 0, "tool_errors": 0,
        "tokens_input": 0, "tokens_output": 0, "tokens_cached": 0, "silent": 0, "actor": "schedule", **columns,
    }  # fmt: skip
    _insert(connection, "runs", row)
    _insert(
        connection, "occurrences",
        {"job_uid": uid, "scheduled_at": stored(due), "state": "ran", "run_id": run_id, "late": row["late"],
         "noted_at": stored(started)},
    )  # fmt: skip


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, object]) -> None:
    marks = ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def insert_span(connection: sqlite3.Connection, **row: object) -> None:
    _insert(connection, "occurrence_spans", row)


def insert_delivery(
    connection: sqlite3.Connection, uid: str | None, run_id: str, target: str = "ops-chat", state: str = "sent",
    **columns: object,
) -> None:  # fmt: skip
    """A message of a run."""
    at = stored(columns.pop("at", START))  # type: ignore[arg-type]
    _insert(
        connection, "deliveries",
        {"kind": "report", "run_id": run_id, "job_uid": uid, "job_name": "x", "target": target, "state": state,
         "title": "", "body": "", "created_at": at, "attempts": 1, "sent_at": at if state == "sent" else None,
         **columns},
    )  # fmt: skip


def insert_approval(connection: sqlite3.Connection, uid: str | None, run_id: str, **columns: object) -> None:
    """A question of a run, open unless ``decision`` says how it was answered."""
    _insert(
        connection, "approvals",
        {"run_id": run_id, "job_uid": uid, "job_name": "x", "session_id": "s", "seq": 3, "tool": "terminal",
         "arguments": "{}", "evidence": "[]", "asked_at": stored(START), "expires_at": stored(START), **columns},
    )  # fmt: skip


def insert(connection: sqlite3.Connection, table: str, **row: object) -> None:
    _insert(connection, table, row)
