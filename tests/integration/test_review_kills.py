"""A look back at a run survives its process: killed anywhere, the next scheduler goes on and nothing is kept twice.

``HERMES_CRON_ALL_KILLS=1`` kills at every write of the look back, before and after its commit; else some are chosen.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import select

from hermes_cron.clock import SystemClock
from hermes_cron.domain.job import Job, Limits
from hermes_cron.domain.run import Cause
from hermes_cron.home import Home
from hermes_cron.store import runs
from hermes_cron.store.tables import LearnedRow, ReviewRow, RunRow, SessionRow
from hermes_cron.testing import StubServer
from tests.kill_rig import Schedulers, Zygote, calls, chosen, share_their_prefix, until

WRITES = 9
"""Of the undisturbed look back: its session, two calls (asked, written down, answered), its last word, its end."""
POINTS = [(number, side) for number in range(1, WRITES + 1) for side in ("before", "after")]
FACTS = ["the registry is r.example:5000", "reports are read on a phone"]
MARK = "You look back at one run"


def script(delay_ms: int = 0) -> dict[str, Any]:
    kept = [calls(("memory", {"action": "add", "content": fact})) | {"delay_ms": delay_ms} for fact in FACTS]
    return {
        "conversations": [
            {"contains": MARK, "by": "turn", "replies": [*kept, {"text": "Kept two facts.", "delay_ms": delay_ms}]},
            {"by": "turn", "replies": [{"text": "All of it is done."}]},
        ]
    }


@dataclass(kw_only=True)
class Rig(Schedulers):
    threads: tuple[str, ...] = ("review-",)

    def __post_init__(self) -> None:
        self.home.config.write_text('timezone = "UTC"\n[learning]\nmemory_turns = 1\nskill_iterations = 0\n')
        super().__post_init__()

    def queue(self) -> str:
        job = Job(name="j", timezone="UTC", prompt="do it", tools=("now",), limits=Limits(minutes=5))
        start = runs.Start(job=job, job_uid=None, actor="test", cause=Cause.PROMPT)
        return self.store.write(lambda conn: runs.enqueue(conn, start, SystemClock().now()))

    def rows(self, table: Any) -> list[dict[str, Any]]:
        with self.store.read() as conn:
            return [dict(row) for row in conn.execute(select(table.__table__)).mappings()]

    def review(self) -> dict[str, Any] | None:
        found = self.rows(ReviewRow)
        assert len(found) <= 1
        return found[0] if found else None

    def ended(self) -> dict[str, Any]:
        until(lambda: (it := self.review()) and it["ended_at"], "the look back ended", say=lambda: str(self.review()))
        row = self.review()
        assert row is not None
        return row

    def asked(self) -> list[bytes]:
        return [body for body in self.stub.bodies if MARK.encode() in body]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


Make = Callable[..., Rig]


@pytest.fixture
def rig(zygote: Zygote, home: Home) -> Iterator[Make]:
    made: list[Rig] = []

    def make(delay_ms: int = 0) -> Rig:
        made.append(Rig(zygote=zygote, home=home, stub=StubServer(script(delay_ms)).start()))
        return made[-1]

    yield make
    for each in made:
        each.close()
        each.stub.stop()


def as_if_nothing_had_happened(it: Rig, *, more_calls: int) -> None:
    row = it.ended()
    assert (row["state"], row["reason"], row["iterations"]) == ("ok", None, 3), row
    memory = (it.home.memories / "MEMORY.md").read_text()
    assert [memory.count(fact) for fact in FACTS] == [1, 1], memory
    learned = it.rows(LearnedRow)
    assert [(each["actor"], each["review"], each["state"]) for each in learned] == [("review", 1, "applied")] * 2
    assert len({each["key"] for each in learned}) == 2
    assert [each["kind"] for each in it.rows(SessionRow)].count("review") == 1, "one session, gone on with"
    (run,) = it.rows(RunRow)
    assert (run["state"], run["fence"]) == ("ok", 1), "the run has ended long ago"
    assert len(it.asked()) <= 3 + more_calls
    share_their_prefix(it.asked())


def test_the_undisturbed_look_back(rig: Make) -> None:
    it = rig()
    it.queue()
    first = it.serve(write=WRITES + 1)
    as_if_nothing_had_happened(it, more_calls=0)
    assert not it.gone(first), "there are as many writes as are killed"


@pytest.mark.parametrize(("write", "side"), chosen(POINTS, 3, 6))
def test_killed_at_a_write_and_started_again(rig: Make, write: int, side: str) -> None:
    it = rig()
    it.queue()
    first = it.serve(write=write, side=side)
    until(lambda: it.gone(first), "the scheduler died")
    it.serve()
    as_if_nothing_had_happened(it, more_calls=1)


@pytest.mark.parametrize(("write", "side"), chosen(POINTS, 5, 2))
def test_killed_at_a_write_while_another_scheduler_lives(rig: Make, write: int, side: str) -> None:
    it = rig()
    it.queue()
    first = it.serve(write=write, side=side)
    until(lambda: it.gone(first) or it.review() is not None, "the look back is queued")
    it.serve()
    until(lambda: it.gone(first), "the scheduler died")
    died = time.monotonic()
    as_if_nothing_had_happened(it, more_calls=1)
    assert time.monotonic() - died < 2 + 5  # five for a machine that does much else


def test_a_stop_gives_it_up_and_the_next_scheduler_goes_on(rig: Make) -> None:
    it = rig(delay_ms=400)
    it.queue()
    first = it.serve()
    until(it.asked, "it has begun")
    os.kill(first, signal.SIGTERM)
    until(lambda: it.gone(first), "the scheduler ended")
    left = it.review()
    assert left is not None
    assert (left["state"], left["owner"], left["takeovers"], left["ended_at"]) == ("queued", None, 0, None)
    it.serve()
    as_if_nothing_had_happened(it, more_calls=0)
