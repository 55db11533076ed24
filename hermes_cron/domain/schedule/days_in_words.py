"""How are the days of a rule said, in English, in Chinese, and in a narrow column?

The words are only proposed here; ``words`` proves that they parse back.
"""

from __future__ import annotations

from datetime import date
from typing import TypeAlias

from hermes_cron.domain.schedule.days import (
    CronDays,
    Days,
    EveryDays,
    EveryMonths,
    EveryWeeks,
    MonthDays,
    MonthWorkdays,
)
from hermes_cron.domain.schedule.refusal import Language
from hermes_cron.domain.schedule.timetable import weekday_field

Plain: TypeAlias = CronDays | MonthDays | MonthWorkdays
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
_ZH = "零一二三四五六七八九十"
_ZH_WEEKDAYS = "日一二三四五六"


def joined(items: list[str], lang: Language) -> str:
    if lang == "zh":
        return "、".join(items)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def numbers(field: str) -> list[int]:
    """A plain list of numbers, ascending; empty for anything else."""
    parts = field.split(",")
    return sorted(int(part) for part in parts) if all(part.isdigit() for part in parts) else []


def hour_list(field: str) -> tuple[int | None, int | None, int]:
    """(low, high, step) of ``9``, ``9-17``, ``8-20/2``; None for anything else."""
    span, _, step = field.partition("/")
    low, _, high = span.partition("-")
    if not low.isdigit() or (high and not high.isdigit()) or (step and not step.isdigit()):
        return None, None, 1
    return int(low), int(high or low), int(step or 1)


def ordinal(number: int) -> str:
    if number < 0:
        return {-1: "last", -2: "second to last", -3: "third to last"}.get(number) or f"{ordinal(-number)} to last"
    suffix = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def apart(days: Days) -> tuple[Plain, int, date | None]:
    """The days within their period, every how many periods, and from which day."""
    match days:
        case EveryDays(every=every, first=first):
            return CronDays(), every, first
        case EveryWeeks(every=every, weekdays=weekdays, first=first):
            return CronDays(weekdays=weekday_field(weekdays)), every, first
        case EveryMonths(every=every, within=within, first=first):
            return within, every, first
        case _:
            return days, 1, None


def daily(days: Plain, lang: Language) -> str:
    """Before a list of times: every workday, on the first monday of every month."""
    return _daily_zh(days) if lang == "zh" else _daily_en(days)


def on_days(days: Plain, lang: Language) -> str:
    """Beside a window, where a second "every" would be too much; empty for every day."""
    if lang == "zh":
        return "" if days == CronDays() else _daily_zh(days)
    if isinstance(days, CronDays) and days.days == "*" and numbers_of_week(days):
        return f"on {_plural_weekdays(numbers_of_week(days))}{_in_months(days)}"
    if isinstance(days, CronDays) and days.days == days.weekdays == "*":
        return _in_months(days).strip()
    if isinstance(days, CronDays) and days.weekdays == "*" and days.months != "*":
        return f"on every {_ordinals(days)} of {_months_en(days)}"
    return _daily_en(days)


def every_nth(days: Days, plain: Plain, every: int, lang: Language) -> str:
    """``every 2 weeks on monday``; ``daily`` when every is 1."""
    if every == 1:
        return daily(plain, lang)
    match days:
        case EveryDays():
            return f"每 {every} 天" if lang == "zh" else f"every {every} days"
        case EveryWeeks():
            if lang == "zh":
                return f"每 {every} 周的{_weekdays_zh(list(days.weekdays))}"
            named = joined([_WEEKDAYS[day] for day in days.weekdays], lang)
            return f"every {every} weeks on {named}"
        case _:
            if lang == "zh":
                return daily(plain, lang).replace("每月", f"每 {every} 个月的", 1)
            return f"every {every} months {_daily_en(plain).replace(' of every month', '')}"


