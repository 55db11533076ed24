"""Which trigger is a length: an interval, or steps within a day?"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.bag import SELECTORS, Bag
from hermes_cron.domain.schedule.beginning import counted, instant_of
from hermes_cron.domain.schedule.days import CronDays, Days
from hermes_cron.domain.schedule.parts import Daypart
from hermes_cron.domain.schedule.refusal import Setting, ambiguous, not_understood
from hermes_cron.domain.schedule.selected import require_recurring, selected
from hermes_cron.domain.schedule.times import clock_text, minutes_of
from hermes_cron.domain.schedule.timetable import all_day, at_times, in_window, number_list
from hermes_cron.domain.schedule.trigger import Cron, Interval, Trigger, any_of
from hermes_cron.errors import ScheduleInvalid


def repeated(length: timedelta, bag: Bag, setting: Setting) -> Trigger:
    if not bag.has(p.Between, p.AtMinutes, p.OnTheClock, p.Months, *SELECTORS):
        since = bag.take(p.From)
        bag.done()
        if since is not None:
            _refuse_a_broken_day(length, since, setting)
        return Interval(length, setting.anchor if since is None else instant_of(since, setting))
    step = _whole_minutes(length)
    part = bag.take(p.PartOfDay)
    between, past, _ = bag.take(p.Between), bag.take(p.AtMinutes), bag.take(p.OnTheClock)
    require_recurring(bag, setting)
    days = counted(selected(bag, setting, unit=None), 1, bag, setting)
    bag.done()
    if part is not None and (between is None or past is not None):
        raise not_understood(setting, "a part of the day has no hours of its own: name them")
    if past is not None:
        return _past_the_hour(days, step, past.minutes, between)
    if between is not None:
        first, last = _window(between if part is None else _in_part(between, part.daypart), setting)
        return in_window(days, step=step, first=first, last=last)
    if 1440 % step:
        raise ScheduleInvalid(
            f"{step} minutes do not divide a day, so the steps would break off at midnight",
            hint=f'"every {step} minutes" alone has no such break; or a window: "... between 9am and 5pm"',
        )
    return all_day(days, step=step)


def _refuse_a_broken_day(length: timedelta, since: p.From, setting: Setting) -> None:
    """``every 5 hours starting at 8am``: does every day begin at 8, or only the first?"""
    if since.time is None or since.day or since.relative_day is not None or since.weekday is not None:
        return
    if timedelta(days=1) % length == timedelta() or length % timedelta(minutes=1) or length > timedelta(days=1):
        return
    start = instant_of(since, setting).astimezone(setting.zone).isoformat(timespec="minutes")
    first = clock_text(minutes_of((since.time,), None, once=True)[0])
    minutes = length // timedelta(minutes=1)
    if setting.lang == "zh":
        raise ambiguous(
            setting, ("once", f"每{minutes}分钟，从 {start} 起"), ("always", f"{first} 到 23:59 每{minutes}分钟")
        )
    every = f"every {minutes} minutes"
    raise ambiguous(setting, ("once", f"{every} from {start}"), ("always", f"{every} between {first} and 23:59"))


def _whole_minutes(length: timedelta) -> int:
    if length <= timedelta() or length % timedelta(minutes=1):
        raise ScheduleInvalid(
            "steps within a day are whole minutes, at least one",
            hint='seconds are for intervals alone: "every 90 seconds"',
        )
    return length // timedelta(minutes=1)


def _past_the_hour(days: Days, step: int, minutes: tuple[int, ...], between: p.Between | None) -> Trigger:
    if step % 60 or max(minutes) > 59:
        raise ScheduleInvalid("minutes of the hour are 0-59, and go with whole hours", hint='"every hour at :30"')
    if between is None:
        found = [all_day(days, step=step, first=minute) for minute in minutes]
        if isinstance(days, CronDays) and 1440 % step == 0:
            hours = "*" if step == 60 else f"*/{step // 60}"
            return Cron(f"{number_list(minutes)} {hours} {days.days} {days.months} {days.weekdays}")
        return any_of(tuple(found))
    first, last = minutes_of((between.first,), None, once=False)[0], minutes_of((between.last,), None, once=False)[0]
    times = [hour + past for hour in range(first - first % 60, last + 1, step) for past in minutes]
    return at_times(days, tuple(each for each in times if first <= each <= last))


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


def _in_part(between: p.Between, part: Daypart) -> p.Between:
    """``every evening from 6 to 9``: both hours are of that part of the day, if they say no other."""
    first, last = (
        replace(word, daypart=part) if word.bare and word.daypart is None else word
        for word in (between.first, between.last)
    )
    return replace(between, first=first, last=last)


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
