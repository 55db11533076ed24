"""Hand edits that a service notices become one snapshot a while later, and nothing waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_cron.domain.event import Event, HandEditsKept, HistoryNotKept
from hermes_cron.errors import SnapshotFailed
from hermes_cron.scheduler.keeping import Keeper


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@contextmanager
def keeping(
    keep: Callable[[], str | None], unfinished: Path, *, quiet_s: float = 0.02, every_s: float = 0.0
) -> Iterator[tuple[Keeper, list[Event]]]:
    events: list[Event] = []
    keeper = Keeper(keep, unfinished, events.append, quiet_s=quiet_s, every_s=every_s)
    keeper.start()
    try:
        yield keeper, events
    finally:
        keeper.stop()


def test_a_burst_of_edits_is_one_snapshot(tmp_path: Path) -> None:
    made = iter(["c1", "c2"])
    with keeping(lambda: next(made), tmp_path / "none", quiet_s=0.2) as (keeper, events):
        for _ in range(50):
            keeper.notice()
        until(lambda: events)
    assert events == [HandEditsKept(snapshot="c1")]


def test_the_next_snapshot_waits_its_time(tmp_path: Path) -> None:
    at: list[float] = []

    def keep() -> None:
        at.append(time.monotonic())

    with keeping(keep, tmp_path / "none", every_s=0.3) as (keeper, events):
        keeper.notice()
        until(lambda: at)
        keeper.notice()
        until(lambda: len(at) == 2)
    assert at[1] - at[0] >= 0.3
    assert events == [], "where nothing was new there is nothing to tell"


def test_an_edit_during_a_snapshot_gets_one_more(tmp_path: Path) -> None:
    looks: list[int] = []
    go_on = threading.Event()

    def keep() -> None:
        looks.append(1)
        assert go_on.wait(30)

    with keeping(keep, tmp_path / "none") as (keeper, _):
        keeper.notice()
        until(lambda: looks)
        keeper.notice()
        go_on.set()
        until(lambda: len(looks) == 2)


def test_nobody_waits_for_a_snapshot(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def keep() -> None:
        begun.set()
        go_on.wait(30)

    with keeping(keep, tmp_path / "none") as (keeper, _):
        keeper.notice()
        assert begun.wait(30)
        began = time.monotonic()
        keeper.notice()
        keeper.sweep()
        assert time.monotonic() - began < 1
        go_on.set()


@pytest.mark.parametrize("error", [SnapshotFailed("disk full"), RuntimeError("a bug of ours")])
def test_a_fault_is_told_once_and_the_next_edit_tries_again(tmp_path: Path, error: Exception) -> None:
    looks: list[int] = []

    def keep() -> str:
        looks.append(1)
        if len(looks) < 3:
            raise error
        return "c1"

    with keeping(keep, tmp_path / "none") as (keeper, events):
        for number in (1, 2, 3):
            keeper.notice()
            until(lambda: len(looks) == number)  # noqa: B023
        until(lambda: len(events) == 2)
    assert events == [HistoryNotKept(error=str(error)), HandEditsKept(snapshot="c1")]


def test_a_change_that_a_dead_process_left_is_finished(tmp_path: Path) -> None:
    marker = tmp_path / "pending"
    looks: list[int] = []

    def keep() -> None:
        looks.append(1)
        marker.unlink()

    with keeping(keep, marker) as (keeper, _):
        keeper.sweep()
        marker.touch()
        keeper.sweep()
        until(lambda: not marker.exists())
    assert looks == [1]
