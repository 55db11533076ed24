"""1,000 random triggers over 60 days, in zones whose clocks change, against every minute and the written rules."""

from __future__ import annotations

import random
import sys
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain.schedule.days import CronDays, EveryDays, EveryMonths, EveryWeeks, MonthDays, MonthWorkdays
from hermes_cron.domain.schedule.trigger import (
    Cron,
    Interval,
    Rule,
    Times,
    Trigger,
    Window,
    any_of,
    dump,
    instants,
    load,
    next_after,
    previous_before,
)
from hermes_cron.errors import ScheduleNeverFires

sys.path.insert(0, str(Path(__file__).parent))
import brute_force as brute

DAYS = 60
SPANS = {
    # zone: the first UTC day of spans of 60 days, each over a change of the clock (or a rule without one)
    "America/New_York": ["2026-02-20", "2026-10-10"],
    "Europe/Berlin": ["2026-03-01", "2026-10-01"],
    "Australia/Lord_Howe": ["2026-09-10", "2026-03-10"],
    "Asia/Shanghai": ["2026-12-01"],
    "Pacific/Apia": ["2011-12-05", "2011-09-01"],
    "America/Sao_Paulo": ["2017-10-01", "2018-01-20"],
    "Africa/Casablanca": ["2026-02-01", "2026-03-10"],
    "America/St_Johns": ["2010-10-20"],
    "UTC": ["2028-02-01"],
}
CHUNKS = 20
PER_CHUNK = 50


@cache
def seen(zone: str, start: datetime) -> brute.Readings:
    # a day before and after, so that what a gap moves over the edge is seen
    return brute.readings(ZoneInfo(zone), start - timedelta(days=2), start + timedelta(days=DAYS + 2))


def number_list(rng: random.Random, low: int, high: int, most: int) -> str:
    return ",".join(str(n) for n in sorted(rng.sample(range(low, high + 1), rng.randint(1, most))))


def field(rng: random.Random, low: int, high: int) -> str:
    span = sorted(rng.sample(range(low, high + 1), 2))
    return rng.choice(
        [
            "*",
            f"*/{rng.randint(1, high)}",
            str(rng.randint(low, high)),
            number_list(rng, low, high, 4),
            f"{span[0]}-{span[1]}",
            f"{span[0]}-{span[1]}/{rng.randint(1, 9)}",
            f"{span[0]}/{rng.randint(2, 20)}",
        ]
    )


def day_fields(rng: random.Random) -> tuple[str, str, str]:
    days = rng.choice(["*", "*", "*", "*/2", field(rng, 1, 31), number_list(rng, 1, 28, 3), "L", "LW", "15,L"])
    months = rng.choice(["*", "*", "*", field(rng, 1, 12)])
    weekdays = rng.choice(
        ["*", "*", "1-5", "0,6", field(rng, 0, 7), f"{rng.randint(0, 7)}#{rng.randint(1, 5)}", "5L,1#1"]
    )
    return days, months, weekdays


def cron_text(rng: random.Random) -> str:
    hour = rng.choice([field(rng, 0, 23), str(rng.randint(0, 4)), "*", number_list(rng, 0, 5, 3)])
    return " ".join([field(rng, 0, 59), hour, *day_fields(rng)])


def clock(rng: random.Random) -> Times | Window:
    if rng.random() < 0.5:
        return Times(minutes=tuple(sorted(rng.sample(range(300), rng.randint(1, 5)))))
    first = rng.randint(0, 300)
    return Window(step=rng.choice([1, 5, 7, 15, 20, 30, 60, 90]), first=first, last=rng.randint(first, 1439))


Days = CronDays | EveryDays | EveryWeeks | MonthDays | MonthWorkdays | EveryMonths


def month_length(day: date) -> int:
    return brute.month_length(day)


