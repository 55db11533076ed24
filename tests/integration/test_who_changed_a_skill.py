"""Three edits by hand, an agent's patch and a curator's merge in one day: `log`, `blame` and git itself agree."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunCli
from tests.curator_rig import Night, Rig

HOUR = timedelta(hours=1)
STEPS = "\n".join(
    f"{at}. Step {at} of the roll-out looks at part {at * 7} and writes {at * 11} down." for at in range(60)
)
SKILL = "skills/ops/deploy/SKILL.md"


@dataclass
class Day:
    """``did``: (actor, run, reason) of each change of the skill, oldest first."""

    rig: Rig
    night: Night
    did: list[tuple[str, str | None, str]] = field(default_factory=list)

    def git(self, *argv: str) -> str:
        done = subprocess.run(
            ["git", f"--git-dir={self.rig.home.history}", *argv], capture_output=True, text=True, check=True
        )
        return done.stdout


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    with Rig(tmp_path_factory.mktemp("day"), config='[curator]\npolicy = "auto"\n') as rig:
        rig.learned("ops/deploy", STEPS)
        place = rig.home.root / SKILL
        for number in range(3):
            rig.clock.advance(HOUR)
            place.write_text(place.read_text() + f"A person's line {number}.\n")
            rig.app.keep_hand_edits()
        rig.clock.advance(HOUR)
        rig.patched("ops/deploy")
        rig.clock.advance(HOUR)
        rig.learned("ops/roll-out", f"{STEPS}\n60. Then tell the people on call.")
        rig.used("deploy")
        rig.clock.advance(HOUR)
        night = rig.night()
        assert night.moves == {"merge done": ["ops/roll-out"]}
        made = [
            ("run", "r1", "it took 6 calls"),
            *[("user", None, "edited by hand")] * 3,
            ("run", "r2", "it was wrong"),
            ("curator", night.record["run"], "curator: 1 merge"),
        ]
        yield Day(rig=rig, night=night, did=made)


def test_log_says_who_when_which_run_and_why(day: Day, run_cli: RunCli) -> None:
    told = json.loads(run_cli("log", "deploy", "--json", at=day.rig.home).out)["versions"][::-1]
    assert [(it["actor"], it["run"], it["reason"]) for it in told] == day.did
    assert [it["at"][11:16] for it in told] == ["12:00", "13:00", "14:00", "15:00", "16:00", "18:00"]
    shown = run_cli("log", "deploy", at=day.rig.home).out.splitlines()
    (merge,) = [line for line in shown if line.startswith("@6")]
    for word in ("18:00", "curator", str(day.night.record["run"]), str(day.night.record["after"])[:7], "1 merge"):
        assert word in merge


def test_git_tells_the_same_commits(day: Day, run_cli: RunCli) -> None:
    told = json.loads(run_cli("log", "deploy", "--json", at=day.rig.home).out)["versions"]
    trailers = [f"%(trailers:key={key},valueonly,separator=)" for key in ("Actor", "Run")]
    form = "%x1f".join(["%H", "%aI", "%an", "%s", *trailers])
    rows = [line.split("\x1f") for line in day.git("log", f"--format={form}", "main", "--", SKILL).splitlines()]
    assert [(row[0], row[3], row[4], row[5] or None) for row in rows] == [
        (it["id"], it["reason"], it["actor"], it["run"]) for it in told
    ]
    assert [row[1][:16] for row in rows] == [it["at"][:16] for it in told]


def test_blame_names_for_each_line_whom_git_names(day: Day, run_cli: RunCli) -> None:
    told: list[dict[str, Any]] = json.loads(run_cli("blame", "deploy", "--json", at=day.rig.home).out)["lines"]
    rows = [re.match(r"\^?([0-9a-f]{40}) +\d+\) (.*)", line) for line in
            day.git("blame", "-l", "-s", "main", "--", SKILL).splitlines()]  # fmt: skip
    assert [(it["id"], it["text"]) for it in told] == [(row[1], row[2]) for row in rows if row]
    by_text = {it["text"]: (it["actor"], it["run"]) for it in told}
    for number in range(3):
        assert by_text[f"A person's line {number}."] == ("user", None)
    assert by_text["And then look."] == ("run", "r2")
    merged = [it for it in told if it["actor"] == "curator"]
    assert any("roll-out" in it["text"] for it in merged)
    assert {it["run"] for it in merged} == {day.night.record["run"]}


def test_the_merge_is_one_commit_that_undo_takes_back(day: Day, run_cli: RunCli) -> None:
    after = str(day.night.record["after"])
    assert day.git("rev-list", "--count", f"{day.night.record['before']}..{after}").strip() == "1"
    names = day.git("show", "--name-only", "--format=", after).split()
    assert SKILL in names
    assert any(name.startswith("skills/.archive/ops/roll-out/") for name in names)
    texts = [day.git("show", f"{after}:{name}") for name in names if name.startswith("skills/ops/deploy/")]
    assert any("tell the people on call" in text for text in texts), "what only the merged one said is kept"
    tree = day.git("rev-parse", f"{day.night.record['before']}^{{tree}}")
    done = run_cli("undo", "curator", "-y", at=day.rig.home)
    assert done.rc == 0, done.err
    assert day.git("rev-parse", "main^{tree}") == tree
    newest = json.loads(run_cli("log", "deploy", "--json", at=day.rig.home).out)["versions"][0]
    assert (newest["actor"], newest["undoes"]) == ("restore", [after])
    assert Path(day.rig.home.skills / "ops/roll-out/SKILL.md").is_file()
