"""The real faults of watch.jsonl, on job files: what editors do is seen once, whole, and soon."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.jobs.watch import LONGEST_S, Watcher, signature
from tests.scheduler_rig import Rig, until

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "watch.jsonl").read_text("utf-8").splitlines())
}
SOON_S = 2.0


class Seen:
    """What a watcher called, and when."""

    def __init__(self) -> None:
        self.files: list[float] = []
        self.store: list[float] = []
        self.failed: list[tuple[str, float]] = []
        self.quiet = threading.Event()

    def wait_quiet(self) -> int:
        """How often files were to be looked at, once nothing more comes."""
        until(lambda: self.files, "the watcher called", SOON_S + 3)
        until(lambda: time.monotonic() - self.files[-1] > LONGEST_S, "quiet", 10)
        return len(self.files)


@contextmanager
def watching(home: Home, **options: Any) -> Iterator[Seen]:
    seen = Seen()
    with Watcher(
        home.jobs,
        home.wake,
        on_files=lambda: seen.files.append(time.monotonic()),
        on_store=lambda: seen.store.append(time.monotonic()),
        on_failed=lambda why, every_s: seen.failed.append((why, every_s)),
        **options,
    ):
        yield seen


JOB = "---\nschedule: every day at 09:00\ntimezone: UTC\n---\n{}\n"


def job_file(home: Home, name: str = "j", task: str = "old") -> Path:
    path = home.jobs / f"{name}.md"
    path.write_text(JOB.format(task))
    return path


def prompt(rig: Rig, name: str = "j") -> str:
    from hermes_cron.domain.job import load_job

    with rig.store.read() as conn:
        from sqlalchemy import select

        from hermes_cron.store.tables import JobRow

        table = JobRow.__table__  # type: ignore[attr-defined]
        spec = conn.execute(select(table.c.spec).where(table.c.name == name, table.c.removed_at.is_(None))).scalar()
    return "" if spec is None else (load_job(spec).prompt or "").strip()


def reloads(rig: Rig) -> int:
    rig.settle()  # the rows are written before the event is told
    return sum(type(event).__name__ == "JobsChanged" for event in rig.events)


def removed(rig: Rig) -> int:
    rig.settle()
    return sum(bool(getattr(event, "removed", ())) for event in rig.events)


@pytest.fixture
def rig(home: Home) -> Iterator[Rig]:
    job_file(home)
    with Rig(home, watch=True) as made:
        until(lambda: prompt(made) == "old", "the job is known")
        made.events.clear()
        yield made


def test_every_case_is_here() -> None:
    assert {name.split("_")[1].upper() for name in globals() if name.startswith("test_c2")} == set(CASES)


def test_c287_a_save_by_rename_is_one_reload(rig: Rig) -> None:
    temp = rig.home.jobs / "tmpabc"
    temp.write_text(JOB.format("new"))
    began = time.monotonic()
    os.replace(temp, rig.home.jobs / "j.md")
    until(lambda: prompt(rig) == "new", "the new content")
    assert time.monotonic() - began < SOON_S
    assert reloads(rig) == CASES["C287"]["expected"]["reloads"]


def test_c288_vims_way_of_saving_is_one_reload_and_no_removal(rig: Rig) -> None:
    jobs, path = rig.home.jobs, rig.home.jobs / "j.md"
    (jobs / ".j.md.swp").write_text("swap")
    (jobs / "4913").touch()
    (jobs / "4913").unlink()
    path.rename(jobs / "j.md~")
    path.write_text(JOB.format("new"))
    (jobs / "j.md~").unlink()
    (jobs / ".j.md.swp").unlink()
    until(lambda: prompt(rig) == "new", "the new content")
    assert reloads(rig) == CASES["C288"]["expected"]["reloads"]
    assert removed(rig) == CASES["C288"]["expected"]["skill_removed_event"]


def test_c288_kind_a_look_in_the_middle_of_a_save_removes_nothing(rig: Rig) -> None:
    path = rig.home.jobs / "j.md"
    path.rename(rig.home.jobs / "j.md~")
    rig.rescan()
    path.write_text(JOB.format("new"))
    until(lambda: prompt(rig) == "new", "the new content")
    assert removed(rig) == 0


def test_c290_one_change_is_one_reload_however_often_one_looks(rig: Rig) -> None:
    (rig.home.jobs / "j.md").write_text(JOB.format("new"))
    for _ in range(10):
        rig.rescan()
    until(lambda: prompt(rig) == "new", "the new content")
    for _ in range(10):
        rig.rescan()
    assert reloads(rig) == CASES["C290"]["expected"]["reloads"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE], ids=["ENOSPC", "EMFILE"])
def test_c291_without_watches_of_the_kernel_the_folder_is_polled(home: Home, number: int) -> None:
    from watchdog.observers import Observer

    def full() -> Any:
        observer = Observer()

        def refuse(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        observer.schedule = refuse  # type: ignore[method-assign]
        return observer

    with watching(home, observer=full) as seen:
        ((why, _),) = seen.failed
        assert "sysctl fs.inotify.max_user_" in why
        job_file(home)
        until(lambda: seen.files, "the change was noticed", SOON_S)
        home.wake.touch()
        until(lambda: seen.store, "the wake file was noticed", SOON_S)


def test_c294_half_a_file_is_never_in_force(rig: Rig) -> None:
    whole = "---\nschedule: every day at 10:00\ntimezone: UTC\n---\n" + "whole " * 50
    cut = len("---\nschedule: every day at 10:00\ntimez")
    with (rig.home.jobs / "j.md").open("w") as file:
        file.write(whole[:cut])
        file.flush()
        rig.rescan()
        assert prompt(rig) == "old"  # the last good version stays
        file.write(whole[cut:])
    until(lambda: prompt(rig) == whole[whole.index("whole") :].strip(), "the whole content")


def test_a_new_job_is_seen_within_two_seconds(rig: Rig) -> None:
    began = time.monotonic()
    job_file(rig.home, "other", "hello")
    until(lambda: prompt(rig, "other") == "hello", "the new job")
    assert time.monotonic() - began < SOON_S


def test_a_removed_job_is_seen(rig: Rig) -> None:
    (rig.home.jobs / "j.md").unlink()
    until(lambda: rig.names() == [], "the removal", 4)


def test_a_renamed_job_stays_itself(rig: Rig) -> None:
    uid = rig.job("j").uid
    (rig.home.jobs / "j.md").rename(rig.home.jobs / "k.md")
    until(lambda: rig.names() == ["k"], "the rename")
    assert rig.job("k").uid == uid


def test_a_folder_that_was_deleted_and_made_anew_is_watched_again(home: Home) -> None:
    with watching(home) as seen:
        shutil.rmtree(home.jobs)
        home.jobs.mkdir()
        until(lambda: seen.files, "the folder is noticed", SOON_S + 1)
        seen.wait_quiet()
        before = len(seen.files)
        job_file(home)
        until(lambda: len(seen.files) > before, "a file in the new folder", SOON_S + 1)


def test_a_folder_that_was_swapped_is_watched_again(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with watching(home) as seen:
        home.jobs.rename(tmp_path / "away")
        other.rename(home.jobs)
        until(lambda: seen.files, "the folder is noticed", SOON_S + 1)
        seen.wait_quiet()
        before = len(seen.files)
        job_file(home)
        until(lambda: len(seen.files) > before, "a file in the new folder", SOON_S + 1)


def test_a_burst_is_one_look_and_a_writer_that_never_pauses_is_not_waited_for(home: Home) -> None:
    with watching(home) as seen:
        began = time.monotonic()
        while not seen.files and time.monotonic() - began < 5:
            job_file(home, task=str(time.monotonic()))
        assert seen.files[0] - began < SOON_S
        assert seen.wait_quiet() <= 3


def test_other_files_and_our_own_reading_are_no_news(home: Home) -> None:
    path = job_file(home)
    with watching(home) as seen:
        path.read_text()
        (home.jobs / "notes.txt").write_text("x")
        (home.jobs / "j.md~").write_text("x")
        (home.run / "store.lock").touch()
        home.wake.touch()
        until(lambda: seen.store, "the wake file")
        assert seen.files == []


def test_every_touch_of_the_wake_file_is_noticed_at_once(home: Home) -> None:
    with watching(home) as seen:
        for _ in range(3):
            before = len(seen.store)
            home.wake.touch()
            until(lambda before=before: len(seen.store) > before, "the touch", 1)
            time.sleep(0.05)  # the events of one touch


def test_a_signature_changes_with_any_touch_and_only_then(home: Home) -> None:
    path = job_file(home)
    before = signature(home.jobs)
    assert signature(home.jobs) == before
    os.utime(path, ns=(1, 1))
    assert signature(home.jobs) != before
    path.unlink()
    assert signature(home.jobs) == 1
    shutil.rmtree(home.jobs)
    assert signature(home.jobs) == 0
