"""What did a run teach, where did each thing go, who looked back at it, and what did people say of it? And what did all
runs of a day teach?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from hermes_cron.domain.learning import Kind, Learned, LearnedState
from hermes_cron.domain.review import ReviewState
from hermes_cron.store import feedback, learned, reviews, usage, views
from hermes_cron.store.feedback import Said

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """Each oldest first. ``reviews`` are rows as ``store.reviews.of_runs`` has them, ``sessions`` those of the run.
    ``compacting``: calls and tokens of those of them that made room in its window."""

    changes: Sequence[Learned] = ()
    reviews: Sequence[Row] = ()
    feedback: Sequence[Said] = ()
    sessions: Sequence[Row] = ()
    compacting: tuple[int, int] = (0, 0)

    def stands(self, kind: Kind) -> tuple[str, ...]:
        """The memory files, or the skills, that hold something of this run now, each once."""
        names = (each.name for each in self.changes if each.kind is kind and each.state is LearnedState.APPLIED)
        return tuple(dict.fromkeys(names))

    @property
    def open_review(self) -> Row | None:
        """One that waits or goes on: what it will teach is not known."""
        return next((row for row in self.reviews if row["ended_at"] is None), None)

    def orphaned(self, lives: Callable[[str], bool]) -> Taught:
        """The same; a review that goes on in the name of somebody who is dead waits for the next scheduler."""
        running = ReviewState.RUNNING.value
        return replace(
            self,
            reviews=[
                row | {"state": ReviewState.QUEUED.value}
                if row["state"] == running and not lives(row["owner"])
                else row
                for row in self.reviews
            ],
        )


def of_run(conn: Connection, run_id: str) -> Taught:
    """What is known now."""
    return Taught(
        changes=learned.of_run(conn, run_id),
        reviews=reviews.of_runs(conn, [run_id]).get(run_id, ()),
        feedback=feedback.of_runs(conn, [run_id]).get(run_id, ()),
        sessions=views.sessions(conn, run_id),
        compacting=usage.compactions(conn, run_id),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What stands of it, by ``Learned.change``: entries of the memory, and skills, each once a word.

    ``proposed`` waits for a person, whenever it was proposed. Reviews that ``failed`` may have missed something, of
    those that are ``open`` nobody knows yet.
    """

    memory: Mapping[str, int] = field(default_factory=dict)
    skills: Mapping[str, int] = field(default_factory=dict)
    proposed: int = 0
    reviews_failed: int = 0
    reviews_open: int = 0

    def __bool__(self) -> bool:
        return bool(self.memory or self.skills or self.proposed or self.reviews_failed or self.reviews_open)


def since(conn: Connection, instant: datetime) -> Day:
    """What was learned from then on."""
    rows = [each for each in learned.since(conn, instant) if each.state is LearnedState.APPLIED]
    memory: Counter[str] = Counter()
    for each in rows:
        if each.kind is Kind.MEMORY:
            memory[each.change] += _entries(each)
    skills = {(each.name, each.change) for each in rows if each.kind is Kind.SKILL}
    failed, waiting = reviews.since(conn, instant)
    return Day(
        memory=dict(memory),
        skills=dict(Counter(change for _, change in skills)),
        proposed=learned.open_proposals(conn),
        reviews_failed=failed,
        reviews_open=waiting,
    )


def _entries(change: Learned) -> int:
    """Those that it wrote, or where it wrote none those that it took away; one at least."""
    plus = sum(line.startswith("+") for line in change.lines)
    return plus or sum(line.startswith("-") for line in change.lines) or 1
