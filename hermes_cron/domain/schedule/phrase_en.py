"""Which parts does an English schedule phrase have?

Every part is one pattern anchored at the place reached; the longest match wins; what no pattern takes is left over.
There is no search inside the text, so ``mon`` is never found in ``month``.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cache

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.english import (
    ADVERBS,
    AND,
    BARE_TIME,
    DATE,
    DAY,
    DAYPARTS,
    DAYS,
    EVERY,
    FULL_TIME,
    ISO,
    LENGTH,
    MONTH,
    MONTH_LIST,
    OF_MONTH,
    ORD,
    TO,
    UNIT,
    WORKDAY,
    amounts,
    calendar_date,
    clock_word,
    day_list,
    every,
    exact_length,
    moment,
    month,
    one_of,
    ordinal,
    unit,
    valid_date,
    weekday,
    whole,
)
from hermes_cron.domain.schedule.parts import Daypart, Unit
from hermes_cron.domain.schedule.scan import Reader, run
from hermes_cron.errors import ScheduleInvalid


def _weekdays(found: re.Match[str]) -> list[p.Part]:
    days, again = day_list(found["days"])
    recurring = again or found["every"] is not None
    return [p.Weekdays(days=days, recurring=recurring, workdays=re.search(WORKDAY, found["days"]) is not None)]


def _weekdays_with_part(found: re.Match[str]) -> list[p.Part]:
    days, again = day_list(found["days"])
    recurring = again or found["every"] is not None or found["plural"] is not None
    return [p.Weekdays(days=days, recurring=recurring), p.PartOfDay(daypart=DAYPARTS[found["part"]])]


def _other_weekday(found: re.Match[str]) -> list[p.Part]:
    days, _ = day_list(found["days"])
    return [p.Every(unit=Unit.WEEK, count=2), p.Weekdays(days=days, recurring=True)]


def _nth_weekdays(found: re.Match[str]) -> list[p.Part]:
    picks = [
        (ordinal(nth), weekday(group.group("day")))
        for group in re.finditer(rf"(?P<nth>{ORD}(?:{AND}(?:the )?{ORD})*)\s+(?P<day>{DAY})", found["list"])
        for nth in re.findall(ORD, group.group("nth"))
    ]
    of_month = found["of"] is not None
    return [p.NthWeekdays(picks=tuple(picks), recurring=of_month or found["every"] is not None, of_month=of_month)]


def _nth_workdays(found: re.Match[str]) -> list[p.Part]:
    nth = tuple(ordinal(word) for word in re.findall(ORD, found["list"]))
    return [p.NthWorkdays(nth=nth, recurring=found["every"] is not None or found["of"] is not None)]


def _days_of_month(found: re.Match[str]) -> list[p.Part]:
    days = tuple(ordinal(word) for word in re.findall(ORD, found["list"]))
    return [p.DaysOfMonth(days=days, recurring=found["every"] is not None or found["of"] is not None)]


def _days_of_months(found: re.Match[str]) -> list[p.Part]:
    days = tuple(ordinal(word) for word in re.findall(ORD, found["list"]))
    named = tuple(month(word) for word in re.findall(MONTH, found["months"]))
    return [p.DaysOfMonth(days=days, recurring=found["every"] is not None), p.Months(months=named)]


def _numbered_days(found: re.Match[str]) -> list[p.Part]:
    days = tuple(int(word) for word in re.findall(r"\d+", found["list"]))
    return [p.DaysOfMonth(days=days, recurring=found["of"] is not None)]


def _quarter_day(found: re.Match[str]) -> list[p.Part]:
    day = ordinal(found["nth"])
    return [p.DaysOfMonth(days=(day,), recurring=True), p.Months(months=(1, 4, 7, 10) if day > 0 else (3, 6, 9, 12))]


def _every_length(found: re.Match[str]) -> list[p.Part]:
    pairs = amounts(found["length"])
    length = exact_length(pairs)
    if length is not None:
        return [p.Every(unit=pairs[0][1], length=length)]
    if len(pairs) > 1:
        raise ScheduleInvalid(f'"{found["length"]}" mixes days with hours', hint='such as "every 36 hours"')
    (n, each) = pairs[0]
    return [p.Every(unit=each, count=whole(n, found["length"]))]


def _duration(found: re.Match[str]) -> list[p.Part]:
    (length, *_) = _every_length(found)
    every_length = length if isinstance(length, p.Every) and length.length is None else None
    return [p.Duration(text=found[0], every=every_length)]


def _every_unit(found: re.Match[str]) -> list[p.Part]:
    each = unit(found["unit"])
    count = 1 if found["nth"] is None else 2 if found["nth"] == "other" else ordinal(found["nth"])
    return [every(each, count)]


def _from(found: re.Match[str]) -> list[p.Part]:
    time = clock_word(found["time"]) if found["time"] else None
    if found["moment"]:
        return [p.From(moment=moment(found["moment"]))]
    if found["date"]:
        named = calendar_date(found["date"])
        if named.year is None:
            raise ScheduleInvalid(f'"{found["date"]}" needs a year', hint='such as "from 2026-12-04"')
        return [p.From(day=valid_date(named.year, named.month, named.day), time=time)]
    return [p.From(relative_day=1 if found["day"] == "tomorrow" else 0, time=time)]


def _in(found: re.Match[str]) -> list[p.Part]:
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


def _clock(found: re.Match[str]) -> list[p.Part]:
    return [p.Clock(times=tuple(clock_word(item) for item in re.findall(BARE_TIME, found["times"])))]


def _half(found: re.Match[str]) -> list[p.Part]:
    minutes = 15 if found["fraction"].startswith("quarter") else 30
    length = timedelta(minutes=minutes)
    return [p.In(length=length)] if found["how"] == "in" else [p.Every(unit=Unit.MINUTE, length=length)]


def _day_with_part(found: re.Match[str]) -> list[p.Part]:
    return [p.RelativeDay(days=1 if found["day"] == "tomorrow" else 0), p.PartOfDay(daypart=DAYPARTS[found["part"]])]


def slashed(found: re.Match[str]) -> list[p.Part]:
    first, second = int(found["first"]), int(found["second"])
    year = int(found["year"]) if found["year"] else None
    if first == second or second > 12:
        return [p.CalendarDate(month=first, day=second, year=year)]
    if first > 12:
        return [p.CalendarDate(month=second, day=first, year=year)]
    return [p.UnclearDate(first=first, second=second, year=year)]


CRON_DAYS = r"(?P<days>[\dlw*,/-]+) (?P<months>[\d*,/-]+) (?P<weekdays>[\dl#*,/-]+)"


def named_days(found: re.Match[str]) -> list[p.Part]:
    return [p.NamedDays(days=found["days"].upper(), months=found["months"], weekdays=found["weekdays"].upper())]


def _at_minutes(found: re.Match[str]) -> list[p.Part]:
    return [p.AtMinutes(minutes=tuple(int(word) for word in re.findall(r"\d+", found["list"])))]


def _past_hour(found: re.Match[str]) -> list[p.Part]:
    words = {"half": 30, "quarter": 15}
    minute = words.get(found["minute"]) or int(found["minute"])
    again = [] if found["which"] == "the" else [every(Unit.HOUR, 1)]
    return [*again, p.AtMinutes(minutes=(minute,))]


def _between(found: re.Match[str]) -> list[p.Part]:
    return [p.Between(first=clock_word(found["first"]), last=clock_word(found["last"]), text=found[0])]


def _next(found: re.Match[str]) -> list[p.Part]:
    return [p.WeekdayOf(day=weekday(found["day"]), weeks=0 if found["which"] == "this" else None)]


_ON = r"(?:on\s+)?(?:the\s+)?"

_ON_EVERY = rf"(?:on\s+)?(?:the\s+|(?P<every>{EVERY})\s+)?"

_ORD_LIST = rf"{ORD}(?:{AND}(?:the\s+)?{ORD})*"

_AT = r"(?:at\s+|@\s*)?"

_TIMES_FULL = rf"{_AT}(?P<times>{FULL_TIME}(?:{AND}(?:at\s+)?{BARE_TIME})*)"

_TIMES_BARE = rf"(?:at\s+|@\s*)(?P<times>{BARE_TIME}(?:{AND}(?:at\s+)?{BARE_TIME})*)"

_PATTERNS: tuple[tuple[str, Reader], ...] = (
    (rf"(?:on\s+|at\s+)?(?P<iso>{ISO})", lambda f: [p.Moment(at=moment(f["iso"].strip()))]),
    (_TIMES_FULL, _clock),
    (_TIMES_BARE, _clock),
    (
        rf"every\s+(?P<times>{FULL_TIME}(?:{AND}{FULL_TIME})*)",
        lambda f: [p.Every(unit=Unit.DAY), *_clock(f)],
    ),
    (rf"(?:between|from)\s+(?P<first>{BARE_TIME})(?:\s*\band\b\s*|{TO})(?P<last>{BARE_TIME})", _between),
    (rf"(?P<first>{FULL_TIME}){TO}(?P<last>{FULL_TIME})", _between),
    (rf"(?:once\s+)?{EVERY}\s+(?P<length>{LENGTH})", _every_length),
    (rf"(?:once\s+)?{EVERY}\s+(?:(?P<nth>other|{ORD})\s+)?(?P<unit>{UNIT})", _every_unit),
    (r"everyday\b", lambda _: [p.Every(unit=Unit.DAY)]),
    (r"fortnightly\b|every fortnight\b", lambda _: [p.Every(unit=Unit.WEEK, count=2)]),
    (rf"once\s+(?:a|an|every|per)\s+(?P<unit>{UNIT})", lambda f: [every(unit(f["unit"]), 1)]),
    (rf"(?P<unit>{one_of(ADVERBS)})\b", lambda f: [every(ADVERBS[f["unit"]], 1)]),
    (
        r"(?P<how>every|in)\s+(?:a\s+)?"
        r"(?P<fraction>half(?:[ -]an?)?[ -]hour|half(?:[ -]an?)? h|quarter(?: of an)?[ -]hour)\b",
        _half,
    ),
    (
        rf"{EVERY}\s+(?P<part>morning|afternoon|evening|night)s?\b",
        lambda f: [p.Every(unit=Unit.DAY), p.PartOfDay(daypart=DAYPARTS[f["part"]])],
    ),
    (r"in the (?P<part>morning|afternoon|evening)\b", lambda f: [p.PartOfDay(daypart=DAYPARTS[f["part"]])]),
    (
        rf"{_ON_EVERY}(?P<days>{DAYS})\s+(?P<part>{one_of(DAYPARTS)})(?P<plural>s)?\b",
        _weekdays_with_part,
    ),
    (r"tonight\b", lambda _: [p.RelativeDay(days=0), p.PartOfDay(daypart=Daypart.NIGHT)]),
    (r"today\b", lambda _: [p.RelativeDay(days=0)]),
    (r"tomorrow\b", lambda _: [p.RelativeDay(days=1)]),
    (r"(?:the\s+)?day after tomorrow\b", lambda _: [p.RelativeDay(days=2)]),
    (r"(?P<day>tomorrow|today|this)\s+(?P<part>morning|afternoon|evening|night)\b", _day_with_part),
    (r"yesterday\b|last night\b", lambda f: [p.Past(text=f[0])]),
    (rf"{LENGTH}\s+ago\b", lambda f: [p.Past(text=f[0])]),
    (rf"(?:in|after)\s+(?P<length>{LENGTH})(?:\s+time\b)?", _in),
    (rf"\+\s*(?P<length>{LENGTH})", _in),
    (rf"(?P<length>{LENGTH})\s+(?:from now|later)\b", _in),
    (rf"(?P<length>{LENGTH})", _duration),
    (rf"{_ON_EVERY}(?P<days>{DAYS}(?:{AND}(?:(?:on|every|each)\s+)?{DAYS})*)", _weekdays),
    (rf"(?:on\s+)?(?:every other|alternate)\s+(?P<days>{DAYS}(?:{AND}{DAYS})*)", _other_weekday),
    (rf"(?:on\s+)?(?P<which>next|this|coming|this coming)\s+(?P<day>{DAY})", _next),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST}\s+{DAY}(?:{AND}(?:the\s+)?{_ORD_LIST}\s+{DAY})*)(?P<of>{OF_MONTH})?",
        _nth_weekdays,
    ),
    (rf"{_ON_EVERY}(?P<list>{_ORD_LIST})\s+{WORKDAY}(?P<of>{OF_MONTH})?", _nth_workdays),
    (
        rf"{_ON_EVERY}(?P<list>\d{{1,2}}(?:st|nd|rd|th)\b(?:{AND}(?:the\s+)?{ORD})*)(?:\s+days?\b)?"
        rf"(?P<of>{OF_MONTH})?",
        _days_of_month,
    ),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST})(?:\s+days?\b)?(?P<of>{OF_MONTH})",
        _days_of_month,
    ),
    (rf"{_ON_EVERY}(?P<list>{_ORD_LIST})\s+days?\b(?P<of>{OF_MONTH})?", _days_of_month),
    (rf"{_ON}(?P<date>{DATE})", lambda f: [calendar_date(f["date"])]),
    (rf"every\s+(?P<date>{DATE})", lambda f: [p.Every(unit=Unit.YEAR), calendar_date(f["date"])]),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST})(?:\s+days?)?\s+(?:of|in)\s+(?P<months>{MONTH_LIST})",
        _days_of_months,
    ),
    (rf"(?:on\s+)?(?:the\s+)?days?\s+(?P<list>\d{{1,2}}(?:{AND}\d{{1,2}})*)\b(?P<of>{OF_MONTH})?", _numbered_days),
    (rf"{_ON}(?P<nth>first|last) day (?:of|in) (?:the|each|every|a) quarter\b", _quarter_day),
    (
        r"(?:on\s+)?(?:the\s+)?(?P<day>\d{1,2})(?:st|nd|rd|th) of next month\b",
        lambda f: [p.DayOfNextMonth(day=int(f["day"]))],
    ),
    (
        rf"(?:in|of|during)\s+(?P<months>{MONTH_LIST})(?!\s*\d)",
        lambda f: [p.Months(months=tuple(month(word) for word in re.findall(MONTH, f["months"])))],
    ),
    (rf"{_ON}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})(?:/(?P<year>\d{{4}}))?\b", slashed),
    (
        rf"(?:starting|beginning|from|since|as of|start)(?:\s+(?:on|from|at))?\s+"
        rf"(?:(?P<moment>{ISO})|(?:(?P<date>{DATE})|(?P<day>today|tomorrow))(?:\s+(?:at\s+)?(?P<time>{FULL_TIME}))?)(?:\s+(?:on|onwards?)\b)?",
        _from,
    ),
    (rf"(?:at\s+|on\s+)?minutes?\s+(?P<list>\d{{1,2}}(?:{AND}\d{{1,2}})*)\b(?:\s+(?:of|past) the hour)?", _at_minutes),
    (rf"(?:at\s+)?(?P<list>:\d{{2}}(?:{AND}:\d{{2}})*)\b", _at_minutes),
    (
        r"(?:at\s+)?(?P<minute>\d{1,2}|half|quarter)(?: minutes?)? (?:past|after) (?P<which>the|every|each) hour\b",
        _past_hour,
    ),
    (r"on the half hour\b", lambda _: [p.AtMinutes(minutes=(30,))]),
    (r"on the hour\b", lambda _: [p.AtMinutes(minutes=(0,))]),
    (rf"on cron days {CRON_DAYS}", named_days),
    (r"(?:on|by) the clock\b", lambda _: [p.OnTheClock()]),
)

_GLUE = re.compile(r"[\s,]+")

_WORD = re.compile(r"[^\s,]+")

_HALF_KNOWN = re.compile(r"(?:every|each|on|at|in|of|the|from|between|and|next|this)\b")


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Reader], ...]:
    """At the first phrase: compiling takes some 70 ms, and most commands read none."""
    return tuple((re.compile(pattern), read) for pattern, read in _PATTERNS)


def scan(text: str) -> p.Scan:
    """Take a lower-case phrase apart, left to right."""
    return run(text, _compiled(), glue=_GLUE, word=_WORD, half_known=_HALF_KNOWN)
