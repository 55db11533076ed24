"""Which parts does an English schedule phrase have?

Every part is one pattern anchored at the place reached; the longest match wins; what no pattern takes is left over.
There is no search inside the text, so ``mon`` is never found in ``month``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from hermes_cron.domain import parts as p
from hermes_cron.domain.parts import Daypart, Unit
from hermes_cron.errors import ScheduleInvalid, ScheduleNeverFires

Reader: TypeAlias = Callable[[re.Match[str]], Iterable[p.Part]]

_NUMBERS = {
    word: number
    for number, words in {
        1: "a an one",
        2: "two",
        3: "three",
        4: "four",
        5: "five",
        6: "six",
        7: "seven",
        8: "eight",
        9: "nine",
        10: "ten",
        11: "eleven",
        12: "twelve",
        15: "fifteen",
        20: "twenty",
        30: "thirty",
        45: "forty-five",
        60: "sixty",
        90: "ninety",
    }.items()
    for word in words.split()
}
_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "fifteenth": 15,
    "twentieth": 20,
    "last": -1,
    "second to last": -2,
    "second-to-last": -2,
    "second last": -2,
    "penultimate": -2,
    "third to last": -3,
    "third-to-last": -3,
}
_UNITS = {
    "s": Unit.SECOND,
    "sec": Unit.SECOND,
    "secs": Unit.SECOND,
    "second": Unit.SECOND,
    "seconds": Unit.SECOND,
    "m": Unit.MINUTE,
    "min": Unit.MINUTE,
    "mins": Unit.MINUTE,
    "minute": Unit.MINUTE,
    "minutes": Unit.MINUTE,
    "h": Unit.HOUR,
    "hr": Unit.HOUR,
    "hrs": Unit.HOUR,
    "hour": Unit.HOUR,
    "hours": Unit.HOUR,
    "d": Unit.DAY,
    "day": Unit.DAY,
    "days": Unit.DAY,
    "w": Unit.WEEK,
    "wk": Unit.WEEK,
    "wks": Unit.WEEK,
    "week": Unit.WEEK,
    "weeks": Unit.WEEK,
    "month": Unit.MONTH,
    "months": Unit.MONTH,
    "quarter": Unit.QUARTER,
    "quarters": Unit.QUARTER,
    "year": Unit.YEAR,
    "years": Unit.YEAR,
}
SECONDS = {Unit.SECOND: 1, Unit.MINUTE: 60, Unit.HOUR: 3600}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAYPARTS = {
    "morning": Daypart.MORNING,
    "afternoon": Daypart.AFTERNOON,
    "evening": Daypart.EVENING,
    "night": Daypart.NIGHT,
}
_ADVERBS = {
    "hourly": Unit.HOUR,
    "daily": Unit.DAY,
    "weekly": Unit.WEEK,
    "monthly": Unit.MONTH,
    "quarterly": Unit.QUARTER,
    "yearly": Unit.YEAR,
    "annually": Unit.YEAR,
}


def _any(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted((re.escape(word) for word in words), key=len, reverse=True)) + ")"


_NUM = rf"(?:\d+(?:\.\d+)?|{_any(_NUMBERS)}\b)"
_UNIT = rf"{_any(_UNITS)}(?![a-z])"
_LENGTH = rf"{_NUM}\s*-?\s*{_UNIT}(?:\s*(?:,|and)?\s*{_NUM}\s*{_UNIT})*"
_ORD = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{_any(_ORDINALS)})\b"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = (
    r"(?:mon(?:days?)?|tue(?:s|sdays?)?|wed(?:s|nesdays?)?|thu(?:r|rs|rsdays?)?|fri(?:days?)?|sat(?:urdays?)?"
    r"|sun(?:days?)?)\b\.?"
)
_WORKDAY = r"(?:weekdays?|workdays?|work days?|working days?|business days?)\b"
_WEEKEND = r"(?:weekends?(?: days?)?)\b"
_AND = r"\s*(?:,\s*and\b|,\s*or\b|,|&|/|\band\b)\s*"
_TO = r"\s*(?:-|–|~|\bto\b|\bthrough\b|\bthru\b|\btill\b|\buntil\b)\s*"
_SPAN = rf"{_DAY}{_TO}{_DAY}"
_DAYS = rf"(?:{_SPAN}|{_DAY}|{_WORKDAY}|{_WEEKEND})"
_MERIDIEM = r"(?:a\.?m\b\.?|p\.?m\b\.?)"
_DAYPART_AFTER = r"(?:\s+(?:in the (?:morning|afternoon|evening)|at night))"
_FULL_TIME = (
    rf"(?:(?:12\s*)?(?:noon|midday)\b|(?:12\s*)?midnight\b|\d{{1,2}}(?::\d{{2}})?\s*{_MERIDIEM}|\d{{1,2}}:\d{{2}}(?![:\d])"
    rf"|\d{{1,2}}\s+o'?clock\b{_DAYPART_AFTER}?|\d{{1,2}}(?::\d{{2}})?{_DAYPART_AFTER})"
)
_BARE_TIME = rf"(?:{_FULL_TIME}|\d{{1,2}}\b(?![:.\d/-]))"
_EVERY = r"(?:every|each|all)"
_OF_MONTH = r"(?:\s+(?:of|in)\s+(?:(?:the|each|every|a)\s+)?month\b|\s+(?:each|every|per)\s+month\b|\s+monthly\b)"
_ISO_DATE = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}"
_MONTH_LIST = rf"{_MONTH}(?:{_AND}{_MONTH})*"
_DATE = (
    rf"(?:{_MONTH}\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\b(?![:.\d])(?!\s*{_MERIDIEM})(?:,?\s*\d{{4}}\b(?!:))?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+|day of\s+)?{_MONTH}(?:,?\s*\d{{4}}\b(?!:))?|{_ISO_DATE}\b)"
)
_ISO = r"\d{4}-\d{2}-\d{2}[t ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?\s*(?:z\b|[+-]\d{2}:?\d{2})?(?![:.\d])"


def number(text: str) -> Fraction:
    return Fraction(text) if text[0].isdigit() else Fraction(_NUMBERS[text])


def ordinal(text: str) -> int:
    found = re.match(r"\d+", text)
    return int(found[0]) if found else _ORDINALS[text]


def weekday(text: str) -> int:
    return _WEEKDAYS.index(text[:3])


def month(text: str) -> int:
    return _MONTHS.index(text[:3]) + 1


def unit(text: str) -> Unit:
    return _UNITS[text]


def amounts(text: str) -> list[tuple[Fraction, Unit]]:
    return [(number(n), unit(u)) for n, u in re.findall(rf"({_NUM})\s*-?\s*({_UNIT})", text)]


def exact_length(found: list[tuple[Fraction, Unit]]) -> timedelta | None:
    """The sum of seconds, minutes and hours; None when another unit takes part."""
    if any(each not in SECONDS for _, each in found):
        return None
    total = sum((n * SECONDS[each] for n, each in found), Fraction())
    if total.denominator != 1:
        raise ScheduleInvalid("not a whole number of seconds", hint='such as "every 90 seconds"')
    return timedelta(seconds=int(total))


def whole(n: Fraction, text: str) -> int:
    if n.denominator != 1:
        raise ScheduleInvalid(f'"{text}" is not a whole number', hint="fractions are for hours and minutes only")
    return int(n)


def clock_word(text: str) -> p.ClockWord:
    text = text.strip()
    if text.endswith(("noon", "midday")) and "after" not in text:
        return p.ClockWord(hour=12, meridiem="pm", text=text)
    if text.endswith("midnight"):
        return p.ClockWord(hour=12, meridiem="am", text=text)
    found = re.match(r"(\d{1,2})(?::(\d{2}))?", text)
    assert found is not None  # noqa: S101 - every pattern of a time begins so
    rest = text[found.end() :].replace(".", "").strip()
    meridiem = rest if rest in {"am", "pm"} else None
    daypart = next((part for word, part in _DAYPARTS.items() if rest.endswith(word)), None)
    return p.ClockWord(
        hour=int(found[1]),
        minute=int(found[2] or 0),
        meridiem=meridiem,
        daypart=daypart,
        bare=found[2] is None and meridiem is None,
        text=text,
    )


def calendar_date(text: str) -> p.CalendarDate:
    if found := re.fullmatch(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", text):
        return p.CalendarDate(year=int(found[1]), month=int(found[2]), day=int(found[3]))
    year = re.search(r"\d{4}", text)
    day = re.search(r"(?<!\d)\d{1,2}(?!\d)", text)
    name = re.search(r"[a-z]{3,}", re.sub(r"\b(?:the|day|of)\b", "", text))
    assert day is not None  # noqa: S101
    assert name is not None  # noqa: S101
    return p.CalendarDate(year=int(year[0]) if year else None, month=month(name[0]), day=int(day[0]))


def moment(text: str) -> datetime:
    compact = text.replace(" ", "t", 1) if text[10] == " " else text
    try:
        return datetime.fromisoformat(compact.replace(" ", "").upper())
    except ValueError as error:
        kind = ScheduleNeverFires if "day" in str(error) else ScheduleInvalid
        raise kind(f'"{text.upper()}" is no time: {error}', hint='such as "2026-12-05T08:00"') from error


def _day_list(text: str) -> tuple[tuple[int, ...], bool]:
    """The weekdays named, and whether they come again: a list, a range, a plural, a group."""
    days: list[int] = []
    again = False
    for found in re.finditer(_DAYS, text):
        item = found[0]
        if re.fullmatch(_WORKDAY, item):
            days += [1, 2, 3, 4, 5]
        elif re.fullmatch(_WEEKEND, item):
            days += [6, 0]
        elif len(ends := re.findall(_DAY, item)) == 2:
            days += span(weekday(ends[0]), weekday(ends[1]))
        else:
            days.append(weekday(item))
            again = again or item.endswith("days")
    return tuple(sorted(set(days))), again or len(set(days)) > 1


def span(first: int, last: int) -> list[int]:
    """Weekdays from one to the other, over Sunday if need be."""
    return [(first + step) % 7 for step in range((last - first) % 7 + 1)]


def _weekdays(found: re.Match[str]) -> list[p.Part]:
    days, again = _day_list(found["days"])
    recurring = again or found["every"] is not None
    return [p.Weekdays(days=days, recurring=recurring, workdays=re.search(_WORKDAY, found["days"]) is not None)]


def _weekdays_with_part(found: re.Match[str]) -> list[p.Part]:
    days, again = _day_list(found["days"])
    recurring = again or found["every"] is not None or found["plural"] is not None
    return [p.Weekdays(days=days, recurring=recurring), p.PartOfDay(daypart=_DAYPARTS[found["part"]])]


def _other_weekday(found: re.Match[str]) -> list[p.Part]:
    days, _ = _day_list(found["days"])
    return [p.Every(unit=Unit.WEEK, count=2), p.Weekdays(days=days, recurring=True)]


def _nth_weekdays(found: re.Match[str]) -> list[p.Part]:
    picks = [
        (ordinal(nth), weekday(group.group("day")))
        for group in re.finditer(rf"(?P<nth>{_ORD}(?:{_AND}(?:the )?{_ORD})*)\s+(?P<day>{_DAY})", found["list"])
        for nth in re.findall(_ORD, group.group("nth"))
    ]
    of_month = found["of"] is not None
    return [p.NthWeekdays(picks=tuple(picks), recurring=of_month or found["every"] is not None, of_month=of_month)]


def _nth_workdays(found: re.Match[str]) -> list[p.Part]:
    nth = tuple(ordinal(word) for word in re.findall(_ORD, found["list"]))
    return [p.NthWorkdays(nth=nth, recurring=found["every"] is not None or found["of"] is not None)]


def _days_of_month(found: re.Match[str]) -> list[p.Part]:
    days = tuple(ordinal(word) for word in re.findall(_ORD, found["list"]))
    return [p.DaysOfMonth(days=days, recurring=found["every"] is not None or found["of"] is not None)]


def _days_of_months(found: re.Match[str]) -> list[p.Part]:
    days = tuple(ordinal(word) for word in re.findall(_ORD, found["list"]))
    named = tuple(month(word) for word in re.findall(_MONTH, found["months"]))
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


def every(each: Unit, count: int) -> p.Every:
    length = timedelta(seconds=SECONDS[each] * count) if each in SECONDS else None
    return p.Every(unit=each, count=1 if length else count, length=length)


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


def valid_date(year: int, number_of_month: int, day: int) -> date:
    try:
        return date(year, number_of_month, day)
    except ValueError as error:
        raise ScheduleInvalid(
            f"{year}-{number_of_month:02}-{day:02} is no date: {error}", hint="dates are year-month-day"
        ) from error


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
    return [p.Clock(times=tuple(clock_word(item) for item in re.findall(_BARE_TIME, found["times"])))]


def _half(found: re.Match[str]) -> list[p.Part]:
    minutes = 15 if found["fraction"].startswith("quarter") else 30
    length = timedelta(minutes=minutes)
    return [p.In(length=length)] if found["how"] == "in" else [p.Every(unit=Unit.MINUTE, length=length)]


def _day_with_part(found: re.Match[str]) -> list[p.Part]:
    return [p.RelativeDay(days=1 if found["day"] == "tomorrow" else 0), p.PartOfDay(daypart=_DAYPARTS[found["part"]])]


def _slashed(found: re.Match[str]) -> list[p.Part]:
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
_ON_EVERY = rf"(?:on\s+)?(?:the\s+|(?P<every>{_EVERY})\s+)?"
_ORD_LIST = rf"{_ORD}(?:{_AND}(?:the\s+)?{_ORD})*"
_AT = r"(?:at\s+|@\s*)?"
_TIMES_FULL = rf"{_AT}(?P<times>{_FULL_TIME}(?:{_AND}(?:at\s+)?{_BARE_TIME})*)"
_TIMES_BARE = rf"(?:at\s+|@\s*)(?P<times>{_BARE_TIME}(?:{_AND}(?:at\s+)?{_BARE_TIME})*)"

_PATTERNS: tuple[tuple[str, Reader], ...] = (
    (rf"(?:on\s+|at\s+)?(?P<iso>{_ISO})", lambda f: [p.Moment(at=moment(f["iso"].strip()))]),
    (_TIMES_FULL, _clock),
    (_TIMES_BARE, _clock),
    (
        rf"every\s+(?P<times>{_FULL_TIME}(?:{_AND}{_FULL_TIME})*)",
        lambda f: [p.Every(unit=Unit.DAY), *_clock(f)],
    ),
    (rf"(?:between|from)\s+(?P<first>{_BARE_TIME})(?:\s*\band\b\s*|{_TO})(?P<last>{_BARE_TIME})", _between),
    (rf"(?P<first>{_FULL_TIME}){_TO}(?P<last>{_FULL_TIME})", _between),
    (rf"(?:once\s+)?{_EVERY}\s+(?P<length>{_LENGTH})", _every_length),
    (rf"(?:once\s+)?{_EVERY}\s+(?:(?P<nth>other|{_ORD})\s+)?(?P<unit>{_UNIT})", _every_unit),
    (r"everyday\b", lambda _: [p.Every(unit=Unit.DAY)]),
    (r"fortnightly\b|every fortnight\b", lambda _: [p.Every(unit=Unit.WEEK, count=2)]),
    (rf"once\s+(?:a|an|every|per)\s+(?P<unit>{_UNIT})", lambda f: [every(unit(f["unit"]), 1)]),
    (rf"(?P<unit>{_any(_ADVERBS)})\b", lambda f: [every(_ADVERBS[f["unit"]], 1)]),
    (
        r"(?P<how>every|in)\s+(?:a\s+)?"
        r"(?P<fraction>half(?:[ -]an?)?[ -]hour|half(?:[ -]an?)? h|quarter(?: of an)?[ -]hour)\b",
        _half,
    ),
    (
        rf"{_EVERY}\s+(?P<part>morning|afternoon|evening|night)s?\b",
        lambda f: [p.Every(unit=Unit.DAY), p.PartOfDay(daypart=_DAYPARTS[f["part"]])],
    ),
    (r"in the (?P<part>morning|afternoon|evening)\b", lambda f: [p.PartOfDay(daypart=_DAYPARTS[f["part"]])]),
    (
        rf"{_ON_EVERY}(?P<days>{_DAYS})\s+(?P<part>{_any(_DAYPARTS)})(?P<plural>s)?\b",
        _weekdays_with_part,
    ),
    (r"tonight\b", lambda _: [p.RelativeDay(days=0), p.PartOfDay(daypart=Daypart.NIGHT)]),
    (r"today\b", lambda _: [p.RelativeDay(days=0)]),
    (r"tomorrow\b", lambda _: [p.RelativeDay(days=1)]),
    (r"(?:the\s+)?day after tomorrow\b", lambda _: [p.RelativeDay(days=2)]),
    (r"(?P<day>tomorrow|today|this)\s+(?P<part>morning|afternoon|evening|night)\b", _day_with_part),
    (r"yesterday\b|last night\b", lambda f: [p.Past(text=f[0])]),
    (rf"{_LENGTH}\s+ago\b", lambda f: [p.Past(text=f[0])]),
    (rf"(?:in|after)\s+(?P<length>{_LENGTH})(?:\s+time\b)?", _in),
    (rf"\+\s*(?P<length>{_LENGTH})", _in),
    (rf"(?P<length>{_LENGTH})\s+(?:from now|later)\b", _in),
    (rf"(?P<length>{_LENGTH})", _duration),
    (rf"{_ON_EVERY}(?P<days>{_DAYS}(?:{_AND}(?:(?:on|every|each)\s+)?{_DAYS})*)", _weekdays),
    (rf"(?:on\s+)?(?:every other|alternate)\s+(?P<days>{_DAYS}(?:{_AND}{_DAYS})*)", _other_weekday),
    (rf"(?:on\s+)?(?P<which>next|this|coming|this coming)\s+(?P<day>{_DAY})", _next),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST}\s+{_DAY}(?:{_AND}(?:the\s+)?{_ORD_LIST}\s+{_DAY})*)(?P<of>{_OF_MONTH})?",
        _nth_weekdays,
    ),
    (rf"{_ON_EVERY}(?P<list>{_ORD_LIST})\s+{_WORKDAY}(?P<of>{_OF_MONTH})?", _nth_workdays),
    (
        rf"{_ON_EVERY}(?P<list>\d{{1,2}}(?:st|nd|rd|th)\b(?:{_AND}(?:the\s+)?{_ORD})*)(?:\s+days?\b)?"
        rf"(?P<of>{_OF_MONTH})?",
        _days_of_month,
    ),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST})(?:\s+days?\b)?(?P<of>{_OF_MONTH})",
        _days_of_month,
    ),
    (rf"{_ON_EVERY}(?P<list>{_ORD_LIST})\s+days?\b(?P<of>{_OF_MONTH})?", _days_of_month),
    (rf"{_ON}(?P<date>{_DATE})", lambda f: [calendar_date(f["date"])]),
    (rf"every\s+(?P<date>{_DATE})", lambda f: [p.Every(unit=Unit.YEAR), calendar_date(f["date"])]),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST})(?:\s+days?)?\s+(?:of|in)\s+(?P<months>{_MONTH_LIST})",
        _days_of_months,
    ),
    (rf"(?:on\s+)?(?:the\s+)?days?\s+(?P<list>\d{{1,2}}(?:{_AND}\d{{1,2}})*)\b(?P<of>{_OF_MONTH})?", _numbered_days),
    (rf"{_ON}(?P<nth>first|last) day (?:of|in) (?:the|each|every|a) quarter\b", _quarter_day),
    (
        r"(?:on\s+)?(?:the\s+)?(?P<day>\d{1,2})(?:st|nd|rd|th) of next month\b",
        lambda f: [p.DayOfNextMonth(day=int(f["day"]))],
    ),
    (
        rf"(?:in|of|during)\s+(?P<months>{_MONTH_LIST})(?!\s*\d)",
        lambda f: [p.Months(months=tuple(month(word) for word in re.findall(_MONTH, f["months"])))],
    ),
    (rf"{_ON}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})(?:/(?P<year>\d{{4}}))?\b", _slashed),
    (
        rf"(?:starting|beginning|from|since|as of|start)(?:\s+(?:on|from|at))?\s+"
        rf"(?:(?P<moment>{_ISO})|(?:(?P<date>{_DATE})|(?P<day>today|tomorrow))(?:\s+(?:at\s+)?(?P<time>{_FULL_TIME}))?)(?:\s+(?:on|onwards?)\b)?",
        _from,
    ),
    (rf"(?:at\s+|on\s+)?minutes?\s+(?P<list>\d{{1,2}}(?:{_AND}\d{{1,2}})*)\b(?:\s+(?:of|past) the hour)?", _at_minutes),
    (rf"(?:at\s+)?(?P<list>:\d{{2}}(?:{_AND}:\d{{2}})*)\b", _at_minutes),
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


def run(
    text: str,
    patterns: tuple[tuple[re.Pattern[str], Reader], ...],
    *,
    glue: re.Pattern[str],
    word: re.Pattern[str],
    half_known: re.Pattern[str],
) -> p.Scan:
    """The longest pattern at each place; words that none takes are collected and shown as ``...``."""
    found: list[p.Part] = []
    shown: list[str] = []
    left: list[str] = []
    waiting: list[str] = []  # words such as "every": known, but nothing came of them
    at = 0
    while at < len(text):
        if skipped := glue.match(text, at):
            at = skipped.end()
            continue
        best, read = _longest(text, at, patterns)
        if best is not None and read is not None:
            found += read(best)
            shown.append(best[0].strip())
            at = best.end()
            continue
        taken = half_known.match(text, at)
        if taken:
            waiting.append(taken[0])
            shown.append(taken[0])
        else:
            taken = word.match(text, at)
            assert taken is not None  # noqa: S101 - glue and word cover every character
            left.append(taken[0])
            if not shown or shown[-1] != "...":
                shown.append("...")
        at = taken.end()
    return p.Scan(parts=tuple(found), left_over=" ".join(left or waiting), understood=" ".join(shown))


def _longest(
    text: str, at: int, patterns: tuple[tuple[re.Pattern[str], Reader], ...]
) -> tuple[re.Match[str] | None, Reader | None]:
    best: re.Match[str] | None = None
    chosen: Reader | None = None
    for pattern, read in patterns:
        found = pattern.match(text, at)
        if found is not None and (best is None or found.end() > best.end()):
            best, chosen = found, read
    return best, chosen
