"""`explain`: the clock changes that touch a schedule, byte for byte; `next`: the same instants for jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.golden.screens import Screens, made


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    return made(home, run_cli)


def test_a_gap_is_said(screens: Screens) -> None:
    done = screens("explain", "every day 2:30am", "--tz", "America/New_York", "--now", "2026-11-30T12:00")
    assert done.out == (
        "every day at 02:30, America/New_York\n"
        "  next    Tue 2026-12-01 02:30 EST (07:30 UTC), Wed 12-02, Thu 12-03\n"
        "  gap     Sun 2027-03-14 has no 02:30: runs at 03:00 EDT\n"
        "  fold    none at this time of day\n"
    )


def test_chinese_in_chinese_out(screens: Screens) -> None:
    done = screens("explain", "每个工作日9点：检查", "--count", "1")
    assert done.out.splitlines()[0] == "每个工作日 09:00（Asia/Shanghai）"
    assert done.out.splitlines()[-1] == "  注意    未计节假日"


def test_json(screens: Screens) -> None:
    found = json.loads(screens("explain", "every day 9am: look", "--json").out)
    assert found["schedule"]["cron"] == "0 9 * * *"
    assert (found["prompt"], found["next"][0]) == ("look", "2026-12-01T09:00:00+08:00")


def test_a_schedule_needs_no_prompt_and_no_home(screens: Screens, home: Home) -> None:
    home.config.unlink()
    assert screens("explain", "every", "day", "9am", TZ="Asia/Tokyo").out.startswith("every day at 09:00, Asia/Tokyo\n")


def test_refusals(screens: Screens) -> None:
    assert screens("explain", "30m", rc=2).err == (
        'error: "30m" can mean two things\n  once    "in 30m"\n  always  "every 30m"\n'
    )
    assert "no time zone" in screens("explain", "every day 9am", "--tz", "Mars", rc=2).err
    assert "is not an instant" in screens("explain", "every day 9am", "--now", "soon", rc=2).err


def test_next(screens: Screens) -> None:
    screens("add", "every day 9am: a", "-q")
    screens("add", "tomorrow 8am: b", "--tz", "UTC", "-q")
    assert screens("next", "--count", "3").out == (
        "Tue 2026-12-01 09:00  Asia/Shanghai  a\n"
        "Wed 2026-12-02 09:00  Asia/Shanghai  a\n"
        "Wed 2026-12-02 08:00  UTC            b\n"
    )
    assert (
        screens("next", "a", "--count", "1", "--now", "2026-12-05T10:00").out == "Sun 2026-12-06 09:00  Asia/Shanghai\n"
    )
    screens("pause", "a", "holiday")
    paused = screens("next", "a")
    assert paused.out == "No instant is left.\n"
    assert paused.err.startswith("a is paused: holiday (")
    assert json.loads(screens("next", "--json", "--count", "1").out)["next"] == [
        {"job": "b", "at": "2026-12-02T08:00:00+00:00", "timezone": "UTC"}
    ]
