"""Skills that good runs use together are proposed as one workflow, which refers to them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from hermes_cron.experience.composition import Together, composed
from hermes_cron.experience.lifecycle import Origin, SkillFacts
from hermes_cron.experience.skill_lint import lint
from hermes_cron.store.tables import SkillUseRow
from tests.curator_rig import NOON, Rig

_uses = SkillUseRow.__table__  # type: ignore[attr-defined]  # SQLModel's table


def fact(name: str, description: str = "") -> SkillFacts:
    short = name.rpartition("/")[2]
    return SkillFacts(
        name=name, called=short, origin=Origin.LEARNED, created=NOON, changed=NOON,
        description=description or f"Does {short}.",
    )  # fmt: skip


SKILLS = [fact(f"g/{name}") for name in "abcd"]


def runs(*used: tuple[str, int]) -> list[Together]:
    return [Together(run=f"{names}{n}", skills=tuple(names)) for names, times in used for n in range(times)]


def sets(*used: tuple[str, int], workflows: dict[str, frozenset[str]] | None = None) -> list[tuple[str, ...]]:
    found = composed(SKILLS, runs(*used), workflows or {})
    return [tuple(name.rpartition("/")[2] for name in it.parts) for it in found]


@pytest.mark.parametrize(
    ("used", "found"),
    [
        ([("ab", 5)], [("a", "b")]),
        ([("ab", 4)], []),
        ([("a", 20), ("b", 20)], []),
        ([("ba", 5), ("ab", 2)], [("b", "a")]),  # in the order of most of them
        ([("abc", 5)], [("a", "b", "c")]),  # the largest set, not each pair of it
        ([("abc", 3), ("abd", 2)], [("a", "b")]),  # what they have alike
        ([("abc", 5), ("ad", 5)], [("a", "b", "c"), ("a", "d")]),
        ([("ax", 9)], []),  # one that is no skill any more
        ([("aab", 5)], [("a", "b")]),
    ],
)
def test_what_is_proposed(used: list[tuple[str, int]], found: list[tuple[str, ...]]) -> None:
    assert sets(*used) == found


def test_what_is_a_workflow_already_is_not_made_again_and_no_part_of_another(tmp_path: Path) -> None:
    assert sets(("ab", 9), workflows={"w/ab": frozenset({"g/a", "g/b"})}) == []
    assert sets(("ab", 9), workflows={"w/abc": frozenset({"g/a", "g/b", "g/c"})}) == []
    assert sets(("ab", 9), workflows={"g/a": frozenset({"g/c", "g/d"})}) == []


def test_the_skill_keeps_the_standard_and_refers_to_its_parts(tmp_path: Path) -> None:
    skills = [fact("ops/build-image", 'Builds: an "image".\nUse #1.'), fact("ops/roll-out", "滚动发布。" * 90)]
    (it,) = composed(
        skills, runs(("x", 0)) + [Together(run=str(n), skills=("build-image", "roll-out")) for n in range(5)], {}
    )
    text = it.details["operations"][0]["content"]
    folder = tmp_path / "build-image-then-roll-out"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text, encoding="utf-8")

    assert it.skill == "workflows/build-image-then-roll-out"
    assert lint(folder, lambda *_: None) == []
    assert "1. Read the skill ops/build-image with skill_view" in text
    assert "2. Read the skill ops/roll-out with skill_view" in text
    assert it.asks


@pytest.mark.parametrize("names", [("a" * 64, "b" * 64), ("A_b", "c.d"), ("x" * 30, "y" * 30, "z" * 30)])
def test_its_name_is_one_that_a_skill_may_have(names: tuple[str, ...]) -> None:
    from hermes_cron.experience.skill_ops import refuse_name

    skills = [fact(f"g/{name}") for name in names]
    (it,) = composed(skills, [Together(run=str(n), skills=names) for n in range(5)], {})
    refuse_name(it.skill.rpartition("/")[2])


def test_many_sets_take_no_time() -> None:
    import random
    import time

    rng = random.Random(7)
    skills = [fact(f"g/s{n}") for n in range(1000)]
    many = [Together(run=str(n), skills=tuple(f"s{rng.randrange(1000)}" for _ in range(6))) for n in range(2000)]
    began = time.perf_counter()
    composed(skills, many, {})
    assert time.perf_counter() - began < 5


# --- on a home --------------------------------------------------------------------------------------------------------


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path) as made:
        made.learned("ops/build")
        made.learned("ops/rollout")
        made.learned("ops/other")
        yield made


def used(rig: Rig, *names: str, times: int, well: bool | None = True) -> None:
    def work(conn: Any) -> None:
        for _ in range(times):
            rig.number += 1
            for name in names:
                row = {"skill": name, "kind": "use", "run_id": f"u{rig.number}", "key": "", "at": NOON, "well": well}
                conn.execute(insert(_uses), row)

    rig.app.store.write(work)


def test_five_good_runs_with_two_skills_are_named_and_a_yes_makes_the_workflow(rig: Rig) -> None:
    used(rig, "build", "rollout", times=5)
    used(rig, "build", "other", times=9, well=False)
    night = rig.night()

    assert night.moves["create proposed"] == ["workflows/build-then-rollout"]
    assert "ops/build, ops/rollout were used together in 5 runs that went well" in night.outcome.text
    (asked,) = rig.app.runs.approvals()
    rig.app.runs.approve(asked.id, by="ann")

    skill = rig.app.skills_now().get("build-then-rollout")
    assert skill.fault is None
    assert "Read the skill ops/build with skill_view" in skill.body
    rig.clock.advance(timedelta(hours=1))
    assert "create proposed" not in rig.night().moves  # it is there now


def test_four_good_runs_are_too_few(rig: Rig) -> None:
    used(rig, "build", "rollout", times=4)
    used(rig, "build", "rollout", times=3, well=None)
    assert "create proposed" not in rig.night().moves


def test_a_part_that_is_gone_makes_no_workflow(rig: Rig) -> None:
    used(rig, "build", "rollout", times=5)
    rig.night()
    (asked,) = rig.app.runs.approvals()
    import shutil

    from hermes_cron.errors import Conflict

    shutil.rmtree(rig.home.skills / "ops/build")
    with pytest.raises(Conflict, match="no skill 'ops/build'"):
        rig.app.runs.approve(asked.id, by="ann")
