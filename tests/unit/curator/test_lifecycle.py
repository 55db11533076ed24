"""The rules of states, as a table, and the file that holds them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hermes_cron.domain.skill_use import SkillRecord
from hermes_cron.experience.lifecycle import Cause, Mark, Origin, SkillFacts, SkillState, marked, marks, shown, step

NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def skill(*, made: float = 100, changed: float | None = None, mark: float | None = None, **more: object) -> SkillFacts:
    facts: dict[str, object] = {
        "name": "ops/x", "called": "x", "origin": Origin.LEARNED, "created": ago(made),
        "changed": ago(made if changed is None else changed),
        "mark": None if mark is None else Mark(since=ago(mark), cause=Cause.UNUSED), **more,
    }  # fmt: skip
    return SkillFacts(**facts)  # type: ignore[arg-type]


USED = SkillRecord(uses=1, used_at=ago(1))
FAILING = SkillRecord(uses=9, well=1, badly=8, used_at=ago(0))
STALE, ARCHIVED, ACTIVE = SkillState.STALE, SkillState.ARCHIVED, SkillState.ACTIVE


@pytest.mark.parametrize(
    ("facts", "entered"),
    [
        pytest.param(skill(made=2 / 24), None, id="C160: made two hours ago and never used"),
        pytest.param(skill(made=13.99), None, id="the whole grace"),
        pytest.param(skill(made=14), (STALE, Cause.UNUSED), id="exactly two weeks"),
        pytest.param(skill(made=60, changed=1), None, id="C158: never used, changed yesterday"),
        pytest.param(skill(record=SkillRecord(viewed_at=ago(3))), None, id="only looked at"),
        pytest.param(skill(record=SkillRecord(patched_at=ago(3))), None, id="only patched"),
        pytest.param(skill(record=USED), None, id="used yesterday"),
        pytest.param(skill(made=29, mark=15), None, id="stale, and not yet long enough"),
        pytest.param(skill(made=30, mark=16), (ARCHIVED, Cause.UNUSED), id="exactly thirty days"),
        pytest.param(skill(made=300, mark=1), None, id="the host was off for a year"),
        pytest.param(skill(record=USED, mark=5), (ACTIVE, None), id="used after it was stale"),
        pytest.param(skill(record=FAILING), (STALE, Cause.FAILING), id="used and failing"),
        pytest.param(skill(record=FAILING, mark=90), None, id="failing, but used: never archived for it"),
        pytest.param(skill(made=-3), None, id="a clock that went back"),
    ],
)  # fmt: skip
def test_the_next_state(facts: SkillFacts, entered: tuple[SkillState, Cause | None] | None) -> None:
    assert step(facts, NOW) == entered


@pytest.mark.parametrize(
    "why",
    [
        {"pinned": True},
        {"jobs": ("j",)},
        {"origin": Origin.HAND},
        {"origin": Origin.SHIPPED},
        {"fault": "no name"},
        {"name": "ops/a\nb"},
    ],
    ids=["pinned", "named", "by hand", "shipped", "broken", "no line"],
)
def test_what_is_a_person_s_is_never_moved_and_comes_back(why: dict[str, object]) -> None:
    assert step(skill(made=400, **why), NOW) is None
    assert step(skill(made=400, mark=300.0, **why), NOW) == (ACTIVE, None)


def test_the_file_keeps_every_other_line_and_reads_what_it_wrote() -> None:
    one, two = Mark(since=ago(3), cause=Cause.UNUSED), Mark(since=ago(2), cause=Cause.FAILING)
    data = marked(None, [("ops/b #c", one), ("ops/a", two)])
    assert marks(data) == {"ops/b #c": one, "ops/a": two}
    assert data.decode().splitlines()[1:] == [
        "ops/a 2026-11-29T03:00:00Z failing",
        "ops/b #c 2026-11-28T03:00:00Z unused",
    ]
    assert marks(marked(data, [("ops/a", None), ("ops/never", None)])) == {"ops/b #c": one}
    assert marked(data, []) == data


@pytest.mark.parametrize(
    "line", [b"", b"ops/a", b"ops/a yesterday unused", b"ops/a 2026-11-29T03:00:00Z tired", b"\xff\xfe"]
)
def test_a_line_that_is_not_understood_marks_nothing(line: bytes) -> None:
    assert marks(line + b"\nops/ok 2026-11-29T03:00:00Z unused\n# a remark of mine\n").keys() == {"ops/ok"}


def test_what_is_shown_follows_a_use_at_once() -> None:
    mark = Mark(since=ago(5), cause=Cause.UNUSED)
    assert shown(None, SkillRecord()) is ACTIVE
    assert shown(mark, SkillRecord()) is STALE
    assert shown(mark, USED) is ACTIVE
    failing = Mark(since=ago(5), cause=Cause.FAILING)
    assert shown(failing, FAILING) is STALE
    assert shown(failing, USED) is ACTIVE
