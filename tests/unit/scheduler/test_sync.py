"""Job files become rows; identity and timing survive what people do to files."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest
from sqlalchemy import select

from hermes_cron.store.tables import JobRevisionRow, JobRow

JOBS = JobRow.__table__  # type: ignore[attr-defined]
REVISIONS = JobRevisionRow.__table__  # type: ignore[attr-defined]


def revisions(world: Any, name: str) -> list[tuple[int, str, str | None]]:
    with world.store.read() as conn:
        rows = conn.execute(select(REVISIONS).where(REVISIONS.c.job_uid == world.job(name)["uid"]))
        return [
            (row.revision, f"{row.effective_from:%H:%M}", row.effective_until and f"{row.effective_until:%H:%M}")
            for row in rows
        ]


def test_an_unchanged_file_is_not_read_again(world: Any) -> None:
    world.write("a", "schedule: 0 9 * * *")
    assert world.sync().added == ("a",)
    (world.home.jobs / "a.md").chmod(0o000)  # no more than its stat may be looked at
    world.home.jobs.joinpath("a.md").chmod(0o644)
    assert not world.sync().changed
    assert not world.sync().anything


def test_a_touched_file_of_equal_content_changes_nothing(world: Any) -> None:
    world.write("a", "schedule: 0 9 * * *")
    world.sync()
    world.write("a", "schedule: 0 9 * * *")
    assert not world.sync().anything
    assert revisions(world, "a") == [(1, "12:00", None)]


def test_files_that_another_process_reads_at_the_same_moment_are_not_broken(world: Any) -> None:
    """Two schedulers that start at once, or a command beside a scheduler."""
    others: list[Any] = []

    def meanwhile() -> None:
        if not others:
            others.append(None)
            others[0] = world.sync()

    for name in ("a", "b"):
        world.write(name, "schedule: 0 9 * * *")
    mine = world.sync(meanwhile=meanwhile)
    assert others[0].added == ("a", "b")
    assert not mine.anything, mine.broken
    world.write("A", "schedule: 0 9 * * *")
    assert world.sync().broken == (("A", "another job file has this name in another case or Unicode form"),)


def test_a_rename_keeps_the_job(world: Any) -> None:
    world.write("a", "schedule: 0 9 * * *")
    world.sync()
    uid = world.job("a")["uid"]
    (world.home.jobs / "a.md").rename(world.home.jobs / "b.md")
    assert world.sync().renamed == (("a", "b"),)
    assert world.job("b")["uid"] == uid
    assert '"name":"b"' in str(world.job("b")["spec"])
    assert revisions(world, "b") == [(1, "12:00", None)]


def test_a_change_of_case_is_a_rename(world: Any) -> None:
    world.write("Report", "schedule: 0 9 * * *")
    world.sync()
    uid = world.job("Report")["uid"]
    (world.home.jobs / "Report.md").unlink()
    world.write("report", "schedule: 0 10 * * *")
    world.sync()
    assert world.job("report")["uid"] == uid


def test_a_removed_job_leaves_its_row_and_a_new_one_of_that_name_is_another_job(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *")
    world.sync()
    uid = world.job("a")["uid"]
    (world.home.jobs / "a.md").unlink()
    world.at("12:07")
    assert world.sync().removed == ("a",)
    assert world.job("a")["removed_by"] == "test"
    assert world.history("a") == [("01 12:05", "skipped", "removed")]
    world.at("12:08").write("a", "schedule: */5 * * * *")
    assert world.sync().added == ("a",)
    assert world.job("a")["uid"] != uid
    world.at("12:10").claim()
    assert (world.proof().due, world.proof().missing, world.proof().surplus) == (2, (), 0)


def test_removal_takes_back_runs_that_did_not_start(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *")
    world.sync()
    world.at("12:05").claim()
    (world.home.jobs / "a.md").unlink()
    world.sync()
    assert world.take() == []


def test_an_edit_settles_the_old_timing_first(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *")
    world.sync()
    world.write("a", "schedule: */7 * * * *")
    world.at("12:06")
    assert world.sync().changed == ("a",)
    assert world.history("a") == [("01 12:05", "ran", None)]
    assert revisions(world, "a") == [(1, "12:00", "12:06"), (2, "12:06", None)]
    world.at("12:07").claim()
    assert world.history("a")[-1][0] == "01 12:07"
    assert (world.proof().due, world.proof().missing, world.proof().surplus) == (2, (), 0)


def test_another_description_keeps_revision_anchor_and_next_instant(world: Any) -> None:
    world.write("a", "schedule: every 420")
    world.sync()
    before = world.job("a")
    world.at("12:03").write("a", "schedule: every 420\ndescription: better")
    world.sync()
    after = world.job("a")
    assert '"description":"better"' in str(after["spec"])
    assert [after[key] for key in ("revision", "anchor", "next_due")] == [
        before[key] for key in ("revision", "anchor", "next_due")
    ]


def test_an_interval_of_another_length_counts_from_the_edit(world: Any) -> None:
    world.write("a", "schedule: every 420")
    world.sync()
    world.at("12:03").write("a", "schedule: every 600")
    world.sync()
    assert world.job("a")["next_due"] == world.at("12:13").now


def test_pausing_by_hand_is_a_revision(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *")
    world.sync()
    world.at("12:06").write("a", "schedule: */5 * * * *\npaused: why")
    world.sync()
    world.at("12:11").claim()
    world.at("12:12").write("a", "schedule: */5 * * * *")
    world.sync()
    world.at("12:15").claim()
    assert world.history("a") == [("01 12:05", "ran", None), ("01 12:10", "skipped", "paused"),
                                  ("01 12:15", "skipped", "overlap")]  # fmt: skip
    assert len(revisions(world, "a")) == 3


def test_a_broken_edit_leaves_the_last_good_version_in_force(world: Any) -> None:
    world.write("a", "schedule: */5 * * * *")
    world.sync()
    world.write("a", "bad")
    assert world.sync().broken == (("a", "jobs/a.md:1 bad"),)
    assert world.job("a")["broken"] == "jobs/a.md:1 bad"
    world.at("12:05").claim()
    assert [run.job.name for run in world.take()] == ["a"]
    world.write("a", "schedule: */5 * * * *")
    world.sync()
    assert world.job("a")["broken"] is None
    assert len(revisions(world, "a")) == 1


def test_a_file_that_was_never_good_has_a_row_and_no_timing(world: Any) -> None:
    world.write("a", "bad")
    assert world.sync().broken == (("a", "jobs/a.md:1 bad"),)
    assert world.job("a")["next_due"] is None
    world.at("12:01").write("a", "schedule: */5 * * * *")
    world.sync()
    assert world.job("a")["next_due"] == world.at("12:05").now


def test_a_watcher_believes_a_removal_only_when_it_sees_it_twice(world: Any) -> None:
    world.write("a", "schedule: 0 9 * * *")
    world.sync()
    (world.home.jobs / "a.md").unlink()
    first = world.sync(gone_before=())
    assert (first.removed, first.vanished) == ((), frozenset({"a.md"}))
    assert world.sync(gone_before=first.vanished).removed == ("a",)


def test_a_missing_folder_removes_nothing(world: Any) -> None:
    world.write("a", "schedule: 0 9 * * *")
    world.sync()
    shutil.rmtree(world.home.jobs)
    assert not world.sync().anything
    assert world.job("a")["removed_at"] is None


def test_two_names_that_differ_in_case_are_one_name(world: Any) -> None:
    world.write("Report", "schedule: 0 9 * * *")
    world.write("report", "schedule: 0 10 * * *")
    synced = world.sync()
    assert len(synced.added) == 1
    assert [name for name, _ in synced.broken] in (["report"], ["Report"])


@pytest.mark.parametrize("edits", [1, 4])
def test_jobs_of_equal_content_are_renamed_one_to_one(world: Any, edits: int) -> None:
    for number in range(edits):
        world.write(f"a{number}", "schedule: 0 9 * * *")
    world.sync()
    uids = {world.job(f"a{number}")["uid"] for number in range(edits)}
    for number in range(edits):
        (world.home.jobs / f"a{number}.md").rename(world.home.jobs / f"b{number}.md")
    world.sync()
    assert {world.job(f"b{number}")["uid"] for number in range(edits)} == uids


def test_an_older_look_never_overwrites_a_newer_one(world: Any) -> None:
    """Another process synced a newer text between this one's reading and its writing."""
    world.write("a", "schedule: 0 9 * * *")
    world.sync()
    world.write("a", "schedule: 0 10 * * *")
    real, raced = world.source.parse, []

    def slow(data: bytes, file_name: str, anchor: Any) -> Any:
        if not raced:
            raced.append(True)
            world.write("a", "schedule: 0 11 * * *\ndescription: newest")
            world.sync()
        return real(data, file_name, anchor)

    source = type(world.source)(folder=world.source.folder, parse=slow)
    world.source, kept = source, world.source
    world.sync()
    world.source = kept
    assert "newest" in str(world.job("a")["spec"])
    assert not world.sync().anything


