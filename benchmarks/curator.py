"""How long does the curator plan over a thousand skills, with what it reads for that, and without?

The thousand are ``tests.skill_probes``: different skills, so that looking for what is there twice has all its work. A
tenth of them is there a second time with a few words changed. All were learned and out of use for a month.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import rig
from benchmarks.figures import Figure, spread
from hermes_cron.experience.curation import Home, Move, plan
from hermes_cron.experience.lifecycle import Origin
from hermes_cron.settings import Settings
from hermes_cron.testing import FixedClock
from hermes_cron.wiring import App
from tests.skill_probes import write_library

TIMES = 5
TWICE = 10
"""Every so many skills one has a twin."""
NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)


def run() -> list[Figure]:
    with rig.fresh_home() as home:
        write_library(home.skills)
        twins = _twins(home.skills)
        rig.write_jobs(home, 200, rig.far_future)
        clock = FixedClock(NOW)
        app = App(home, Settings.load(home), clock)
        try:
            app.keep_hand_edits()
            clock.advance(timedelta(days=40))
            read = [_ms(app.curator.plan) for _ in range(TIMES)]
            facts = app.curator.plan().home
        finally:
            app.close()
    learned = replace(facts, skills=tuple(replace(it, origin=Origin.LEARNED, jobs=()) for it in facts.skills))
    pure = [_ms(lambda: plan(learned)) for _ in range(TIMES)]
    found = _found(learned)
    return [
        Figure(name=f"plan over {len(learned.skills):,} skills", value=sorted(pure)[TIMES // 2] / 1000, unit="s",
               limit=1.0, note=spread([each / 1000 for each in pure])),
        Figure(name="  with reading skills, jobs, store and history", value=sorted(read)[TIMES // 2] / 1000, unit="s",
               limit=5.0, note=f"{spread([each / 1000 for each in read])}; 200 jobs"),
        Figure(name="  skills out of use that it found", value=found[Move.STALE], unit="", floor=len(learned.skills)),
        Figure(name="  twins that it found", value=found[Move.MERGE] / twins, unit="", floor=0.95,
               note=f"{found[Move.MERGE]} of {twins}"),
    ]  # fmt: skip


def _found(home: Home) -> dict[Move, int]:
    """Of merges only those of twins: among the probes' own skills some are nearly the same, too."""
    moves = [it.kind for it in plan(home) if it.kind is not Move.MERGE or f"{it.skill}{it.into}".count("-again") == 1]
    return {move: moves.count(move) for move in Move}


def _twins(root: Path) -> int:
    """The same text under another name, with a sentence more."""
    made = 0
    for number, skill in enumerate(sorted(root.glob("*/*/SKILL.md"))):
        if number % TWICE == 0:
            name = skill.parent.name
            twin = skill.parent.with_name(f"{name}-again") / "SKILL.md"
            twin.parent.mkdir()
            text = skill.read_text(encoding="utf-8").replace(f"name: {name}", f"name: {name}-again", 1)
            twin.write_text(f"{text.rstrip()}\nThen look once more.\n", encoding="utf-8")
            made += 1
    return made


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
