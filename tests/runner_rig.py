"""Runs of a real home and store, executed by the real runner; only model and clock are doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hermes_cron.domain.command import Flag, Halt
from hermes_cron.domain.run import Outcome, TakenRun
from hermes_cron.home import Home
from hermes_cron.jobs.load import Known, parse_job
from hermes_cron.settings import Settings
from hermes_cron.store import endings, runs, takes
from hermes_cron.testing import FixedClock, ScriptedModel
from hermes_cron.wiring import App

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


class _Scripted(App):
    """An app whose model plays what the rig gave it."""

    model: ScriptedModel = ScriptedModel([])


@dataclass
class Rig:
    """``begin`` queues and takes a run of the job file's text; ``again`` puts it back and takes it as another would."""

    home: Home
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOON))

    def __post_init__(self) -> None:
        self.app = self._app()

    def _app(self) -> _Scripted:
        return _Scripted(self.home, Settings.load(self.home), self.clock)

    def anew(self) -> None:
        """Another process, which reads files and settings as they are now."""
        self.app.close()
        self.app = self._app()

    def begin(self, text: str, *, name: str = "j", uid: str | None = None) -> TakenRun:
        """``uid`` is that of a job with a file."""
        job = parse_job(
            text.encode(), path=f"jobs/{name}.md", name=name, now=self.clock.now(), host_zone="UTC",
            known=Known(strict=False, databases=frozenset(self.app.settings.databases)),
        )  # fmt: skip
        start = runs.Start(job=job, job_uid=uid, actor="test")
        now = self.clock.now()
        run_id = self.app.store.write(lambda conn: runs.enqueue(conn, start, now))
        return self._take(run_id)

    def again(self, taken: TakenRun, outcome: Outcome) -> TakenRun:
        """After ``outcome``, which is no end."""
        now = self.clock.now()
        self.app.store.write(lambda conn: endings.end(conn, taken, outcome, now, ran=timedelta(0)))
        return self._take(taken.id)

    def _take(self, run_id: str) -> TakenRun:
        now = self.clock.now()
        taken = self.app.store.write(lambda conn: takes.take_run(conn, run_id, "test", now))
        assert taken is not None
        return taken

    def execute(self, taken: TakenRun, replies: Sequence[Any] = (), cancel: Flag | None = None) -> Outcome:
        self.model = ScriptedModel(list(replies))
        self.app.model = self.model
        return self.app.running.runner.execute(taken, cancel or Halt(), self._note)

    def __enter__(self) -> Rig:
        self.events: list[tuple[str, dict[str, Any]]] = []
        return self

    def __exit__(self, *_: object) -> None:
        self.app.close()

    def _note(self, event: str, facts: Any) -> None:
        self.events.append((event, dict(facts)))
