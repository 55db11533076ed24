"""Nights of a curator whose auxiliary model plays what a test gave it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from hermes_cron.domain.learning import Learned
from hermes_cron.domain.transcript import ModelRequest
from hermes_cron.store import counters, learned
from hermes_cron.store.approvals import Approval
from hermes_cron.store.tables import CounterRow
from hermes_cron.testing import ScriptedModel
from tests.curator_rig import NOON, Night, Rig

_counters = CounterRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
MODEL = '[model]\nname = "main-model"\nauxiliary = "aux-model"\n'
BODY = """\
## When to use

{use}

## Steps

1. Read `references/{name}.md`.
2. {do}

## Pitfalls

- {pitfall}
"""


def body(name: str, do: str = "Do it.", pitfall: str = "It takes a while.") -> str:
    return BODY.format(use=f"{name} is wanted.", name=name, do=do, pitfall=pitfall)


def answer(*proposals: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": json.dumps({"proposals": list(proposals)})}


def merge(skill: str = "news/radar", into: str = "news/briefing", **more: str) -> dict[str, Any]:
    return {"action": "merge", "skill": skill, "into": into, "reason": "They do the same.", **more}


def archive(skill: str) -> dict[str, Any]:
    return {"action": "archive", "skill": skill, "reason": "Nobody needs it."}


def patch(skill: str, old: str, new: str) -> dict[str, Any]:
    return {"action": "patch", "skill": skill, "old": old, "new": new, "reason": "It says it twice."}


@dataclass
class Second(Rig):
    """``radar``, ``briefing`` and ``backup``, learned by runs; a job names ``radar``."""

    config: str = MODEL
    new: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.new:
            return
        for name, do, pitfall, file in (
            ("news/radar", "Fetch.", "It takes a while.", "feeds\n"),
            ("news/briefing", "Write it.", "A unit.", "papers\n"),
            ("ops/backup", "Dump.", "It takes a while.", "disks\n"),
        ):
            short = name.rpartition("/")[2]
            self.learned(name, body(short, do, pitfall), **{f"references__{short}.md": file})
        self.job("j1", "---\nschedule: every day 9am\ntimezone: UTC\nskills: [radar]\n---\nWhat is new?\n")
        self.app.keep_hand_edits()
        self.app.sync_jobs(actor="test")

    def plays(self, *replies: Any, **arguments: Any) -> Night:
        """A night in which the model answers so."""
        self.app.model = ScriptedModel(list(replies))
        return self.night(**arguments)

    @property
    def seen(self) -> list[ModelRequest]:
        """The requests that the model got."""
        return list(self.app.model.requests)

    def rows(self) -> list[Learned]:
        with self.app.store.read() as conn:
            return [row for row in learned.since(conn, NOON) if row.actor == "curator"]

    def questions(self) -> list[Approval]:
        return self.app.runs.approvals()

    def counted(self, conn: Connection) -> dict[tuple[str, str], float]:
        """What the curator's counter says, by action and outcome."""
        rows = conn.execute(select(_counters).where(_counters.c.name == counters.CURATOR)).mappings()
        labels = [(json.loads(row["labels"]), row["value"]) for row in rows]
        return {(it["action"], it["outcome"]): value for it, value in labels}

    def text(self, skill: str) -> str:
        return (self.home.skills / skill / "SKILL.md").read_text(encoding="utf-8")

    def set(self, text: str) -> None:
        """Settings from now on."""
        self.home.config.write_text(f'timezone = "UTC"\n{MODEL}{text}', encoding="utf-8")

    def said(self, night: Night) -> str:
        return "\n".join(night.record["said"])


__all__ = ["NOON", "Night", "Second", "answer", "archive", "body", "merge", "patch"]
