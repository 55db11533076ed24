"""Do the parts of a phrase make one trigger, none, or two?

One table of shapes for both languages. What is not wholly determined is refused: ScheduleAmbiguous with both spellings,
ScheduleInvalid with what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import NoReturn, TypeVar

from hermes_cron.domain import oneshot
from hermes_cron.domain import parts as p
from hermes_cron.domain.days import CronDays, Days, MonthDays, MonthWorkdays
from hermes_cron.domain.parts import Unit
from hermes_cron.domain.refusal import (
    Setting,
    ambiguous,
    every_with_a_time,
    needs_a_time,
    needs_a_time_once,
    needs_an_hour,
    not_understood,
    weekday_name,
)
from hermes_cron.domain.times import clock_text, minutes_of
from hermes_cron.domain.timetable import (
    all_day,
    at_times,
    beginning,
    from_day,
    in_window,
    number_list,
    weekday_field,
)
from hermes_cron.domain.trigger import Interval, Trigger, any_of
from hermes_cron.domain.wallclock import fixed_instant
from hermes_cron.errors import HermesCronError, ScheduleAmbiguous, ScheduleInvalid

T = TypeVar("T")
_SELECTORS = (p.Weekdays, p.NthWeekdays, p.NthWorkdays, p.DaysOfMonth, p.NamedDays)
_ONE_DAY = (p.Moment, p.In, p.RelativeDay, p.WeekdayOf, p.DayOfNextMonth, p.CalendarDate, p.UnclearDate)
QUARTERS = (1, 4, 7, 10)


class Bag:
    """The parts by type; two of one type, or parts that no shape wants, are refused."""

    def __init__(self, parts: tuple[p.Part, ...], setting: Setting) -> None:
        self._parts: dict[type, p.Part] = {}
        self._setting = setting
        for part in parts:
            if type(part) in self._parts and self._parts[type(part)] != part:
                raise not_understood(setting, "it says two things of one kind")
            self._parts[type(part)] = part

    def take(self, wanted: type[T]) -> T | None:
        part = self._parts.pop(wanted, None)
        return part if isinstance(part, wanted) else None

    def take_one_of(self, wanted: tuple[type[p.Part], ...]) -> p.Part | None:
        """The first that is there, in the order of ``wanted``."""
        return next((self._parts.pop(each) for each in wanted if each in self._parts), None)

    def put_back(self, part: p.Part) -> None:
        self._parts[type(part)] = part

    def has(self, *wanted: type) -> bool:
        return any(each in self._parts for each in wanted)

    def done(self) -> None:
        if self._parts:
            raise not_understood(self._setting, "its parts do not go together")


def assemble(parts: tuple[p.Part, ...], setting: Setting) -> Trigger:
    """Raises ScheduleInvalid, ScheduleAmbiguous, ScheduleInPast or ScheduleNeverFires."""
    bag = Bag(_without_daily(parts), setting)
    if bag.has(p.Past):
        raise oneshot.in_past(setting)
    if bag.has(p.Duration):
        return _duration(bag, setting)
    if bag.has(p.RelativeDay, p.WeekdayOf, p.DayOfNextMonth, p.UnclearDate, p.Moment, p.In):
        return _once(bag, setting)
    if bag.has(p.CalendarDate) and not bag.has(p.Every):
        return _once(bag, setting)
    every = bag.take(p.Every)
    if every is not None and every.length is not None:
        return _repeated(every.length, bag, setting)
    return _on_days(every, bag, setting)


def _without_daily(parts: tuple[p.Part, ...]) -> tuple[p.Part, ...]:
    """``every day, every hour from 9 to 18``: the window's step says how often, "every day" adds nothing."""
    stepped = any(isinstance(part, p.Every) and part.length is not None for part in parts)
    daily = p.Every(unit=Unit.DAY)
    within = any(isinstance(part, p.Between | p.AtMinutes) for part in parts)
    return tuple(part for part in parts if part != daily) if stepped and within else parts


