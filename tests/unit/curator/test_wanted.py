"""A run that asks for a skill in the archive: it is told so, and a person is asked once whether it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_cron.domain.learning import Author, Learn
from hermes_cron.errors import NotFound
from tests.curator_rig import DAY, Rig, text_of


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """With ``ops/deploy`` in the archive."""
    with Rig(tmp_path) as made:
        made.learned("ops/deploy", references__hosts="web1\n")
        made.clock.advance(15 * DAY)
        made.night()
        made.clock.advance(16 * DAY)
        made.night()
        assert made.archived() == ["ops/deploy"]
        yield made


def viewed(rig: Rig, run: str = "", **more: object) -> str:
    """What a run that goes on is answered."""
    author = Author(actor="run", run_id=run or rig.begin().id, job_name="j", **more)  # type: ignore[arg-type]
    output = rig.app.skill_reading.view(author, "deploy", None, "s1/1")
    assert not output.ok
    return output.text


def test_the_run_is_told_and_a_yes_brings_the_same_bytes_back(rig: Rig) -> None:
    said = viewed(rig)
    assert "skill ops/deploy was archived; a person is asked whether it comes back (a1)" in said
    (asked,) = rig.app.runs.approvals()
    proposal = rig.app.runs.proposal(asked)
    assert proposal is not None
    assert (proposal.change, proposal.name) == ("restored", "ops/deploy")
    assert any("How deploy is done" in line for line in proposal.lines)
    rig.app.runs.approve("a1", by="ann")
    assert (rig.there(), rig.archived()) == (["ops/deploy"], [])
    assert (rig.home.skills / "ops/deploy/SKILL.md").read_text() == text_of("deploy")
    assert (rig.home.skills / "ops/deploy/references/hosts").read_text() == "web1\n"
    commit = rig.app.history.newest()
    assert (commit.actor, commit.by) == ("curator", "ann")
    rig.clock.advance(10 * DAY)
    assert rig.night().moves == {}  # with a grace of its own


def test_it_is_asked_once_while_it_waits_and_not_again_after_a_no(rig: Rig) -> None:
    assert "(a1)" in viewed(rig)
    assert "(a1)" in viewed(rig)
    rig.app.runs.deny("a1", by="ann", reason="never")
    assert "was archived" in (said := viewed(rig))
    assert "asked" not in said
    assert rig.app.runs.approvals() == []
    assert rig.archived() == ["ops/deploy"]


def test_a_run_that_learns_nothing_asks_nothing(rig: Rig) -> None:
    said = viewed(rig, learn=Learn.OFF)
    assert "was archived" in said
    assert rig.app.runs.approvals() == []


def test_a_job_that_names_it_is_told_the_command(rig: Rig) -> None:
    with pytest.raises(NotFound, match="it was archived") as error:
        rig.app.skills_now().get("deploy")
    assert error.value.hint == "hermes-cron skills restore deploy"
