"""Which schedules do what they say and still not what people expect?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_cron.domain.schedule import cron
from hermes_cron.domain.schedule.days import CronDays, EveryMonths, MonthWorkdays
from hermes_cron.domain.schedule.days_in_words import numbers, numbers_of_week
from hermes_cron.domain.schedule.refusal import Language
from hermes_cron.domain.schedule.trigger import AnyOf, Cron, Rule, Trigger

HOLIDAYS = "holidays are not considered"
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WORKDAY_WORDS = ("workday", "work day", "working day", "weekday", "business day", "工作日", "平日")


def warnings(trigger: Trigger, text: str = "") -> list[str]:
    """Short English sentences, each once. ``text`` is what the user wrote, if it is known."""
    parts = trigger.triggers if isinstance(trigger, AnyOf) else (trigger,)
    found: dict[str, None] = {}
    for part in parts:
        for warning in _warnings(part):
            found[warning] = None
    if _says_workdays(trigger, text):
        found[HOLIDAYS] = None
    return list(found)


def in_language(warning: str, lang: Language) -> str:
    """The sentence in ``lang``."""
    if lang == "en":
        return warning
    for english, chinese in _CHINESE:
        if found := re.fullmatch(english, warning):
            return _MONTHS.sub(_months_in_chinese, found.expand(chinese))
    return warning


def _months_in_chinese(found: re.Match[str]) -> str:
    return "、".join(f"{_NAMES.index(name) + 1}月" for name in found[0].split(", "))


_MONTHS = re.compile(rf"\b(?:{'|'.join(_NAMES)})(?:, (?:{'|'.join(_NAMES)}))*\b")

_CHINESE = (
    (HOLIDAYS, "未计节假日"),
    ("skips years without 29 February", "没有 2 月 29 日的年份不运行"),
    ("skips Feb but in leap years", "非闰年的 2 月不运行"),
    ("skips months without a fifth such weekday", "没有第五个该星期几的月份不运行"),
    ("skips (.+)", r"以下月份没有这一天，不运行：\1"),
    (r"day or weekday: either one is enough \(cron's OR\)", "日期或星期满足其一即运行（cron 的 OR 规则）"),
    (
        r"the step restarts every hour: the last gap is (\d+) \w+, not (\d+)",
        r"步长每小时重新开始：末段 \1 分钟，不是 \2",
    ),
    (r"the step restarts every day: the last gap is (\d+) \w+, not (\d+)", r"步长每天重新开始：末段 \1 小时，不是 \2"),
    (r"the step restarts every hour: \S+ fires at 0 only, .+", "步长每小时重新开始：只在每小时 0 分运行"),
    (r"the step restarts every day: \S+ fires at 0 only, .+", "步长每天重新开始：只在 0 点运行"),
)


def _warnings(part: Trigger) -> Iterator[str]:
    if isinstance(part, Cron):
        minute, hour, *_ = part.expression.split()
        yield from _uneven(minute, 60, "hour")
        yield from _uneven(hour, 24, "day")
    days = _cron_days(part)
    if days is None:
        return
    yield from _missing_days(days)
    if not days.days.startswith("*") and not days.weekdays.startswith("*"):
        yield "day or weekday: either one is enough (cron's OR)"
    elif days.weekdays.endswith("#5") or "#5," in days.weekdays:
        yield "skips months without a fifth such weekday"


def _cron_days(part: Trigger) -> CronDays | None:
    if isinstance(part, Cron):
        _, _, days, months, weekdays = part.expression.split()
        return CronDays(days=days, months=months, weekdays=weekdays)
    if isinstance(part, Rule):
        found = part.days.within if isinstance(part.days, EveryMonths) else part.days
        return found if isinstance(found, CronDays) else None
    return None


def _uneven(field: str, size: int, unit: str) -> Iterator[str]:
    """``*/27``: 0, 27, 54, 0: the last gap is another."""
    span, slash, step = field.partition("/")
    if not slash or span != "*" or (int(step) < size and size % int(step) == 0):
        return
    values = list(range(0, size, int(step)))
    gap = size - values[-1]
    width = "minutes" if unit == "hour" else "hours"
    if len(values) == 1:
        yield f"the step restarts every {unit}: */{step} fires at 0 only, every {size} {width}"
    else:
        yield f"the step restarts every {unit}: the last gap is {gap} {width}, not {step}"


def _missing_days(days: CronDays) -> Iterator[str]:
    """Day 31, 30 or 29 in months that lack it, where no other day of the rule stands in."""
    listed = numbers(days.days)
    if not listed or listed[0] < 29 or not days.weekdays.startswith("*"):
        return
    months = sorted(cron.read(f"0 0 {days.days} {days.months} *").months)
    short = [_NAMES[month - 1] for month in months if _LENGTHS[month - 1] < listed[0]]
    if short == ["Feb"] and listed[0] == 29:
        yield "skips years without 29 February" if months == [2] else "skips Feb but in leap years"
    elif short:
        yield f"skips {', '.join(short)}"


def _says_workdays(trigger: Trigger, text: str) -> bool:
    if text and any(word in text.lower() for word in _WORKDAY_WORDS):
        return True
    parts = trigger.triggers if isinstance(trigger, AnyOf) else (trigger,)
    return any(_is_workdays(part) for part in parts)


def _is_workdays(part: Trigger) -> bool:
    if isinstance(part, Rule) and isinstance(part.days, MonthWorkdays):
        return True
    days = _cron_days(part)
    if days is None or days.days not in {"*", "LW"}:
        return False
    return days.days == "LW" or numbers_of_week(days) == [1, 2, 3, 4, 5]
