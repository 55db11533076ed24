"""What do Chinese words of time say: numerals, units, weekdays, clock times, dates?

The capital names are patterns for text without blanks beside Chinese characters; the functions read what they found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from fractions import Fraction

from hermes_cron.domain.schedule import english
from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.parts import Daypart, Unit
from hermes_cron.errors import ScheduleInvalid

DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}

WEEKDAYS = {"日": 0, "天": 0, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6}

WEEKDAYS |= {str(number): number % 7 for number in range(1, 8)}

UNITS = {
    "秒钟": Unit.SECOND,
    "秒": Unit.SECOND,
    "分钟": Unit.MINUTE,
    "分": Unit.MINUTE,
    "刻钟": Unit.MINUTE,
    "小时": Unit.HOUR,
    "钟头": Unit.HOUR,
    "天": Unit.DAY,
    "日": Unit.DAY,
    "周": Unit.WEEK,
    "星期": Unit.WEEK,
    "礼拜": Unit.WEEK,
    "个月": Unit.MONTH,
    "月": Unit.MONTH,
    "季度": Unit.QUARTER,
    "季": Unit.QUARTER,
    "年": Unit.YEAR,
}

DAYPARTS = {
    "凌晨": Daypart.SMALL_HOURS,
    "清晨": Daypart.MORNING,
    "清早": Daypart.MORNING,
    "早晨": Daypart.MORNING,
    "早上": Daypart.MORNING,
    "早间": Daypart.MORNING,
    "上午": Daypart.MORNING,
    "早": Daypart.MORNING,
    "中午": Daypart.MIDDAY,
    "午间": Daypart.MIDDAY,
    "下午": Daypart.AFTERNOON,
    "午后": Daypart.AFTERNOON,
    "傍晚": Daypart.EVENING,
    "晚上": Daypart.EVENING,
    "晚间": Daypart.EVENING,
    "晚": Daypart.EVENING,
    "夜里": Daypart.NIGHT,
    "夜间": Daypart.NIGHT,
    "夜晚": Daypart.NIGHT,
    "深夜": Daypart.NIGHT,
    "半夜": Daypart.NIGHT,
}

RELATIVE = {"今天": 0, "今日": 0, "明天": 1, "明日": 1, "后天": 2, "大后天": 3}

SHORT_RELATIVE = {"今": 0, "明": 1, "后": 2}


def one_of(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_CN = "[零〇一二两三四五六七八九十廿卅]"

N = rf"(?:\d+(?:\.\d+)?|{_CN}+)"

WHOLE = rf"(?:\d+|{_CN}+)"

AND = r"(?:[,、&/]|以及|还有|及|和|与|跟)"

TO = r"(?:到|至|-|–|~|—+)"

WEEK = r"(?:周|星期|礼拜)"

PART = one_of(DAYPARTS)

TIME = (
    rf"(?:(?:{PART}的?)?(?:差(?:[一1]刻|{WHOLE}分钟?)(?:到|钟)?{WHOLE}(?:点钟?|时|點)|{WHOLE}(?:点钟?|时|點)差(?:[一1]刻|{WHOLE}分钟?)|\d{{1,2}}:\d{{2}}(?![:\d])|{WHOLE}(?:点钟?|时|點)(?:整|半|[一1]刻|[三3]刻|零?{WHOLE}分?(?![点时號号日天]))?)"
    rf"|{english.FULL_TIME}|正午|午夜|中午(?!的?(?:\d|{_CN})))"
)

TIMES = rf"{TIME}(?:(?:{AND}|(?={PART})){TIME})*"

_DIGIT_D = r"[1-7](?![\d点时點:分月号日])"

DAY = rf"(?:[一二三四五六日天]|{_DIGIT_D})"

_LOOSE_D = (
    rf"(?:[一二三四五六日天](?!\s*[点时點:十])|(?<=[,、和到至-]){_DIGIT_D})"  # 周三三点: the second 三 is an hour
)

_DAY_ITEM = rf"(?:{WEEK}{DAY}{TO}{WEEK}?{_LOOSE_D}|{WEEK}{DAY}|工作日|平日|双休日|周末|礼拜天)"

_MORE_DAYS = rf"(?:{AND}?{_DAY_ITEM}|{AND}?{_LOOSE_D}(?:{TO}{_LOOSE_D})?)"

DAYS = rf"{_DAY_ITEM}{_MORE_DAYS}*"

NTH = rf"(?:倒数第{WHOLE}|最后一?|第{WHOLE}|首)个?"

DOM = rf"{WHOLE}[号號日]"

DOMS = rf"(?:{WHOLE}[号號日]?{AND})*{DOM}"

UNIT = rf"(?:个半)?个?{one_of(UNITS)}"

LENGTH = rf"(?:{N}(?:个半|个)?(?:秒钟?|分钟?|刻钟|小时|钟头)半?|半个?(?:小时|钟头)|半分钟)"

LENGTHS = rf"{LENGTH}(?:零?{LENGTH})*"

LATER = r"(?:之后|以后|过后|后)"

MONTH_LIST = rf"{WHOLE}月?(?:{AND}{WHOLE}月?)*"

DATE = rf"(?:(?:(?:\d{{4}}|{_CN}{{4}})年)?{WHOLE}月{WHOLE}[日号號]|{english.ISO_DATE})"


def number(text: str) -> Fraction:
    """Digits, or Chinese numerals to 99: 两, 十五, 廿三, 二十一."""
    if text[0].isdigit():
        return Fraction(text)
    text = text.replace("廿", "二十").replace("卅", "三十")
    if "十" not in text:
        return Fraction(int("".join(str(DIGITS[sign]) for sign in text)))
    tens, ones = text.split("十", 1)
    if len(tens) > 1 or len(ones) > 1 or "十" in ones:
        raise ScheduleInvalid(f'"{text}" is no number', hint="write it in digits")
    return Fraction((DIGITS[tens] if tens else 1) * 10 + (DIGITS[ones] if ones else 0))


def whole(text: str) -> int:
    return english.whole(number(text), text)


def length_of(text: str) -> timedelta:
    """The exact sum: 1小时30分钟, 一个半小时, 半小时, 两刻钟."""
    total = Fraction()
    for found in re.finditer(rf"(?:({N})(个半)?个?|(半)个?)(秒钟?|分钟?|刻钟|小时|钟头)(半)?", text):
        seconds = 900 if found[4] == "刻钟" else english.SECONDS[UNITS[found[4]]]
        count = Fraction(1, 2) if found[3] else number(found[1])
        if found[2] or found[5]:
            count += Fraction(1, 2)
        total += count * seconds
    if total.denominator != 1:
        raise ScheduleInvalid("not a whole number of seconds", hint="例如 每90秒")
    return timedelta(seconds=int(total))


def clock_word(text: str) -> p.ClockWord:
    if text in {"正午", "中午"}:
        return p.ClockWord(hour=12, meridiem="pm", text=text)
    if text == "午夜":
        return p.ClockWord(hour=12, meridiem="am", text=text)
    if re.fullmatch(english.FULL_TIME, text):
        return english.clock_word(text)
    if before := re.fullmatch(
        rf"({PART})?的?(?:差([一1]刻|{WHOLE}分钟?)(?:到|钟)?({WHOLE})(?:点钟?|时|點)|({WHOLE})(?:点钟?|时|點)差([一1]刻|{WHOLE}分钟?))",
        text,
    ):
        return _before(before)
    found = re.match(rf"({PART})?的?({WHOLE})(?::(\d\d)|(?:点钟?|时|點)(.*))$", text)
    assert found is not None  # noqa: S101 - every pattern of a time has this shape
    daypart = DAYPARTS[found[1]] if found[1] else None
    minute = int(found[3]) if found[3] else _past(found[4] or "")
    return p.ClockWord(hour=whole(found[2]), minute=minute, daypart=daypart, bare=daypart is None, text=text)


def _before(found: re.Match[str]) -> p.ClockWord:
    """差一刻八点, 八点差五分: the minutes before an hour belong to the hour before it."""
    words, hour = found[2] or found[5], whole(found[3] or found[4])
    minutes = 15 if "刻" in words else whole(words.rstrip("钟").rstrip("分"))
    if not 0 < minutes < 60:
        raise ScheduleInvalid(f'"{found[0]}" is no time: minutes are 0-59', hint="例如 差一刻九点")
    daypart = DAYPARTS[found[1]] if found[1] else None
    hour = 12 if daypart is not None and hour == 1 else (hour - 1) % 24
    return p.ClockWord(hour=hour, minute=60 - minutes, daypart=daypart, bare=daypart is None, text=found[0])


def _past(text: str) -> int:
    words = {"": 0, "整": 0, "半": 30, "一刻": 15, "1刻": 15, "三刻": 45, "3刻": 45}
    if text in words:
        return words[text]
    return whole(text.rstrip("分").removeprefix("零") or "零")


def day_numbers(text: str) -> tuple[int, ...]:
    days: list[int] = []
    for found in re.finditer(
        rf"{WEEK}?(?P<first>{DAY}){TO}{WEEK}?(?P<last>{DAY})|工作日|平日|双休日|周末|{WEEK}?(?P<one>{DAY})", text
    ):
        if found["first"]:
            days += english.span(WEEKDAYS[found["first"]], WEEKDAYS[found["last"]])
        elif found["one"]:
            days.append(WEEKDAYS[found["one"]])
        else:
            days += [1, 2, 3, 4, 5] if found[0] in {"工作日", "平日"} else [6, 0]
    return tuple(sorted(set(days)))


def nths(text: str) -> list[int]:
    """第一、三个, 最后一个, 倒数第二个."""
    found = []
    for item in re.finditer(
        rf"(?P<back>倒数第(?P<n>{WHOLE}))|(?P<last>最后一?)|(?P<first>首)|第?(?P<nth>{WHOLE})", text
    ):
        if item["back"]:
            found.append(-whole(item["n"]))
        elif item["last"]:
            found.append(-1)
        else:
            found.append(1 if item["first"] else whole(item["nth"]))
    return found


def month_days(text: str) -> tuple[int, ...]:
    return tuple(whole(item) for item in re.findall(rf"({WHOLE})[号號日]?", text))


def calendar_date(text: str) -> p.CalendarDate:
    if re.fullmatch(english.ISO_DATE, text):
        return english.calendar_date(text)
    found = re.fullmatch(rf"(?:(\d{{4}}|{_CN}{{4}})年)?({WHOLE})月({WHOLE})[日号號]", text)
    assert found is not None  # noqa: S101
    return p.CalendarDate(year=whole(found[1]) if found[1] else None, month=whole(found[2]), day=whole(found[3]))


def minutes_in(text: str) -> tuple[int, ...]:
    return tuple(whole(word) for word in re.findall(WHOLE, text))


NTHS = rf"{NTH}(?:{AND}?第?{WHOLE}个?|{AND}{NTH})*"
