"""A store in a folder, job files in it, and a hand that moves the clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from hermes_cron.domain.job import Deliver, Job, Retries
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.domain.schedule.trigger import Cron, Interval, Once, any_of
from hermes_cron.home import Home
from hermes_cron.jobs.files import JobFiles
from hermes_cron.store import claims, endings, history, jobs, runs
from hermes_cron.store.engine import Store
from hermes_cron.store.tables import JobRow

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def parse(data: bytes, file_name: str, anchor: datetime) -> jobs.Understood:
    """A small stand-in for the real format: ``key: value`` lines; ``bad`` anywhere breaks the file."""
    text = data.decode()
    if "bad" in text:
        return jobs.Understood(job=None, broken=f"jobs/{file_name}:1 bad")
    values = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    schedule = values.pop("schedule", "0 9 * * *")
    kind, _, rest = schedule.partition(" ")
    if kind == "every":
        trigger = Interval(timedelta(seconds=int(rest)), anchor)
    elif kind == "once":
        trigger = Once(datetime.fromisoformat(rest))
    else:
        trigger = any_of((Cron(schedule),))
    given: dict[str, object] = dict(values)
    for key, convert in (("max_runs", int), ("grace", lambda s: timedelta(seconds=int(s))),
                         ("jitter", lambda s: timedelta(seconds=int(s))), ("pause_after", int),
                         ("deliver", lambda s: Deliver(to=tuple(s.split()))),
                         ("retries", lambda s: Retries(attempts=3, on=tuple(s.split())))):  # fmt: skip
        if key in given:
            given[key] = convert(given[key])  # type: ignore[operator]
    from hermes_cron.domain.job import CatchUp, Overlap

    if "catch_up" in given:
        given["catch_up"] = CatchUp(str(given["catch_up"]))
    if "overlap" in given:
        given["overlap"] = Overlap(str(given["overlap"]))
    if "prompt" not in given:
        given.setdefault("script", "true")
    ZoneInfo(str(given.get("timezone", "UTC")))
    job = Job(name=file_name.removesuffix(".md"), schedule=(schedule,), trigger=trigger, **given)  # type: ignore[arg-type]
    return jobs.Understood(job=job)


@dataclass
class World:
    """Files, store and clock. ``now`` moves only when a test moves it."""

    home: Home
    store: Store
    now: datetime = NOON
    source: jobs.Source = field(init=False)

    def __post_init__(self) -> None:
        self.source = jobs.Source(folder=JobFiles(self.home), parse=parse)

    def write(self, name: str, text: str) -> None:
        (self.home.jobs / f"{name}.md").write_text(text)

    def sync(self, **changes: object) -> jobs.Synced:
        return jobs.sync(self.store, self.source, now=self.now, actor="test", **changes)  # type: ignore[arg-type]

    def at(self, clock: str) -> World:
        day, _, rest = clock.rpartition(" ")
        self.now = datetime.fromisoformat(f"{day or '2026-12-01'}T{rest}+00:00")
        return self

    def claim(self) -> claims.Claimed:
        return self.store.write(lambda conn: claims.claim_due(conn, self.now))

    def take(self, slots: int = 100, owner: str = "me") -> list[TakenRun]:
        return self.store.write(lambda conn: claims.take(conn, owner, slots, self.now))

    def finish(self, run: TakenRun, state: RunState = RunState.OK) -> None:
        self.store.write(lambda conn: runs.finish(conn, run.id, run.fence, Outcome(state=state), self.now))

    def end(self, run: TakenRun, outcome: Outcome, **more: object) -> endings.Ended:
        return self.store.write(lambda conn: endings.end(conn, run, outcome, self.now, **more))  # type: ignore[arg-type]

    def run(self, run_id: str) -> dict[str, object]:
        with self.store.read() as conn:
            return dict(runs.find(conn, run_id))

    def rows(self, table: type) -> list[dict[str, object]]:
        with self.store.read() as conn:
            return [dict(row) for row in conn.execute(select(table.__table__)).mappings()]  # type: ignore[attr-defined]

    def started(self, *lines: str, name: str = "a") -> TakenRun:
        """A scheduled run of a job with these lines, due every five minutes, taken at 12:05."""
        self.write(name, "\n".join(["schedule: */5 * * * *", *lines]))
        self.sync()
        self.at("12:05").claim()
        (run,) = self.take()
        return run

    def job(self, name: str) -> dict[str, object]:
        with self.store.read() as conn:
            query = select(JobRow.__table__).where(JobRow.__table__.c.name == name)  # type: ignore[attr-defined]
            rows = conn.execute(query.order_by(JobRow.__table__.c.first_seen)).mappings().all()  # type: ignore[attr-defined]
            return dict(rows[-1])

    def history(self, name: str, limit: int = 100) -> list[tuple[str, str, str | None]]:
        with self.store.read() as conn:
            found = history.rows(conn, str(self.job(name)["uid"]), limit=limit)
        return [(f"{row.due:%d %H:%M}", row.state.value, row.reason) for row in found][::-1]

    def proof(self, hours: float = 24) -> history.Accounted:
        with self.store.read() as conn:
            return history.accounted(conn, since=self.now - timedelta(hours=hours), now=self.now)


@pytest.fixture
def world(home: Home) -> Iterator[World]:
    with Store(home.store) as store:
        yield World(home=home, store=store)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return tmp_path / "outside.txt"
