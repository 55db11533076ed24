"""Runs and looks back at them: a real home, store, runner and reviewer; only model and clock are doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from hermes_cron.domain.event import Event
from hermes_cron.store import endings, runs
from hermes_cron.store.endings import Ended
from hermes_cron.store.tables import CounterRow, JobRow, NudgeRow, ReviewRow
from hermes_cron.testing import ScriptedModel
from tests import runner_rig

SAY = {"text": "All is well."}


def calls(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A reply that asks for one tool."""
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def looks(count: int) -> list[dict[str, Any]]:
    """So many model calls: each but the last asks for the time in another zone, so that nothing goes round."""
    return [*(calls("now", timezone=f"Etc/GMT+{n % 12 + 1}") for n in range(count - 1)), SAY]


def remember(fact: str, action: str = "add", **more: Any) -> dict[str, Any]:
    return calls("memory", action=action, content=fact, **more)


@dataclass
class Rig(runner_rig.Rig):
    """``run`` executes a run of a job's file to its end, ``look_back`` does what is queued after it."""

    seen: list[Event] = field(default_factory=list)

    def job(self, name: str, *lines: str, prompt: str = "look at it") -> str:
        """The job's uid."""
        driven = ["model: stub-model"] if prompt else []
        text = "\n".join(["---", "timezone: UTC", "schedule: '0 9 * * *'", *driven, *lines, "---", prompt, ""])
        (self.home.jobs / f"{name}.md").write_text(text, encoding="utf-8")
        self.app.sync_jobs(actor="cli")
        with self.app.store.read() as conn:
            return str(conn.execute(select(JobRow.uid).where(JobRow.name == name)).scalar_one())  # type: ignore[call-overload]

    def run(self, uid: str, replies: Sequence[Any] = (SAY,), *, steer: str | None = None, **values: Any) -> Ended:
        self.clock.advance(60)
        job, now = self.app.runs.job(uid), self.clock.now()
        start = runs.Start(job=job, job_uid=uid, actor="test")
        run_id = self.app.store.write(lambda conn: runs.enqueue(conn, start, now))
        taken = self._take(run_id)
        if steer is not None:
            self.app.store.write(lambda conn: runs.steer(conn, run_id, steer, by="somebody"))
        from dataclasses import replace

        outcome = replace(self.execute(taken, replies), **values)
        self.clock.advance(5)
        self.last = run_id
        nudge, now = self.app.reviews.nudge, self.clock.now()
        return self.app.store.write(lambda conn: endings.end(conn, taken, outcome, now, nudge=nudge))

    def look_back(self, *replies: Any) -> list[dict[str, Any]]:
        """The rows of all looks back, oldest first, once all that were queued are done."""
        self.clock.advance(1)
        self.model = self.app.model = ScriptedModel(list(replies))
        reviewer = self.app.reviews.reviewer(self.seen.append)
        reviewer.start("test-reviewer")
        assert reviewer.flush(30)
        assert reviewer.stop(30)
        return self.reviews()

    def reviews(self) -> list[dict[str, Any]]:
        table = ReviewRow.__table__  # type: ignore[attr-defined]
        with self.app.store.read() as conn:
            return [dict(row) for row in conn.execute(select(table).order_by(table.c.number)).mappings()]

    def briefs(self) -> list[str]:
        return [row["brief"] for row in self.reviews()]

    def counts(self) -> dict[str, int]:
        table = NudgeRow.__table__  # type: ignore[attr-defined]
        with self.app.store.read() as conn:
            return {row["kind"]: row["count"] for row in conn.execute(select(table)).mappings()}

    def counted(self, name: str) -> dict[str, float]:
        """A counter's totals by labels."""
        table = CounterRow.__table__  # type: ignore[attr-defined]
        with self.app.store.read() as conn:
            rows = conn.execute(select(table).where(table.c.name == name)).mappings().all()
        return {row["labels"]: row["value"] for row in rows}

    def memory(self) -> str:
        path = self.home.memories / "MEMORY.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def __enter__(self) -> Rig:
        super().__enter__()
        return self
