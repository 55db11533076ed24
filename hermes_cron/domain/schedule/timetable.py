"""Which trigger says "these days at these times" best: one cron line if it can, else a rule?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from hermes_cron.domain.schedule.days import (
    ONE_DAY,
    CronDays,
    Days,
    EveryDays,
    EveryMonths,
    EveryWeeks,
    MonthDays,
    MonthWorkdays,
)
from hermes_cron.domain.schedule.trigger import AnyOf, Cron, Rule, Times, Trigger, Window, any_of, next_after
from hermes_cron.errors import ScheduleInvalid


def number_list(numbers: Iterable[int]) -> str:
    return ",".join(str(number) for number in sorted(set(numbers)))


def weekday_field(days: Iterable[int]) -> str:
    """``1-5`` for three or more neighbours, ``0,6`` for the weekend, ``*`` for all seven."""
    wanted = sorted({day % 7 for day in days})
    if len(wanted) == 7:
        return "*"
    pieces: list[list[int]] = []
    for day in wanted:
        if pieces and pieces[-1][-1] == day - 1:
            pieces[-1].append(day)
        else:
            pieces.append([day])
    return ",".join(
        f"{piece[0]}-{piece[-1]}" if len(piece) > 2 else ",".join(str(day) for day in piece) for piece in pieces
    )


def at_times(days: Days, minutes: tuple[int, ...]) -> Trigger:
    """A cron line when the times are every pairing of some hours with some minutes, else a rule."""
    hours, past = sorted({minute // 60 for minute in minutes}), sorted({minute % 60 for minute in minutes})
    if isinstance(days, CronDays) and len(hours) * len(past) == len(set(minutes)):
        return Cron(f"{number_list(past)} {number_list(hours)} {days.days} {days.months} {days.weekdays}")
    return Rule(days=days, clock=Times(minutes=tuple(sorted(set(minutes)))))


def in_window(days: Days, *, step: int, first: int, last: int) -> Trigger:
    """Every ``step`` minutes from ``first`` up to and including ``last``; past midnight when ``last`` < ``first``."""
    if last < first:
        return _over_midnight(days, step=step, first=first, last=last)
    last = first + (last - first) // step * step
    line = _window_fields(step, first, last) if isinstance(days, CronDays) else None
    if line is not None and isinstance(days, CronDays):
        return Cron(f"{line} {days.days} {days.months} {days.weekdays}")
    return Rule(days=days, clock=Window(step=step, first=first, last=last))


def all_day(days: Days, *, step: int, first: int = 0) -> Trigger:
    """Every ``step`` minutes from ``first`` minutes after midnight to the end of the day."""
    return in_window(days, step=step, first=first, last=1439)


def canonical(trigger: Trigger) -> Trigger:
    """The same instants in the form that a phrase would give: a cron line where one can say it."""
    match trigger:
        case Rule(days=CronDays() as days, clock=Times(minutes=minutes)):
            return at_times(days, minutes)
        case Rule(days=days, clock=Window(step=step, first=first, last=last)):
            return in_window(days, step=step, first=first, last=last)
        case AnyOf(triggers):
            return any_of(tuple(canonical(part) for part in triggers))
        case _:
            return trigger


def beginning(days: Days, clock: tuple[int, ...], *, since: datetime, zone: ZoneInfo) -> date:
    """The local date of the first instant after ``since``, for rules that count from their first day."""
    found = next_after(Rule(days=days, clock=Times(minutes=clock)), since, zone)
    if found is None:
        raise ScheduleInvalid("the rule names no day", hint="hermes-cron explain shows what a schedule does")
    return found.astimezone(zone).date()


def first_on_or_after(days: Days, day: date) -> date:
    """The first day that the rule names, from ``day`` on."""
    for step in range(366 * 9):
        if days.matches(day + step * ONE_DAY):
            return day + step * ONE_DAY
    raise ScheduleInvalid("the rule names no day", hint="hermes-cron explain shows what a schedule does")


def from_day(days: Days, every: int, day: date) -> Days:
    """``days`` in every ``every``-th day, week or month, counted from the first of them on or after ``day``."""
    match days:
        case CronDays(days="*", months="*", weekdays="*"):
            return EveryDays(every=every, first=day)
        case CronDays(days="*", months="*") if "#" not in days.weekdays and "L" not in days.weekdays:
            return EveryWeeks(every=every, weekdays=_weekday_numbers(days), first=first_on_or_after(days, day))
        case CronDays() | MonthDays() | MonthWorkdays():
            return EveryMonths(every=every, within=days, first=first_on_or_after(days, day))
        case _:
            return days


def _weekday_numbers(days: CronDays) -> tuple[int, ...]:
    monday = date(2001, 1, 1)
    return tuple(sorted((step + 1) % 7 for step in range(7) if days.matches(monday + timedelta(days=step))))


def _window_fields(step: int, first: int, last: int) -> str | None:
    """Minute and hour field of a window; None when its edges cut an hour or its step does not divide one."""
    low, high = first // 60, last // 60
    if step % 60 == 0:
        hours = _hour_field(low, high, step // 60)
        return f"{first % 60} {hours}"
    if 60 % step or first % 60 or last % 60 != 60 - step:
        return None
    return f"{'*' if step == 1 else f'*/{step}'} {_hour_field(low, high, 1)}"


def _hour_field(low: int, high: int, step: int) -> str:
    whole = low == 0 and high + step > 23
    if step == 1:
        return "*" if whole else f"{low}-{high}" if high > low else str(low)
    if whole and 24 % step == 0:
        return f"*/{step}"
    return f"{low}-{high}/{step}" if high > low else str(low)


def _over_midnight(days: Days, *, step: int, first: int, last: int) -> Trigger:
    if not isinstance(days, CronDays) or days != CronDays():
        raise ScheduleInvalid(
            "a window over midnight needs every day: a night belongs to two dates",
            hint='write two windows: "...between 22:00 and 23:59; ...between 00:00 and 06:00"',
        )
    resumed = (first - 1440) % step
    parts = [in_window(days, step=step, first=first, last=1439)]
    if resumed <= last:
        parts.append(in_window(days, step=step, first=resumed, last=last))
    return any_of(tuple(parts))
