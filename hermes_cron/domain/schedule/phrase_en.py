"""Which parts does an English schedule phrase have?

Every part is one pattern anchored at the place reached; the longest match wins; what no pattern takes is left over.
There is no search inside the text, so ``mon`` is never found in ``month``.
"""

from __future__ import annotations

import re
from functools import cache

from hermes_cron.domain.schedule import english_parts as read
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
    HOURS,
    ISO,
    LENGTH,
    MONTH,
    MONTH_LIST,
    NUM,
    OF_MONTH,
    ORD,
    TO,
    UNIT,
    WORKDAY,
    calendar_date,
    day_list,
    every,
    moment,
    month,
    one_of,
    unit,
)
from hermes_cron.domain.schedule.parts import Daypart, Unit
from hermes_cron.domain.schedule.scan import Reader, run

CRON_DAYS = r"(?P<days>[\dlw*,/-]+) (?P<months>[\d*,/-]+) (?P<weekdays>[\dl#*,/-]+)"

_ON = r"(?:on\s+)?(?:the\s+)?"

_ON_EVERY = rf"(?:on\s+)?(?:the\s+|(?P<every>{EVERY})\s+)?"

_ORD_LIST = rf"{ORD}(?:{AND}(?:the\s+)?{ORD})*"

_AT = r"(?:at\s+|@\s*)?"

_TIMES_FULL = rf"{_AT}(?P<times>{FULL_TIME}(?:{AND}(?:at\s+)?{BARE_TIME})*)"

_TIMES_BARE = rf"(?:at\s+|@\s*)(?P<times>{BARE_TIME}(?:{AND}(?:at\s+)?{BARE_TIME})*)"