def random_days(rng: random.Random, start: date) -> tuple[Days, object]:
    """The value, and a judge of one date written from the documentation."""
    first = start + timedelta(days=rng.randint(-20, 30))
    every = rng.randint(1, 4)
    shape = rng.randint(0, 5)
    if shape == 0:
        days, months, weekdays = day_fields(rng)
        return CronDays(days=days, months=months, weekdays=weekdays), brute.cron_day(days, months, weekdays)
    if shape == 1:
        return EveryDays(every=every, first=first), lambda day: day >= first and (day - first).days % every == 0
    if shape == 2:
        on = tuple(sorted(rng.sample(range(7), rng.randint(1, 3))))
        monday = first - timedelta(days=first.weekday())
        return (
            EveryWeeks(every=every, weekdays=on, first=first),
            lambda day: day >= first and day.isoweekday() % 7 in on and ((day - monday).days // 7) % every == 0,
        )
    if shape == 3:
        listed = (rng.choice([-2, -3, -5]), rng.choice([1, 15, 31, -1]))
        return MonthDays(days=listed), lambda day: day.day in listed or day.day - month_length(day) - 1 in listed
    if shape == 4:
        nth = tuple(rng.sample([1, 2, 3, 10, -1, -2], 2))
        return MonthWorkdays(nth=nth), lambda day: is_nth_workday(day, nth)
    return (
        EveryMonths(every=every, within=CronDays(days="1,15,L"), first=first),
        lambda day: (
            day >= first
            and ((day.year - first.year) * 12 + day.month - first.month) % every == 0
            and (day.day in (1, 15) or day.day == month_length(day))
        ),
    )


def is_nth_workday(day: date, nth: tuple[int, ...]) -> bool:
    month = [day.replace(day=n) for n in range(1, month_length(day) + 1)]
    workdays = [each for each in month if each.weekday() < 5]
    wanted = [workdays[n - 1] if n > 0 else workdays[n] for n in nth]
    return day in wanted


def random_trigger(rng: random.Random, start: datetime, readings: brute.Readings) -> tuple[Trigger, list[datetime]]:
    shape = rng.random()
    if shape < 0.55:
        while True:
            text = cron_text(rng)
            try:
                return Cron(text), brute.cron_fires(text, readings)
            except ScheduleNeverFires:
                continue
    if shape < 0.65:
        every = rng.choice([60, 90, 300, 3600, 5400, 7200, 86400, 100_000])
        anchor = start + timedelta(seconds=rng.randint(-1_000_000, 1_000_000))
        low, high = readings.instants[0], readings.instants[-1]
        return Interval(timedelta(seconds=every), anchor), brute.interval_fires(every, anchor, low, high)
    if shape < 0.95:
        days, judge = random_days(rng, start.date())
        when = clock(rng)
        wanted = set(when.minutes) if isinstance(when, Times) else set(range(when.first, when.last + 1, when.step))
        return Rule(days=days, clock=when), brute.fires(judge, wanted, isinstance(when, Times), readings)  # type: ignore[arg-type]
    parts = [random_trigger(rng, start, readings) for _ in range(2)]
    union = any_of(tuple(trigger for trigger, _ in parts))
    return union, sorted({instant for _, found in parts for instant in found})


@cache
def cases(chunk: int) -> list[tuple[str, datetime, Trigger, list[datetime]]]:
    rng = random.Random(chunk)
    spans = [(zone, start) for zone, starts in SPANS.items() for start in starts]
    zone, day = spans[chunk % len(spans)]
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    readings = seen(zone, start)
    return [(zone, start, *random_trigger(rng, start, readings)) for _ in range(PER_CHUNK)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_instants_are_those_of_the_written_rules(chunk: int) -> None:
    for zone, start, trigger, expected in cases(chunk):
        after, until = start, start + timedelta(days=DAYS)
        wanted = [instant for instant in expected if after < instant <= until]
        assert list(instants(trigger, ZoneInfo(zone), after, until)) == wanted, (zone, trigger)


@pytest.mark.parametrize("chunk", range(0, CHUNKS, 3))
def test_previous_and_next_agree(chunk: int) -> None:
    rng = random.Random(-chunk)
    for zone, start, trigger, expected in cases(chunk)[:20]:
        info = ZoneInfo(zone)
        until = start + timedelta(days=DAYS)
        within = [instant for instant in expected if start < instant <= until]
        for _ in range(20):
            now = start + timedelta(seconds=rng.randint(0, DAYS * 86400))
            earlier = [instant for instant in within if instant < now]
            later = [instant for instant in within if instant > now]
            if earlier:
                assert previous_before(trigger, now, info) == earlier[-1], (zone, trigger, now)
            if later:
                assert next_after(trigger, now, info) == later[0], (zone, trigger, now)
        for instant in within[:20]:
            follower = next_after(trigger, instant, info)
            assert follower is None or previous_before(trigger, follower, info) == instant


@pytest.mark.parametrize("chunk", range(0, CHUNKS, 4))
def test_the_stored_form_reads_back(chunk: int) -> None:
    for _, _, trigger, _ in cases(chunk):
        assert load(dump(trigger)) == trigger