def test_a_file_that_cannot_be_read_stops_no_other_and_says_so(world: Any) -> None:
    """A circle of links, a link that leads nowhere, a folder; and what opens but cannot be read."""
    world.write("a", "schedule: 0 9 * * *")
    (world.home.jobs / "circle.md").symlink_to("circle.md")
    (world.home.jobs / "nowhere.md").symlink_to("/nonexistent/x")
    (world.home.jobs / "folder.md").mkdir()
    (world.home.jobs / "locked.md").symlink_to("/proc/self/mem")
    done = world.sync()
    assert done.added == ("a",)
    assert done.broken == (("locked", "jobs/locked.md:1 cannot be read: Input/output error"),)
    (world.home.jobs / "locked.md").unlink()
    world.write("locked", "schedule: 0 9 * * *")
    assert world.sync().changed == ("locked",)
    assert world.job("locked")["broken"] is None


def test_a_name_that_is_not_utf_8_stops_no_other_and_says_so(world: Any) -> None:
    world.write("a", "schedule: 0 9 * * *")
    (world.home.jobs / os.fsdecode(b"bad\xff.md")).write_text("schedule: 0 9 * * *")
    done = world.sync()
    assert done.added == ("a",)
    assert done.broken == (("bad\udcff", "its name is not UTF-8"),)


def test_a_clock_that_went_back_before_a_removal_leaves_every_row_its_due_instant(world: Any) -> None:
    world.write("a", "schedule: * * * * *")
    world.sync()
    world.at("12:05:30").claim()
    world.at("12:02:30")
    (world.home.jobs / "a.md").unlink()
    world.sync()
    proof = world.at("12:10:00").proof()
    assert (proof.due, proof.accounted_for, proof.surplus) == (5, 5, 0)


def test_a_job_that_comes_back_after_the_clock_went_back_repeats_no_instant(world: Any) -> None:
    world.write("a", "schedule: * * * * *")
    world.sync()
    world.at("12:05:30").claim()
    (world.home.jobs / "a.md").unlink()
    world.sync()
    world.at("12:02:30").write("a", "schedule: */1 * * * *")
    world.sync()
    world.at("12:06:30").claim()
    assert [row[0] for row in world.history("a")] == ["01 12:06"]
