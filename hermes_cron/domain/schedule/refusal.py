"""How is a phrase refused? The facts as attributes, both spellings, three examples.

``details`` of the errors: ``understood``, ``left_over`` and ``examples`` for what was not understood; ``readings``, a
list of [label, phrase], for what can mean two things.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.parts import Daypart, Unit
from hermes_cron.errors import HermesCronError, ScheduleAmbiguous, ScheduleInvalid

Language: TypeAlias = Literal["en", "zh"]
_EXAMPLES: dict[str, tuple[str, str, str]] = {
    "en": ("every friday 9am", "every weekday 09:00", "0 9 * * 5"),
    "zh": ("每周五9点", "每个工作日9点", "0 9 * * 5"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a phrase is read against. ``anchor`` is where intervals and "every other" count from."""

    text: str
    lang: Language
    now: datetime
    anchor: datetime
    zone: ZoneInfo

    def today(self) -> date:
        return self.now.astimezone(self.zone).date()


_KEYS = (
    (
        r"[a-z]+/[a-z_]+|\b(?:utc|gmt|[ecmp][sd]t|cet|cest|bst|jst|ist)\b|时间|时区",
        "the zone is an option of its own: --tz Asia/Tokyo",
    ),
    (r"\b(?:until|till|ending|for)\b|直到|截至|为止", "an end is a key of the job file: until: 2027-01-01"),
    (
        r"\b(?:except|holidays?)\b|节假日|除了",
        "days off are a key of the job file: calendar: {country: CN, except: [2026-12-25]}",
    ),
)


def not_understood(
    setting: Setting, why: str | None = None, *, understood: str = "", left_over: str = ""
) -> ScheduleInvalid:
    """Words left over, or parts that do not go together (``why``)."""
    examples = list(_EXAMPLES[setting.lang])
    key = next((hint for pattern, hint in _KEYS if re.search(pattern, left_over)), None)
    reason = f" ({why})" if why else ""
    colon, end = ("：", "...") if setting.lang == "zh" else (":", " ...")
    return ScheduleInvalid(
        f'schedule not understood: "{setting.text}"{reason}',
        hint=key or "examples: " + "   ".join(f'"{example}{colon}{end}"' for example in examples),
        details={
            "understood": understood or setting.text,
            "left_over": left_over,
            "examples": list[object](examples),
        },
    )


def ambiguous(setting: Setting, *readings: tuple[str, str]) -> ScheduleAmbiguous:
    """Two readings, each as (label, phrase that has only this one)."""
    between = "，或 " if setting.lang == "zh" else ", or "
    return ScheduleAmbiguous(
        f'"{setting.text}" can mean two things',
        hint=between.join(phrase for _, phrase in readings),
        details={"readings": [list(reading) for reading in readings]},
    )


def weekday_name(day: int) -> str:
    return ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")[day % 7]


def every_with_a_time(every: p.Every, lang: Language) -> str:
    """A phrase for every so many days, weeks, months or years that parses."""
    n = every.count
    if every.unit is Unit.DAY:
        return f"每{n * 24}小时" if lang == "zh" else f"every {n * 24} hours"
    if lang == "zh":
        lengths = {Unit.WEEK: f"每{n}周的周一9点", Unit.MONTH: f"每{n}个月的1号9点"}
        return lengths.get(every.unit, "每年3月1日9点")
    lengths = {
        Unit.WEEK: f"every {n} weeks on monday at 9am",
        Unit.MONTH: f"every {n} months on the 1st at 9am",
    }
    return lengths.get(every.unit, "every year on march 1 at 9am")


def needs_a_time_once(setting: Setting, *, late: bool) -> ScheduleInvalid:
    """One date without a time; ``late``: suggest the evening, for a day that has begun."""
    example = f"{setting.text} {'21:00' if late else '9点'}" if setting.lang == "zh" else ""
    example = example or f"{setting.text} at {'21:00' if late else '9am'}"
    return ScheduleInvalid(
        f'"{setting.text}" names a day and no time',
        hint=f"needs a time: {example}",
        details={"understood": setting.text, "left_over": "", "examples": [example]},
    )


def needs_a_time(
    setting: Setting, every: p.Every | None = None, *, lead: str = "", daypart: Daypart | None = None
) -> HermesCronError:
    """A day without a clock time, with two suggestions; "every day" can also mean a length."""
    if daypart is not None:
        return needs_an_hour(setting, daypart)
    if every is not None and every.unit is Unit.DAY:
        return _every_day(setting, every)
    if setting.lang == "zh":
        midnight, example = f"{lead}{setting.text} 0点", f"{lead}{setting.text} 9点"
    else:
        text = lead + setting.text.removeprefix("on ") if lead else setting.text
        midnight, example = f"{text} at 00:00", f"{text} at 9am"
    return ScheduleInvalid(
        f'"{setting.text}" names a day and no time, such as "{example}"',
        hint=f"needs a time: {midnight}",
        details={"understood": setting.text, "left_over": "", "examples": [midnight, example]},
    )


_HOURS = {
    Daypart.SMALL_HOURS: 2,
    Daypart.MORNING: 9,
    Daypart.MIDDAY: 12,
    Daypart.AFTERNOON: 3,
    Daypart.EVENING: 8,
    Daypart.NIGHT: 11,
}


def needs_an_hour(setting: Setting, daypart: Daypart) -> ScheduleInvalid:
    """A part of a day without a time."""
    hour = _HOURS[daypart]
    example = f"{setting.text}{hour}点" if setting.lang == "zh" else f"{setting.text} at {hour}"
    return ScheduleInvalid(
        f'"{setting.text}" names a part of the day and no time',
        hint=f"needs a time: {example}",
        details={"understood": setting.text, "left_over": "", "examples": [example]},
    )


def _every_day(setting: Setting, every: p.Every) -> ScheduleAmbiguous:
    hours = every.count * 24
    if setting.lang == "zh":
        day = "每天" if every.count == 1 else f"每{every.count}天"
        return ambiguous(setting, ("length", f"每{hours}小时"), ("time of day", f"{day}0点"))
    day = "every day" if every.count == 1 else f"every {every.count} days"
    return ambiguous(setting, ("length", f"every {hours} hours"), ("time of day", f"{day} at 00:00"))
