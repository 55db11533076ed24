"""A job in a real store whose runs end as the test says, through the transaction that ends every run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, update

from hermes_cron.cli.main import run
from hermes_cron.domain.delivery import DeliveryKind
from hermes_cron.domain.job import Job, Retries, dump_job, name_key
from hermes_cron.domain.run import Cause, Outcome
from hermes_cron.home import Home
from hermes_cron.store import endings, incident_desk, runs, takes
from hermes_cron.store.engine import Store
from hermes_cron.store.tables import DeliveryRow, JobRow, RunRow
from tests.ended import at, job

_jobs, _runs, _deliveries = (
    table.__table__  # type: ignore[attr-defined]
    for table in (JobRow, RunRow, DeliveryRow)
)
OWNER = "tester"


@dataclass
class Ends:
    """``now`` is when the next run is due; each run takes three seconds."""

    store: Store
    uid: str = "u1"
    now: datetime = field(default_factory=lambda: at(11, 27))
    step: timedelta = timedelta(days=1)

    def __post_init__(self) -> None:
        self.job = job()

    def has(self, **fields: Any) -> Ends:
        """The job as it is from now on; it is not held and nothing is tried twice, unless the fields say so."""
        self.job = job(**{"pause_after": 0, "retries": Retries(attempts=0), **fields})
        self.store.write(self._put_job)
        return self

    def _put_job(self, conn: Connection) -> None:
        known = conn.execute(select(_jobs.c.uid).where(_jobs.c.uid == self.uid)).first()
        values = {"name": self.job.name, "spec": dump_job(self.job), "next_due": self.now + self.step}
        if known is not None:
            conn.execute(update(_jobs).where(_jobs.c.uid == self.uid).values(values))
            return
        file = {
            "file_name": f"{self.job.name}.md",
            "file_stat": "",
            "file_hash": "",
            "name_key": name_key(self.job.name),
        }
        times = {"anchor": self.now, "first_seen": self.now, "settled_until": self.now}
        conn.execute(insert(_jobs).values(uid=self.uid, **values, **file, **times))

    def __call__(self, outcome: Outcome, *, cause: Cause = Cause.SCHEDULE, job: Job | None = None) -> str:
        """One run that ends so; its id. The next one is due a step later."""
        due, ended = self.now, self.now + timedelta(seconds=3)
        self.now += self.step

        def work(conn: Connection) -> str:
            start = runs.Start(job=job or self.job, job_uid=self.uid, actor="test", cause=cause)
            run_id = runs.enqueue(conn, start, due)
            if cause is Cause.SCHEDULE:
                conn.execute(update(_runs).where(_runs.c.id == run_id).values(scheduled_at=due))
            conn.execute(update(_jobs).where(_jobs.c.uid == self.uid).values(next_due=self.now))
            taken = takes.take_run(conn, run_id, OWNER, due)
            assert taken is not None
            endings.end(conn, taken, replace(outcome, output_path=f"outputs/{self.job.name}/{run_id}.md"), ended)
            return run_id

        return self.store.write(work)

    def rows(self, *kinds: DeliveryKind) -> list[dict[str, Any]]:
        """Rows of the outbox, oldest first."""
        query = select(_deliveries).order_by(_deliveries.c.number)
        with self.store.read() as conn:
            found = [dict(row) for row in conn.execute(query).mappings()]
        return [row for row in found if not kinds or row["kind"] in kinds]

    def told(self, *kinds: DeliveryKind) -> list[tuple[str, str, str]]:
        """(kind, target, state, with the reason where there is one)."""
        return [
            (row["kind"], row["target"], f"{row['state']} {row['reason'] or ''}".strip()) for row in self.rows(*kinds)
        ]

    def incidents(self, *, ended: bool = True) -> list[incident_desk.IncidentView]:
        """Oldest first."""
        with self.store.read() as conn:
            return incident_desk.listed(conn, ended=ended)[::-1]


def opened(folder: Path, **fields: Any) -> Ends:
    """A new store with the job of ``tests.ended`` in it."""
    return Ends(Store(folder / "state.db")).has(**fields)


Typed = Callable[..., tuple[int, str, str]]
"""A command as ``oncall`` types it in Shanghai: exit code, stdout, stderr."""


def typed(home: Home, ends: Ends, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Commands in this process, at the time of ``ends``."""
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    clock = home.root / "clock"
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("LOGNAME", "oncall")
    monkeypatch.setenv("HERMES_CRON_HOME", str(home.root))
    monkeypatch.setenv("HERMES_CRON_TESTING", "1")
    monkeypatch.setenv("HERMES_CRON_CLOCK_FILE", str(clock))
    home.config.write_text('timezone = "Asia/Shanghai"\n')

    def call(*argv: str) -> tuple[int, str, str]:
        clock.write_text(ends.now.isoformat())
        code = run(argv)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
