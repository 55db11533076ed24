"""A real ``serve`` on a home, under a clock file that the test moves, and what its rows say meanwhile."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from hermes_cron.home import Home
from tests.conftest import Ran, clean_env

LIMIT_S = 60.0
DAY = datetime(2026, 12, 1, tzinfo=UTC)
BUSY = ("queued", "running")


def until(condition: Callable[[], object], what: str | Callable[[], object], limit_s: float = LIMIT_S) -> None:
    """Wait for what another process brings about; a machine under load gets its time."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"did not happen: {what() if callable(what) else what}"
        time.sleep(0.02)


def clock_time(text: str) -> datetime:
    """``12:05``, or ``+1 09:00`` for the next day."""
    days, _, rest = text.rpartition(" ")
    hours, minutes = rest.split(":")
    return DAY + timedelta(days=int(days or 0), hours=int(hours), minutes=int(minutes))


@dataclass
class Serving:
    """One scheduler process between ``with``. ``env`` is that of the service and of the commands beside it."""

    home: Home
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    start_at: str = "11:59"

    def __post_init__(self) -> None:
        self.clock = self.home.root.parent / "clock"
        self._env = clean_env(
            {
                "HERMES_CRON_HOME": str(self.home.root),
                "HERMES_CRON_TESTING": "1",
                "HERMES_CRON_CLOCK_FILE": str(self.clock),
                **self.env,
            }
        )
        self.at(self.start_at)

    def __enter__(self) -> Serving:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        before = self._ready()
        argv = [sys.executable, "-m", "hermes_cron", "serve", "--drain", "0", *self.options]
        self.said = self.home.root.parent / "serve.err"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(argv, env=self._env, stderr=said)
        until(
            lambda: self.process.poll() is not None or self._ready() > before,
            lambda: f"the service began: {self.said.read_text()}",
        )
        assert self.process.poll() is None, self.said.read_text()

    def _ready(self) -> int:
        """How often a service of this home has read its jobs: from then on the clock may move."""
        return sum(file.read_text().count('"ServeReady"') for file in self.home.logs.glob("*"))

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=LIMIT_S)
        finally:
            self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def at(self, text: str) -> None:
        """The clock of all processes."""
        draft = self.clock.with_suffix(".new")
        draft.write_text(clock_time(text).isoformat())
        os.replace(draft, self.clock)

    def cli(self, *argv: str, stdin: str | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "hermes_cron", *argv], env=self._env, input=stdin, capture_output=True, text=True,
            encoding="utf-8", timeout=LIMIT_S, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)

    def ask(self, *argv: str) -> Any:
        """What a command says with ``--json``, whatever its exit code."""
        done = self.cli(*argv, "--json")
        assert done.out, done.err
        return json.loads(done.out)

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """The store's own rows: waiting for a state costs no process a look."""
        with closing(sqlite3.connect(f"file:{self.home.store}?mode=ro", uri=True, timeout=LIMIT_S)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values)]

    def runs(self, job: str | None = None) -> list[dict[str, Any]]:
        """Oldest first."""
        where = "" if job is None else "WHERE job_name = ?"
        query = f"SELECT * FROM runs {where} ORDER BY queued_at, id"
        return self.rows(query, *(() if job is None else (job,)))

    def due(self, text: str, *, runs: int) -> None:
        """Moves the clock and waits until that many runs exist and none of them is queued or executed."""
        self.at(text)

        def quiet() -> bool:
            found = self.runs()
            waiting = [run for run in found if run["state"] == "waiting_retry" and _instant(run) <= clock_time(text)]
            return len(found) >= runs and not waiting and not any(run["state"] in BUSY for run in found)

        until(quiet, lambda: [(run["job_name"], run["state"], run["start_after"]) for run in self.runs()])


def _instant(run: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(run["start_after"]).replace(tzinfo=UTC)


def write_job(home: Home, name: str, *lines: str, prompt: str = "") -> Path:
    path = home.jobs / f"{name}.md"
    path.write_text("\n".join(["---", "timezone: UTC", *lines, "---", prompt, ""]), encoding="utf-8")
    return path
