"""A home with a memory, and nights on which it is consolidated; only model and clock are doubles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from hermes_cron.domain.command import Flag, Halt
from hermes_cron.domain.entries import written
from hermes_cron.domain.run import Outcome
from hermes_cron.experience.memory import Target
from hermes_cron.snapshots.commits import Commit
from hermes_cron.store import endings, runs
from hermes_cron.store.tables import JobRow
from hermes_cron.testing import ScriptedModel
from tests import runner_rig

JOB = "---\nschedule: every day 03:30\ntimezone: UTC\naction: consolidate\n{more}---\n"
MODEL = '[model]\nname = "big-model"\nauxiliary = "small-model"\n'


def merge(*merges: Mapping[str, Any], skills: Sequence[Mapping[str, Any]] = ()) -> dict[str, str]:
    """What the model answers."""
    return {"text": json.dumps({"merge": list(merges), "skills": list(skills)}, ensure_ascii=False)}


def one(text: str, *entries: str, dropped: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
    return {"entries": list(entries), "text": text, "dropped": list(dropped)}


@dataclass
class Night:
    outcome: Outcome
    report: dict[str, Any]
    run_id: str


@dataclass
class Rig(runner_rig.Rig):
    """``remember`` writes the files as an editor does, ``night`` consolidates them to the run's end."""

    def configure(self, text: str) -> None:
        self.home.config.write_text(f'timezone = "UTC"\n{text}', encoding="utf-8")
        self.anew()

    def job(self, more: str = "") -> str:
        """The job's uid."""
        (self.home.jobs / "consolidate-memory.md").write_text(JOB.format(more=more), encoding="utf-8")
        self.app.sync_jobs(actor="cli")
        with self.app.store.read() as conn:
            query = select(JobRow.uid).where(JobRow.name == "consolidate-memory")  # type: ignore[call-overload]
            return str(conn.execute(query).scalar_one())

    def remember(self, *entries: str, target: Target = Target.MEMORY) -> None:
        (self.home.root / target.path).write_bytes(written(entries))

    def entries(self, target: Target = Target.MEMORY) -> tuple[str, ...]:
        return self.app.memory.kept(target).memory.entries

    def file(self, target: Target = Target.MEMORY) -> bytes:
        return (self.home.root / target.path).read_bytes()

    def night(
        self, *replies: Any, uid: str | None = None, cancel: Flag | None = None, **arguments: Any
    ) -> Night:  # fmt: skip
        self.clock.advance(60)
        uid = uid or self.job()
        now = self.clock.now()
        job = self.app.runs.job(uid)
        start = runs.Start(job=job, job_uid=uid, actor="test", arguments=arguments or None)
        run_id = self.app.store.write(lambda conn: runs.enqueue(conn, start, now))
        taken = self._take(run_id)
        self.model = self.app.model = ScriptedModel(list(replies))
        outcome = self.app.running.runner.execute(taken, cancel or Halt())
        self.app.store.write(lambda conn: endings.end(conn, taken, outcome, self.clock.now()))
        path = self.home.outputs / "consolidate-memory" / f"{run_id}.json"
        report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return Night(outcome=outcome, report=report, run_id=run_id)

    def commits(self) -> list[Commit]:
        """Of consolidations, newest first."""
        return [it for it in self.app.snapshots.log() if it.actor == "consolidation"]

    def __enter__(self) -> Rig:
        super().__enter__()
        return self
