"""Cases of the area curator whose fault was in the counting of use, or in what was taken for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_cron.domain.run import RunState
from tests.curator_rig import DAY, NOON, Rig

CASES = {
    case["id"]: case
    for line in (Path(__file__).parent / "data" / "curator.jsonl").read_text(encoding="utf-8").splitlines()
    if (case := json.loads(line))
}
DONE = {"text": "done"}
ACT = {"tool_calls": [{"name": "now", "arguments": {}}]}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path) as made:
        yield made


def test_c154_a_skill_that_only_scheduled_runs_use_is_active_also_after_its_job_is_gone(rig: Rig) -> None:
    """Loading in a run is use: 40 days of runs, then no job protects it any more."""
    name = CASES["C154"]["input"]["skill"]
    rig.learned(f"ops/{name}")
    rig.learned("ops/unused")
    job = f"---\nschedule: every day 9am\nmodel: m\nskills: [{name}]\n---\ncompute it\n"
    for _ in range(40):
        rig.clock.advance(DAY)
        assert rig.ran(job, [ACT, DONE]).state is RunState.OK
        rig.night()
    facts = next(it for it in rig.app.curator.plan().home.skills if it.called == name)
    assert (facts.activity, facts.jobs, facts.exempt) == (rig.clock.now(), (), None)
    assert (rig.there(), rig.stale(), rig.archived()) == ([f"ops/{name}"], [], ["ops/unused"])
    rig.clock.advance(13 * DAY)
    assert rig.night().moves == {}
    rig.clock.advance(DAY)
    assert rig.night().moves == {"stale done": [f"ops/{name}"]}


def test_c156_a_job_that_had_nothing_to_do_for_120_days_protects_its_skill(rig: Rig) -> None:
    rig.learned("ops/s")
    rig.job("quiet", "---\nschedule: every day 9am\nskills: [s]\n---\nonly if there is something\n")
    for _ in range(12):
        rig.clock.advance(10 * DAY)
        assert rig.night().moves == {}
    assert (rig.there(), rig.stale(), rig.archived()) == (["ops/s"], [], [])


def test_c158_a_skill_that_was_patched_yesterday_and_never_loaded_is_active(rig: Rig) -> None:
    rig.learned("ops/s")
    rig.learned("ops/other")
    rig.clock.advance(59 * DAY)
    rig.patched("ops/s")
    rig.clock.advance(DAY)
    assert rig.night().moves == {"stale done": ["ops/other"]}
    facts = next(it for it in rig.app.curator.plan().home.skills if it.called == "s")
    assert (facts.record.used_at, facts.activity) == (None, NOON + 59 * DAY)


def test_c160_a_new_skill_without_a_use_gets_the_whole_grace(rig: Rig) -> None:
    rig.clock.advance(365 * DAY)  # of a home that is old
    rig.learned("ops/new")
    for spent in (timedelta(hours=2), 7 * DAY, 14 * DAY - timedelta(seconds=1)):
        rig.clock.set(NOON + 365 * DAY + spent)
        assert rig.night().moves == {}
    assert rig.there() == ["ops/new"]
