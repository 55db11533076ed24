"""Phase 1 as a value: what is there twice, in which order, and that equal facts are equal plans."""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hermes_cron.domain.skill_use import SkillRecord
from hermes_cron.domain.words import words
from hermes_cron.experience.alike import pairs
from hermes_cron.experience.curation import Home, Intended, JobFacts, Move, dumped, loaded, plan
from hermes_cron.experience.lifecycle import Origin, SkillFacts

NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)
TEXT = "First build the image, then push it to the registry, then roll it out and watch the pods until all are ready."


def skill(name: str, text: str = "", *, days: float = 1, uses: int = 0, **more: Any) -> SkillFacts:
    made = NOW - timedelta(days=days)
    record = SkillRecord(uses=uses, used_at=NOW if uses else None)
    facts = {"origin": Origin.LEARNED, "record": record, **more}
    return SkillFacts(name=name, called=name, created=made, changed=made, text=text or f"About {name} alone.", **facts)


def planned(*skills: SkillFacts, jobs: tuple[JobFacts, ...] = ()) -> list[tuple[str, str, str | None]]:
    return [(it.kind.value, it.skill, it.into) for it in plan(Home(now=NOW, skills=skills, jobs=jobs))]


def test_the_one_that_is_used_less_goes_into_the_other() -> None:
    assert planned(skill("a", TEXT, uses=1), skill("b", TEXT, uses=5)) == [("merge", "a", "b")]
    assert planned(skill("a", TEXT, uses=5), skill("b", TEXT, uses=1)) == [("merge", "b", "a")]


def test_of_equals_the_older_one_stays() -> None:
    assert planned(skill("a", TEXT, days=2), skill("b", TEXT, days=9)) == [("merge", "a", "b")]


def test_it_is_a_question_with_its_evidence() -> None:
    (found,) = plan(Home(now=NOW, skills=(skill("a", TEXT), skill("b", TEXT, uses=2))))
    assert found.asks
    assert found.why == "the same text as in b"
    assert found.evidence == {"likeness": 1.0, "uses": {"a": 0, "b": 2}}
    nearly = TEXT.replace("watch the pods", "watch its pods")
    (found,) = plan(Home(now=NOW, skills=(skill("a", f"{TEXT} {TEXT} {TEXT}"), skill("b", f"{TEXT} {TEXT} {nearly}"))))
    assert found.why.endswith("% of the text is the same as in a") or found.why.endswith(
        "% of the text is the same as in b"
    )


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"pinned": True}, {}, ("note", "a", "b")),  # nothing is written into a pinned one, and it does not go
        ({"origin": Origin.SHIPPED}, {}, ("note", "a", "b")),
        ({"origin": Origin.HAND}, {}, ("merge", "b", "a")),
        ({"origin": Origin.HAND}, {"origin": Origin.HAND}, ("note", "a", "b")),
        ({"jobs": ("j",)}, {"pinned": True}, ("note", "a", "b")),
    ],
    ids=["pinned", "shipped", "by hand", "both by hand", "named and pinned"],
)
def test_what_is_a_person_s_does_not_go(
    one: dict[str, Any], other: dict[str, Any], found: tuple[str, str, str]
) -> None:
    assert planned(skill("a", TEXT, **one), skill("b", TEXT, **other)) == [found]


def test_of_three_of_a_kind_each_goes_once() -> None:
    merges = planned(skill("a", TEXT, uses=9), skill("b", TEXT), skill("c", TEXT))
    assert merges == [("merge", "b", "a"), ("merge", "c", "a")]


def test_a_plan_is_in_one_order_whatever_the_facts_are_in() -> None:
    skills = [
        skill("old", days=20), skill("twin-1", TEXT), skill("twin-2", TEXT, uses=3),
        skill("broken", fault="no name"), skill("gap", missing=("references/x.md",)),
    ]  # fmt: skip
    jobs = [JobFacts(name="j", skills=("gone",), missing=("gone",)), JobFacts(name="k")]
    plans = [plan(Home(now=NOW, skills=some, jobs=tuple(jobs))) for some in itertools.permutations(skills)]
    assert all(each == plans[0] for each in plans)
    assert [it.kind for it in plans[0]] == [Move.STALE, Move.MERGE, Move.NOTE, Move.NOTE, Move.NOTE]


def test_what_is_put_away_tonight_is_merged_into_nothing() -> None:
    from hermes_cron.experience.lifecycle import Cause, Mark

    mark = Mark(since=NOW - timedelta(days=20), cause=Cause.UNUSED)
    assert planned(skill("a", TEXT, days=40, mark=mark), skill("b", TEXT)) == [("archive", "a", None)]


def test_an_intended_change_survives_json() -> None:
    for it in plan(Home(now=NOW, skills=(skill("old", days=20), skill("a", TEXT), skill("b", TEXT)))):
        assert dumped(loaded(dumped(it))) == dumped(it)
    made = Intended(kind=Move.CREATE, skill="x", why="w", parts=("a", "b"), details={"text": "t"}, asks=True)
    assert loaded(dumped(made)) == made


def test_likeness_finds_what_comparing_all_with_all_finds() -> None:
    drawn = random.Random(7)
    texts: dict[str, str] = {}
    for number in range(60):
        if texts and drawn.random() < 0.6:
            said = drawn.choice(list(texts.values())).split()
            for _ in range(drawn.randint(0, 4)):
                said[drawn.randrange(len(said))] = f"w{drawn.randint(0, 20)}"
        else:
            said = [f"w{drawn.randint(0, 20)}" for _ in range(drawn.randint(1, 60))]
        texts[f"s{number:02}"] = " ".join(said)

    def shingles(text: str) -> set[tuple[str, ...]]:
        said = words(text)
        return set(zip(said, said[1:], said[2:], strict=False)) or {tuple(said)}

    for at_least in (0.5, 0.8, 1.0):
        wanted = set()
        for one, other in itertools.combinations(sorted(texts), 2):
            a, b = shingles(texts[one]), shingles(texts[other])
            if len(a & b) / len(a | b) >= at_least:
                wanted.add((one, other))
        assert {(it.one, it.other) for it in pairs(texts, at_least=at_least)} == wanted
        assert wanted
