"""A home with a past: what a run changed, what a person edited, at chosen times."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from hermes_cron.cli.main import run
from hermes_cron.home import Home
from hermes_cron.snapshots.held import Remove, Write
from hermes_cron.snapshots.repository import SnapshotRepository, Why
from hermes_cron.testing import FixedClock
from tests.conftest import Ran, clean_env

BEGIN = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
SKILL = "skills/db/tidy/SKILL.md"
LINES = "---\nname: tidy\ndescription: tidy up\n---\none\ntwo\nthree\nfour\nfive\nsix\nseven\n"
JOB = "---\nschedule: every day 9am\ntimezone: Asia/Shanghai\n---\nlook around\n"

_ID = re.compile(r"\b[0-9a-f]{7}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{64}\b")


@dataclass
class Past:
    """Each change is a minute after the one before. The first snapshot has a job, a skill and an empty memory."""

    home: Home
    clock: FixedClock = field(default_factory=lambda: FixedClock(BEGIN))

    def __post_init__(self) -> None:
        self.snapshots = SnapshotRepository(self.home.root, self.clock)
        self.put(SKILL, LINES)
        self.put("jobs/daily.md", JOB)
        self.first = self.by_hand("first")

    def put(self, path: str, text: str | None) -> None:
        """A file of the home as an editor writes it; None removes it."""
        place = self.home.root / path
        if text is None:
            place.unlink()
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def text(self, path: str = SKILL) -> str:
        return (self.home.root / path).read_text(encoding="utf-8")

    def by_hand(self, reason: str = "edited by hand", by: str | None = None) -> str:
        """Keep what was put; the commit's id."""
        made = self.snapshots.create(Why(actor="user", reason=reason, by=by))
        self.clock.advance(timedelta(minutes=1))
        return made.newest.id

    def by_run(self, run: str, edits: dict[str, str | None], reason: str = "learned a pitfall") -> str:
        """As a run changes the home; the commit's id."""
        wanted = {path: Remove() if text is None else Write(data=text.encode()) for path, text in edits.items()}
        made = self.snapshots.change(Why(actor="run", reason=reason, run=run, job="daily"), wanted)
        self.clock.advance(timedelta(minutes=1))
        assert made.after is not None
        return made.after.id


def tree_sha(home: Home) -> str:
    """Over path, mode and bytes of all that snapshots are of; not how the program computes it."""
    whole = hashlib.sha256()
    roots = [home.config, *(path for top in (home.jobs, home.skills, home.memories) for path in top.rglob("*"))]
    for path in sorted(roots):
        if path.is_file() or path.is_symlink():
            data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            whole.update(repr((str(path.relative_to(home.root)), path.lstat().st_mode, data)).encode())
    return whole.hexdigest()


def masked(text: str) -> str:
    """Ids and hashes as one sign for each digit, so that columns stay."""
    return _ID.sub(lambda found: "#" * min(len(found[0]), 8), text)


def in_process(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """As ``run_cli``, without a process for each command: most of a second."""
    for name in ("LC_ALL", "LC_MESSAGES", "HERMES_CRON_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def call(*argv: str, env: Mapping[str, str] | None = None) -> Ran:
        for name, value in clean_env({"HERMES_CRON_HOME": str(home.root), **(env or {})}).items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = run(argv)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call
