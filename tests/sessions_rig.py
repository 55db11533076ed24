"""Runs whose sessions say something, for tests that look for it: real rows, written by the journal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import update

from hermes_cron.domain.session import Found, Wanted
from hermes_cron.domain.transcript import Header, ModelReply, PlannedResult, ToolCall, ToolResult
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.store.journal import SqlJournal
from hermes_cron.store.tables import JobRow, RunRow
from hermes_cron.testing import FixedClock
from hermes_cron.wiring import App

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
_jobs, _runs = JobRow.__table__, RunRow.__table__  # type: ignore[attr-defined]


class Talk:
    """A home whose runs were about something. Every run begins a minute after the one before."""

    def __init__(self, home: Home) -> None:
        self.clock = FixedClock(NOON)
        self.app = App(home, Settings.load(home), self.clock)
        self.store = self.app.store
        self._ids = count(1)

    def job(self, uid: str) -> str:
        row = {
            "uid": uid, "name": uid, "name_key": uid, "file_name": f"{uid}.md", "file_stat": "", "file_hash": "",
            "anchor": NOON, "first_seen": NOON, "settled_until": NOON,
        }  # fmt: skip
        self.store.write(lambda conn: conn.execute(_jobs.insert(), row))
        return uid

    def begin(self, *said: str, job: str | None = None, cause: str = "schedule", run: str = "") -> SqlJournal:
        """A run that goes on, with these messages of its user."""
        self.clock.set(self.clock.now() + timedelta(minutes=1))
        now = self.clock.now()
        run = run or f"r{next(self._ids):07}"
        row = {
            "id": run, "job_uid": job, "job_name": job or "prompt", "cause": cause, "spec": "{}", "state": "running",
            "late": False, "queued_at": now, "started_at": now, "fence": 1, "silent": False, "actor": "t",
        }  # fmt: skip
        self.store.write(lambda conn: conn.execute(_runs.insert(), row))
        journal = SqlJournal.begin(
            self.store, self.clock, run_id=run, fence=1, header=Header(system="the system prompt", model="m"),
            messages=[{"role": "user", "content": text} for text in said],
        )  # fmt: skip
        journal.run_id = run  # type: ignore[attr-defined]
        return journal

    def run(self, *said: str, state: str = "ok", **given: Any) -> str:
        """A run that ended; its id."""
        run = str(self.begin(*said, **given).run_id)  # type: ignore[attr-defined]
        self.end(run, state)
        return run

    def end(self, run: str, state: str = "ok") -> None:
        from hermes_cron.store.executions import close_sessions

        now = self.clock.now()

        def work(conn: Any) -> None:
            conn.execute(update(_runs).where(_runs.c.id == run).values(state=state, ended_at=now))
            close_sessions(conn, run, now)

        self.store.write(work)

    def find(self, words: str, **wanted: Any) -> Found:
        return self.app.sessions.search(Wanted(words=words, **wanted))

    def count(self, words: str, **wanted: Any) -> int | None:
        return self.find(words, **wanted).count


def answer(journal: SqlJournal, text: str) -> None:
    journal.assistant(ModelReply(message={"role": "assistant", "content": text}, text=text), [])


def call(journal: SqlJournal, name: str, arguments: str) -> int:
    """A reply that calls a tool; the seq of its result."""
    made = ToolCall(id="c1", name=name, arguments=arguments)
    wire = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [wire]}
    (seq,) = journal.assistant(
        ModelReply(message=message, text="", tool_calls=(made,)),
        [PlannedResult(call=made, effect="read", arguments_hash="h")],
    )
    return seq


def result(journal: SqlJournal, seq: int, text: str) -> None:
    message = {"role": "tool", "tool_call_id": "c1", "content": text}
    journal.result(ToolResult(seq=seq, message=message, ok=True, elapsed_ms=1, started_ms=1))


def overwrite_page(store: Path) -> None:
    """What a disk does to an index: one page of the file is not what it was."""
    with closing(sqlite3.connect(store, isolation_level=None)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = conn.execute("PRAGMA page_size").fetchone()[0]
        page = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'message_index_data'").fetchone()[0]
    with store.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
