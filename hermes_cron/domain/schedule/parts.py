"""What can a phrase say? The parts that both grammars recognise and ``assemble`` puts together.

Weekdays are cron's (0 is Sunday), days of the month may count from the end (-1 is the last), times are as written until
``assemble`` resolves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import TypeAlias


class Unit(StrEnum):
    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class Daypart(StrEnum):
    """Words that say which half of the day a bare hour means."""

    SMALL_HOURS = "small hours"
    MORNING = "morning"
    MIDDAY = "midday"
    AFTERNOON = "afternoon"
    EVENING = "evening"
    NIGHT = "night"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockWord:
    """A time as written. ``bare``: an hour alone, with neither minutes nor a half of the day."""

    hour: int
    minute: int = 0
    meridiem: str | None = None
    """``am`` or ``pm``."""
    daypart: Daypart | None = None
    bare: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """One or several times of day."""

    times: tuple[ClockWord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    first: ClockWord
    last: ClockWord
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfDay:
    daypart: Daypart


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """``length`` for seconds, minutes and hours; ``count`` of ``unit`` else."""

    unit: Unit
    count: int = 1
    length: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A length alone, such as ``30m``: two readings. ``every`` is what the second would say of days and more."""

    text: str
    every: Every | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class In:
    """From now: an exact length, or calendar days and months."""

    length: timedelta | None = None
    days: int = 0
    months: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Words that point back: ago, yesterday."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekdays:
    days: tuple[int, ...]
    recurring: bool
    workdays: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekdayOf:
    """One weekday of one week: ``weeks`` after this one, or the first after today when ``weeks`` is None."""

    day: int
    weeks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NthWeekdays:
    """(nth, weekday) pairs of a month; nth -1 is the last."""

    picks: tuple[tuple[int, int], ...]
    recurring: bool
    of_month: bool = True
    """Whether a month was named: "every second friday" alone can also mean every other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NthWorkdays:
    nth: tuple[int, ...]
    recurring: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysOfMonth:
    days: tuple[int, ...]
    recurring: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfNextMonth:
    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Months:
    months: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDate:
    month: int
    day: int
    year: int | None = None
    years_ahead: int | None = None
    """今年 is 0, 明年 is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDays:
    """The last three fields of a cron line: what ``words`` falls back to for days that have no better name."""

    days: str
    months: str
    weekdays: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnclearDate:
    """04/07: two orders."""

    first: int
    second: int
    year: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeDay:
    """0 is today."""

    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An ISO instant; naive means the job's zone."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class From:
    """A beginning: a date, a date with a time, a time alone (the next such), or an ISO instant."""

    day: date | None = None
    relative_day: int | None = None
    weekday: int | None = None
    """The first such day after today."""
    time: ClockWord | None = None
    moment: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMinutes:
    """Minutes of every hour."""

    minutes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HowOften:
    """``twice a day``: so many times must be named."""

    count: int
    unit: Unit
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Except:
    """Weekdays left out."""

    days: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWays:
    """Words with two meanings in common use: ``biweekly``, 隔三天. Each reading can stand in their place."""

    text: str
    readings: tuple[tuple[str, str], ...]
    """(label, words)."""
    time: str
    """What to add where the phrase has no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTheClock:
    """Steps counted from midnight, as cron's ``*/5``, and not from an anchor."""


Part: TypeAlias = (
    Clock
    | Between
    | PartOfDay
    | Every
    | Duration
    | In
    | Past
    | Weekdays
    | WeekdayOf
    | NthWeekdays
    | NthWorkdays
    | DaysOfMonth
    | DayOfNextMonth
    | Months
    | CalendarDate
    | UnclearDate
    | RelativeDay
    | Moment
    | From
    | AtMinutes
    | NamedDays
    | HowOften
    | Except
    | TwoWays
    | OnTheClock
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A phrase taken apart. ``left_over`` and ``understood`` are for the message when something was not recognised."""

    parts: tuple[Part, ...]
    left_over: str = ""
    understood: str = ""
