"""A home with two skills that are nearly one, a shelf of files beside each, and jobs that name them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from hermes_cron.domain.job import Job
from hermes_cron.domain.run import TakenRun
from hermes_cron.experience.curation import Intended, Move
from hermes_cron.store import runs, takes
from tests.skill_rig import Rig

RADAR, BRIEFING = "news/radar", "news/briefing"
RADAR_BODY = """\

# Radar

## When to use

What is new is wanted.

## Steps

1. Read `references/sources.md`, then run scripts/fetch.sh.
2. Fill `templates/page.md`.

## Pitfalls

- The feed is slow before seven.
"""
BRIEFING_BODY = """\

# Briefing

## When to use

A morning needs a page.

## Steps

1. Read `references/sources.md`.

## Pitfalls

- Numbers want a unit.
"""
SUPPORT = {
    "references/sources.md": b"radar: feeds\n",
    "references/limits.md": b"100 lines\n",
    "templates/page.md": b"# {{title}}\n",
    "scripts/fetch.sh": b"#!/bin/sh\ncat references/sources.md\n",
    "assets/logo.png": b"\x89PNG\0\xff",
}


def job(skills: str, *more: str) -> str:
    lines = "".join(f"{line}\n" for line in more)
    return f"---\nschedule: every day 9am\ntimezone: UTC\nskills: {skills}\n{lines}---\nWhat is new?\n"


def skill(name: str, body: str) -> str:
    return (
        f"---\nname: {name}\ndescription: Does the {name}. Use in the morning.\nmetadata:\n"
        f'  version: "1.4"\n---\n{body}'
    )


class Curated(Rig):
    """``radar`` and ``briefing``, and three jobs; one of them is paused."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.made:
            return
        self.put(f"{RADAR}/SKILL.md", skill("radar", RADAR_BODY))
        for path, data in SUPPORT.items():
            self.put(f"{RADAR}/{path}", data, 0o755 if path.endswith(".sh") else 0o644)
        self.put(f"{BRIEFING}/SKILL.md", skill("briefing", BRIEFING_BODY))
        self.put(f"{BRIEFING}/references/sources.md", "briefing: papers\n")
        self.job("j1", job("[radar]"))
        self.job("j2", job("[flask-deploy, news/radar, briefing] # ours", "paused: by me"))
        self.job("j3", job("[flask-deploy]"))
        self.app.keep_hand_edits()
        self.app.sync_jobs(actor="test")

    def job(self, name: str, text: str) -> Path:
        place = self.home.jobs / f"{name}.md"
        place.write_text(text, encoding="utf-8")
        return place

    def job_text(self, name: str) -> str:
        return (self.home.jobs / f"{name}.md").read_text(encoding="utf-8")

    def everything(self) -> dict[str, bytes]:
        """Files of skills and jobs, by path."""
        return {
            str(path.relative_to(self.home.root)): path.read_bytes()
            for top in (self.home.skills, self.home.jobs)
            for path in sorted(top.rglob("*"))
            if path.is_file()
        }

    def hashed(self) -> str:
        return sha256(repr(self.everything()).encode()).hexdigest()

    def apply(self, *intended: Intended, key: str = "r1/0") -> Any:
        return self.app.curator.apply(intended, key=key, reason="tidy up", run="r1", job="nightly-curator")

    def taken(self, name: str = "nightly-curator") -> TakenRun:
        """A run of the curator's job that this process owns."""
        start = runs.Start(job=Job(name=name, timezone="UTC", action="curate"), job_uid=None, actor="test")
        now = self.clock.now()

        def work(conn: Connection) -> TakenRun | None:
            return takes.take_run(conn, runs.enqueue(conn, start, now), "tester", now)

        taken = self.app.store.write(work)
        assert taken is not None
        return taken


def merge(source: str = RADAR, into: str = BRIEFING, **details: Any) -> Intended:
    return Intended(kind=Move.MERGE, skill=source, into=into, why="nearly the same", asks=True, details=details)
