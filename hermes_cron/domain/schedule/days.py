"""Which local calendar days does a wall-clock rule name?

Each value answers ``matches``, and ``skip``: the day from which a search may go on after a day that did not match, so
that a rule for one month does not look at the other eleven. Weekdays are cron's: 0 is Sunday.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeAlias

from hermes_cron.domain.schedule import cron
from hermes_cron.errors import ScheduleInvalid, ScheduleNeverFires

ONE_DAY = timedelta(days=1)
MOST_COUNT = 3660


def cron_weekday(day: date) -> int:
    return (day.weekday() + 1) % 7


def month_length(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _month_number(day: date) -> int:
    return day.year * 12 + day.month - 1


def require_count(every: int) -> None:
    """Every how many days, weeks or months a rule may come: ten years of days is the most."""
    if every < 1:
        raise ScheduleInvalid("every 0 is never", hint='such as "every 2 days at 9am"')
    if every > MOST_COUNT:
        raise ScheduleInvalid(f"every {every} is out of range", hint=f"at most every {MOST_COUNT}")


def _first_named(days: EveryWeeks | EveryMonths, most: int) -> date:
    require_count(days.every)
    for step in range(most):
        if days.matches(days.first + step * ONE_DAY):
            return days.first + step * ONE_DAY
    raise ScheduleNeverFires("the rule names no day within nine years", hint="hermes-cron explain")


@dataclass(frozen=True, slots=True, kw_only=True)
class CronDays:
    """The last three fields of a cron line, with cron's rule for how day and weekday join."""

    days: str = "*"
    months: str = "*"
    weekdays: str = "*"

    def __post_init__(self) -> None:
        _, _, days, months, weekdays = cron.normalise(f"0 0 {self.days} {self.months} {self.weekdays}").split()
        object.__setattr__(self, "days", days)
        object.__setattr__(self, "months", months)
        object.__setattr__(self, "weekdays", weekdays)

    def line(self) -> cron.CronLine:
        return cron.read(f"0 0 {self.days} {self.months} {self.weekdays}")

    def matches(self, day: date) -> bool:
        return self.line().matches(day)


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryDays:
    """Every ``every`` days, counted from ``first``."""

    every: int
    first: date

    def __post_init__(self) -> None:
        require_count(self.every)

    def matches(self, day: date) -> bool:
        return day >= self.first and (day - self.first).days % self.every == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryWeeks:
    """``weekdays`` of every ``every``-th week. Weeks begin on Monday; that of ``first`` counts, no day before it."""

    every: int
    weekdays: tuple[int, ...]
    first: date
    """Stored as the first day that the rule names, so that equal rules are equal values."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weekdays", tuple(sorted({day % 7 for day in self.weekdays})))
        object.__setattr__(self, "first", _first_named(self, self.every * 7 + 7))

    def matches(self, day: date) -> bool:
        if day < self.first or cron_weekday(day) not in self.weekdays:
            return False
        return (monday_of(day) - monday_of(self.first)).days // 7 % self.every == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthDays:
    """Days of the month counted from the end: -1 is the last, -2 the one before."""

    days: tuple[int, ...]
    months: tuple[int, ...] = ()
    """Empty for every month."""

    def __post_init__(self) -> None:
        if min(self.days, default=0) >= -1 or min(self.days) < -28:
            raise ScheduleInvalid("days from the end are -2 to -28", hint='for the last day: "0 9 L * *"')
        object.__setattr__(self, "days", tuple(sorted(set(self.days))))
        object.__setattr__(self, "months", tuple(sorted(set(self.months))))

    def matches(self, day: date) -> bool:
        if self.months and day.month not in self.months:
            return False
        return day.day in self.days or day.day - month_length(day) - 1 in self.days


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthWorkdays:
    """The n-th Monday-to-Friday day of the month: 1 the first, -1 the last. Holidays are not considered."""

    nth: tuple[int, ...]
    months: tuple[int, ...] = ()
    """Empty for every month."""

    def __post_init__(self) -> None:
        if not self.nth or not all(0 < abs(nth) <= 20 for nth in self.nth):  # February has at least 20
            raise ScheduleInvalid("every month has 20 workdays", hint='"first workday of the month"')
        object.__setattr__(self, "nth", tuple(sorted(set(self.nth))))
        object.__setattr__(self, "months", tuple(sorted(set(self.months))))

    def matches(self, day: date) -> bool:
        if day.weekday() > 4 or (self.months and day.month not in self.months):
            return False
        length = month_length(day)
        before = sum(1 for number in range(1, day.day) if day.replace(day=number).weekday() <= 4)
        later = sum(1 for number in range(day.day + 1, length + 1) if day.replace(day=number).weekday() <= 4)
        return before + 1 in self.nth or -later - 1 in self.nth


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryMonths:
    """The days that ``within`` names, in every ``every``-th month from that of ``first``; no day before it."""

    every: int
    within: CronDays | MonthDays | MonthWorkdays
    first: date
    """Stored as the first day that the rule names."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", _first_named(self, 366 * 9))

    def matches(self, day: date) -> bool:
        if day < self.first or (_month_number(day) - _month_number(self.first)) % self.every:
            return False
        return self.within.matches(day)


Days: TypeAlias = CronDays | EveryDays | EveryWeeks | MonthDays | MonthWorkdays | EveryMonths


def first_day(days: Days) -> date | None:
    """The day before which the rule names nothing; None for rules without a beginning."""
    return days.first if isinstance(days, EveryDays | EveryWeeks | EveryMonths) else None


def months_of(days: Days) -> frozenset[int]:
    """The months in which the rule can name a day."""
    match days:
        case CronDays():
            return days.line().months
        case MonthDays() | MonthWorkdays():
            return frozenset(days.months or range(1, 13))
        case _:
            return frozenset(range(1, 13))
