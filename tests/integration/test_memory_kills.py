"""A run that writes into the memory is killed at any of its writes: the entry is there once, told once, in one commit.

The dangerous moment is between the commit in the history and the row of what was learned.
``HERMES_CRON_ALL_KILLS=1`` kills at every write; else at those around that moment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_cron.domain.job import Job, Limits
from hermes_cron.domain.run import Cause
from hermes_cron.home import Home
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.store import learned, runs, views
from hermes_cron.testing import FixedClock, StubServer
from tests.kill_rig import Rig, Zygote, calls, share_their_prefix, until
from tests.snapshots_rig import NOON

WRITES = 6
"""Of the undisturbed run; a test below counts them."""
POINTS = [(number, side) for number in range(1, WRITES + 1) for side in ("before", "after")]
SOME = [(3, "before"), (3, "after"), (4, "before"), (4, "after")]
SCRIPT = {
    "by": "turn",
    "replies": [
        calls(("memory", {"action": "add", "content": "prod is PostgreSQL 15"})),
        {"text": "Noted."},
    ],
}


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


@pytest.fixture
def rig(zygote: Zygote, home: Home, tmp_path: Path) -> Iterator[Rig]:
    stub = StubServer(SCRIPT).start()
    made = Rig(zygote=zygote, home=home, outside=tmp_path / "outside.txt", stub=stub)
    yield made
    made.close()
    stub.stop()


def queue(it: Rig) -> str:
    job = Job(name="j", timezone="UTC", limits=Limits(minutes=5), prompt="do it", tools=("memory",))
    start = runs.Start(job=job, job_uid=None, actor="test", cause=Cause.PROMPT)
    return it.store.write(lambda conn: runs.enqueue(conn, start, it.now()))


def remembered_once(it: Rig, run_id: str) -> None:
    ended = it.settled(run_id)
    assert (ended["state"], ended["reason"]) == ("ok", None), ended
    assert it.asked == set(), "the history knows: nobody is asked"
    assert (it.home.memories / "MEMORY.md").read_text() == "prod is PostgreSQL 15\n"
    with it.store.read() as conn:
        (row,) = learned.of_run(conn, run_id)
        steps = views.steps(conn, run_id)
    assert (row.name, row.change, row.lines) == ("MEMORY.md", "added", ("+ prod is PostgreSQL 15",))
    (commit,) = [it for it in SnapshotRepository(it.home.root, FixedClock(NOON)).log() if it.run == run_id]
    assert (commit.id, commit.call) == (row.after, row.key)
    assert all(step["result_bytes"] is not None for step in steps if step["step"] == "tool")
    share_their_prefix(it.stub.bodies)


@pytest.mark.parametrize(("write", "side"), POINTS if os.environ.get("HERMES_CRON_ALL_KILLS") == "1" else SOME)
def test_killed_at_a_write_and_started_again(rig: Rig, write: int, side: str) -> None:
    run_id = queue(rig)
    first = rig.serve(write=write, side=side)
    until(lambda: rig.gone(first), "the scheduler died")
    rig.serve()
    remembered_once(rig, run_id)


def test_the_writes_are_as_many_as_are_killed(rig: Rig) -> None:
    run_id = queue(rig)
    first = rig.serve(write=WRITES + 1)
    remembered_once(rig, run_id)
    assert not rig.gone(first)
