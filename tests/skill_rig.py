"""A home with a skill, and an author who changes it by calling the tool ``skill_manage``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import select

from hermes_cron.domain.job import Job
from hermes_cron.domain.learning import Author, Learn, Learned
from hermes_cron.domain.run import Cause
from hermes_cron.domain.tool_call import Probe, ToolOutput
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.store import learned, runs
from hermes_cron.store.tables import CounterRow
from hermes_cron.testing import FixedClock
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.skill_manage import TOOL
from hermes_cron.wiring import App
from tests.agent_rig import context
from tests.snapshots_rig import NOON

_counters = CounterRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
NAME = "deploy/flask-deploy"
BODY = """\

# Deploy a Flask app

## When to use

A new version of a Flask app is to go to the cluster.

## Steps

1. Build the image:
   - docker build -t app .
   - docker push app
2. Roll it out: kubectl rollout restart deployment app

## Pitfalls

- The registry wants a login first.
"""
SKILL = (
    "---\nname: flask-deploy\ndescription: Deploys a Flask app. Use for a new version.\n"
    f'metadata:\n  version: "1.9"\n---\n{BODY}'
)


def skill(name: str, body: str = BODY) -> str:
    """A whole new SKILL.md without a version."""
    return f"---\nname: {name}\ndescription: Does {name}. Use when it is to be done.\n---\n{body}"


@dataclass
class Rig:
    """``key`` counts up with each call, as the rows of a session do."""

    root: Path
    author: Author = field(default_factory=lambda: Author(actor="run", run_id="r1", job_name="j", session_id="s1"))
    number: int = 0
    made: bool = False

    @classmethod
    def of(cls, root: Path) -> Rig:
        """Of a home that another one made."""
        return cls(root, made=True)

    def __post_init__(self) -> None:
        self.home = Home(self.root / "home")
        self.clock = FixedClock(NOON)
        if self.made:
            self.app = App(self.home, Settings.load(self.home), self.clock)
            return
        for folder in (self.home.root, self.home.jobs, self.home.skills, self.home.memories, self.home.run):
            folder.mkdir(parents=True, exist_ok=True)
        self.home.config.write_text('timezone = "UTC"\n', encoding="utf-8")
        self.put(f"{NAME}/SKILL.md", SKILL)
        self.app = App(self.home, Settings.load(self.home), self.clock)
        self.app.keep_hand_edits()

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self.app.close()

    def put(self, path: str, text: str | bytes, mode: int = 0o644) -> Path:
        place = self.home.skills / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        place.chmod(mode)
        return place

    def text(self, path: str = f"{NAME}/SKILL.md") -> str:
        return (self.home.skills / path).read_bytes().decode()

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """Everything below ``skills/``, hidden files too, by path: mode and bytes."""
        return {
            str(path.relative_to(self.home.skills)): (path.lstat().st_mode, path.read_bytes())
            for path in sorted(self.home.skills.rglob("*"))
            if path.is_file()
        }

    def box(self, author: Author | None = None) -> ToolBox:
        doors = self.app.learning.of(author or self.author)
        return ToolBox({TOOL.name: TOOL}, context(self.root, doors=doors, redact=self.app.redact))

    def call(self, *operations: Mapping[str, Any], author: Author | None = None, **flat: Any) -> ToolOutput:
        """The tool's answer. ``operations`` of one call, or one action with its arguments."""
        return self.to_call(*operations, author=author, **flat)()

    def to_call(
        self, *operations: Mapping[str, Any], author: Author | None = None, **flat: Any
    ) -> Callable[[], ToolOutput]:
        """What makes the call."""
        self.number += 1
        key = f"s1/{self.number}"
        arguments = {"name": NAME, "reason": "it proved wrong", **flat}
        if operations:
            arguments["operations"] = list(operations)
        box = self.box(author)
        prepared = box.prepare(ToolCall(id="c", name=TOOL.name, arguments=json.dumps(arguments)))
        return lambda: box.execute(prepared, lambda _: None, key=key)

    def done(self, *operations: Mapping[str, Any], **flat: Any) -> dict[str, Any]:
        """The answer to a call that must succeed."""
        output = self.call(*operations, **flat)
        assert output.ok, output.text
        found: dict[str, Any] = json.loads(output.text)
        return found

    def refused(self, *operations: Mapping[str, Any], **flat: Any) -> dict[str, Any]:
        """The error of a call that must change nothing."""
        before, head = self.tree(), self.app.snapshots.head()
        output = self.call(*operations, **flat)
        assert not output.ok, output.text
        assert self.tree() == before
        assert self.app.snapshots.head() == head
        error: dict[str, Any] = json.loads(output.text)["error"]
        return error

    def probe(self, key: str) -> Probe:
        skills = self.app.learning.of(self.author).skills
        assert skills is not None
        return skills.probe(key)

    def rows(self) -> list[Learned]:
        with self.app.store.read() as conn:
            return learned.since(conn, NOON)

    def real_run(self) -> str:
        """The id of a run that the store knows."""
        job = Job(name="j", timezone="UTC", prompt="look")
        start = runs.Start(job=job, job_uid=None, actor="test", cause=Cause.PROMPT)
        return self.app.store.write(lambda conn: runs.enqueue(conn, start, self.clock.now()))

    def counted(self, name: str, **labels: str) -> float:
        """A counter's value."""
        with self.app.store.read() as conn:
            rows = conn.execute(select(_counters)).mappings().all()
        return sum(row["value"] for row in rows if row["name"] == name and json.loads(row["labels"]) == labels)

    def as_(self, **more: Any) -> Author:
        """Another author."""
        return Author(**{"actor": "run", "run_id": "r1", "job_name": "j", "session_id": "s1", **more})


PATCH = {"action": "patch", "old": "docker push app", "new": "docker push registry.local/app"}
ABSORB = Learn.ABSORB