def by_fields(days: CronDays, every: int, lang: Language) -> str:
    """The last resort: the cron fields themselves."""
    fields = f"{days.days} {days.months} {days.weekdays}"
    if lang == "zh":
        return f"{f'每 {every} 个月' if every > 1 else ''}按cron日期 {fields}"
    return f"{f'every {every} months ' if every > 1 else ''}on cron days {fields}"


def short_days(days: Plain) -> str | None:
    """``daily``, ``workday``, ``Sun``, ``1st, 15th``, ``last day``, ``1st Mon``; None for what does not fit."""
    if isinstance(days, MonthDays):
        return ", ".join(ordinal(day) for day in days.days) + " day"
    if isinstance(days, MonthWorkdays):
        return ", ".join(ordinal(nth) for nth in days.nth) + " workday"
    if days == CronDays():
        return "daily"
    if days.months != "*" and not (days.months.isdigit() and days.days.isdigit() and days.weekdays == "*"):
        return None
    if days.months != "*":
        return f"{_MONTHS[int(days.months) - 1][:3].title()} {days.days}"
    return _short_weekdays(days) if days.days == "*" else _short_month_days(days)


def _short_weekdays(days: CronDays) -> str | None:
    week = numbers_of_week(days)
    if week:
        known = {(1, 2, 3, 4, 5): "workday", (0, 6): "weekend", (0, 1, 2, 3, 4, 5, 6): "daily"}
        return known.get(tuple(week)) or ", ".join(
            _WEEKDAYS[day][:3].title() for day in sorted(week, key=_monday_first)
        )
    picks = _picks(days)
    return ", ".join(f"{ordinal(nth)} {_WEEKDAYS[day][:3].title()}" for nth, day in picks) if picks else None


def _short_month_days(days: CronDays) -> str | None:
    if days.weekdays != "*":
        return None
    if days.days == "LW":
        return "last workday"
    if days.days == "L":
        return "last day"
    listed = numbers(days.days)
    return ", ".join(ordinal(day) for day in listed) if listed else None


def _monday_first(day: int) -> int:
    return (day - 1) % 7


def numbers_of_week(days: CronDays) -> list[int]:
    """The weekdays of a plain list or range, ascending, Sunday as 0; empty for ``*``, ``#``, ``L`` and steps."""
    if not days.weekdays.replace(",", "").replace("-", "").isdigit():
        return []
    found: set[int] = set()
    for part in days.weekdays.split(","):
        low, _, high = part.partition("-")
        found |= {day % 7 for day in range(int(low), int(high or low) + 1)}
    return sorted(found)


def _picks(days: CronDays) -> list[tuple[int, int]]:
    """(nth, weekday) pairs of ``1#1,5L``; empty when another kind takes part."""
    picks = []
    for part in days.weekdays.split(","):
        if part[:-1].isdigit() and part.endswith("L"):
            picks.append((-1, int(part[:-1]) % 7))
        elif "#" in part:
            day, nth = part.split("#")
            picks.append((int(nth), int(day) % 7))
        else:
            return []
    return picks


# --- English ----------------------------------------------------------------------------------------------------------


def _daily_en(days: Plain) -> str:
    if isinstance(days, MonthDays | MonthWorkdays):
        listed, noun = (days.days, "day") if isinstance(days, MonthDays) else (days.nth, "workday")
        return f"on the {_ordinal_list(list(listed))} {noun} of every month{_in_listed(days.months)}"
    if days.days != "*":
        return _month_days_en(days)
    week = numbers_of_week(days)
    if week:
        return f"every {_weekdays_en(week)}{_in_months(days)}"
    if picks := _picks(days):
        named = joined([f"the {_NTH[nth]} {_WEEKDAYS[day]}" for nth, day in picks], "en")
        if days.months != "*":
            return f"every year on {named} of {_months_en(days)}"
        return f"on {named} of every month"
    return f"every day{_in_months(days)}"


def _weekdays_en(week: list[int]) -> str:
    if week == [1, 2, 3, 4, 5]:
        return "workday"
    return joined([_WEEKDAYS[day] for day in sorted(week, key=_monday_first)], "en")


