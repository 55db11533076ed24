"""What must every ``ports.Clock`` do, and what can the fixed one do besides?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from hermes_cron.clock import FileClock, SystemClock
from hermes_cron.ports import Clock
from hermes_cron.testing import FixedClock

START = datetime(2026, 11, 30, 9, 0, tzinfo=timezone(timedelta(hours=8)))


@pytest.fixture(params=["system", "file", "fixed"])
def clock(request: pytest.FixtureRequest, tmp_path: Path) -> Clock:
    file = tmp_path / "clock"
    file.write_text(START.isoformat(), encoding="utf-8")
    made: dict[str, Callable[[], Clock]] = {
        "system": SystemClock,
        "file": lambda: FileClock(file),
        "fixed": lambda: FixedClock(START),
    }
    return made[request.param]()


def test_now_is_aware_utc(clock: Clock) -> None:
    assert clock.now().tzinfo is UTC


def test_now_does_not_go_back(clock: Clock) -> None:
    assert clock.now() <= clock.now()


def test_it_says_how_often_to_look_again(clock: Clock) -> None:
    assert clock.poll_s is None or clock.poll_s > 0


def test_a_fixed_clock_moves_only_when_told() -> None:
    clock = FixedClock(START)
    assert clock.now() == clock.now() == START
    assert clock.advance(90) == START + timedelta(seconds=90)
    assert clock.advance(timedelta(hours=-1)) == START - timedelta(minutes=58, seconds=30)
    clock.set(START + timedelta(days=1))
    assert clock.now() == START + timedelta(days=1)


def test_a_fixed_clock_wakes_who_waits_for_an_instant() -> None:
    clock = FixedClock(START)
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(clock.wait_until(START + timedelta(hours=1))))
    thread.start()
    clock.advance(1)
    clock.advance(timedelta(hours=1))
    thread.join(timeout=5)
    assert seen == [True]
    assert not clock.wait_until(START + timedelta(days=9), timeout_s=0.01)


@pytest.mark.parametrize("naive", [datetime(2026, 1, 1)])
def test_a_naive_instant_is_refused(naive: datetime) -> None:
    with pytest.raises(ValueError, match="aware"):
        FixedClock(naive)
    with pytest.raises(ValueError, match="aware"):
        FixedClock(START).set(naive)
