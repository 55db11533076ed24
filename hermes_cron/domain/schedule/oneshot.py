"""Which instant does a phrase for one time name?

A date without a year is its next occurrence; a date that is today, or one with a year, is never moved: once its time
has passed it is ScheduleInPast. A local time that a clock change skips is the end of the gap, one that it repeats is
the first.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, date, datetime, time, timedelta

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.days import monday_of
from hermes_cron.domain.schedule.refusal import Setting, ambiguous
from hermes_cron.domain.schedule.trigger import Once, Trigger, any_of
from hermes_cron.domain.schedule.wallclock import LAST_YEAR, fixed_instant
from hermes_cron.errors import HermesCronError, ScheduleInPast, ScheduleInvalid, ScheduleNeverFires

_LEAP_YEAR = 2000
_SLASHED = re.compile(r"\d{1,2}/\d{1,2}(?:/\d{4})?")
_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def in_past(setting: Setting, instant: datetime | None = None) -> ScheduleInPast:
    when = f" ({instant.astimezone(setting.zone).isoformat(timespec='seconds')})" if instant else ""
    now = setting.now.astimezone(setting.zone).isoformat(timespec="seconds")
    return ScheduleInPast(
        f'"{setting.text}" is past{when}: it is {now}',
        hint=f'give a time to come, with its date: such as "{(setting.today() + timedelta(days=1)).isoformat()} 09:00"',
    )


def instant(part: p.Moment | p.In, setting: Setting) -> Trigger:
    """An ISO instant, or a length from now."""
    if isinstance(part, p.Moment):
        moment = part.at
        return _future(
            fixed_instant(moment, setting.zone) if moment.tzinfo is None else moment.astimezone(UTC), setting
        )
    now = setting.now.replace(microsecond=0)
    if part.length is not None:
        return _future(now + part.length, setting)
    local = now.astimezone(setting.zone)
    day = _months_later(local.date(), part.months, setting) + timedelta(days=part.days)
    same_time = fixed_instant(datetime.combine(day, local.time()), setting.zone)
    if part.days and same_time - now != timedelta(days=part.days):  # a clock change lies between
        hours = part.days * 24
        naive = f"{day.isoformat()} {local:%H:%M}"
        if setting.lang == "zh":
            raise ambiguous(setting, ("length", f"{hours}小时后"), ("same time", naive))
        raise ambiguous(setting, ("length", f"in {hours} hours"), ("same time", naive))
    return _future(same_time, setting)


def date_of(part: p.Part, setting: Setting) -> date:
    """The local date that a part names. Raises when it is no date, or two."""
    today = setting.today()
    match part:
        case p.RelativeDay():
            return today + timedelta(days=part.days)
        case p.In():
            return _months_later(today, part.months, setting) + timedelta(days=part.days)
        case p.WeekdayOf():
            return _weekday_of(part, today)
        case p.DayOfNextMonth():
            first = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
            return _valid(first.year, first.month, part.day, setting)
        case p.CalendarDate():
            return _calendar(part, setting)
        case p.UnclearDate():
            raise _two_orders(part, setting)
        case _:
            raise AssertionError(part)  # pragma: no cover


def at(part: p.Part, day: date, minutes: tuple[int, ...], setting: Setting) -> Trigger:
    """The date at these times; all of them must lie ahead."""
    found = [_future(fixed_instant(_combine(day, minute), setting.zone), setting) for minute in minutes]
    return any_of(tuple(found))


def require_weekday(named: p.Weekdays, day: date, setting: Setting) -> None:
    """``monday 2026-12-07``: the weekday must be that of the date."""
    if named.recurring or named.days != ((day.weekday() + 1) % 7,):
        raise ScheduleInvalid(
            f'"{setting.text}" contradicts itself: {day} is a {_NAMES[(day.weekday() + 1) % 7]}',
            hint=f"{day} at 09:00 would do",
        )


def _combine(day: date, minute: int) -> datetime:
    return datetime.combine(day, time(minute // 60, minute % 60))


def _future(found: datetime, setting: Setting) -> Once:
    if found <= setting.now:
        raise in_past(setting, found)
    if found.year > LAST_YEAR:
        raise ScheduleInvalid(f'"{setting.text}" lies too far ahead', hint=f"years go to {LAST_YEAR}")
    return Once(found)


def _weekday_of(part: p.WeekdayOf, today: date) -> date:
    ahead = (part.day - (today.weekday() + 1)) % 7
    if part.weeks is None:
        return today + timedelta(days=ahead or 7)
    return monday_of(today) + timedelta(days=(part.day - 1) % 7, weeks=part.weeks)


def _calendar(part: p.CalendarDate, setting: Setting) -> date:
    if part.years_ahead is not None:
        return _valid(setting.today().year + part.years_ahead, part.month, part.day, setting)
    if part.year is not None:
        return _valid(part.year, part.month, part.day, setting)
    today = setting.today()
    _valid(_LEAP_YEAR, part.month, part.day, setting)  # is there ever such a day?
    for year in range(today.year, today.year + 9):
        if part.day <= calendar.monthrange(year, part.month)[1] and date(year, part.month, part.day) >= today:
            return date(year, part.month, part.day)
    raise AssertionError(part)  # pragma: no cover - every date comes within eight years


def _valid(year: int, month: int, day: int, setting: Setting) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        text = f"{month:02}-{day:02}" if year == _LEAP_YEAR else f"{year}-{month:02}-{day:02}"
        if 1 <= month <= 12 and 1 <= day <= 31:
            raise ScheduleNeverFires(
                f'"{setting.text}" never comes: there is no {text}', hint='such as "last day of the month at 9am"'
            ) from error
        raise ScheduleInvalid(f'"{setting.text}" names no date: {text}', hint="dates are year-month-day") from error


def _months_later(day: date, months: int, setting: Setting) -> date:
    if not months:
        return day
    total = day.year * 12 + day.month - 1 + months
    return _valid(total // 12, total % 12 + 1, day.day, setting)


def _two_orders(part: p.UnclearDate, setting: Setting) -> HermesCronError:
    readings = [
        _calendar(p.CalendarDate(month=month, day=day, year=part.year), setting).isoformat()
        for month, day in ((part.first, part.second), (part.second, part.first))
    ]
    rest = _SLASHED.sub("", setting.text).strip()
    time = "" if rest else " 9点" if setting.lang == "zh" else " at 9am"
    phrases = [_SLASHED.sub(date, setting.text, count=1) + time for date in readings]
    error = ambiguous(setting, ("month first", phrases[0]), ("day first", phrases[1]))
    error.hint = f"use {readings[0]} or {readings[1]}"
    return error
