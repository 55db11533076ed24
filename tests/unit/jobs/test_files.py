"""The folder of job files: new ones fail where the name exists, changed ones only over the text that was read."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime

import pytest

from hermes_cron.errors import Conflict, NotFound
from hermes_cron.home import Home
from hermes_cron.jobs.files import JobFiles, content_hash, name_of

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)


@pytest.fixture
def files(home: Home) -> JobFiles:
    return JobFiles(home)


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


def test_a_file_keeps_its_rights_and_a_link_stays_a_link(files: JobFiles, home: Home) -> None:
    target = home.root / "elsewhere.md"
    target.write_bytes(b"one")
    target.chmod(0o640)
    (home.jobs / "a.md").symlink_to(target)
    files.replace("a", b"two", expected_hash=content_hash(b"one"))
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o640
    assert (home.jobs / "a.md").is_symlink()


def test_a_removed_file_lies_in_the_trash_whole(files: JobFiles, home: Home) -> None:
    files.create("a", b"one")
    first = files.remove("a", now=NOW)
    files.create("a", b"two")
    second = files.remove("a", now=NOW)
    assert (first.read_bytes(), second.read_bytes()) == (b"one", b"two")
    assert first.name.startswith("a.20261201T090000Z.")
    assert files.names() == []


@pytest.mark.parametrize("verb", ["read", "remove", "replace", "rename"])
def test_what_is_not_there_is_not_found(files: JobFiles, verb: str) -> None:
    calls = {
        "read": lambda: files.read("nope"),
        "remove": lambda: files.remove("nope", now=NOW),
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
