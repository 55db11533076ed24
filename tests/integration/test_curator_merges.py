"""The curator's proposals as a person meets them: commands, files, a server that plays the auxiliary model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.testing import FixedClock, StubServer
from tests.conftest import RunCli
from tests.second_rig import Second, answer, archive, merge

ALL = ["news/briefing", "news/radar", "ops/backup"]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Second]:
    with Second(tmp_path / "curated", clock=FixedClock(datetime.now(UTC))) as made:
        yield made


def env(stub: StubServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k"}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"repeat": True, "status": 500, "body": {"error": {"message": "no good day"}}}, "nothing was changed"),
        ("%%% no idea %%%", "it is no JSON"),
        (answer(), "proposes nothing"),
        (answer(*map(archive, ALL)), "would put away 3 skills at once"),
        (answer(merge(into="news/none")), "MergeTargetMissing"),
    ],
    ids=["500", "garbage", "empty", "everything", "into-nothing"],
)
def test_no_answer_loses_a_skill_and_the_report_says_why(
    rig: Second, run_cli: RunCli, reply: dict[str, Any] | str, why: str
) -> None:
    before = rig.files()
    with StubServer([reply]) as stub:
        ran = run_cli("curator", "run", at=rig.home, env=env(stub))
        assert stub.bodies, ran
    assert ran.rc == 0, ran.err
    assert why in run_cli("curator", "report", at=rig.home).out
    said = json.loads(run_cli("curator", "report", "--json", at=rig.home).out)
    assert any(why in line for line in said["said"])
    assert rig.there() == ALL
    assert rig.files() == before
    assert json.loads(run_cli("approvals", "list", "--json", at=rig.home).out) == {"approvals": []}


def test_a_merge_from_proposal_to_yes_to_undo(rig: Second, run_cli: RunCli) -> None:
    def cli(*argv: str) -> str:
        ran = run_cli(*argv, at=rig.home)
        assert ran.rc == 0, ran.err
        return ran.out

    before = rig.files()
    with StubServer([answer(merge())]) as stub:
        dry = run_cli("curator", "run", "--dry-run", at=rig.home, env=env(stub))
        assert dry.rc == 0
    assert rig.files() == before
    with StubServer([answer(merge())]) as stub:
        assert run_cli("curator", "run", at=rig.home, env=env(stub)).rc == 0
        (sent,) = [json.loads(body) for body in stub.bodies]
    assert sent["model"] == "aux-model"
    assert "tools" not in sent
    assert rig.files() == before

    assert "skill radar into briefing" in cli("approvals", "list")
    shown = cli("approvals", "show", "a1")
    assert "skill radar into briefing" in shown
    assert "+ references/radar.md: feeds" in shown
    assert "They do the same." in shown
    assert "job j1 is to name briefing" in shown
    assert "skill radar into briefing" in cli("approve", "a1")

    assert "skills: [briefing]" in (rig.home.jobs / "j1.md").read_text()
    assert cli("skills", "show", "radar").startswith("radar was merged into news/briefing.\nbriefing: ")
    assert cli("check").strip()
    assert "j1" in cli("list")
    assert "merge news/radar into news/briefing: They do the same." in cli("log", "skills/news/briefing")
    assert (rig.home.skills / "news/briefing/references/radar.md").read_text() == "feeds\n"

    rig.job("old", (rig.home.jobs / "j1.md").read_text().replace("[briefing]", "[radar]"))  # of another host
    for name in ("j1", "old"):
        with StubServer(["All is well."]) as stub:
            ran = run_cli("run", name, at=rig.home, env=env(stub))
            assert ran.rc == 0, ran.err
            (sent,) = [json.loads(body) for body in stub.bodies]
        prompt = sent["messages"][0]["content"]
        assert '<skill source="briefing">' in prompt, name
        assert "How it is done: `references/radar-2.md`." in prompt
    (rig.home.jobs / "old.md").unlink()

    head = next(it for it in rig.app.history.commits() if it.call is not None and it.call.endswith("/yes"))
    cli("undo", head.id[:10], "-y")
    assert rig.files() == before
    assert cli("skills", "show", "radar").startswith("radar: ")


def test_a_no_changes_nothing(rig: Second, run_cli: RunCli) -> None:
    before = rig.files()
    with StubServer([answer(merge())]) as stub:
        run_cli("curator", "run", at=rig.home, env=env(stub))
    ran = run_cli("deny", "a1", "they differ", at=rig.home)
    assert ran.rc == 0
    assert "not learned" in ran.out
    assert rig.files() == before


def test_a_job_that_names_a_merged_skill_may_be_added(rig: Second, run_cli: RunCli) -> None:
    """From an old note, or on another host."""
    with StubServer([answer(merge())]) as stub:
        run_cli("curator", "run", at=rig.home, env=env(stub))
    run_cli("approve", "a1", at=rig.home)
    made = run_cli("add", "every day 9am: what is new?", "--name", "old", "--skill", "radar", at=rig.home)
    assert made.rc == 0, made.err
    assert run_cli("check", "jobs/old.md", at=rig.home).rc in {0, 3}
