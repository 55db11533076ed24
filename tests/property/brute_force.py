"""The rules of docs/formats/schedules.md, applied to every minute: slow, plain, and without a line of the engine.

``readings`` walks the UTC minutes of a span and notes what the wall clock shows. A rule is then a set of local dates
and a set of minutes of the day; no cron library and no search takes part.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


@dataclass(frozen=True)
class Readings:
    """Every UTC minute of a span, and the local date and minute of the day that it shows."""

    instants: list[datetime]
    dates: list[date]
    minutes: list[int]
    first_shown: dict[date, dict[int, datetime]]


def readings(zone: ZoneInfo, start: datetime, end: datetime) -> Readings:
    instants, dates, minutes = [], [], []
    at = start
    while at < end:
        local = at.astimezone(zone)
        instants.append(at)
        dates.append(local.date())
        minutes.append(local.hour * 60 + local.minute)
        at += MINUTE
    return Readings(instants, dates, minutes, first_shown(instants, dates, minutes))


# --- rule 1: the five fields of cron ----------------------------------------------------------------------------------


def number(text: str, names: list[str], first: int) -> int:
    return names.index(text.lower()) + first if text.lower() in names else int(text)


def values(field: str, low: int, high: int, names: list[str], first: int = 0) -> set[int]:
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            start, end = low, high
        elif "-" in span:
            start, end = (number(each, names, first) for each in span.split("-"))
        else:
            start = number(span, names, first)
            end = high if step else start
        found |= set(range(start, end + 1, int(step or 1)))
    return found


def month_length(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def in_day_field(field: str, day: date) -> bool:
    for item in field.split(","):
        if item.upper() == "L":
            if day.day == month_length(day):
                return True
        elif item.upper() == "LW":
            workdays = [n for n in range(1, month_length(day) + 1) if day.replace(day=n).weekday() < 5]
            if day.day == workdays[-1]:
                return True
        elif day.day in values(item, 1, 31, []):
            return True
    return False


def in_weekday_field(field: str, day: date) -> bool:
    mine = (day.weekday() + 1) % 7
    for item in field.split(","):
        if "#" in item:
            name, nth = item.split("#")
            same = [n for n in range(1, day.day + 1) if day.replace(day=n).weekday() == day.weekday()]
            if number(name, WEEKDAYS, 0) % 7 == mine and len(same) == int(nth):
                return True
        elif item.upper().endswith("L"):
            if int(item[:-1]) % 7 == mine and day.day + 7 > month_length(day):
                return True
        elif mine in {value % 7 for value in values(item, 0, 7, WEEKDAYS)}:
            return True
    return False


def cron_day(days: str, months: str, weekdays: str) -> Callable[[date], bool]:
    def wanted(day: date) -> bool:
        if day.month not in values(months, 1, 12, MONTHS, 1):
            return False
        by_day, by_weekday = in_day_field(days, day), in_weekday_field(weekdays, day)
        if days.startswith("*") or weekdays.startswith("*"):
            return by_day and by_weekday
        return by_day or by_weekday

    return wanted


def cron_fires(expression: str, seen: Readings) -> list[datetime]:
    minute, hour, days, months, weekdays = expression.split()
    wanted = {h * 60 + m for h in values(hour, 0, 23, []) for m in values(minute, 0, 59, [])}
    fixed = not minute.startswith("*") and not hour.startswith("*")
    return fires(cron_day(days, months, weekdays), wanted, fixed, seen)


# --- rules 2 and 3: fixed times and real minutes ----------------------------------------------------------------------


def fires(wanted_day: Callable[[date], bool], wanted: set[int], fixed: bool, seen: Readings) -> list[datetime]:
    if fixed:
        return fixed_fires(wanted_day, wanted, seen)
    days = {day for day in seen.first_shown if wanted_day(day)}
    every = zip(seen.instants, seen.dates, seen.minutes, strict=True)
    return [at for at, day, minute in every if minute in wanted and day in days]


def fixed_fires(wanted_day: Callable[[date], bool], wanted: set[int], seen: Readings) -> list[datetime]:
    """Each local time once: the first minute that shows it, or the first after the gap that swallowed it."""
    days = {day for day in seen.first_shown if wanted_day(day)}
    return sorted({at for day in days for minute, at in seen.first_shown[day].items() if minute in wanted})


def first_shown(instants: list[datetime], dates: list[date], minutes: list[int]) -> dict[date, dict[int, datetime]]:
    """For every local time, also for one that is skipped: when it is shown first, or is first past."""
    found: dict[date, dict[int, datetime]] = {}
    latest: tuple[date, int] | None = None
    for at, day, minute in zip(instants, dates, minutes, strict=True):
        reading = (day, minute)
        if latest is not None and reading > latest:
            missing = after(latest)
            while missing < reading:
                found.setdefault(missing[0], {}).setdefault(missing[1], at)
                missing = after(missing)
        found.setdefault(day, {}).setdefault(minute, at)
        latest = reading if latest is None else max(latest, reading)
    return found


def after(reading: tuple[date, int]) -> tuple[date, int]:
    day, minute = reading
    return (day, minute + 1) if minute < 1439 else (day + timedelta(days=1), 0)


# --- rule 4: intervals ------------------------------------------------------------------------------------------------


def interval_fires(every_s: int, anchor: datetime, start: datetime, end: datetime) -> list[datetime]:
    """By counting seconds from the anchor."""
    base = int((anchor - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    low = int((start - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    high = int((end - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    found = []
    at = base
    while at < high:
        if at > low:
            found.append(datetime.fromtimestamp(at, tz=UTC))
        at += every_s
    return found
