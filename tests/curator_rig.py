"""A home whose skills were learned long ago or a moment ago, and nights of its curator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from hermes_cron.desks.lesson import Lesson
from hermes_cron.domain.command import Flag, Halt
from hermes_cron.domain.file_edit import Put
from hermes_cron.domain.learning import Author, Kind
from hermes_cron.domain.run import Cause, Outcome, TakenRun
from hermes_cron.home import Home
from hermes_cron.jobs.load import Known, parse_job
from hermes_cron.settings import Settings
from hermes_cron.snapshots import proof
from hermes_cron.store import endings, runs, takes
from hermes_cron.store.tables import SkillTotalRow, SkillUseRow
from hermes_cron.testing import FixedClock, ScriptedModel
from hermes_cron.wiring import App

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
JOB = "---\nschedule: every day 03:00\naction: curate\n---\n"
_totals = SkillTotalRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_uses = SkillUseRow.__table__  # type: ignore[attr-defined]


def text_of(name: str, body: str | None = None) -> str:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n{body or f'How {name} is done, {name} after {name}.'}\n"


@dataclass
class Night:
    """What became of one run."""

    outcome: Outcome
    record: dict[str, Any]

    @property
    def moves(self) -> dict[str, list[str]]:
        """Skills by move and state, such as ``stale done``."""
        found: dict[str, list[str]] = {}
        for it in self.record["changes"]:
            found.setdefault(f"{it['kind']} {it['state']}", []).append(it["skill"])
        return found


class _Scripted(App):
    """An app whose model plays what the rig gave it."""

    model: ScriptedModel = ScriptedModel([])


@dataclass
class Rig:
    """``clock`` stands at ``NOON``. A second rig on a home that is there goes on with it."""

    root: Path
    config: str = ""
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOON))
    number: int = 0

    def __post_init__(self) -> None:
        self.home = Home(self.root / "home")
        if not self.home.is_home():
            for folder in (self.home.root, self.home.jobs, self.home.skills, self.home.memories, self.home.owners):
                folder.mkdir(parents=True, exist_ok=True)
            self.home.config.write_text(f'timezone = "UTC"\n{self.config}', encoding="utf-8")
        self.app = _Scripted(self.home, Settings.load(self.home), self.clock)
        self.app.keep_hand_edits()

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self.app.close()

    # --- what lies there --------------------------------------------------------------------------------------------

    def learned(self, name: str, body: str | None = None, **files: str) -> None:
        """A run makes a skill (``category/name``) at this moment; ``files`` by path with ``__`` for ``/``."""
        self.number += 1
        short = name.rpartition("/")[2]
        texts = {"SKILL.md": text_of(short, body), **{key.replace("__", "/"): text for key, text in files.items()}}
        edits = {f"skills/{name}/{path}": Put(data=text.encode(), before=None) for path, text in texts.items()}
        lesson = Lesson(
            kind=Kind.SKILL, name=name, change="created", reason="it took 6 calls", lines=[], edits=lambda: edits
        )
        self.app.learning.write(Author(actor="run", run_id=f"r{self.number}"), f"s/{self.number}", lesson)

    def by_hand(self, name: str, text: str | None = None, *, keep: bool = True) -> Path:
        """A person writes a skill with an editor; ``keep``: a scheduler noticed it."""
        place = self.home.skills / name / "SKILL.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text or text_of(name.rpartition("/")[2]), encoding="utf-8")
        if keep:
            self.app.keep_hand_edits()
        return place

    def job(self, name: str, text: str) -> None:
        (self.home.jobs / f"{name}.md").write_text(text, encoding="utf-8")

    def used(self, name: str, *, at: datetime | None = None, ends: Iterable[bool] = (True,)) -> None:
        """Runs used it, the newest last; whether each went well."""
        when, ends = at or self.clock.now(), list(ends)

        def work(conn: Any) -> None:
            for well in ends:
                self.number += 1
                row = {"skill": name, "kind": "use", "run_id": f"u{self.number}", "key": "", "at": when, "well": well}
                conn.execute(insert(_uses), row)
            well = sum(ends)
            conn.execute(
                insert(_totals),
                {"skill": name, "job_uid": f"j{self.number}", "views": 0, "uses": len(ends), "well": well,
                 "badly": len(ends) - well, "used_at": when},
            )  # fmt: skip

        self.app.store.write(work)

    def patched(self, name: str) -> None:
        """A run patches a skill at this moment."""
        self.number += 1
        path = f"skills/{name}/SKILL.md"
        data = (self.home.root / path).read_bytes()
        edits = {path: Put(data=data + b"And then look.\n", before=data)}
        lesson = Lesson(
            kind=Kind.SKILL, name=name, change="patched", reason="it was wrong", lines=[], edits=lambda: edits
        )
        self.app.learning.write(Author(actor="run", run_id=f"r{self.number}"), f"s/{self.number}", lesson)

    def ran(self, text: str, replies: Sequence[Any]) -> Outcome:
        """A run of a job without a file, to its end."""
        job = parse_job(
            text.encode(), path="jobs/j.md", name="j", now=self.clock.now(), host_zone="UTC", known=Known(strict=False)
        )
        taken = self._taken(runs.Start(job=job, job_uid=None, actor="test"))
        self.app.model = ScriptedModel(list(replies))
        return self._ended(taken)

    # --- nights -----------------------------------------------------------------------------------------------------

    def begin(self, *, cause: Cause = Cause.MANUAL, **arguments: Any) -> TakenRun:
        job = self.app.curator.job()
        return self._taken(runs.Start(job=job, job_uid=None, actor="test", cause=cause, arguments=arguments or None))

    def _taken(self, start: runs.Start) -> TakenRun:
        now = self.clock.now()

        def work(conn: Any) -> TakenRun | None:
            return takes.take_run(conn, runs.enqueue(conn, start, now), "test", now)

        taken = self.app.store.write(work)
        assert taken is not None
        return taken

    def execute(self, taken: TakenRun, cancel: Flag | None = None) -> Outcome:
        return self.app.running.runner.execute(taken, cancel or Halt())

    def night(self, *, cause: Cause = Cause.MANUAL, **arguments: Any) -> Night:
        """One run, to its end."""
        taken = self.begin(cause=cause, **arguments)
        return Night(outcome=self._ended(taken), record=self.record(taken.id))

    def _ended(self, taken: TakenRun) -> Outcome:
        outcome, now = self.execute(taken), self.clock.now()
        self.app.store.write(lambda conn: endings.end(conn, taken, outcome, now))
        return outcome

    def record(self, run: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home.outputs / "nightly-curator" / f"{run}.json").read_bytes())
        return found

    # --- what is there now ------------------------------------------------------------------------------------------

    def stale(self) -> list[str]:
        from hermes_cron.experience.lifecycle import stale

        return sorted(stale(self.home.skills))

    def there(self) -> list[str]:
        return sorted(skill.qualified for skill in self.app.skills_now().all() if not skill.bundled)

    def archived(self) -> list[str]:
        top = self.home.skills / ".archive"
        return sorted(path.parent.relative_to(top).as_posix() for path in top.glob("**/SKILL.md"))

    def files(self) -> Mapping[str, bytes]:
        """All that the history is of."""
        roots = [self.home.jobs, self.home.skills, self.home.memories, self.home.config]
        paths = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*")))]
        return {str(path.relative_to(self.home.root)): path.read_bytes() for path in paths if path.is_file()}

    def sha(self) -> str:
        """Of the tree that the newest snapshot has."""
        head = self.app.snapshots.head()
        assert head is not None
        return proof.of_tree(self.app.snapshots.objects(), head.tree).sha256

    def undo(self, word: str = "curator") -> None:
        self.app.history.carry_out(self.app.history.to_undo(word), by="ann")
