"""``curator run report status``, ``list --system``, ``undo curator``: as a person types them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran, RunCli
from tests.curator_rig import DAY, JOB, NOON, Rig

Told = Callable[..., Ran]


@pytest.fixture
def night(tmp_path: Path) -> Rig:
    """Twenty days after two skills were learned."""
    rig = Rig(tmp_path)
    rig.job("nightly-curator", JOB)
    rig.learned("ops/flask-deploy", references__hosts="web1\n")
    rig.learned("ops/old-nginx")
    rig.learned("ops/young")
    rig.app.keep_hand_edits()
    rig.app.close()
    return rig


@pytest.fixture
def told(night: Rig, run_cli: RunCli) -> Told:
    """The command line on that home, so many days later."""

    def run(days: float, *argv: str, **more: Any) -> Ran:
        clock = night.root / "clock"
        clock.write_text((NOON + timedelta(days=days)).isoformat())
        env = {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(clock)}
        return run_cli(*argv, at=night.home, env=env, **more)

    return run


def sha(rig: Rig) -> str:
    said = hashlib.sha256()
    for path, data in sorted(rig.files().items()):
        said.update(f"{path}\0".encode() + data + b"\0")
    return said.hexdigest()


def test_init_makes_a_curator_that_list_shows_as_a_system_job_with_its_nightly_time(
    tmp_path: Path, run_cli: RunCli
) -> None:
    from hermes_cron.home import Home

    home = Home(tmp_path / "new")
    assert run_cli("init", "--no-input", "--tz", "UTC", at=home).rc == 0
    listed = run_cli("list", "--system", at=home).out
    assert re.search(r"^nightly-curator +daily 03:00 ", listed, re.MULTILINE)
    assert "nightly-curator" not in run_cli("list", at=home).out
    assert "nightly-curator" in run_cli("list", "--all", at=home).out
    (home.jobs / "nightly-curator.md").unlink()
    assert run_cli("init", "--no-input", at=home).rc == 0
    assert "nightly-curator" not in run_cli("list", "--system", at=home).out  # whoever removed it does not get it back


def test_a_system_job_that_fails_or_is_broken_is_not_hidden(night: Rig, told: Told) -> None:
    (night.home.jobs / "gone.md").symlink_to(night.root / "nowhere")
    assert told(20, "curator", "run").rc == 1
    assert "nightly-curator" in told(20, "list").out
    (night.home.jobs / "gone.md").unlink()
    assert told(20.1, "curator", "run").rc == 0
    assert "nightly-curator" not in told(20.1, "list").out
    (night.home.jobs / "nightly-curator.md").write_text(JOB.replace("curate", "curat"))
    said = told(20.1, "list").out
    assert 'action: expected one of curate, consolidate, not "curat", did you mean "curate"?' in said


def test_a_run_its_report_and_its_undo(night: Rig, told: Told) -> None:
    before = sha(night)
    done = told(20, "curator", "run")
    assert done.rc == 0, done.err
    head = done.out.partition("\n")[0]
    assert head.startswith("Curator, 12:00: 3 skills stale (flask-deploy, old-nginx, young), 0 archived. See hermes")
    snapshot = head.rpartition(" ")[2]
    assert told(20, "curator", "report").out == done.out
    report = json.loads(told(20, "curator", "report", "--json").out)
    assert (report["counts"]["stale"], report["after"][:7], report["result"]) == (3, snapshot, "ok")
    assert (night.home.outputs / "nightly-curator" / f"{report['run']}.md").read_text() == done.out
    undone = told(20, "undo", "curator", "-y")
    assert undone.rc == 0, undone.err
    assert f"Will undo run {report['run']} (nightly-curator" in undone.out
    assert sha(night) == before
    assert told(20, "undo", "curator", "-y").rc == 0
    assert night.stale() == ["ops/flask-deploy", "ops/old-nginx", "ops/young"]


def test_a_dry_run_reports_and_changes_nothing(night: Rig, told: Told) -> None:
    before, history = sha(night), (night.home.history / "logs/HEAD").read_bytes()
    done = told(0, "curator", "run", "--dry-run", "--now", "2026-12-20")
    assert done.rc == 0, done.err
    assert done.out.startswith("Curator, 00:00, a dry run: 3 skills stale (flask-deploy, old-nginx, young), 0 archived")
    assert "nothing was changed: it was only asked what would be done" in done.out
    assert "  stale ops/flask-deploy: not used in its 18 days (Tue 2026-12-01)" in done.out
    assert sha(night) == before
    assert (night.home.history / "logs/HEAD").read_bytes() == history
    zh = told(0, "curator", "run", "--dry-run", "--now", "2026-12-20", "--lang", "zh").out
    assert zh.startswith("技能整理，00:00，试运行：3 个技能闲置 (flask-deploy，old-nginx，young)，0 个归档")


def test_archived_after_thirty_days_and_back_with_the_same_bytes(night: Rig, told: Told) -> None:
    from tests.curator_rig import text_of

    told(20, "curator", "run")
    done = told(37, "curator", "run")
    assert "0 skills stale" not in done.out
    assert "3 archived (flask-deploy, old-nginx, young)" in done.out
    listed = told(37, "skills", "list")
    assert "flask-deploy" not in listed.out
    assert "3 archived: hermes-cron skills list --archived" in listed.err
    assert [it["qualified"] for it in json.loads(told(37, "skills", "list", "--archived", "--json").out)["skills"]] == [
        "ops/flask-deploy", "ops/old-nginx", "ops/young",
    ]  # fmt: skip
    assert told(37, "skills", "restore", "flask-deploy").rc == 0
    folder = night.home.skills / "ops/flask-deploy"
    assert (folder / "SKILL.md").read_text() == text_of("flask-deploy")
    assert (folder / "references/hosts").read_text() == "web1\n"
    shown = json.loads(told(37, "skills", "show", "flask-deploy", "--json").out)
    assert (shown["state"], shown["origin"], shown["jobs"]) == ("active", "learned", [])


def test_status_and_skills_say_what_is_stale_and_until_when(night: Rig, told: Told) -> None:
    told(20, "curator", "run")
    said = told(20, "curator", "status").out
    assert re.search(r"^ +next +Tue 12-22 03:00 \(UTC\)$", said, re.MULTILINE)
    assert re.search(r"^ +skills +\d+ active, 3 stale, 0 archived$", said, re.MULTILINE)
    line = "ops/flask-deploy: since 2026-12-21, not used; archived from 2027-01-06 on if nothing uses it"
    assert line in said
    facts = json.loads(told(21, "curator", "status", "--json").out)
    assert facts["stale"][0]["skill"] == "ops/flask-deploy"
    assert (facts["dry_nights_left"], facts["policy"], facts["skills"]["stale"]) == (3, "propose", 3)
    assert "home, stale" in told(21, "skills", "list").out
    assert "stale since 2026-12-21: not used" in told(21, "skills", "show", "flask-deploy").out
    stats = json.loads(told(21, "skills", "stats", "--json").out)["skills"]
    assert {it["name"]: it["state"] for it in stats}["flask-deploy"] == "stale"
    assert json.loads(told(21, "list", "--system", "--json").out)["jobs"][0]["action"] == "curate"


def test_a_home_without_the_job_can_be_curated_and_is_told_how_to_get_it(night: Rig, told: Told) -> None:
    (night.home.jobs / "nightly-curator.md").unlink()
    assert "no job runs it; hermes-cron init" in told(20, "curator", "status").out
    done = told(20, "curator", "run")
    assert done.rc == 0, done.err
    assert "3 skills stale" in done.out
    assert told(20, "curator", "report").out == done.out


def test_what_is_refused_says_the_next_command(night: Rig, told: Told) -> None:
    early = told(0, "curator", "report")
    assert (early.rc, "hermes-cron curator run --dry-run" in early.err) == (3, True)
    assert told(0, "curator", "run", "--now", "2026-12-20").rc == 2
    wrong = told(0, "curator", "run", "--dry-run", "--now", "tomorrow")
    assert (wrong.rc, "--now 2027-03-01T03:00" in wrong.err) == (2, True)
    nothing = told(0, "undo", "curator", "-y")
    assert (nothing.rc, "hermes-cron curator status" in nothing.err) == (3, True)


def test_nights_of_a_scheduler_are_dry_at_first_and_then_move(night: Rig, told: Told) -> None:
    with Rig(night.root) as rig:
        rig.clock.set(NOON + 20 * DAY)
        rig.app.sync_jobs(actor="test")
    for number in range(1, 5):
        assert told(20 + number, "serve", "--once").rc == 0
        report = json.loads(told(20 + number, "curator", "report", "--json").out)
        assert report["dry"] == (f"{number}/3" if number < 4 else None)
        assert night.stale() == ([] if number < 4 else ["ops/flask-deploy", "ops/old-nginx", "ops/young"])
    assert len({path.stem for path in (night.home.outputs / "nightly-curator").glob("*.json")}) == 4


def test_the_targets_of_the_job_hear_of_a_night_only_when_something_moved(night: Rig, told: Told) -> None:
    with night.home.config.open("a") as config:
        config.write('[targets.desk]\nkind = "file"\npath = "desk.md"\n')
    night.job("nightly-curator", JOB.replace("action:", "deliver: [desk]\naction:"))
    desk = night.home.root / "desk.md"
    assert told(1, "curator", "run").rc == 0
    assert not desk.exists()
    assert told(20, "curator", "run").rc == 0
    heard = desk.read_text()
    assert (
        "Curator, 12:00: 3 skills stale (flask-deploy, old-nginx, young), 0 archived. See hermes-cron curator" in heard
    )
    assert told(21, "curator", "run").rc == 0
    assert desk.read_text() == heard
