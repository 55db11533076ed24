"""Do the parts of a phrase make one trigger, none, or two?

One table of shapes for both languages. What is not wholly determined is refused: ScheduleAmbiguous with both spellings,
ScheduleInvalid with what is missing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time
from typing import NoReturn

from hermes_cron.domain.schedule import oneshot
from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.bag import ONE_DAY, SELECTORS, Bag
from hermes_cron.domain.schedule.beginning import counted, day_of
from hermes_cron.domain.schedule.days import CronDays, Days, require_count
from hermes_cron.domain.schedule.parts import Unit
from hermes_cron.domain.schedule.refusal import (
    Setting,
    ambiguous,
    every_with_a_time,
    needs_a_time,
    needs_a_time_once,
    needs_an_hour,
    not_understood,
)
from hermes_cron.domain.schedule.selected import left_out, needs_so_many, require_so_many, selected
from hermes_cron.domain.schedule.stepped import repeated
from hermes_cron.domain.schedule.times import clock_text, minutes_of
from hermes_cron.domain.schedule.timetable import at_times
from hermes_cron.domain.schedule.trigger import Trigger
from hermes_cron.domain.schedule.wallclock import fixed_instant
from hermes_cron.errors import ScheduleAmbiguous, ScheduleInvalid


def assemble(parts: tuple[p.Part, ...], setting: Setting) -> Trigger:
    """Raises ScheduleInvalid, ScheduleAmbiguous, ScheduleInPast or ScheduleNeverFires."""
    bag = Bag(left_out(_without_daily(parts), setting), setting)
    if bag.has(p.Past):
        raise oneshot.in_past(setting)
    if bag.has(p.TwoWays):
        raise _two_ways(bag, setting)
    if bag.has(p.Duration):
        return _duration(bag, setting)
    if bag.has(p.RelativeDay, p.WeekdayOf, p.DayOfNextMonth, p.UnclearDate, p.Moment, p.In):
        return _once(bag, setting)
    if bag.has(p.CalendarDate) and not bag.has(p.Every):
        return _once(bag, setting)
    every = bag.take(p.Every)
    if every is not None and every.length is not None:
        return repeated(every.length, bag, setting)
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
        require_count(found.every.count)
        always = every_with_a_time(found.every, setting.lang)
    raise ambiguous(setting, ("once", f"{text}后" if zh else f"in {text}"), ("always", always))


def _once(bag: Bag, setting: Setting) -> Trigger:
    clock = bag.take(p.Clock)
    daypart = bag.take(p.PartOfDay)
    named = bag.take(p.Weekdays)
    day = bag.take_one_of(ONE_DAY)
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


def _on_days(every: p.Every | None, bag: Bag, setting: Setting) -> Trigger:
    often = bag.take(p.HowOften)
    clock, daypart = bag.take(p.Clock), bag.take(p.PartOfDay)
    if often is not None and (clock is None or (often.unit is not Unit.DAY and not bag.has(*SELECTORS))):
        raise needs_so_many(often, setting)
    if clock is not None and daypart is not None:
        clock = _in_part_of_day(clock, daypart)
    if bag.has(p.Between, p.AtMinutes, p.OnTheClock):
        raise not_understood(setting, 'a window needs a step, such as "every 15 minutes"')
    if every is not None:
        _require_one_count(every, bag, setting)
    bare = every is None and not bag.has(*SELECTORS)
    if bare:
        _require_a_clock_alone(bag, setting)
    if every is not None and bag.has(p.CalendarDate):
        days: Days = _yearly(every, bag, setting)
    else:
        days = _days(every, clock, bag, setting)
    if clock is None:
        raise needs_a_time(setting, every, daypart=daypart.daypart if daypart else None)
    minutes = minutes_of(clock.times, None, once=False, daily=every is not None and days == CronDays())
    if bare:
        raise _bare_clock(minutes, setting)
    if often is not None:
        require_so_many(often, days, minutes)
    count = every.count if every else 1
    days = counted(days, count, bag, setting, minutes=minutes)
    bag.done()
    return at_times(days, minutes)


def _require_one_count(every: p.Every, bag: Bag, setting: Setting) -> None:
    require_count(every.count)
    if every.unit is Unit.DAY and every.count > 1 and bag.has(*SELECTORS):
        raise not_understood(setting, "every so many days, or certain days: not both")


def _require_a_clock_alone(bag: Bag, setting: Setting) -> None:
    if bag.has(p.From):
        raise not_understood(setting, 'a beginning needs how often, such as "every day"')
    if bag.has(p.Months):
        raise not_understood(setting, 'how often in those months, such as "every day in december"')


def _two_ways(bag: Bag, setting: Setting) -> ScheduleAmbiguous:
    words = bag.take(p.TwoWays)
    assert words is not None  # noqa: S101 - the caller looked
    time = "" if bag.has(p.Clock) else words.time
    said = setting.text.lower()
    return ambiguous(
        setting, *((label, said.replace(words.text, reading, 1) + time) for label, reading in words.readings)
    )


def _in_part_of_day(clock: p.Clock, part: p.PartOfDay) -> p.Clock:
    return p.Clock(times=tuple(replace(time, daypart=time.daypart or part.daypart) for time in clock.times))


def _yearly(every: p.Every, bag: Bag, setting: Setting) -> CronDays:
    found = bag.take(p.CalendarDate)
    assert found is not None  # noqa: S101 - the caller looked
    if every.unit is not Unit.YEAR or every.count != 1 or found.year is not None:
        raise not_understood(setting, "its parts do not go together")
    return CronDays(days=str(found.day), months=str(found.month))


def _days(every: p.Every | None, clock: p.Clock | None, bag: Bag, setting: Setting) -> Days:
    has_selector = bag.has(*SELECTORS)
    if every is not None and not has_selector:
        _require_days_for(every, bag, setting)
    if every is not None and every.unit is Unit.WEEK and not has_selector:
        return _weekday_of_beginning(bag, setting)
    return selected(bag, setting, unit=every.unit if every else None, clock=clock)


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
    day = day_of(since, setting)
    bag.put_back(since)
    return CronDays(weekdays=str((day.weekday() + 1) % 7))


def _bare_clock(minutes: tuple[int, ...], setting: Setting) -> ScheduleAmbiguous:
    naive = datetime.combine(setting.today(), time(minutes[0] // 60, minutes[0] % 60))
    today = fixed_instant(naive, setting.zone) > setting.now
    at = ("、" if setting.lang == "zh" else " and ").join(clock_text(minute) for minute in minutes)
    if setting.lang == "zh":
        readings = (("once", f"{'今天' if today else '明天'} {at}"), ("always", f"每天 {at}"))
    else:
        readings = (("once", f"{'today' if today else 'tomorrow'} at {at}"), ("always", f"every day at {at}"))
    return ambiguous(setting, *readings)
