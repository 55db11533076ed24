"""What ``explain`` says and what the scheduler claims: the same instants, for 200 random job files under a fixed clock.

Nights of clock changes, both languages, beginnings, ends, ``max_runs`` and jitter included.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

sys.path.insert(0, str(Path(__file__).parent.parent))
from scheduler_rig import parse as understand

from hermes_cron.cli.added import upcoming
from hermes_cron.domain.schedule.forecast import explain
from hermes_cron.errors import HermesCronError
from hermes_cron.home import Home
from hermes_cron.jobs.files import JobFiles
from hermes_cron.store import claims, jobs
from hermes_cron.store.engine import Store
from hermes_cron.store.tables import JobRow, RunRow

RUNS = RunRow.__table__  # type: ignore[attr-defined]
JOBS = JobRow.__table__  # type: ignore[attr-defined]
JOBS_PER_SPAN = 50
PASSES, STEP = 4, timedelta(hours=23)
SPANS = [
    # the instant at which the files appear, and a zone whose clock changes in the four days after it
    (datetime(2026, 3, 7, 3, 30, 12, tzinfo=UTC), "America/New_York"),
    (datetime(2026, 10, 23, 21, 0, tzinfo=UTC), "Europe/Berlin"),
    (datetime(2026, 10, 2, 11, 17, 5, tzinfo=UTC), "Australia/Lord_Howe"),
    (datetime(2027, 4, 2, 0, 0, 1, tzinfo=UTC), "Pacific/Auckland"),
]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def phrase(rng: random.Random, day: int) -> str:
    hour, minute, step = rng.randint(0, 23), rng.choice([0, 15, 30, 45]), rng.choice([15, 20, 30, 45, 60, 90, 120])
    first, at = rng.randint(0, 10), f"{hour:02}:{minute:02}"
    last = rng.randint(first + 1, 23)
    return rng.choice(
        [
            f"every day at {at}",
            f"every day except {rng.choice(DAYS)} at {at}",
            f"every {rng.choice(DAYS)} and {rng.choice(DAYS)} at {at}",
            f"every workday at {at} and {first:02}:10",
            f"every 2 days at {at}",
            f"every other {rng.choice(DAYS)} at {at}",
            f"every {step} minutes",
            f"every {step} minutes starting at {first}am"
            if first and 1440 % step == 0
            else f"every {3 * step} minutes",
            f"every {step} minutes between {first}:00 and {last}:00",
            f"every hour at minute {minute}",
            f"on the {day}th of every month at {at}",
            f"tomorrow at {at}",
            f"in {step} minutes",
            f"{minute} {first}-{last} * * *",
            f"*/{rng.randint(15, 59)} * * * *",
            f"{minute} */{rng.randint(1, 23)} * * {rng.randint(0, 6)}",
            f"每天{hour}点{minute}分",
            f"每天{first}点到{last}点每{step}分钟",
            f"每周{rng.choice('一二三四五六日')}{hour}点",
            f"每{step}分钟",
            f"工作日每小时{minute}分",
            f"明天{hour}点",
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    phrase: str
    zone: str
    start: datetime | None
    until: datetime | None
    max_runs: int | None

    def file(self, rng: random.Random) -> str:
        keys = [f"schedule: {self.phrase!r}", f"timezone: {self.zone}", "script: work"]
        keys += ["catch_up: all", "overlap: allow"]
        for key in ("start", "until", "max_runs"):
            value = getattr(self, key)
            if value is not None:
                keys.append(f"{key}: {value.isoformat() if isinstance(value, datetime) else value}")
        if rng.random() < 0.3:
            keys.append("jitter: 1m")
        return "\n".join(["---", *keys, "---", ""])

    def said(self, now: datetime, end: datetime) -> list[datetime]:
        """explain's times within the life span."""
        try:
            found = explain(self.phrase, now=now, zone=ZoneInfo(self.zone), count=1000).next
        except HermesCronError:
            return []
        inside = [at for at in found if at <= end and (self.start is None or at >= self.start)]
        return [at for at in inside if self.until is None or at <= self.until][: self.max_runs]


def case(rng: random.Random, now: datetime, zone: str) -> Case:
    start = now + timedelta(minutes=rng.randint(0, 4000)) if rng.random() < 0.3 else None
    until = (start or now) + timedelta(minutes=rng.randint(1, 4000)) if rng.random() < 0.3 else None
    return Case(
        phrase=phrase(rng, now.day + 1),
        zone=rng.choice([zone, zone, zone, "UTC", "Asia/Shanghai"]),
        start=start,
        until=until,
        max_runs=rng.randint(1, 6) if rng.random() < 0.2 else None,
    )


@pytest.mark.parametrize(("now", "zone"), SPANS, ids=[zone for _, zone in SPANS])
def test_the_scheduler_claims_what_explain_says(tmp_path: Path, now: datetime, zone: str) -> None:
    rng = random.Random(f"{now} {zone}")
    home = Home(tmp_path)
    home.jobs.mkdir(parents=True)
    cases = {f"job-{number}": case(rng, now, zone) for number in range(JOBS_PER_SPAN)}
    for name, each in cases.items():
        (home.jobs / f"{name}.md").write_text(each.file(rng))
    with Store(home.store) as store:
        source = jobs.Source(folder=JobFiles(home), parse=understand)
        jobs.sync(store, source, now=now, actor="cli")
        for step in range(1, PASSES + 1):
            while store.write(lambda conn, at=now + step * STEP: claims.claim_due(conn, at)).more:
                pass
        with store.read() as conn:
            rows = conn.execute(
                select(JOBS.c.name, RUNS.c.scheduled_at, RUNS.c.start_after)
                .join(JOBS, JOBS.c.uid == RUNS.c.job_uid)
                .order_by(RUNS.c.scheduled_at)
            ).all()
    claimed: dict[str, list[datetime]] = defaultdict(list)
    for name, at, start_after in rows:
        claimed[name].append(at)
        assert start_after is None or at <= start_after <= at + timedelta(minutes=1)
    for name, each in cases.items():
        told = each.said(now, now + PASSES * STEP)
        assert claimed[name] == told, each
        job = understand((home.jobs / f"{name}.md").read_bytes(), f"{name}.md", now).job
        if job is not None:
            assert [at for at in upcoming(job, now, 1000) if at <= now + PASSES * STEP] == told, each
    assert sum(map(len, claimed.values())) > 10 * JOBS_PER_SPAN
