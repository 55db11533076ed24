"""From which instant or day does a schedule count?"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.bag import Bag
from hermes_cron.domain.schedule.days import Days
from hermes_cron.domain.schedule.refusal import Setting
from hermes_cron.domain.schedule.times import minutes_of
from hermes_cron.domain.schedule.timetable import beginning, from_day
from hermes_cron.domain.schedule.wallclock import fixed_instant
from hermes_cron.errors import ScheduleInvalid


def instant_of(since: p.From, setting: Setting) -> datetime:
    if since.moment is not None:
        moment = since.moment
        return fixed_instant(moment, setting.zone) if moment.tzinfo is None else moment.astimezone(UTC)
    if since.day is None and since.weekday is None and since.relative_day is None and since.time is not None:
        return _next_time(since.time, setting)
    if since.time is None:
        raise ScheduleInvalid(
            f'"{setting.text}" begins on a day and at no time', hint='such as "every 2 hours from 2026-12-04T08:00"'
        )
    minute = minutes_of((since.time,), None, once=True)[0]
    return fixed_instant(datetime.combine(day_of(since, setting), time(minute // 60, minute % 60)), setting.zone)


def _next_time(word: p.ClockWord, setting: Setting) -> datetime:
    """The first such time after now."""
    minute = minutes_of((word,), None, once=True)[0]
    today = datetime.combine(setting.today(), time(minute // 60, minute % 60))
    found = fixed_instant(today, setting.zone)
    return found if found > setting.now else fixed_instant(today + timedelta(days=1), setting.zone)


def day_of(since: p.From, setting: Setting) -> date:
    if since.day is not None:
        return since.day
    if since.weekday is not None:
        ahead = (since.weekday - setting.today().weekday() - 1) % 7
        return setting.today() + timedelta(days=ahead or 7)
    return setting.today() + timedelta(days=since.relative_day or 0)


def counted(days: Days, count: int, bag: Bag, setting: Setting, *, minutes: tuple[int, ...] = (0,)) -> Days:
    """Count from the day named, or, for every second and third, from the first instant after the anchor."""
    since = bag.take(p.From)
    if since is not None:
        if since.time is not None or since.moment is not None:
            raise ScheduleInvalid(
                f'"{setting.text}" has two times', hint='begin with a day: "every day at 9am from 2026-12-04"'
            )
        return from_day(days, count, day_of(since, setting))
    if count == 1:
        return days
    return from_day(days, count, beginning(days, minutes, since=setting.anchor, zone=setting.zone))
