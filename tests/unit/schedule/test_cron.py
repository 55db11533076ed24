"""Cron lines: what is read, what is refused, and that cronsim agrees where its walk is sound."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from hermes_cron.domain.schedule import cron
from hermes_cron.domain.schedule.trigger import Cron, instants, next_after
from hermes_cron.errors import ScheduleInvalid, ScheduleNeverFires


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("0 9 * * mon-fri", "0 9 * * 1-5"),
        ("00 09 * * *", "0 9 * * *"),
        (" 5  4 * *  SUN ", "5 4 * * 0"),
        ("0 0 1 jan *", "0 0 1 1 *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@HOURLY", "0 * * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("0 0 l * *", "0 0 L * *"),
        ("0 0 * * mon#1", "0 0 * * 1#1"),
        ("0 8,11,14,17,20,23,2 * * *", "0 8,11,14,17,20,23,2 * * *"),
        ("0 10 * * 7", "0 10 * * 7"),
    ],
)
def test_a_line_is_normalised(text: str, normal: str) -> None:
    assert Cron(text).expression == normal


@pytest.mark.parametrize(
    "text",
    [
        "* * 0 * *",
        "0 1 0/10 * *",
        "0 30 0 * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "5-1 * * * *",
        "1,,2 * * * *",
        "a * * * *",
        "* * ? * *",
        "* * * * 1#6",
        "* * * * 1#0",
        "* * W * *",
        "0 9 * *",
        "0 0 9 * * *",
        "* * * * * * *",
        "* * L-3 * *",
        "* * L/2 * *",
        "@every",
        "@reboot",
        "1.5 * * * *",
        "-1 * * * *",
    ],
)
def test_a_line_outside_the_rules_is_refused(text: str) -> None:
    with pytest.raises(ScheduleInvalid) as caught:
        Cron(text)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 *", "0 0 30,31 2 */2"])
def test_a_day_that_no_month_has_never_fires(text: str) -> None:
    with pytest.raises(ScheduleNeverFires):
        Cron(text)


@pytest.mark.parametrize("text", ["0 0 31 2 1-5", "0 0 29 2 *", "0 0 30 1,2 *", "0 0 L 2 *"])
def test_a_day_that_sometimes_comes_is_accepted(text: str) -> None:
    assert next_after(Cron(text), datetime(2026, 1, 1, tzinfo=UTC), ZoneInfo("UTC")) is not None


@pytest.mark.parametrize(
    "text", ["0 9 * * 1-5", "* * 0 * *", "0 0 9 * * *", "@daily", "@reboot", "*/5 * * * *", "0 9 * *"]
)
def test_what_is_meant_as_a_cron_line_is_seen(text: str) -> None:
    assert cron.looks_like_cron(text)


@pytest.mark.parametrize(
    "text", ["every day 9am", "mon", "5 minutes", "2026-12-05 08:00", "12/5 8点", "9am", "sat sun mon tue wed"]
)
def test_what_is_no_cron_line_is_left_to_the_grammar(text: str) -> None:
    assert cron.looks_like_cron(text) == (text == "sat sun mon tue wed")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin"])
def test_cronsim_agrees_where_changes_are_whole_hours_after_midnight(zone: str) -> None:
    rng = random.Random(zone)
    info = ZoneInfo(zone)
    for _ in range(150):
        minute = rng.choice(["*", "*/15", "*/7", "0", "30", "5,35", "10-20/5"])
        hour = rng.choice(["*", "*/3", "2", "1,2,3", "9-17", "0-4/2"])
        day = rng.choice(["*", "1", "15,L", "LW", "*/2"])
        text = f"{minute} {hour} {day} * {rng.choice(['*', '1-5', '0', '1#1', '5L'])}"
        start = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), 12, tzinfo=UTC)
        theirs = CronSim(text, start.astimezone(info))
        wanted = [next(theirs).astimezone(UTC) for _ in range(20)]
        assert list(instants(Cron(text), info, start, wanted[-1])) == wanted, text


def test_half_an_hour_of_change_loses_nothing() -> None:
    """cronsim 2.8 steps whole hours here and names 04:30 first."""
    zone = ZoneInfo("Australia/Lord_Howe")
    before = datetime.fromisoformat("2026-10-04T01:00:00+10:30")
    assert next_after(Cron("*/5 4 * * *"), before, zone) == datetime.fromisoformat("2026-10-04T04:00:00+11:00")


def test_the_next_lies_after_now_in_the_second_pass_of_an_hour() -> None:
    """cronsim 2.8 goes back to the first pass from here."""
    zone = ZoneInfo("America/New_York")
    second_pass = datetime.fromisoformat("2026-11-01T01:10:00-05:00")
    assert next_after(Cron("30 1 * * *"), second_pass, zone) == datetime.fromisoformat("2026-11-02T01:30:00-05:00")


def test_a_missing_midnight_is_not_one_o_clock_for_real_minutes() -> None:
    zone = ZoneInfo("America/Sao_Paulo")
    before = datetime.fromisoformat("2017-10-14T23:50:00-03:00")
    assert next_after(Cron("*/30 0 * * *"), before, zone) == datetime.fromisoformat("2017-10-16T00:00:00-02:00")
    assert next_after(Cron("0 0 * * *"), before, zone) == datetime.fromisoformat("2017-10-15T01:00:00-02:00")


def test_the_next_instant_is_found_fast() -> None:
    zone, now = ZoneInfo("America/New_York"), datetime(2026, 12, 1, tzinfo=UTC)
    sparse = next_after(Cron("0 0 29 2 1"), datetime(2026, 1, 1, tzinfo=UTC), zone)
    assert sparse is not None
    count = sum(1 for _ in instants(Cron("*/5 * * * *"), zone, now, now + timedelta(days=30)))
    assert count == 30 * 288
