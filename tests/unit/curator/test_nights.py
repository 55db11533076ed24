"""What a night does to a home: states by use, one change for all of it, taken back by one word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_cron.domain.run import Cause, RunState
from hermes_cron.errors import Conflict, NotFound
from hermes_cron.snapshots.verify import verify
from tests.curator_rig import DAY, NOON, Rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path) as made:
        yield made


def test_a_skill_that_nothing_uses_is_stale_after_14_days_and_archived_after_30(rig: Rig) -> None:
    rig.learned("ops/deploy", references__a="a\n", scripts__run="echo\n")
    (rig.home.skills / "ops/deploy/scripts/run").chmod(0o755)
    rig.app.keep_hand_edits()
    before = rig.files()
    rig.clock.advance(14 * DAY - timedelta(seconds=1))
    assert rig.night().moves == {}
    rig.clock.advance(timedelta(seconds=1))
    assert rig.night().moves == {"stale done": ["ops/deploy"]}
    assert (rig.stale(), rig.there(), rig.archived()) == (["ops/deploy"], ["ops/deploy"], [])
    rig.clock.set(NOON + 30 * DAY - timedelta(seconds=1))
    assert rig.night().moves == {}
    rig.clock.set(NOON + 30 * DAY)
    assert rig.night().moves == {"archive done": ["ops/deploy"]}
    assert (rig.stale(), rig.there(), rig.archived()) == ([], [], ["ops/deploy"])
    from hermes_cron.desks import skill_shelf

    skill_shelf.bring_back(rig.app, "deploy")
    after = {path: data for path, data in rig.files().items() if path != "skills/.stale"}
    assert after == before  # the same bytes, and the grace begins anew
    assert (rig.home.skills / "ops/deploy/scripts/run").stat().st_mode & 0o777 == 0o755
    rig.clock.advance(10 * DAY)
    assert rig.night().moves == {}


def test_used_again_it_is_active_at_once_and_the_next_night_says_so(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.clock.advance(20 * DAY)
    rig.night()
    assert rig.app.curator.standing().states == {"active": 0, "stale": 1, "archived": 0} | _bundled(rig)
    rig.clock.advance(DAY)
    rig.used("deploy")
    assert rig.app.curator.standing().states["stale"] == 0
    assert rig.night().moves == {"active done": ["ops/deploy"]}
    assert rig.stale() == []


def _bundled(rig: Rig) -> dict[str, int]:
    return {"active": sum(1 for skill in rig.app.skills_now().all() if skill.bundled)}


def test_a_host_that_was_off_for_a_year_archives_nothing_in_its_first_night(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.clock.advance(365 * DAY)
    assert rig.night().moves == {"stale done": ["ops/deploy"]}
    rig.clock.advance(DAY)
    assert rig.night().moves == {}
    rig.clock.advance(15 * DAY)
    assert rig.night().moves == {"archive done": ["ops/deploy"]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nschedule: every day 9am\nskills: [deploy]\npaused: on holiday\n---\nroll it out\n", "named"),
        ("---\nschedule: every day 9am\nskills: [ops/deploy]\n---\nroll it out\n", "named by its whole name"),
        ("---\nschedule: evry day 9am\nskills: [deploy]\n---\nroll it out\n", "named in a file that is broken"),
        ("---\nschedule: every day 9am\nskills: [deploy\n---\nroll it out\n", "named in a file that is no YAML"),
        ("---\nschedule: every day 9am\n---\nplease do the deploy\n", "asked for by the prompt"),
        ("---\nschedule: every day 9am\nskills: [Deploy]\n---\nroll it out\n", "named with a capital"),
        ("---\nschedule: every day 9am\nskills: [OPS/deploy]\n---\nroll it out\n", "named whole, with capitals"),
        ("---\nschedule: evry day 9am\nskills: [DEPLOY]\n---\nroll it out\n", "named with capitals in a broken file"),
    ],
    ids=["paused", "qualified", "broken", "no-yaml", "matched", "capital", "capitals", "broken-capitals"],
)
def test_what_a_job_uses_stays_active_for_a_year(rig: Rig, text: str, why: str) -> None:
    rig.learned("ops/deploy")
    rig.learned("ops/other")
    rig.job("roll", text)
    for _ in range(26):
        rig.clock.advance(14 * DAY)
        rig.night()
    assert rig.there() == ["ops/deploy"], why
    assert (rig.stale(), rig.archived()) == ([], ["ops/other"])


def test_a_name_in_other_letters_keeps_the_skill_and_the_job_is_told(rig: Rig) -> None:
    rig.learned("ops/caf\u00e9")
    rig.job("roll", "---\nschedule: every day 9am\nskills: [CAFE\u0301]\n---\nroll it out\n")
    rig.clock.advance(20 * DAY)
    assert rig.night().moves == {"note noted": ["CAFE\u0301"]}
    assert rig.night().record["exempt"] == {"jobs": 1}


def test_pinned_hand_written_and_shipped_skills_are_never_moved(rig: Rig) -> None:
    from hermes_cron import shipped
    from hermes_cron.desks import skill_shelf

    shipped.copy_to(rig.home.skills, "skills")
    rig.by_hand("ops/mine")
    rig.learned("ops/held")
    skill_shelf.pin(rig.app, "held")
    before = rig.files()
    for days in (400, 40, 40):
        rig.clock.advance(days * DAY)
        night = rig.night()
        assert night.moves == {}
    assert rig.files() == before
    assert night.record["exempt"] == {"hand": 1, "pinned": 1, "shipped": 2}


def test_one_pinned_after_it_became_stale_is_active_again(rig: Rig) -> None:
    from hermes_cron.desks import skill_shelf

    rig.learned("ops/deploy")
    rig.clock.advance(20 * DAY)
    rig.night()
    skill_shelf.pin(rig.app, "deploy")
    rig.clock.advance(60 * DAY)
    assert rig.night().moves == {"active done": ["ops/deploy"]}
    assert (rig.stale(), rig.archived()) == ([], [])


def test_a_learned_skill_that_a_person_edits_is_in_use_also_before_anything_was_kept(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.clock.advance(100 * DAY)
    rig.by_hand("ops/deploy", "---\nname: deploy\ndescription: Better.\n---\nBetter.\n", keep=False)
    assert rig.night().moves == {}
    rig.clock.advance(13 * DAY)
    assert rig.night().moves == {}
    rig.clock.advance(DAY)
    assert rig.night().moves == {"stale done": ["ops/deploy"]}


def test_skills_of_which_most_runs_go_badly_are_stale_and_last_in_the_index_until_they_go_well(rig: Rig) -> None:
    rig.learned("ops/good")
    rig.learned("ops/bad")
    rig.used("bad", ends=[True, False, False, False, False])
    rig.used("good", ends=[True, True, True, False, False])
    night = rig.night()
    assert night.moves == {"stale done": ["ops/bad"]}
    assert "went badly in 4 of its last 5 runs" in night.outcome.text
    shown = rig.app.skill_reading.index("bad bad bad", ()).text
    assert shown.index("- good") < shown.index("- bad (went badly in 4 of 5 runs)")
    rig.clock.advance(DAY)
    rig.used("bad", ends=[True] * 8)
    assert rig.night().moves == {"active done": ["ops/bad"]}
    assert "went badly" not in rig.app.skill_reading.index("bad", ()).text


def test_a_skill_that_falls_well_below_its_own_past_is_flagged(rig: Rig) -> None:
    rig.learned("ops/once-good")
    rig.used("once-good", ends=[True] * 40 + [True, False] * 5)  # half of the last ten: above the limit, below its past
    assert rig.night().moves == {"stale done": ["ops/once-good"]}


def test_the_limits_of_success_are_the_home_s(tmp_path: Path) -> None:
    with Rig(tmp_path, config="[curator]\nsuccess_below = 0.2\nsuccess_runs = 3\n") as rig:
        rig.learned("ops/bad")
        rig.learned("ops/worse")
        rig.used("bad", ends=[True, False, False, False])
        rig.used("worse", ends=[False, False, False])
        assert rig.night().moves == {"stale done": ["ops/worse"]}


# --- one change, and back ---------------------------------------------------------------------------------------------


def test_a_night_is_one_commit_with_its_run_and_the_state_before_is_older_than_the_first_change(rig: Rig) -> None:
    for name in ("a", "b", "c"):
        rig.learned(f"ops/{name}")
    rig.clock.advance(20 * DAY)
    rig.night()
    rig.clock.advance(20 * DAY)
    rig.learned("ops/new")
    count = len(rig.app.history.commits())
    before = rig.sha()
    rig.by_hand("ops/typing", keep=False)
    night = rig.night()
    commits = rig.app.history.commits()
    made, kept = commits[0], commits[1]
    assert len(commits) == count + 2  # what a person had not kept yet, then the night
    assert (made.actor, made.run, kept.actor) == ("curator", night.record["run"], "user")
    assert (night.record["before"], night.record["after"]) == (kept.id, made.id)
    assert made.reason == "curator: 3 archive"
    assert kept.at <= made.at
    assert before != rig.sha()


def test_undo_takes_the_whole_night_back_and_undo_again_brings_it_again(rig: Rig) -> None:
    for name in ("a", "b", "c"):
        rig.learned(f"ops/{name}")
    rig.clock.advance(20 * DAY)
    rig.night()
    rig.clock.advance(DAY)
    rig.used("b")
    rig.night()
    rig.clock.advance(19 * DAY)
    before, files = rig.sha(), rig.files()
    assert rig.night().moves == {"archive done": ["ops/a", "ops/c"], "stale done": ["ops/b"]}
    after = rig.sha()
    rig.undo()
    assert (rig.sha(), rig.files()) == (before, files)
    rig.undo()
    assert rig.sha() == after
    rig.undo()
    assert rig.sha() == before
    assert verify(rig.app.snapshots).faults == ()


def test_undo_of_a_curator_that_did_nothing_says_so(rig: Rig) -> None:
    rig.night()
    with pytest.raises(NotFound, match="the curator has changed nothing yet"):
        rig.app.history.to_undo("curator")


def test_counts_of_the_report_are_those_of_the_difference(rig: Rig) -> None:
    for name in ("a", "b", "c", "d"):
        rig.learned(f"ops/{name}", references__x="x\n")
    rig.clock.advance(20 * DAY)
    rig.night()
    rig.clock.advance(DAY)
    rig.used("d")
    rig.night()
    rig.clock.advance(19 * DAY)
    rig.learned("ops/young")
    before = rig.app.snapshots.head()
    night = rig.night()
    history = rig.app.history
    diffs = history.between(before, history.newest())
    away = {it.path.split("/")[2] for it in diffs if it.path.startswith("skills/ops/")}
    came = {it.path.split("/")[3] for it in diffs if it.path.startswith("skills/.archive/")}
    counts = night.record["counts"]
    assert away == came == {"a", "b", "c"}
    assert (counts["archive"], counts["stale"], counts["active"]) == (3, 1, 0)
    assert rig.stale() == ["ops/d"]
    assert night.record["skills"] == {"active": 1, "stale": 1, "archived": 3}
    assert "5 skills: 1 active, 1 stale, 3 archived" in night.outcome.text


# --- what is said -----------------------------------------------------------------------------------------------------


def test_the_first_line_says_what_moved_and_how_it_is_taken_back(rig: Rig) -> None:
    rig.learned("ops/flask-deploy")
    rig.learned("ops/old-nginx")
    rig.clock.set(NOON + 20 * DAY + timedelta(hours=-9))
    night = rig.night()
    assert night.outcome.text.partition("\n")[0] == (
        "Curator, 03:00: 2 skills stale (flask-deploy, old-nginx), 0 archived. See hermes-cron curator report; "
        f"undo all: hermes-cron undo {night.record['after'][:7]}"
    )
    assert not night.outcome.silent


def test_a_night_without_a_move_is_silent(rig: Rig) -> None:
    rig.by_hand("ops/broken", "---\nname: broken\ndesc")
    night = rig.night()
    assert night.outcome.silent
    assert night.outcome.state is RunState.OK
    assert "look at:\n  ops/broken: broken: skills/ops/broken/SKILL.md" in night.outcome.text


def test_the_first_nights_are_dry_and_a_person_s_run_is_none_of_them(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.clock.advance(20 * DAY)
    before = rig.files()
    for number in (1, 2, 3):
        night = rig.night(cause=Cause.SCHEDULE)
        assert night.record["dry"] == f"{number}/3"
        assert night.moves == {"stale would": ["ops/deploy"]}
        assert night.outcome.silent
        assert f"night {number} of the first 3" in night.outcome.text
        assert rig.files() == before
    assert rig.night(cause=Cause.SCHEDULE).moves == {"stale done": ["ops/deploy"]}


def test_a_person_s_run_is_real_from_the_first_day(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.clock.advance(20 * DAY)
    assert rig.night().moves == {"stale done": ["ops/deploy"]}
    assert rig.app.curator.standing().nights_left == 3


def test_a_dry_run_changes_nothing_and_looks_from_another_instant(rig: Rig) -> None:
    rig.learned("ops/deploy")
    before, commits = rig.files(), len(rig.app.history.commits())
    night = rig.night(dry_run=True, now=(NOON + 15 * DAY).isoformat())
    assert night.moves == {"stale would": ["ops/deploy"]}
    assert night.record["dry"] == "asked"
    assert (rig.files(), len(rig.app.history.commits())) == (before, commits)
    assert rig.night(dry_run=True).moves == {}


def test_broken_ones_and_names_that_lead_nowhere_are_noted(rig: Rig) -> None:
    rig.by_hand(
        "ops/gone", "---\nname: gone\ndescription: X.\n---\nRead references/limits.md and scripts/run.sh first.\n"
    )
    (rig.home.skills / "ops/gone/scripts").mkdir()
    (rig.home.skills / "ops/gone/scripts/run.sh").write_text("echo\n")
    rig.job("roll", "---\nschedule: every day 9am\nskills: [nowhere]\n---\nroll it out\n")
    text = rig.night().outcome.text
    assert "ops/gone: its text names files that are not there: references/limits.md\n" in text
    assert "nowhere: job roll names it, and there is no such skill" in text


def test_a_stale_one_that_a_person_archives_and_brings_back_is_active(rig: Rig) -> None:
    from hermes_cron.desks import skill_shelf

    rig.learned("ops/deploy")
    rig.clock.advance(20 * DAY)
    rig.night()
    skill_shelf.archive(rig.app, "deploy", None)
    assert rig.stale() == []
    skill_shelf.bring_back(rig.app, "deploy")
    assert rig.app.curator.standing().states["stale"] == 0
    assert rig.night().moves == {}


def test_what_was_used_before_there_were_two_of_a_name_was_used(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.clock.advance(20 * DAY)
    rig.used("deploy")
    rig.learned("web/deploy", "Quite another way with other words.")
    assert rig.night().moves == {}


def test_the_report_for_programs_goes_with_its_run(rig: Rig) -> None:
    from hermes_cron.domain.job import Keep
    from hermes_cron.scheduler.housekeeping import housekeep

    rig.night()
    rig.clock.advance(200 * DAY)
    rig.night()
    housekeep(rig.app.store, rig.home, keep=Keep(runs=1, days=30), emit=lambda _: None, now=rig.clock.now())
    assert len([*(rig.home.outputs / "nightly-curator").iterdir()]) == 2  # the newest, for people and for programs


def test_the_archive_holds_two_of_one_name(rig: Rig) -> None:
    for _ in range(2):
        rig.learned("ops/deploy")
        rig.clock.advance(15 * DAY)
        rig.night()
        rig.clock.advance(16 * DAY)
        assert rig.night().moves == {"archive done": ["ops/deploy"]}
    assert rig.archived() == ["ops/deploy", "ops/deploy.2"]


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["a link that leads nowhere", "no folder"])
def test_jobs_that_cannot_be_read_end_the_run_and_move_nothing(rig: Rig, fault: str) -> None:
    rig.learned("ops/deploy")
    rig.job("roll", "---\nschedule: every day 9am\nskills: [deploy]\n---\nroll it out\n")
    rig.clock.advance(20 * DAY)
    before = rig.files()
    target = rig.home.jobs / "roll.md"
    if fault == "no folder":
        rig.home.jobs.rename(rig.root / "elsewhere")
    else:
        target.rename(rig.root / "elsewhere")
        target.symlink_to(rig.root / "nowhere")
    outcome = rig.execute(rig.begin())
    assert (outcome.state, (outcome.error or "").partition(" ")[0]) == (
        RunState.FAILED,
        f"jobs/{'roll.md' * (fault[0] == 'a')}",
    )
    if fault == "no folder":
        (rig.root / "elsewhere").rename(rig.home.jobs)
    else:
        target.unlink()
        (rig.root / "elsewhere").rename(target)
    assert rig.files() == before


def test_the_skill_of_a_job_whose_file_vanished_today_stays(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.job("roll", "---\nschedule: every day 9am\nskills: [deploy]\n---\nroll it out\n")
    rig.app.keep_hand_edits()
    rig.clock.advance(20 * DAY)
    (rig.home.jobs / "roll.md").unlink()
    assert rig.night().moves == {}
    rig.clock.advance(2 * DAY)  # nobody brought it back
    assert rig.night().moves == {"stale done": ["ops/deploy"]}


def test_a_cancel_before_the_change_leaves_all_as_it_was(rig: Rig) -> None:
    from hermes_cron.domain.command import Halt

    rig.learned("ops/deploy")
    rig.clock.advance(20 * DAY)
    before = rig.files()
    halt = Halt()
    halt.set()
    outcome = rig.execute(rig.begin(), halt)
    assert (outcome.state, rig.files()) == (RunState.CANCELLED, before)


def test_the_same_key_again_changes_nothing_more(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.clock.advance(20 * DAY)
    planned = rig.app.curator.plan()
    first = rig.app.curator.apply(planned.intended, key="r1/1", reason="a night", run="r1")
    files = rig.files()
    assert rig.app.curator.apply(planned.intended, key="r1/1", reason="a night", run="r1") == first
    assert rig.files() == files


def test_an_archive_whose_skill_is_gone_meanwhile_leaves_everything(rig: Rig) -> None:
    rig.learned("ops/a")
    rig.learned("ops/b")
    rig.clock.advance(20 * DAY)
    rig.night()
    rig.clock.advance(20 * DAY)
    planned = rig.app.curator.plan()
    (rig.home.skills / "ops/b/SKILL.md").unlink()
    before = rig.files()
    with pytest.raises((NotFound, Conflict)):
        rig.app.curator.apply(planned.intended, key="r1/1", reason="a night", run="r1")
    assert rig.files() == before


def test_a_report_in_chinese_gives_its_own_reasons_in_chinese(tmp_path: Path) -> None:
    with Rig(tmp_path, config='language = "zh"\n') as rig:
        rig.learned("ops/a")
        rig.learned("ops/used")
        rig.job("roll", "---\nschedule: every day 9am\nskills: [nowhere]\n---\nroll it out\n")
        rig.clock.advance(DAY)
        rig.used("used")
        rig.clock.advance(20 * DAY)
        text = rig.night().outcome.text
        assert "闲置 ops/a: 创建 21 天以来未使用" in text
        assert "闲置 ops/used: 已 20 天未使用" in text
        assert "nowhere: 任务 roll 引用了它，但没有这个技能" in text
        assert "没有询问模型：未配置" in text
        assert not re.search(r"[a-z]+ [a-z]+ [a-z]+", re.sub(r"hermes-cron [a-z]+ \w+", "", text)), text


def test_what_a_clock_that_was_years_ahead_marked_is_archived_in_its_time(rig: Rig) -> None:
    rig.learned("ops/deploy")
    rig.clock.advance(10_000 * DAY)
    assert rig.night().moves == {"stale done": ["ops/deploy"]}
    rig.clock.advance(-9_980 * DAY)
    assert rig.night().moves == {"stale done": ["ops/deploy"]}
    assert rig.night().moves == {}
    rig.clock.advance(16 * DAY)
    assert rig.night().moves == {"archive done": ["ops/deploy"]}