def _plural_weekdays(week: list[int]) -> str:
    if week == [1, 2, 3, 4, 5]:
        return "workdays"
    return joined([f"{_WEEKDAYS[day]}s" for day in sorted(week, key=_monday_first)], "en")


def _month_days_en(days: CronDays) -> str:
    if days.days == "LW" and days.months != "*":
        return f"every year on the last workday of {_months_en(days)}"
    if days.days == "LW":
        return "on the last workday of every month"
    if days.months == "*":
        return f"on the {_ordinals(days)} of every month"
    if days.days.isdigit() and days.months.isdigit():
        return f"every year on {_MONTHS[int(days.months) - 1]} {days.days}"
    return f"every year on the {_ordinals(days)} of {_months_en(days)}"


def _ordinals(days: CronDays) -> str:
    listed = [part for part in days.days.split(",") if part != "L"]
    found = [ordinal(int(part)) for part in listed if part.isdigit()]
    if "L" in days.days.split(","):
        found.append("last")
    text = joined(found, "en") if found else "?"
    return f"{text} day" if text.endswith("last") else text


def _ordinal_list(listed: list[int]) -> str:
    return joined([ordinal(number) for number in listed], "en")


def _months_en(days: CronDays) -> str:
    return joined([_MONTHS[number - 1] for number in numbers(days.months)] or ["?"], "en")


def _in_months(days: CronDays) -> str:
    return "" if days.months == "*" else f" in {_months_en(days)}"


def _in_listed(months: tuple[int, ...]) -> str:
    return f" in {joined([_MONTHS[number - 1] for number in months], 'en')}" if months else ""


# --- Chinese ----------------------------------------------------------------------------------------------------------


def _daily_zh(days: Plain) -> str:
    if isinstance(days, MonthDays):
        return f"{_months_zh(days.months)}每月{_nths_zh(list(days.days))}天"
    if isinstance(days, MonthWorkdays):
        return f"{_months_zh(days.months)}每月{_nths_zh(list(days.nth))}个工作日"
    lead = _months_zh(tuple(numbers(days.months)))
    if days.days != "*":
        return _month_days_zh(days, lead)
    week = numbers_of_week(days)
    if week:
        return lead + _weekdays_zh(week, each=True)
    if picks := _picks(days):
        named = "、".join(f"{_nth_zh(nth)}个周{_ZH_WEEKDAYS[day]}" for nth, day in picks)
        return f"每年{lead}的{named}" if lead else f"每月{named}"
    return f"{lead}每天"


def _weekdays_zh(week: list[int], *, each: bool = False) -> str:
    if week == [1, 2, 3, 4, 5]:
        return "每个工作日" if each else "工作日"
    ordered = sorted(week, key=_monday_first)
    return ("每周" if each else "周") + "、".join(_ZH_WEEKDAYS[day] for day in ordered)


def _month_days_zh(days: CronDays, lead: str) -> str:
    if days.days == "LW":
        return f"每年{lead}的最后一个工作日" if lead else "每月最后一个工作日"
    parts = days.days.split(",")
    listed = "、".join(f"{part}号" for part in parts if part.isdigit())
    last = "最后一天" if "L" in parts else ""
    both = "、".join(part for part in (listed, last) if part)
    if days.months == "*":
        return f"每月{both}"
    if days.months.isdigit() and days.days.isdigit():
        return f"每年{days.months}月{days.days}日"
    return f"每年{'、'.join(f'{number}月' for number in numbers(days.months))}的{both}"


def _months_zh(months: tuple[int, ...]) -> str:
    return "、".join(f"{number}月" for number in months)


def _nth_zh(nth: int) -> str:
    if nth == -1:
        return "最后一"
    return f"{'倒数' if nth < 0 else ''}第{_zh_number(abs(nth))}"


def _nths_zh(listed: list[int]) -> str:
    return "、".join(_nth_zh(nth) for nth in listed)


def _zh_number(number: int) -> str:
    return _ZH[number] if number <= 10 else str(number)