def _duration(bag: Bag, setting: Setting) -> NoReturn:
    found = bag.take(p.Duration)
    bag.done()
    text, zh = setting.text, setting.lang == "zh"
    always = f"每{text}" if zh else f"every {text}"
    if found is not None and found.every is not None:  # days and more need a time: show a phrase that parses
        always = every_with_a_time(found.every, setting.lang)
    raise ambiguous(setting, ("once", f"{text}后" if zh else f"in {text}"), ("always", always))


# --- once -------------------------------------------------------------------------------------------------------------


def _once(bag: Bag, setting: Setting) -> Trigger:
    clock = bag.take(p.Clock)
    daypart = bag.take(p.PartOfDay)
    named = bag.take(p.Weekdays)
    day = bag.take_one_of(_ONE_DAY)
    assert day is not None  # noqa: S101 - the caller looked
    bag.done()
    if isinstance(day, p.Moment | p.In) and (isinstance(day, p.Moment) or day.length is not None or clock is None):
        if clock or daypart or named:
            raise not_understood(setting, "its parts do not go together")
        return oneshot.instant(day, setting)
    local_date = oneshot.date_of(day, setting)
    if named is not None:
        oneshot.require_weekday(named, local_date, setting)
    if clock is None:
        if daypart is not None:
            raise needs_an_hour(setting, daypart.daypart)
        raise needs_a_time_once(setting, late=local_date == setting.today())
    minutes = minutes_of(clock.times, daypart.daypart if daypart else None, once=True)
    return oneshot.at(day, local_date, minutes, setting)


# --- again and again, by length ---------------------------------------------------------------------------------------


def _repeated(length: timedelta, bag: Bag, setting: Setting) -> Trigger:
    if not bag.has(p.Between, p.AtMinutes, p.OnTheClock, p.Months, *_SELECTORS):
        since = bag.take(p.From)
        bag.done()
        return Interval(length, setting.anchor if since is None else _from_instant(since, setting))
    step = _whole_minutes(length)
    between, past, _ = bag.take(p.Between), bag.take(p.AtMinutes), bag.take(p.OnTheClock)
    _require_recurring(bag, setting)
    days = _since(_selected(bag, setting, unit=None), 1, bag, setting)
    bag.done()
    if past is not None:
        return _past_the_hour(days, step, past.minutes, between)
    if between is not None:
        first, last = _window(between, setting)
        return in_window(days, step=step, first=first, last=last)
    if 1440 % step:
        raise ScheduleInvalid(
            f"{step} minutes do not divide a day, so the steps would break off at midnight",
            hint=f'"every {step} minutes" alone has no such break; or a window: "... between 9am and 5pm"',
        )
    return all_day(days, step=step)


def _require_recurring(bag: Bag, setting: Setting) -> None:
    """A step on ``monday``: this one, or each?"""
    found = bag.take_one_of(_SELECTORS)
    if found is None:
        return
    bag.put_back(found)
    if not _plain(found, None).recurring:
        raise ScheduleInvalid(
            f'"{setting.text}" can mean one day or each such day',
            hint='say "every": "... on mondays", "... every monday", "... on the 1st of every month"',
        )


def _whole_minutes(length: timedelta) -> int:
    if length % timedelta(minutes=1):
        raise ScheduleInvalid(
            "steps within a day are whole minutes", hint='seconds are for intervals alone: "every 90 seconds"'
        )
    return length // timedelta(minutes=1)


def _past_the_hour(days: Days, step: int, minutes: tuple[int, ...], between: p.Between | None) -> Trigger:
    if step % 60 or max(minutes) > 59:
        raise ScheduleInvalid("minutes of the hour are 0-59, and go with whole hours", hint='"every hour at :30"')
    if between is None:
        found = [all_day(days, step=step, first=minute) for minute in minutes]
        if isinstance(days, CronDays) and 1440 % step == 0:
            hours = "*" if step == 60 else f"*/{step // 60}"
            return cron_of(number_list(minutes), hours, days)
        return any_of(tuple(found))
    first, last = minutes_of((between.first,), None, once=False)[0], minutes_of((between.last,), None, once=False)[0]
    times = [hour + past for hour in range(first - first % 60, last + 1, step) for past in minutes]
    return at_times(days, tuple(each for each in times if first <= each <= last))


