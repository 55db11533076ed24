"""The folder of job files: new ones fail where the name exists, changed ones only over the text that was read."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime

import pytest

from hermes_cron.changes import Changes
from hermes_cron.errors import Conflict, NotFound, SnapshotFailed
from hermes_cron.home import Home
from hermes_cron.jobs.files import JobFiles, content_hash, name_of
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.testing import FixedClock

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)


@pytest.fixture
def snapshots(home: Home) -> SnapshotRepository:
    return SnapshotRepository(home.root, FixedClock(NOW))


@pytest.fixture
def files(home: Home, snapshots: SnapshotRepository) -> JobFiles:
    return JobFiles(home, change=Changes(snapshots, lambda: "ops"))


def said(snapshots: SnapshotRepository) -> list[tuple[str, str, str | None, str | None]]:
    return [(it.actor, it.reason, it.job, it.by) for it in snapshots.log()]


def test_only_job_files_are_listed(files: JobFiles, home: Home) -> None:
    for name in ("b.md", "a.md", ".hidden.md", "a.md~", "#a.md#", ".a.md.swp", "notes.txt", "巡检.md"):
        (home.jobs / name).write_bytes(b"x")
    (home.jobs / "folder.md").mkdir()
    assert files.names() == ["a", "b", "巡检"]


def test_a_missing_folder_has_no_jobs(home: Home) -> None:
    home.jobs.rmdir()
    assert JobFiles(home).scan() == []


def test_a_file_that_changes_has_another_stat(files: JobFiles, home: Home) -> None:
    files.create("a", b"one")
    before = files.scan()[0].stat
    assert files.scan()[0].stat == before
    files.replace("a", b"two", expected_hash=content_hash(b"one"))
    assert files.scan()[0].stat != before
    read = files.read_file("a.md")
    assert read == (b"two", files.scan()[0].stat)


@pytest.mark.parametrize("taken", ["a", "A"])
def test_a_name_is_one_without_regard_to_case(files: JobFiles, home: Home, taken: str) -> None:
    files.create("a", b"one")
    with pytest.raises(Conflict):
        files.create(taken, b"two")
    assert files.read("A") == b"one"
    assert [path.name for path in home.jobs.iterdir()] == ["a.md"]


def test_names_are_nfc(files: JobFiles, home: Home) -> None:
    (home.jobs / "e\u0301t.md").write_bytes(b"x")
    assert files.names() == ["\u00e9t"]
    assert files.read("\u00e9t") == b"x"
    assert name_of("e\u0301.md") == "\u00e9"


def test_an_edit_over_someone_else_s_text_is_refused(files: JobFiles, home: Home) -> None:
    path = files.create("a", b"one")
    path.write_bytes(b"by hand")
    with pytest.raises(Conflict, match="changed by someone else"):
        files.replace("a", b"two", expected_hash=content_hash(b"one"))
    assert path.read_bytes() == b"by hand"
    assert [found.name for found in home.jobs.iterdir()] == ["a.md"]


def test_every_change_is_a_snapshot_in_the_person_s_name_and_hand_edits_come_before_it(
    files: JobFiles, snapshots: SnapshotRepository
) -> None:
    path = files.create("a", b"one")
    path.write_bytes(b"by hand")
    files.replace("a", b"two", expected_hash=content_hash(b"by hand"), reason="pause")
    files.rename("a", "b")
    files.remove("b")
    assert said(snapshots) == [
        ("cli", "remove b", "b", "ops"),
        ("cli", "rename a to b", "b", "ops"),
        ("cli", "pause a", "a", "ops"),
        ("user", "edited by hand", None, None),
        ("cli", "add a", "a", "ops"),
        ("user", "edited by hand", None, None),  # the home as it was found
    ]


def test_no_snapshot_no_change(files: JobFiles, home: Home) -> None:
    files.create("a", b"one")
    (home.history / "HEAD").unlink()
    for change in (
        lambda: files.create("b", b"two"),
        lambda: files.replace("a", b"two", expected_hash=content_hash(b"one")),
        lambda: files.rename("a", "c"),
        lambda: files.remove("a"),
    ):
        with pytest.raises(SnapshotFailed) as failed:
            change()
        assert "\n" not in failed.value.message
        assert failed.value.exit_code == 1
    assert {path.name: path.read_bytes() for path in home.jobs.iterdir()} == {"a.md": b"one"}


@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_follows_the_umask_and_keeps_its_rights_under_another_name(
    files: JobFiles, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        path = files.create("a", b"one")
        files.replace("a", b"two", expected_hash=content_hash(b"one"))
        assert path.stat().st_mode & 0o777 == mode
        path.chmod(0o640)
        assert files.rename("a", "b").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_a_file_keeps_its_rights_and_a_link_stays_a_link(files: JobFiles, home: Home) -> None:
    target = home.root / "elsewhere.md"
    target.write_bytes(b"one")
    target.chmod(0o640)
    (home.jobs / "a.md").symlink_to(target)
    files.replace("a", b"two", expected_hash=content_hash(b"one"))
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o640
    assert (home.jobs / "a.md").is_symlink()
    with pytest.raises(Conflict, match="changed by someone else"):
        files.replace("a", b"three", expected_hash=content_hash(b"one"))
    files.rename("a", "b")
    assert (home.jobs / "b.md").readlink() == target
    files.remove("b")
    assert target.read_bytes() == b"two"


def test_a_link_within_the_folder_is_an_edit_of_what_it_leads_to(
    files: JobFiles, home: Home, snapshots: SnapshotRepository
) -> None:
    files.create("a", b"one")
    (home.jobs / "b.md").symlink_to("a.md")
    files.replace("b", b"two", expected_hash=content_hash(b"one"))
    assert (home.jobs / "a.md").read_bytes() == b"two"
    assert (home.jobs / "b.md").is_symlink()
    assert said(snapshots)[0][1] == "edit b"


def test_a_removed_file_lies_in_the_snapshot_before(files: JobFiles, snapshots: SnapshotRepository) -> None:
    removals = []
    for text in (b"one", b"two"):
        files.create("a", text)
        removals.append(snapshots.find(files.remove("a")))
    objects = snapshots.objects()
    kept = []
    for removal in removals:
        entry = objects.at(snapshots.find(str(removal.parent)).tree, b"jobs/a.md")
        assert entry is not None
        kept.append(objects.read(entry.oid))
    assert kept == [b"one", b"two"]
    assert files.names() == []


@pytest.mark.parametrize("verb", ["read", "remove", "replace", "rename"])
def test_what_is_not_there_is_not_found(files: JobFiles, verb: str) -> None:
    calls = {
        "read": lambda: files.read("nope"),
        "remove": lambda: files.remove("nope"),
        "replace": lambda: files.replace("nope", b"", expected_hash=""),
        "rename": lambda: files.rename("nope", "other"),
    }
    with pytest.raises(NotFound, match='no job "nope"'):
        calls[verb]()


def test_renaming(files: JobFiles) -> None:
    files.create("a", b"one")
    files.create("b", b"two")
    with pytest.raises(Conflict):
        files.rename("a", "B")
    files.rename("a", "A")
    files.rename("A", "c")
    assert files.names() == ["b", "c"]


def test_many_makers_of_one_name_make_one_file(files: JobFiles, home: Home) -> None:
    outcomes: list[str] = []

    def make(number: int) -> None:
        try:
            files.create("a" if number % 2 else "A", str(number).encode())
            outcomes.append("made")
        except Conflict:
            outcomes.append("taken")

    threads = [threading.Thread(target=make, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["made"] + ["taken"] * 11
    assert len(os.listdir(home.jobs)) == 1
