"""Which days do weekdays, days of the month and months name, and do they come again?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.bag import SELECTORS, Bag
from hermes_cron.domain.schedule.days import CronDays, Days, MonthDays, MonthWorkdays
from hermes_cron.domain.schedule.parts import Unit
from hermes_cron.domain.schedule.refusal import Setting, ambiguous, needs_a_time, not_understood, weekday_name
from hermes_cron.domain.schedule.times import clock_text, minutes_of
from hermes_cron.domain.schedule.timetable import at_times, beginning, number_list, weekday_field
from hermes_cron.errors import HermesCronError, ScheduleInvalid, ScheduleNeverFires

QUARTERS = (1, 4, 7, 10)


def require_recurring(bag: Bag, setting: Setting) -> None:
    """A step on ``monday``: this one, or each?"""
    found = bag.take_one_of(SELECTORS)
    if found is None:
        return
    bag.put_back(found)
    if not _plain(found, None).recurring:
        raise ScheduleInvalid(
            f'"{setting.text}" can mean one day or each such day',
            hint='say "every": "... on mondays", "... every monday", "... on the 1st of every month"',
        )


@dataclass(frozen=True, slots=True)
class _Plain:
    """Parts that say days of a week or a month, before it is known how often they come."""

    days: CronDays | MonthDays | MonthWorkdays
    recurring: bool


def selected(bag: Bag, setting: Setting, *, unit: Unit | None, clock: p.Clock | None = None) -> Days:
    """The days that a selector and a list of months name."""
    months = bag.take(p.Months)
    selector = bag.take_one_of(SELECTORS)
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
            raise AssertionError(selector)  # pragma: no cover - not in SELECTORS


def _month_days(days: tuple[int, ...], months: tuple[int, ...], field: str) -> CronDays | MonthDays:
    if min(days) < -1:
        return MonthDays(days=days, months=months)
    if 0 in days or max(days) > 31:
        raise ScheduleInvalid("days of a month are 1-31", hint='"on the 1st of every month"')
    numbered = [str(day) for day in sorted(set(days)) if day > 0]
    return CronDays(days=",".join([*numbered, "L"] if -1 in days else numbered), months=field)


def left_out(parts: tuple[p.Part, ...], setting: Setting) -> tuple[p.Part, ...]:
    """``every day except sunday`` names the other weekdays."""
    gone = {day for part in parts if isinstance(part, p.Except) for day in part.days}
    if not gone:
        return parts
    named = {day for part in parts if isinstance(part, p.Weekdays) for day in part.days}
    workdays = any(part.workdays for part in parts if isinstance(part, p.Weekdays))
    rest = tuple(day for day in sorted(named or range(7)) if day not in gone)
    others = tuple(part for part in parts if not isinstance(part, p.Except | p.Weekdays))
    again = any(isinstance(part, p.Every) and part.count == 1 and part.unit not in _LONG for part in others)
    if not (again or named) or any(isinstance(part, SELECTORS) for part in others):
        raise not_understood(setting, "days can be left out of a week only")
    if not rest:
        raise ScheduleNeverFires(f'"{setting.text}" leaves no day', hint='such as "every day except sunday at 9am"')
    return (*others, p.Weekdays(days=rest, recurring=True, workdays=workdays))


_LONG = (Unit.WEEK, Unit.MONTH, Unit.QUARTER, Unit.YEAR)


def require_so_many(often: p.HowOften, days: Days, minutes: tuple[int, ...]) -> None:
    """``three times a day at 8 and 20`` contradicts itself."""
    if often.unit is Unit.DAY:
        found = len(minutes)
    elif isinstance(days, CronDays):
        found = len(minutes) * (_in_a_week(days) if often.unit is Unit.WEEK else _in_a_month(days))
    else:
        return
    if found != often.count:
        raise ScheduleInvalid(
            f'"{often.text}" goes with {often.count} times, not with {found}',
            hint='such as "twice a day at 9am and 5pm", "twice a week on monday and thursday at 9am"',
        )


def needs_so_many(often: p.HowOften, setting: Setting) -> ScheduleInvalid:
    examples = {
        Unit.DAY: ("twice a day at 9am and 5pm", "每天两次，9点和17点"),
        Unit.WEEK: ("twice a week on monday and thursday at 9am", "每周两次，周一和周四9点"),
        Unit.MONTH: ("twice a month on the 1st and 15th at 9am", "每月两次，1号和15号9点"),
    }
    example = examples[often.unit][setting.lang == "zh"]
    return ScheduleInvalid(
        f'"{setting.text}" does not say when',
        hint=f"needs the times: {example}",
        details={"understood": setting.text, "left_over": "", "examples": [example]},
    )


def _in_a_week(days: CronDays) -> int:
    monday = date(2001, 1, 1)
    return sum(days.matches(monday + timedelta(days=step)) for step in range(7))


def _in_a_month(days: CronDays) -> int:
    return len((days.days if days.weekdays == "*" else days.weekdays).split(","))


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
    from hermes_cron.domain.schedule.words import words

    minutes = minutes_of(clock.times, None, once=False)
    always = at_times(days, minutes)
    first = beginning(days, minutes, since=setting.now, zone=setting.zone)
    at = clock_text(minutes[0])
    once = f"{first} {at}" if setting.lang == "zh" else f"on {first} at {at}"
    return ambiguous(setting, ("once", once), ("always", words(always, lang=setting.lang, zone=setting.zone)))