def cron_of(minute: str, hour: str, days: CronDays) -> Trigger:
    from hermes_cron.domain.trigger import Cron

    return Cron(f"{minute} {hour} {days.days} {days.months} {days.weekdays}")


def _window(between: p.Between, setting: Setting) -> tuple[int, int]:
    both = (between.first, between.last)
    (first,), (last,) = _resolved_pair(both)
    if last < first and between.last.bare and between.last.daypart is None and last + 720 > first and first <= 720:
        raise ambiguous(
            setting,
            ("by day", _with_window(between, first, last + 720, setting)),
            ("by night", _with_window(between, first, last, setting)),
        )
    return first, last


def _with_window(between: p.Between, first: int, last: int, setting: Setting) -> str:
    """The phrase with its window in unmistakable times."""
    to = (" 到 " if setting.lang == "zh" else " and ").join((clock_text(first), clock_text(last)))
    window = to if setting.lang == "zh" else f"between {to}"
    return setting.text.lower().replace(between.text, window)


def _resolved_pair(both: tuple[p.ClockWord, p.ClockWord]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    first, last = both
    if first.meridiem is None and first.bare and last.meridiem is not None:
        minutes = minutes_of(both, None, once=False)
        return (minutes[0],), (minutes[-1],)
    return minutes_of((first,), None, once=False), minutes_of((last,), None, once=False)


def _from_instant(since: p.From, setting: Setting) -> datetime:
    if since.moment is not None:
        moment = since.moment
        return fixed_instant(moment, setting.zone) if moment.tzinfo is None else moment.astimezone(UTC)
    if since.time is None:
        raise ScheduleInvalid(
            f'"{setting.text}" begins on a day and at no time', hint='such as "every 2 hours from 2026-12-04T08:00"'
        )
    minute = minutes_of((since.time,), None, once=True)[0]
    return fixed_instant(datetime.combine(_from_date(since, setting), time(minute // 60, minute % 60)), setting.zone)


def _from_date(since: p.From, setting: Setting) -> date:
    if since.day is not None:
        return since.day
    return setting.today() + timedelta(days=since.relative_day or 0)


# --- again and again, by day ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plain:
    """Parts that say days of a week or a month, before it is known how often they come."""

    days: CronDays | MonthDays | MonthWorkdays
    recurring: bool


def _on_days(every: p.Every | None, bag: Bag, setting: Setting) -> Trigger:
    clock, daypart = bag.take(p.Clock), bag.take(p.PartOfDay)
    if clock is not None and daypart is not None:
        clock = _in_part_of_day(clock, daypart)
    if bag.has(p.Between, p.AtMinutes, p.OnTheClock):
        raise not_understood(setting, 'a window needs a step, such as "every 15 minutes"')
    bare = every is None and not bag.has(*_SELECTORS)
    if bare and bag.has(p.From):
        raise not_understood(setting, 'a beginning needs how often, such as "every day"')
    if bare and bag.has(p.Months):
        raise not_understood(setting, 'how often in those months, such as "every day in december"')
    if every is not None and bag.has(p.CalendarDate):
        days: Days = _yearly(every, bag, setting)
    else:
        days = _days(every, clock, bag, setting)
    if clock is None:
        raise needs_a_time(setting, every, daypart=daypart.daypart if daypart else None)
    minutes = minutes_of(clock.times, None, once=False)
    if bare:
        raise _bare_clock(minutes, setting)
    count = every.count if every else 1
    days = _since(days, count, bag, setting, minutes=minutes)
    bag.done()
    return at_times(days, minutes)


def _in_part_of_day(clock: p.Clock, part: p.PartOfDay) -> p.Clock:
    return p.Clock(times=tuple(replace(time, daypart=time.daypart or part.daypart) for time in clock.times))


def _since(days: Days, count: int, bag: Bag, setting: Setting, *, minutes: tuple[int, ...] = (0,)) -> Days:
    """Count from the day named, or, for every second and third, from the first instant after the anchor."""
    since = bag.take(p.From)
    if since is not None:
        if since.time is not None or since.moment is not None:
            raise ScheduleInvalid(
                f'"{setting.text}" has two times', hint='begin with a day: "every day at 9am from 2026-12-04"'
            )
        return from_day(days, count, _from_date(since, setting))
    if count == 1:
        return days
    return from_day(days, count, beginning(days, minutes, since=setting.anchor, zone=setting.zone))


def _yearly(every: p.Every, bag: Bag, setting: Setting) -> CronDays:
    found = bag.take(p.CalendarDate)
    assert found is not None  # noqa: S101 - the caller looked
    if every.unit is not Unit.YEAR or every.count != 1 or found.year is not None:
        raise not_understood(setting, "its parts do not go together")
    return CronDays(days=str(found.day), months=str(found.month))


def _days(every: p.Every | None, clock: p.Clock | None, bag: Bag, setting: Setting) -> Days:
    has_selector = bag.has(*_SELECTORS)
    if every is not None and not has_selector:
        _require_days_for(every, bag, setting)
    if every is not None and every.unit is Unit.WEEK and not has_selector:
        return _weekday_of_beginning(bag, setting)
    return _selected(bag, setting, unit=every.unit if every else None, clock=clock)


def _require_days_for(every: p.Every, bag: Bag, setting: Setting) -> None:
    """A week, month, quarter or year alone does not say on which day."""
    if every.unit is Unit.DAY or (every.unit is Unit.WEEK and bag.has(p.From)):
        return
    if every.unit is Unit.QUARTER:
        readings = (("hour", "every 15 minutes"), ("year", "first day of every quarter at 09:00"))
        if setting.lang == "zh":
            readings = (("hour", "每15分钟"), ("year", "每季度第一天9点"))
        raise ambiguous(setting, *readings)
    examples = {
        Unit.WEEK: ("every monday at 9am", "每周一9点"),
        Unit.MONTH: ("every month on the 1st at 9am", "每月1号9点"),
        Unit.YEAR: ("every year on march 1 at 9am", "每年3月1日9点"),
    }
    en, zh = examples[every.unit]
    example = zh if setting.lang == "zh" else en
    raise ScheduleInvalid(
        f'"{setting.text}" does not say on which day',
        hint=f"needs a day and a time: {example}",
        details={"understood": setting.text, "left_over": "", "examples": [example]},
    )


def _weekday_of_beginning(bag: Bag, setting: Setting) -> CronDays:
    since = bag.take(p.From)
    assert since is not None  # noqa: S101 - _require_days_for looked
    day = _from_date(since, setting)
    bag.put_back(since)
    return CronDays(weekdays=str((day.weekday() + 1) % 7))


def _selected(bag: Bag, setting: Setting, *, unit: Unit | None, clock: p.Clock | None = None) -> Days:
    """The days that a selector and a list of months name."""
    months = bag.take(p.Months)
    selector = bag.take_one_of(_SELECTORS)
    if months is None and unit is Unit.QUARTER:
        months = _quarter_months(selector, setting)
    if selector is None:
        return CronDays(months=number_list(months.months)) if months else CronDays()
    plain = _plain(selector, months)
    if isinstance(selector, p.NthWeekdays) and unit is None and months is None:
        _refuse_every_second(selector, clock, setting)
    if unit not in _UNITS_FOR[type(selector)]:
        raise not_understood(setting, "its parts do not go together")
    if unit is None and not plain.recurring:
        raise _once_or_always(plain.days, clock, setting)
    return plain.days


_UNITS_FOR: dict[type, tuple[Unit | None, ...]] = {
    p.Weekdays: (None, Unit.DAY, Unit.WEEK),
    p.NthWeekdays: (None, Unit.MONTH, Unit.YEAR),
    p.NthWorkdays: (None, Unit.MONTH, Unit.YEAR),
    p.DaysOfMonth: (None, Unit.MONTH, Unit.QUARTER, Unit.YEAR),
    p.NamedDays: (None, Unit.MONTH),
}


def _quarter_months(selector: object, setting: Setting) -> p.Months:
    match selector:
        case p.DaysOfMonth(days=(1,)):
            return p.Months(months=QUARTERS)
        case p.DaysOfMonth(days=(-1,)):
            return p.Months(months=(3, 6, 9, 12))
        case _:
            raise not_understood(setting, "a quarter has a first day and a last day")


def _plain(selector: p.Part, months: p.Months | None) -> _Plain:
    numbers = months.months if months else ()
    field = number_list(numbers) if numbers else "*"
    match selector:
        case p.NamedDays():
            return _Plain(CronDays(days=selector.days, months=selector.months, weekdays=selector.weekdays), True)
        case p.Weekdays():
            return _Plain(CronDays(weekdays=weekday_field(selector.days), months=field), selector.recurring)
        case p.NthWeekdays():
            picks = ",".join(f"{day}L" if nth == -1 else f"{day}#{nth}" for nth, day in selector.picks)
            if any(nth < -1 or nth == 0 or nth > 5 for nth, _ in selector.picks):
                raise ScheduleInvalid("a month has a first to a fifth weekday, and a last", hint='"first monday"')
            return _Plain(CronDays(weekdays=picks, months=field), selector.recurring)
        case p.NthWorkdays():
            if selector.nth == (-1,):
                return _Plain(CronDays(days="LW", months=field), selector.recurring)
            return _Plain(MonthWorkdays(nth=selector.nth, months=numbers), selector.recurring)
        case p.DaysOfMonth():
            return _Plain(_month_days(selector.days, numbers, field), selector.recurring)
        case _:
            raise AssertionError(selector)  # pragma: no cover - not in _SELECTORS


def _month_days(days: tuple[int, ...], months: tuple[int, ...], field: str) -> CronDays | MonthDays:
    if min(days) < -1:
        return MonthDays(days=days, months=months)
    if 0 in days or max(days) > 31:
        raise ScheduleInvalid("days of a month are 1-31", hint='"on the 1st of every month"')
    numbered = [str(day) for day in sorted(set(days)) if day > 0]
    return CronDays(days=",".join([*numbered, "L"] if -1 in days else numbered), months=field)


# --- two readings -----------------------------------------------------------------------------------------------------


def _bare_clock(minutes: tuple[int, ...], setting: Setting) -> ScheduleAmbiguous:
    naive = datetime.combine(setting.today(), time(minutes[0] // 60, minutes[0] % 60))
    today = fixed_instant(naive, setting.zone) > setting.now
    at = clock_text(minutes[0])
    if setting.lang == "zh":
        readings = (("once", f"{'今天' if today else '明天'} {at}"), ("always", f"每天 {at}"))
    else:
        readings = (("once", f"{'today' if today else 'tomorrow'} at {at}"), ("always", f"every day at {at}"))
    return ambiguous(setting, *readings)


def _refuse_every_second(selector: p.NthWeekdays, clock: p.Clock | None, setting: Setting) -> None:
    if selector.of_month or not selector.recurring or [nth for nth, _ in selector.picks] != [2]:
        return
    name = weekday_name(selector.picks[0][1])
    at = f" at {clock.times[0].text}" if clock else " at 9am"
    raise ambiguous(
        setting, ("other", f"every other {name}{at}"), ("of the month", f"second {name} of every month{at}")
    )


def _once_or_always(days: Days, clock: p.Clock | None, setting: Setting) -> HermesCronError:
    """A weekday or a day of the month that neither "every" nor "next" goes with."""
    if clock is None:
        return needs_a_time(setting, lead="每" if setting.lang == "zh" else "every ")
    from hermes_cron.domain.words import words

    minutes = minutes_of(clock.times, None, once=False)
    always = at_times(days, minutes)
    first = beginning(days, minutes, since=setting.now, zone=setting.zone)
    at = clock_text(minutes[0])
    once = f"{first} {at}" if setting.lang == "zh" else f"on {first} at {at}"
    return ambiguous(setting, ("once", once), ("always", words(always, lang=setting.lang, zone=setting.zone)))
