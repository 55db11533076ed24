"""A run that is killed while its transcript is compacted goes on with one valid view, and nothing is done twice.

``HERMES_CRON_ALL_KILLS=1`` kills before and after every write of the first compaction; else at some of them.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_cron.domain.compaction import How, sent, unpaired
from hermes_cron.domain.job import Job, Limits
from hermes_cron.domain.learning import Learn
from hermes_cron.domain.run import Cause
from hermes_cron.home import Home
from hermes_cron.store import runs, views
from hermes_cron.store.journal import transcript_of
from hermes_cron.testing import StubServer
from tests.compaction_rig import SUMMARY
from tests.conftest import clean_env
from tests.kill_rig import Rig, Zygote, calls, until

TASK = "tick until it is enough"
ENDS_AT = 40
TICK = """
from pathlib import Path
from hermes_cron.tools.declaration import Arguments, Tool

OUTSIDE = Path({outside!r})

class Tick(Arguments):
    n: str = ""

def tick(arguments, context):
    with OUTSIDE.open("a") as file:
        file.write("tick\\n")
    count = len(OUTSIDE.read_text().splitlines())
    return f"tick {{count}} " + ". " * 300 + ("ENOUGH" if count >= {ends_at} else "")

TOOL = Tool(name="tick", toolset="test", description="Ticks.", arguments=Tick, handler=tick)
"""
CONFIG = """
[model]
window = 8_000
auxiliary = "aux"
[compaction]
keep_tail = 4
[learning]
memory_turns = 0
skill_iterations = 0
"""
FACT = "prod ticks every second"
SCRIPT = {
    "conversations": [
        {
            "model": "aux",
            "contains": "You keep the memory of an agent",
            "by": "turn",
            "replies": [calls(("memory", {"action": "add", "content": FACT})), {"text": "saved"}],
        },
        {"model": "aux", "replies": [{"text": SUMMARY, "repeat": True}]},
        {"contains": "ENOUGH", "replies": [{"text": "It is enough.", "repeat": True}]},
    ],
    "replies": [{"repeat": True, "usage": None, "tool_calls": [{"name": "tick", "arguments": {"n": "{{n}}"}}]}],
}
WRITES = 8
"""Of one compaction; a test below counts them: the flush's session, its call, what is learned, the receipt, its last
word; the summary's session, the summary, the row."""
POINTS = [(number, side) for number in range(WRITES) for side in ("before", "after")]
LOST = {(1, "before"): "flush", (4, "before"): "flush", (6, "before"): "summary"}
"""Kills after an answer came and before it was kept: it is asked for again, and nothing else is."""
ALL = os.environ.get("HERMES_CRON_ALL_KILLS") == "1"
CHOSEN = POINTS if ALL else sorted({*random.Random(5).sample(POINTS, 3), (WRITES - 2, "after"), (WRITES - 1, "before")})


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


@pytest.fixture
def rig(zygote: Zygote, home: Home, tmp_path: Path) -> Iterator[Rig]:
    home.config.write_text(home.config.read_text() + CONFIG)
    with StubServer(SCRIPT) as stub:
        made = Rig(zygote=zygote, home=home, outside=tmp_path / "outside.txt", stub=stub)
        (home.tools / "tick.py").write_text(TICK.format(outside=str(made.outside), ends_at=ENDS_AT))
        yield made
        made.close()


def queue(it: Rig) -> str:
    limits = Limits(minutes=5, iterations=200)
    job = Job(name="j", timezone="UTC", limits=limits, prompt=TASK, tools=("tick", "memory"), learn=Learn.OFF)
    start = runs.Start(job=job, job_uid=None, actor="test", cause=Cause.PROMPT)
    return it.store.write(lambda conn: runs.enqueue(conn, start, it.now()))


def serve(it: Rig, **more: object) -> int:
    env = clean_env({"OPENAI_BASE_URL": it.stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "stub"})
    pid = it.zygote.fork(home=str(it.home.root), env=env, **more)
    it.pids.append(pid)
    return pid


def of_first_compaction(log: Path) -> range:
    """Numbers of its writes among those of the run."""
    names = log.read_text().splitlines()
    return range(names.index("side") + 1, names.index("compact") + 2)


def as_if_nothing_had_happened(it: Rig, run_id: str, *, lost: str | None = None) -> None:
    """``lost``: which kind of session beside the run lost an answer that was on its way into the journal."""
    ended = it.settled(run_id)
    assert (ended["state"], ended["reason"]) == ("ok", None), ended
    assert (it.home.root / ended["output_path"]).read_text().strip() == "It is enough."
    assert (it.home.memories / "MEMORY.md").read_text().count(FACT) == 1
    with it.store.read() as conn:
        (main,) = (row["id"] for row in views.sessions(conn, run_id) if row["kind"] == "main")
        rows = transcript_of(conn, main)
    made = [row.covers for row in rows if row.how is How.SUMMARY]
    assert len(made) >= 2
    assert all(before[0] == after[0] and before[1] < after[1] for before, after in itertools.pairwise(made))
    assert unpaired(each.message for each in sent(rows)) is None
    places = [(each.first, each.last) for each in sent(rows)]
    assert [seq for first, last in places for seq in range(first, last + 1) if (first, last) != (seq, seq)] == list(
        range(made[0][0], made[-1][1] + 1)
    )
    for request in it.stub.requests:
        messages = request.messages[1:]
        assert unpaired(messages) is None
        if request.json()["model"] == "stub":
            assert TASK in messages[0]["content"]
    assert asked(it, "You shorten the record") == len(made) + (lost == "summary")
    assert asked(it, "You keep the memory") == 2 * len(made) + (lost == "flush")


def asked(it: Rig, order: str) -> int:
    """How often, with this system prompt."""
    return sum(order in request.messages[0]["content"] for request in it.stub.requests)


def test_the_undisturbed_run(rig: Rig, tmp_path: Path) -> None:
    run_id = queue(rig)
    serve(rig, log=str(tmp_path / "writes"))
    as_if_nothing_had_happened(rig, run_id)
    assert len(of_first_compaction(tmp_path / "writes")) == WRITES
    with rig.store.read() as conn:
        kinds = [row["kind"] for row in views.sessions(conn, run_id)]
    assert kinds == ["main", *["flush", "summary"] * asked(rig, "You shorten the record")]


@pytest.fixture(scope="module")
def first_write(tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> int:
    """The number of the first write of the first compaction, from a run that is left alone."""
    folder = tmp_path_factory.mktemp("counted")
    home = Home(folder / "home")
    for part in (home.root, home.jobs, home.skills, home.memories, home.run, home.owners):
        part.mkdir(parents=True, exist_ok=True)
    home.config.write_text('timezone = "UTC"\n' + CONFIG)
    with StubServer(SCRIPT) as stub:
        it = Rig(zygote=zygote, home=home, outside=folder / "outside.txt", stub=stub)
        (home.tools / "tick.py").write_text(TICK.format(outside=str(it.outside), ends_at=ENDS_AT))
        run_id = queue(it)
        serve(it, log=str(folder / "writes"))
        it.settled(run_id)
        it.close()
    return of_first_compaction(folder / "writes").start


@pytest.mark.parametrize(("write", "side"), CHOSEN)
def test_killed_at_a_write_of_a_compaction(rig: Rig, first_write: int, write: int, side: str) -> None:
    run_id = queue(rig)
    first = serve(rig, write=first_write + write, side=side)
    until(lambda: rig.gone(first), "the scheduler died")
    serve(rig)
    as_if_nothing_had_happened(rig, run_id, lost=LOST.get((write, side)))
    assert rig.row(run_id)["fence"] == 2
