"""Which parts does each pattern of an English phrase stand for?"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.english import (
    ADVERBS,
    AND,
    BARE_TIME,
    DAY,
    DAYPARTS,
    MONTH,
    ORD,
    SECONDS,
    WORKDAY,
    amounts,
    calendar_date,
    clock_word,
    day_list,
    every,
    exact_length,
    moment,
    month,
    number,
    ordinal,
    span,
    unit,
    valid_date,
    weekday,
    whole,
)
from hermes_cron.domain.schedule.parts import Unit
from hermes_cron.errors import ScheduleInvalid


def weekdays(found: re.Match[str]) -> list[p.Part]:
    days, again = day_list(found["days"])
    recurring = again or found["every"] is not None
    return [p.Weekdays(days=days, recurring=recurring, workdays=re.search(WORKDAY, found["days"]) is not None)]


def weekdays_with_part(found: re.Match[str]) -> list[p.Part]:
    days, again = day_list(found["days"])
    recurring = again or found["every"] is not None or found["plural"] is not None
    return [p.Weekdays(days=days, recurring=recurring), p.PartOfDay(daypart=DAYPARTS[found["part"]])]


def other_weekday(found: re.Match[str]) -> list[p.Part]:
    days, _ = day_list(found["days"])
    return [p.Every(unit=Unit.WEEK, count=2), p.Weekdays(days=days, recurring=True)]


def nth_weekdays(found: re.Match[str]) -> list[p.Part]:
    picks = [
        (ordinal(nth), weekday(group.group("day")))
        for group in re.finditer(rf"(?P<nth>{ORD}(?:{AND}(?:the )?{ORD})*)\s+(?P<day>{DAY})", found["list"])
        for nth in re.findall(ORD, group.group("nth"))
    ]
    of_month = found["of"] is not None
    return [p.NthWeekdays(picks=tuple(picks), recurring=of_month or found["every"] is not None, of_month=of_month)]


def nth_workdays(found: re.Match[str]) -> list[p.Part]:
    nth = tuple(ordinal(word) for word in re.findall(ORD, found["list"]))
    return [p.NthWorkdays(nth=nth, recurring=found["every"] is not None or found["of"] is not None)]


def days_of_month(found: re.Match[str]) -> list[p.Part]:
    days = tuple(ordinal(word) for word in re.findall(ORD, found["list"]))
    recurring = found["every"] is not None or found["of"] is not None or len(set(days)) > 1
    return [p.DaysOfMonth(days=days, recurring=recurring)]


def days_of_months(found: re.Match[str]) -> list[p.Part]:
    days = tuple(ordinal(word) for word in re.findall(ORD, found["list"]))
    named = tuple(month(word) for word in re.findall(MONTH, found["months"]))
    return [p.DaysOfMonth(days=days, recurring=found["every"] is not None), p.Months(months=named)]


def numbered_days(found: re.Match[str]) -> list[p.Part]:
    days = tuple(int(word) for word in re.findall(r"\d+", found["list"]))
    return [p.DaysOfMonth(days=days, recurring=found["of"] is not None)]


def quarter_day(found: re.Match[str]) -> list[p.Part]:
    day = ordinal(found["nth"])
    return [p.DaysOfMonth(days=(day,), recurring=True), p.Months(months=(1, 4, 7, 10) if day > 0 else (3, 6, 9, 12))]


def every_length(found: re.Match[str]) -> list[p.Part]:
    pairs = amounts(found["length"])
    length = exact_length(pairs)
    if length is not None:
        return [p.Every(unit=pairs[0][1], length=length)]
    if len(pairs) > 1:
        raise ScheduleInvalid(f'"{found["length"]}" mixes days with hours', hint='such as "every 36 hours"')
    (n, each) = pairs[0]
    return [p.Every(unit=each, count=whole(n, found["length"]))]


def duration(found: re.Match[str]) -> list[p.Part]:
    (length, *_) = every_length(found)
    days = length if isinstance(length, p.Every) and length.length is None else None
    return [p.Duration(text=found[0], every=days)]


def every_unit(found: re.Match[str]) -> list[p.Part]:
    each = unit(found["unit"])
    count = 1 if found["nth"] is None else 2 if found["nth"] == "other" else ordinal(found["nth"])
    return [every(each, count)]


def beginning(found: re.Match[str]) -> list[p.Part]:
    time = clock_word(found["time"]) if found["time"] else None
    if found["moment"]:
        return [p.From(moment=moment(found["moment"]))]
    if found["date"]:
        named = calendar_date(found["date"])
        if named.year is None:
            raise ScheduleInvalid(f'"{found["date"]}" needs a year', hint='such as "from 2026-12-04"')
        return [p.From(day=valid_date(named.year, named.month, named.day), time=time)]
    if found["weekday"]:
        return [p.From(weekday=weekday(found["weekday"]), time=time)]
    if found["day"]:
        return [p.From(relative_day=1 if found["day"] == "tomorrow" else 0, time=time)]
    return [p.From(time=clock_word(found["alone"]))]


def from_now(found: re.Match[str]) -> list[p.Part]:
    pairs = amounts(found["length"])
    length = exact_length(pairs)
    if length is not None:
        return [p.In(length=length)]
    if len(pairs) > 1:
        raise ScheduleInvalid(f'"{found["length"]}" mixes days with hours', hint='such as "in 36 hours"')
    (n, each) = pairs[0]
    count = whole(n, found["length"])
    if each in {Unit.DAY, Unit.WEEK}:
        return [p.In(days=count * (7 if each is Unit.WEEK else 1))]
    return [p.In(months=count * {Unit.MONTH: 1, Unit.QUARTER: 3, Unit.YEAR: 12}[each])]


def clock(found: re.Match[str]) -> list[p.Part]:
    return [p.Clock(times=tuple(clock_word(item) for item in re.findall(BARE_TIME, found["times"])))]


def half_hour(found: re.Match[str]) -> list[p.Part]:
    minutes = 15 if found["fraction"].startswith("quarter") else 30
    length = timedelta(minutes=minutes)
    return [p.In(length=length)] if found["how"] == "in" else [p.Every(unit=Unit.MINUTE, length=length)]


def and_a_half(found: re.Match[str]) -> list[p.Part]:
    """``an hour and a half``, ``two and a half hours``."""
    each = unit(found["unit"])
    if each not in SECONDS:
        raise ScheduleInvalid(
            f'"{found[0]}": fractions are for hours and minutes only', hint='such as "every 36 hours"'
        )
    count = (number(found["n"]) if found["n"] else Fraction(1)) + Fraction(1, 2)
    length = exact_length([(count, each)])
    assert length is not None  # noqa: S101 - of seconds, minutes and hours
    return [p.In(length=length)] if found["how"] != "every" else [p.Every(unit=each, length=length)]


def how_often(found: re.Match[str]) -> list[p.Part]:
    """``twice a day``."""
    words = {"twice": 2, "thrice": 3}
    count = words.get(found["n"].strip()) or whole(number(re.sub(r"\s*(?:times|x)$", "", found["n"])), found[0])
    each = ADVERBS[found["adverb"]] if found["adverb"] else unit(found["unit"])
    return [p.Every(unit=each), p.HowOften(count=count, unit=each, text=found[0])]


def biweekly(found: re.Match[str]) -> list[p.Part]:
    """With a weekday it can only be every other week; alone it is also twice a week."""
    readings = (("every other week", "every 2 weeks on monday"), ("twice a week", "every monday and thursday"))
    return [p.TwoWays(text=found[0], readings=readings, time=" at 9am")]


_EDGES = {"month": (range(1, 13), range(1, 13)), "quarter": ((1, 4, 7, 10), (3, 6, 9, 12)), "year": ((1,), (12,))}


def edge(found: re.Match[str]) -> list[p.Part]:
    """``end of the month``, ``start of every quarter``, ``last day of the year``."""
    last = found["edge"] in {"end", "close", "last day"} or found["after"] is not None
    months = _EDGES[found["unit"] or found["after"]][last]
    day = p.DaysOfMonth(days=(-1,) if last else (1,), recurring=True)
    return [day] if len(months) == 12 else [day, p.Months(months=tuple(months))]


def day_with_part(found: re.Match[str]) -> list[p.Part]:
    return [p.RelativeDay(days=1 if found["day"] == "tomorrow" else 0), p.PartOfDay(daypart=DAYPARTS[found["part"]])]


def slashed(found: re.Match[str]) -> list[p.Part]:
    first, second = int(found["first"]), int(found["second"])
    year = int(found["year"]) if found["year"] else None
    if first == second or second > 12:
        return [p.CalendarDate(month=first, day=second, year=year)]
    if first > 12:
        return [p.CalendarDate(month=second, day=first, year=year)]
    return [p.UnclearDate(first=first, second=second, year=year)]


def named_days(found: re.Match[str]) -> list[p.Part]:
    return [p.NamedDays(days=found["days"].upper(), months=found["months"], weekdays=found["weekdays"].upper())]


def at_minutes(found: re.Match[str]) -> list[p.Part]:
    return [p.AtMinutes(minutes=tuple(int(word) for word in re.findall(r"\d+", found["list"])))]


def weekday_span(found: re.Match[str]) -> list[p.Part]:
    first, last = re.findall(DAY, found["days"])
    return [p.Weekdays(days=tuple(sorted(set(span(weekday(first), weekday(last))))), recurring=True)]


def hour_and(found: re.Match[str]) -> list[p.Part]:
    length = exact_length(amounts("1 " + found["length"]))
    if length is None:
        raise ScheduleInvalid(f'"{found["length"]}" mixes days with hours', hint='such as "every 36 hours"')
    return [p.Every(unit=Unit.HOUR, length=length)]


def past_hour(found: re.Match[str]) -> list[p.Part]:
    words = {"half": 30, "quarter": 15}
    minute = words.get(found["minute"]) or int(found["minute"])
    again = [] if found["which"] in {"the", ""} else [every(Unit.HOUR, 1)]
    return [*again, p.AtMinutes(minutes=(minute,))]


def between(found: re.Match[str]) -> list[p.Part]:
    return [p.Between(first=clock_word(found["first"]), last=clock_word(found["last"]), text=found[0])]


def coming_weekday(found: re.Match[str]) -> list[p.Part]:
    return [p.WeekdayOf(day=weekday(found["day"]), weeks=0 if found["which"] == "this" else None)]
