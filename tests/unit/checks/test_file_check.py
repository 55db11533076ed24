"""A file: there or not, another one than before the run or not, of a certain content."""

from __future__ import annotations

import hashlib
import os
import time
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.checks import pins
from hermes_cron.checks.pins import FileState, state_of
from tests.checks_rig import BAD, GOOD, UNKNOWN, Bench, made


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work")


def test_it_exists_or_it_does_not(bench: Bench) -> None:
    out = bench.folder / "out.csv"
    assert bench.ask("file", path="out.csv") == (BAD, "it does not exist")
    assert bench.ask("file", path="out.csv", exists=False) == (GOOD, "it does not exist")
    out.touch()
    assert bench.ask("file", path=str(out)) == (GOOD, "it exists")
    assert bench.ask("file", path="out.csv", exists=False) == (BAD, "it exists")
    assert bench.ask("file", path=".", exists=True) == (GOOD, "it exists")
    assert bench.ask("file", path="out.csv/below") == (BAD, "it does not exist")


@pytest.mark.parametrize(
    "before, after, changed",
    [("a", "b", True), ("a", "a", False), (None, "a", True), ("a", None, True), (None, None, False)],
)
def test_changed_is_against_the_state_before_the_run(
    bench: Bench, before: str | None, after: str | None, changed: bool
) -> None:
    path = bench.folder / "out.csv"

    def put(text: str | None) -> None:
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
            os.utime(path, (1, 1))  # the same time: the content decides

    put(before)
    checks = made("file", path="out.csv", changed=True), made("file", path="out.csv", changed=False)
    bench.pin(*checks)
    put(after)
    yes, no = bench.judge(*checks)
    assert (yes.verdict, no.verdict) == ((GOOD, BAD) if changed else (BAD, GOOD))
    assert yes.detail == ("changed" if changed else "it is as it was before the run")
    assert no.detail == ("it was changed during the run" if changed else "unchanged")


def test_changed_and_there_are_two_questions(bench: Bench) -> None:
    path = bench.folder / "out.csv"
    path.write_text("a")
    both = made("file", path="out.csv", changed=True, exists=True)
    bench.pin(both)
    path.unlink()
    (result,) = bench.judge(both)
    assert (result.verdict, result.detail) == (BAD, "it does not exist")


def test_its_content_has_a_hash(bench: Bench) -> None:
    path = bench.folder / "out.csv"
    path.write_bytes(b"1,2\n")
    right = "sha256:" + hashlib.sha256(b"1,2\n").hexdigest()
    assert bench.ask("file", path="out.csv", hash=right) == (GOOD, f"it exists; {right}")
    path.write_bytes(b"1,3\n")
    assert bench.ask("file", path="out.csv", hash=right)[0] is BAD
    path.unlink()
    assert bench.ask("file", path="out.csv", hash=right) == (BAD, "it does not exist")


@pytest.mark.parametrize("params", [{"changed": True}, {"hash": "sha256:" + "0" * 64}])
def test_what_has_no_content_to_compare_proves_nothing(bench: Bench, params: dict[str, Any]) -> None:
    (bench.folder / "d").mkdir()
    os.mkfifo(bench.folder / "pipe")
    assert bench.ask("file", path="d", **params)[0] is UNKNOWN
    assert bench.ask("file", path="pipe", **params)[0] is UNKNOWN


def test_without_the_state_before_the_run_a_change_proves_nothing(bench: Bench) -> None:
    bench.pin()
    assert bench.ask("file", path="x", changed=True) == (UNKNOWN, "how it was before the run is not known")


def test_a_file_that_takes_too_long_to_read_is_not_read_for_ever(bench: Bench) -> None:
    path = bench.folder / "large"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert state_of(path, seconds=0.05).why == "is too large to be read in time"


def test_whether_it_is_there_is_told_without_reading_it(bench: Bench) -> None:
    big = bench.folder / "big"
    with big.open("wb") as file:
        file.truncate(50_000_000_000)
    began = time.monotonic()
    assert bench.ask("file", path="big", exists=True) == (GOOD, "it exists")
    assert time.monotonic() - began < 5


def test_a_path_that_cannot_be_looked_at_is_neither_there_nor_gone(bench: Bench) -> None:
    (bench.folder / "loop").symlink_to("loop")
    for wanted in (True, False):
        verdict, detail = bench.ask("file", path="loop", exists=wanted)
        assert verdict is UNKNOWN
        assert "can not be read" in detail


def test_what_turns_into_a_pipe_while_it_is_looked_at_holds_nobody_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(bench.folder / "out.csv")
    monkeypatch.setattr(pins, "seen", lambda _path: FileState("file"))  # it was one a moment ago
    assert bench.ask("file", path="out.csv", changed=False) == (UNKNOWN, "it is no plain file")
    assert pins.text_of(bench.folder / "out.csv") == {"text": None, "why": "is no plain file"}


def test_a_file_that_its_reader_waits_for_is_not_compared(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.folder / "out.csv").write_text("a")
    monkeypatch.setattr(pins, "FileIO", Waits)
    assert bench.ask("file", path="out.csv", changed=False) == (UNKNOWN, "it is a file that its reader waits for")
    assert pins.text_of(bench.folder / "out.csv") == {"text": None, "why": "is a file that its reader waits for"}


class Waits(FileIO):
    """As /proc/kmsg, which only root may read: nothing now, perhaps later."""

    def read(self, _size: int | None = -1) -> bytes:
        return None  # type: ignore[return-value]  # what a file that does not block says, against its stub