_PATTERNS: tuple[tuple[str, Reader], ...] = (
    (rf"(?:on\s+|at\s+)?(?P<iso>{ISO})", lambda f: [p.Moment(at=moment(f["iso"].strip()))]),
    (_TIMES_FULL, read.clock),
    (_TIMES_BARE, read.clock),
    (
        rf"every\s+(?P<times>{FULL_TIME}(?:{AND}{FULL_TIME})*)",
        lambda f: [p.Every(unit=Unit.DAY), *read.clock(f)],
    ),
    (rf"(?:between|from)\s+(?P<first>{BARE_TIME})(?:\s*\band\b\s*|{TO})(?P<last>{BARE_TIME})", read.between),
    (rf"(?P<first>{FULL_TIME}){TO}(?P<last>{FULL_TIME})", read.between),
    (rf"(?:once\s+)?{EVERY}\s+(?P<length>{LENGTH})", read.every_length),
    (rf"(?:once\s+)?{EVERY}\s+(?:(?P<nth>other|{ORD})\s+)?(?P<unit>{UNIT})", read.every_unit),
    (
        r"everyday\b|every single day\b|(?:every\s+)?day of the (?:week|month|year)\b|(?:7|seven) days a week\b",
        lambda _: [p.Every(unit=Unit.DAY)],
    ),
    (r"nightly\b", lambda _: [p.Every(unit=Unit.DAY), p.PartOfDay(daypart=Daypart.NIGHT)]),
    (rf"@every\s+(?P<length>{LENGTH})", read.every_length),
    (rf"(?:(?P<how>every|in|after)\s+)(?:an?\s+)?(?:(?P<n>{NUM})\s+and a half\s+)(?P<unit>{UNIT})", read.and_a_half),
    (rf"(?:(?P<how>every|in|after)\s+)(?:(?P<n>{NUM})\s+)?(?P<unit>{UNIT})\s+and a half\b", read.and_a_half),
    (rf"{EVERY}\s+(?P<length>hour\s+and\s+{NUM}\s+{UNIT})", read.hour_and),
    (
        rf"(?P<n>twice|thrice|{NUM}\s+times|\d+x)\s+(?:(?P<adverb>daily|weekly|monthly)\b"
        rf"|(?:an?|per|each|every)\s+(?P<unit>day|week|month)\b)",
        read.how_often,
    ),
    (r"bi-?weekly\b", read.biweekly),
    (
        rf"bi-?weekly,?\s+(?:on\s+)?(?P<days>{DAYS}(?:{AND}{DAYS})*)",
        read.other_weekday,
    ),
    (
        rf"(?:except|excluding|other than|but not)(?:\s+(?:for|on))?(?:\s+(?:the|every))?\s+"
        rf"(?P<days>{DAYS}(?:{AND}(?:on\s+)?{DAYS})*)",
        lambda f: [p.Except(days=day_list(f["days"])[0])],
    ),
    (
        r"(?:(?:on|at)\s+)?(?:the\s+)?(?:(?P<edge>end|close|beginning|start|first day|last day) of\s+"
        r"(?:(?:the|each|every|a)\s+)?(?P<unit>month|quarter|year)|(?P<after>month|quarter|year)[ -]end)\b",
        read.edge,
    ),
    (rf"(?:from|between)\s+(?P<days>{DAY}(?:{TO}|\s+and\s+){DAY})", read.weekday_span),
    (
        r"(?P<days>m\s*-\s*f|mwf)\b",
        lambda f: [p.Weekdays(days=(1, 3, 5) if "w" in f["days"] else (1, 2, 3, 4, 5), recurring=True)],
    ),
    (r"fortnightly\b|every fortnight\b", lambda _: [p.Every(unit=Unit.WEEK, count=2)]),
    (rf"once\s+(?:a|an|every|per)\s+(?P<unit>{UNIT})", lambda f: [every(unit(f["unit"]), 1)]),
    (rf"(?P<unit>{one_of(ADVERBS)})\b", lambda f: [every(ADVERBS[f["unit"]], 1)]),
    (
        r"(?P<how>every|in)\s+(?:a\s+)?"
        r"(?P<fraction>half(?:[ -]an?)?[ -]hour|half(?:[ -]an?)? h|quarter(?: of an)?[ -]hour)\b",
        read.half_hour,
    ),
    (
        rf"{EVERY}\s+(?P<part>morning|afternoon|evening|night)s?\b",
        lambda f: [p.Every(unit=Unit.DAY), p.PartOfDay(daypart=DAYPARTS[f["part"]])],
    ),
    (r"in the (?P<part>morning|afternoon|evening)\b", lambda f: [p.PartOfDay(daypart=DAYPARTS[f["part"]])]),
    (
        rf"{_ON_EVERY}(?P<days>{DAYS})\s+(?P<part>{one_of(DAYPARTS)})(?P<plural>s)?\b",
        read.weekdays_with_part,
    ),
    (r"tonight\b", lambda _: [p.RelativeDay(days=0), p.PartOfDay(daypart=Daypart.NIGHT)]),
    (r"today\b", lambda _: [p.RelativeDay(days=0)]),
    (r"tomorrow\b", lambda _: [p.RelativeDay(days=1)]),
    (r"(?:the\s+)?day after tomorrow\b", lambda _: [p.RelativeDay(days=2)]),
    (r"(?P<day>tomorrow|today|this)\s+(?P<part>morning|afternoon|evening|night)\b", read.day_with_part),
    (r"yesterday\b|last night\b", lambda f: [p.Past(text=f[0])]),
    (rf"{LENGTH}\s+ago\b", lambda f: [p.Past(text=f[0])]),
    (rf"(?:in|after)\s+(?P<length>{LENGTH})(?:\s+time\b)?", read.from_now),
    (rf"\+\s*(?P<length>{LENGTH})", read.from_now),
    (rf"(?P<length>{LENGTH})\s+(?:from now|later)\b", read.from_now),
    (rf"(?P<length>{LENGTH})", read.duration),
    (rf"{_ON_EVERY}(?P<days>{DAYS}(?:{AND}(?:(?:on|every|each)\s+)?{DAYS})*)", read.weekdays),
    (rf"(?:on\s+)?(?:every other|alternate)\s+(?P<days>{DAYS}(?:{AND}{DAYS})*)", read.other_weekday),
    (rf"(?:on\s+)?(?P<which>next|this|coming|this coming)\s+(?P<day>{DAY})", read.coming_weekday),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST}\s+{DAY}(?:{AND}(?:the\s+)?{_ORD_LIST}\s+{DAY})*)(?P<of>{OF_MONTH})?",
        read.nth_weekdays,
    ),
    (rf"{_ON_EVERY}(?P<list>{_ORD_LIST})\s+{WORKDAY}(?P<of>{OF_MONTH})?", read.nth_workdays),
    (
        rf"{_ON_EVERY}(?P<list>\d{{1,2}}(?:st|nd|rd|th)\b(?:{AND}(?:the\s+)?{ORD})*)(?:\s+days?\b)?"
        rf"(?P<of>{OF_MONTH})?",
        read.days_of_month,
    ),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST})(?:\s+days?\b)?(?P<of>{OF_MONTH})",
        read.days_of_month,
    ),
    (rf"{_ON_EVERY}(?P<list>{_ORD_LIST})\s+days?\b(?P<of>{OF_MONTH})?", read.days_of_month),
    (rf"{_ON}(?P<date>{DATE})", lambda f: [calendar_date(f["date"])]),
    (rf"every\s+(?P<date>{DATE})", lambda f: [p.Every(unit=Unit.YEAR), calendar_date(f["date"])]),
    (
        rf"{_ON_EVERY}(?P<list>{_ORD_LIST})(?:\s+days?)?\s+(?:of|in)\s+(?P<months>{MONTH_LIST})",
        read.days_of_months,
    ),
    (rf"(?:on\s+)?(?:the\s+)?days?\s+(?P<list>\d{{1,2}}(?:{AND}\d{{1,2}})*)\b(?P<of>{OF_MONTH})?", read.numbered_days),
    (rf"{_ON}(?P<nth>first|last) day in (?:the|each|every|a) quarter\b", read.quarter_day),
    (
        r"(?:on\s+)?(?:the\s+)?(?P<day>\d{1,2})(?:st|nd|rd|th) of next month\b",
        lambda f: [p.DayOfNextMonth(day=int(f["day"]))],
    ),
    (
        rf"(?:in|of|during)\s+(?P<months>{MONTH_LIST})(?!\s*\d)",
        lambda f: [p.Months(months=tuple(month(word) for word in re.findall(MONTH, f["months"])))],
    ),
    (rf"{_ON}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})(?:/(?P<year>\d{{4}}))?\b", read.slashed),
    (
        rf"(?:starting|beginning|from|since|as of|start)(?:\s+(?:on|from|at))?\s+"
        rf"(?:(?P<moment>{ISO})|(?:(?P<date>{DATE})|(?P<day>today|tomorrow)|(?:next\s+)?(?P<weekday>{DAY}))"
        rf"(?:\s+(?:at\s+)?(?P<time>{FULL_TIME}))?|(?<!from )(?<!since )(?P<alone>{BARE_TIME}))"
        rf"(?!{TO}\S)(?:\s+(?:on|onwards?)\b)?",
        read.beginning,
    ),
    (
        rf"(?:at\s+|on\s+)?minutes?\s+(?P<list>\d{{1,2}}(?:{AND}\d{{1,2}})*)\b(?:\s+(?:of|past) the hour)?",
        read.at_minutes,
    ),
    (rf"(?:at\s+)?(?P<list>:\d{{2}}(?:{AND}:\d{{2}})*)\b", read.at_minutes),
    (
        r"(?:at\s+)?(?:a\s+)?(?P<minute>\d{1,2}|half|quarter)(?: minutes?)? (?:past|after) "
        r"(?P<which>the|every|each) hour\b",
        read.past_hour,
    ),
    (
        rf"(?:at\s+)?(?:a\s+)?(?P<minute>\d{{1,2}}|half|quarter)(?: minutes?)? past\b(?P<which>)"
        rf"(?!\s*(?:\d|{one_of(HOURS)}|noon|mid|the|ea|ev))",
        read.past_hour,
    ),
    (r"on the half hour\b", lambda _: [p.AtMinutes(minutes=(30,))]),
    (r"on the hour\b", lambda _: [p.AtMinutes(minutes=(0,))]),
    (rf"on cron days {CRON_DAYS}", read.named_days),
    (r"(?:on|by) the clock\b", lambda _: [p.OnTheClock()]),
)

_GLUE = re.compile(r"[\s,()]+")

_WORD = re.compile(r"[^\s,()]+")

_HALF_KNOWN = re.compile(r"(?:every|each|on|at|in|of|the|from|between|and|next|this)\b")


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Reader], ...]:
    """At the first phrase: compiling takes some 70 ms, and most commands read none."""
    return tuple((re.compile(pattern), read) for pattern, read in _PATTERNS)


def scan(text: str) -> p.Scan:
    """Take a lower-case phrase apart, left to right."""
    return run(text, _compiled(), glue=_GLUE, word=_WORD, half_known=_HALF_KNOWN)
