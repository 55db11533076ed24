"""What do English words of time say: numbers, units, weekdays, months, clock times, dates?

The capital names are patterns for lower-case text; the functions read what a pattern found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from fractions import Fraction

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.parts import Daypart, Unit
from hermes_cron.errors import ScheduleInvalid, ScheduleNeverFires

_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip

_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

HOURS = {word: number for number, word in enumerate((*_ONES, *_TEENS[:3]), start=1)}

_NUMBERS = {
    "a": 1,
    "an": 1,
    **{word: number for number, word in enumerate((*_ONES, *_TEENS), start=1)},
    **{word: number for number, word in zip(range(20, 100, 10), _TENS, strict=True)},
    **{
        f"{ten}{link}{one}": number + ones
        for number, ten in zip(range(20, 100, 10), _TENS, strict=True)
        for ones, one in enumerate(_ONES, start=1)
        for link in "- "
    },
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

DAYPARTS = {
    "morning": Daypart.MORNING,
    "afternoon": Daypart.AFTERNOON,
    "evening": Daypart.EVENING,
    "night": Daypart.NIGHT,
}

ADVERBS = {
    "hourly": Unit.HOUR,
    "daily": Unit.DAY,
    "weekly": Unit.WEEK,
    "monthly": Unit.MONTH,
    "quarterly": Unit.QUARTER,
    "yearly": Unit.YEAR,
    "annually": Unit.YEAR,
}


def one_of(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted((re.escape(word) for word in words), key=len, reverse=True)) + ")"


NUM = rf"(?:\d+(?:\.\d+)?|{one_of(_NUMBERS)}\b)"

UNIT = rf"{one_of(_UNITS)}(?![a-z])"

LENGTH = rf"{NUM}\s*-?\s*{UNIT}(?:\s*(?:,|and)?\s*{NUM}\s*{UNIT})*"

ORD = rf"(?:\d{{1,2}}(?:st|nd|rd|th)(?:[ -]to[ -]last)?|{one_of(_ORDINALS)})\b"

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)

DAY = (
    r"(?:mon(?:days?)?|tue(?:s|sdays?)?|wed(?:s|nesdays?)?|thu(?:r|rs|rsdays?)?|fri(?:days?)?|sat(?:urdays?)?"
    r"|sun(?:days?)?)\b\.?"
)

WORKDAY = r"(?:weekdays?|workdays?|work days?|working days?|business days?)\b"

WEEKEND = r"(?:weekends?(?: days?)?)\b"

AND = r"\s*(?:,\s*and\b|,\s*or\b|,|&|/|\band\b)\s*"

TO = r"\s*(?:-|–|~|\bto\b|\bthrough\b|\bthru\b|\btill\b|\buntil\b)\s*"

_SPAN = rf"{DAY}{TO}{DAY}"

DAYS = rf"(?:{_SPAN}|{DAY}|{WORKDAY}|{WEEKEND})"

MERIDIEM = r"(?:a\.?m\b\.?|p\.?m\b\.?)"

_DAYPART_AFTER = r"(?:\s+(?:in the (?:morning|afternoon|evening)|at night))"

_HOUR = rf"(?:\d{{1,2}}(?![:\d])|{one_of(HOURS)}\b)"

_HALF_OF_DAY = rf"(?:\s*{MERIDIEM}|\s+o'?clock\b{_DAYPART_AFTER}?|{_DAYPART_AFTER})"

_MINUTE_WORD = r"(?:fifteen|thirty|forty[ -]five)"

SPOKEN_TIME = (
    rf"(?:(?P<spoken>half|(?:a\s+)?quarter|(?:five|ten|twenty(?:[ -]five)?)(?:\s+minutes?)?|\d{{1,2}}\s+minutes?)\s+"
    rf"(?P<side>past|after|to|before)\s+(?P<hour>{_HOUR})(?P<half>{_HALF_OF_DAY})?)"
)
"""``half past nine``, ``quarter to 9 pm``."""

_SPOKEN = re.sub(r"\?P<\w+>", "?:", SPOKEN_TIME)

FULL_TIME = (
    rf"(?:(?:12\s*)?(?:noon|midday)\b|(?:12\s*)?midnight\b|\d{{1,2}}(?:[:.]\d{{2}})?\s*{MERIDIEM}|\d{{1,2}}:\d{{2}}(?![:\d])"
    rf"|\d{{1,2}}h\d{{2}}\b|{_SPOKEN}|{one_of(HOURS)}(?:[ -]{_MINUTE_WORD})?{_HALF_OF_DAY}"
    rf"|\d{{1,2}}\s+o'?clock\b{_DAYPART_AFTER}?|\d{{1,2}}(?::\d{{2}})?{_DAYPART_AFTER})"
)

BARE_TIME = (
    rf"(?:{FULL_TIME}|\d{{1,2}}\b(?![:.\d/-])|(?:[01]\d|2[0-3])[0-5]\d(?:h|hrs|\s+hours)?\b(?![:/-])"
    rf"|{one_of(HOURS)}\b(?:[ -]{_MINUTE_WORD}\b)?)"
)
"""After ``at``, where a number can be nothing but a time."""

EVERY = r"(?:every|each|all)"

OF_MONTH = r"(?:\s+(?:of|in)\s+(?:(?:the|each|every|a)\s+)?month\b|\s+(?:each|every|per)\s+month\b|\s+monthly\b)"

ISO_DATE = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}"

MONTH_LIST = rf"{MONTH}(?:{AND}{MONTH})*"

DATE = (
    rf"(?:{MONTH}\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\b(?![:.\d])(?!\s*{MERIDIEM})(?:,?\s*\d{{4}}\b(?!:))?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+|day of\s+)?{MONTH}(?:,?\s*\d{{4}}\b(?!:))?|{ISO_DATE}\b)"
)

ISO = r"\d{4}-\d{2}-\d{2}[t ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?\s*(?:z\b|[+-]\d{2}:?\d{2})?(?![:.\d])"


def number(text: str) -> Fraction:
    return Fraction(text) if text[0].isdigit() else Fraction(_NUMBERS[text])


def ordinal(text: str) -> int:
    found = re.match(r"\d+", text)
    if found is None:
        return _ORDINALS[text]
    return -int(found[0]) if text.endswith("last") else int(found[0])


def weekday(text: str) -> int:
    return _WEEKDAYS.index(text[:3])


def month(text: str) -> int:
    return _MONTHS.index(text[:3]) + 1


def unit(text: str) -> Unit:
    return _UNITS[text]


def amounts(text: str) -> list[tuple[Fraction, Unit]]:
    return [(number(n), unit(u)) for n, u in re.findall(rf"({NUM})\s*-?\s*({UNIT})", text)]


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
    if spoken := re.fullmatch(SPOKEN_TIME, text):
        return _spoken(spoken)
    if text.endswith(("noon", "midday")) and "after" not in text:
        return p.ClockWord(hour=12, meridiem="pm", text=text)
    if text.endswith("midnight"):
        return p.ClockWord(hour=12, meridiem="am", text=text)
    found = re.match(
        rf"(?P<four>\d{{2}})(?P<minutes>\d{{2}})(?:h|hrs|\s+hours)?$"
        rf"|(\d{{1,2}})(?:[:.h](\d{{2}}))?|({one_of(HOURS)})(?:[ -]({_MINUTE_WORD}))?",
        text,
    )
    assert found is not None  # noqa: S101 - every pattern of a time begins so
    rest = text[found.end() :].replace(".", "").strip()
    meridiem, daypart = _half_of_day(rest)
    hour, minute = found["four"] or found[3] or str(HOURS[found[5]]), found["minutes"] or found[4] or found[6]
    return p.ClockWord(
        hour=int(hour),
        minute=_minutes(minute),
        meridiem=meridiem,
        daypart=daypart,
        bare=minute is None and meridiem is None,
        text=text,
    )


def _minutes(text: str | None) -> int:
    if text is None:
        return 0
    return int(text) if text.isdigit() else _NUMBERS[text.replace(" ", "-")]


def _half_of_day(rest: str) -> tuple[str | None, Daypart | None]:
    """am or pm, and the part of the day."""
    rest = rest.replace(".", "").strip()
    return rest if rest in {"am", "pm"} else None, next(
        (p for word, p in DAYPARTS.items() if rest.endswith(word)), None
    )


def _spoken(found: re.Match[str]) -> p.ClockWord:
    """``quarter to nine``: the minutes before an hour belong to the hour before it."""
    words = re.sub(r"^a\s+|\s+minutes?$", "", found["spoken"])
    minutes = {"half": 30, "quarter": 15}.get(words) or int(number(words))
    hour = int(found["hour"]) if found["hour"].isdigit() else HOURS[found["hour"]]
    meridiem, daypart = _half_of_day(found["half"] or "")
    if (words == "half" and found["side"] in {"to", "before"}) or minutes > 59:
        raise ScheduleInvalid(f'"{found[0]}" is no time', hint='such as "half past 9", "9:30"')
    if meridiem is not None and 1 <= hour <= 12:
        hour, meridiem = hour % 12 + (12 if meridiem == "pm" else 0), None
    if found["side"] in {"to", "before"}:
        hour, minutes = (12 if daypart is not None and hour == 1 else (hour - 1) % 24), 60 - minutes
    return p.ClockWord(hour=hour, minute=minutes, meridiem=meridiem, daypart=daypart, text=found[0])


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


def day_list(text: str) -> tuple[tuple[int, ...], bool]:
    """The weekdays named, and whether they come again: a list, a range, a plural, a group."""
    days: list[int] = []
    again = False
    for found in re.finditer(DAYS, text):
        item = found[0]
        if re.fullmatch(WORKDAY, item):
            days += [1, 2, 3, 4, 5]
        elif re.fullmatch(WEEKEND, item):
            days += [6, 0]
        elif len(ends := re.findall(DAY, item)) == 2:
            days += span(weekday(ends[0]), weekday(ends[1]))
        else:
            days.append(weekday(item))
            again = again or item.endswith("days")
    return tuple(sorted(set(days))), again or len(set(days)) > 1


def span(first: int, last: int) -> list[int]:
    """Weekdays from one to the other, over Sunday if need be."""
    return [(first + step) % 7 for step in range((last - first) % 7 + 1)]


def every(each: Unit, count: int) -> p.Every:
    length = timedelta(seconds=SECONDS[each] * count) if each in SECONDS else None
    return p.Every(unit=each, count=1 if length else count, length=length)


def valid_date(year: int, number_of_month: int, day: int) -> date:
    try:
        return date(year, number_of_month, day)
    except ValueError as error:
        raise ScheduleInvalid(
            f"{year}-{number_of_month:02}-{day:02} is no date: {error}", hint="dates are year-month-day"
        ) from error
