"""Which parts does a Chinese schedule phrase have?

The patterns stand as in ``phrase_en``: anchored, longest first, what none takes is left over. Blanks beside a Chinese
character mean nothing and are removed first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from functools import cache

from hermes_cron.domain import parts as p
from hermes_cron.domain import phrase_en as en
from hermes_cron.domain.parts import Daypart, Unit
from hermes_cron.domain.phrase_en import Reader
from hermes_cron.errors import ScheduleInvalid

_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_WEEKDAYS = {"日": 0, "天": 0, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6}
_WEEKDAYS |= {str(number): number % 7 for number in range(1, 8)}
_UNITS = {
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
_DAYPARTS = {
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
_RELATIVE = {"今天": 0, "今日": 0, "明天": 1, "明日": 1, "后天": 2, "大后天": 3}
_SHORT_RELATIVE = {"今": 0, "明": 1, "后": 2}


def _any(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_CN = "[零〇一二两三四五六七八九十廿卅]"
_N = rf"(?:\d+(?:\.\d+)?|{_CN}+)"
_WHOLE = rf"(?:\d+|{_CN}+)"
_AND = r"(?:[,、&/]|以及|还有|及|和|与|跟)"
_TO = r"(?:到|至|-|–|~|—+)"
_WEEK = r"(?:周|星期|礼拜)"
_PART = _any(_DAYPARTS)
_TIME = (
    rf"(?:(?:{_PART}的?)?(?:\d{{1,2}}:\d{{2}}(?![:\d])|{_WHOLE}(?:点钟?|时|點)(?:整|半|[一1]刻|[三3]刻|零?{_WHOLE}分?(?![点时號号日天]))?)"
    rf"|{en._FULL_TIME}|正午|午夜|中午(?!的?(?:\d|{_CN})))"
)
_TIMES = rf"{_TIME}(?:{_AND}{_TIME})*"
_DIGIT_D = r"[1-7](?![\d点时點:分月号日])"
_D = rf"(?:[一二三四五六日天]|{_DIGIT_D})"
_LOOSE_D = (
    rf"(?:[一二三四五六日天](?!\s*[点时點:十])|(?<=[,、和到至-]){_DIGIT_D})"  # 周三三点: the second 三 is an hour
)
_DAY_ITEM = rf"(?:{_WEEK}{_D}{_TO}{_WEEK}?{_LOOSE_D}|{_WEEK}{_D}|工作日|平日|双休日|周末|礼拜天)"
_MORE_DAYS = rf"(?:{_AND}?{_DAY_ITEM}|{_AND}?{_LOOSE_D}(?:{_TO}{_LOOSE_D})?)"
_DAYS = rf"{_DAY_ITEM}{_MORE_DAYS}*"
_NTH = rf"(?:倒数第{_WHOLE}|最后一?|第{_WHOLE}|首)个?"
_DOM = rf"{_WHOLE}[号號日]"
_DOMS = rf"(?:{_WHOLE}[号號日]?{_AND})*{_DOM}"
_UNIT = rf"(?:个半)?个?{_any(_UNITS)}"
_LENGTH = rf"(?:{_N}(?:个半|个)?(?:秒钟?|分钟?|刻钟|小时|钟头)半?|半个?(?:小时|钟头)|半分钟)"
_LENGTHS = rf"{_LENGTH}(?:零?{_LENGTH})*"
_LATER = r"(?:之后|以后|过后|后)"
_MONTH_LIST = rf"{_WHOLE}月?(?:{_AND}{_WHOLE}月?)*"
_DATE = rf"(?:(?:(?:\d{{4}}|{_CN}{{4}})年)?{_WHOLE}月{_WHOLE}[日号號]|{en._ISO_DATE})"


def number(text: str) -> Fraction:
    """Digits, or Chinese numerals to 99: 两, 十五, 廿三, 二十一."""
    if text[0].isdigit():
        return Fraction(text)
    text = text.replace("廿", "二十").replace("卅", "三十")
    if "十" not in text:
        return Fraction(int("".join(str(_DIGITS[sign]) for sign in text)))
    tens, ones = text.split("十", 1)
    if len(tens) > 1 or len(ones) > 1 or "十" in ones:
        raise ScheduleInvalid(f'"{text}" is no number', hint="write it in digits")
    return Fraction((_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0))


def whole(text: str) -> int:
    return en.whole(number(text), text)


def length_of(text: str) -> timedelta:
    """The exact sum: 1小时30分钟, 一个半小时, 半小时, 两刻钟."""
    total = Fraction()
    for found in re.finditer(rf"(?:({_N})(个半)?个?|(半)个?)(秒钟?|分钟?|刻钟|小时|钟头)(半)?", text):
        seconds = 900 if found[4] == "刻钟" else en.SECONDS[_UNITS[found[4]]]
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
    if re.fullmatch(en._FULL_TIME, text):
        return en.clock_word(text)
    found = re.match(rf"({_PART})?的?({_WHOLE})(?::(\d\d)|(?:点钟?|时|點)(.*))$", text)
    assert found is not None  # noqa: S101 - every pattern of a time has this shape
    daypart = _DAYPARTS[found[1]] if found[1] else None
    minute = int(found[3]) if found[3] else _past(found[4] or "")
    return p.ClockWord(hour=whole(found[2]), minute=minute, daypart=daypart, bare=daypart is None, text=text)


def _past(text: str) -> int:
    words = {"": 0, "整": 0, "半": 30, "一刻": 15, "1刻": 15, "三刻": 45, "3刻": 45}
    if text in words:
        return words[text]
    return whole(text.rstrip("分").removeprefix("零") or "零")


def _clock(found: re.Match[str]) -> list[p.Part]:
    """A time without 上午 or 下午 takes that of the one before, if it is an hour of twelve."""
    times: list[p.ClockWord] = []
    for item in re.findall(_TIME, found["times"]):
        time = clock_word(item)
        before = times[-1].daypart if times else None
        if before is not None and time.bare and time.hour <= 12 and time.meridiem is None and ":" not in item:
            time = replace(time, daypart=before)
        times.append(time)
    return [p.Clock(times=tuple(times))]


def _between(found: re.Match[str]) -> list[p.Part]:
    first, last = clock_word(found["first"]), clock_word(found["last"])
    if first.daypart is not None and last.bare and last.meridiem is None and last.hour <= 12 and ":" not in last.text:
        if first.daypart is Daypart.MORNING and last.hour < first.hour:
            return [p.Between(first=first, last=replace(last, daypart=None), text=found[0])]
        last = replace(last, daypart=first.daypart)
    return [p.Between(first=first, last=last, text=found[0])]


def _day_numbers(text: str) -> tuple[int, ...]:
    days: list[int] = []
    for found in re.finditer(
        rf"{_WEEK}?(?P<first>{_D}){_TO}{_WEEK}?(?P<last>{_D})|工作日|平日|双休日|周末|{_WEEK}?(?P<one>{_D})", text
    ):
        if found["first"]:
            days += en.span(_WEEKDAYS[found["first"]], _WEEKDAYS[found["last"]])
        elif found["one"]:
            days.append(_WEEKDAYS[found["one"]])
        else:
            days += [1, 2, 3, 4, 5] if found[0] in {"工作日", "平日"} else [6, 0]
    return tuple(sorted(set(days)))


def _weekdays(found: re.Match[str]) -> list[p.Part]:
    days = _day_numbers(found["days"])
    workdays = "工作日" in found["days"] or "平日" in found["days"]
    return [p.Weekdays(days=days, recurring=found["every"] is not None or len(days) > 1, workdays=workdays)]


def _every_weeks(found: re.Match[str]) -> list[p.Part]:
    count = _gap(found["skip"], found["n"] or "一", Unit.WEEK)
    return [p.Every(unit=Unit.WEEK, count=count), p.Weekdays(days=_day_numbers(found["days"]), recurring=True)]


def _gap(skip: str | None, n: str, unit: Unit) -> int:
    """每两周 is every second; 隔一周 leaves one out, so every second too; 隔两周 has two readings."""
    count = whole(n)
    if not skip:
        return count
    if count != 1:
        raise ScheduleInvalid(
            f'"隔{n}" can mean every {count} or every {count + 1} {unit.value}s',
            hint=f"写 每{count} 或 每{count + 1}，不用 隔",
        )
    return 2


def _every_of(found: re.Match[str]) -> p.Every:
    unit = _UNITS[found["unit"].removeprefix("个")]
    return p.Every(unit=unit, count=_gap(found["skip"], found["n"] or "一", unit))


def _every(found: re.Match[str]) -> list[p.Part]:
    return [_every_of(found)]


def _every_length(found: re.Match[str]) -> list[p.Part]:
    text = found["length"]
    if not re.match(rf"{_N}|半", text):
        text = "一" + text
    return [p.Every(unit=Unit.MINUTE, length=length_of(text))]


def _in(found: re.Match[str]) -> list[p.Part]:
    return [p.In(length=length_of(found["length"]))]


def _in_days(found: re.Match[str]) -> list[p.Part]:
    count, unit = whole(found["n"]), _UNITS[found["unit"].removeprefix("个") or "月"]
    if unit in {Unit.DAY, Unit.WEEK}:
        return [p.In(days=count * (7 if unit is Unit.WEEK else 1))]
    return [p.In(months=count * (12 if unit is Unit.YEAR else 1))]


def _nths(text: str) -> list[int]:
    """第一、三个, 最后一个, 倒数第二个."""
    found = []
    for item in re.finditer(
        rf"(?P<back>倒数第(?P<n>{_WHOLE}))|(?P<last>最后一?)|(?P<first>首)|第?(?P<nth>{_WHOLE})", text
    ):
        if item["back"]:
            found.append(-whole(item["n"]))
        elif item["last"]:
            found.append(-1)
        else:
            found.append(1 if item["first"] else whole(item["nth"]))
    return found


def _nth_weekdays(found: re.Match[str]) -> list[p.Part]:
    picks = [
        (nth, _WEEKDAYS[day])
        for nths, day in re.findall(rf"((?:{_NTH}{_AND}?)+|{_NTHS})的?{_WEEK}({_D})", found["list"])
        for nth in _nths(nths)
    ]
    if not picks:
        raise ScheduleInvalid(f'"{found[0]}" names no weekday', hint="例如 每月第一个周一9点")
    return [p.NthWeekdays(picks=tuple(picks), recurring=True)]


def _nth_workdays(found: re.Match[str]) -> list[p.Part]:
    return [p.NthWorkdays(nth=tuple(_nths(found["list"])), recurring=True)]


def _nth_days(found: re.Match[str]) -> list[p.Part]:
    return [p.DaysOfMonth(days=tuple(_nths(found["list"])), recurring=True)]


def _doms(text: str) -> tuple[int, ...]:
    return tuple(whole(item) for item in re.findall(rf"({_WHOLE})[号號日]?", text))


def _month_days(found: re.Match[str]) -> list[p.Part]:
    days = _doms(found["list"])
    last = (-1,) if found["last"] else ()
    return [p.DaysOfMonth(days=days + last, recurring=True)]


def _bare_month_days(found: re.Match[str]) -> list[p.Part]:
    return [p.DaysOfMonth(days=_doms(found["list"]), recurring=False)]


def _yearly_days(found: re.Match[str]) -> list[p.Part]:
    months = tuple(whole(word) for word in re.findall(_WHOLE, found["months"]))
    days = _doms(found["list"]) if found["list"] else (-1,)
    if any(not 1 <= month <= 12 for month in months):
        raise ScheduleInvalid(f'"{found[0]}": months are 1-12', hint="例如 每年3月1日9点")
    return [p.Every(unit=Unit.YEAR), p.DaysOfMonth(days=days, recurring=True), p.Months(months=months)]


def _year_months(found: re.Match[str]) -> list[p.Part]:
    months = tuple(whole(word) for word in re.findall(_WHOLE, found["months"]))
    return [p.Every(unit=Unit.YEAR), p.Months(months=months)]


def calendar_date(text: str) -> p.CalendarDate:
    if re.fullmatch(en._ISO_DATE, text):
        return en.calendar_date(text)
    found = re.fullmatch(rf"(?:(\d{{4}}|{_CN}{{4}})年)?({_WHOLE})月({_WHOLE})[日号號]", text)
    assert found is not None  # noqa: S101
    return p.CalendarDate(year=whole(found[1]) if found[1] else None, month=whole(found[2]), day=whole(found[3]))


def _from(found: re.Match[str]) -> list[p.Part]:
    if found["moment"]:
        return [p.From(moment=en.moment(found["moment"]))]
    time = clock_word(found["time"]) if found["time"] else None
    if found["date"]:
        named = calendar_date(found["date"])
        if named.year is None:
            raise ScheduleInvalid(f'"{found["date"]}" needs a year', hint="例如 从2026-12-04开始")
        return [p.From(day=en.valid_date(named.year, named.month, named.day), time=time)]
    return [p.From(relative_day=_RELATIVE[found["day"]], time=time)]


def _week_of(found: re.Match[str]) -> list[p.Part]:
    weeks = {"下下": 2, "下": 1}.get(found["which"], 0)
    return [p.WeekdayOf(day=_WEEKDAYS[found["day"]], weeks=weeks)]


def _relative_part(found: re.Match[str]) -> list[p.Part]:
    parts = {"早": Daypart.MORNING, "晚": Daypart.EVENING, "夜": Daypart.NIGHT}
    return [p.RelativeDay(days=_SHORT_RELATIVE[found["day"]]), p.PartOfDay(daypart=parts[found["part"][0]])]


def _quarter(found: re.Match[str]) -> list[p.Part]:
    first = "最后" not in found["which"]
    return [
        p.DaysOfMonth(days=(1,) if first else (-1,), recurring=True),
        p.Months(months=(1, 4, 7, 10) if first else (3, 6, 9, 12)),
    ]


def _at_minutes(found: re.Match[str]) -> list[p.Part]:
    text = found["list"]
    minutes = (0,) if "整点" in text else (30,) if text == "半" else _doms_of_minutes(text)
    return [en.every(Unit.HOUR, 1), p.AtMinutes(minutes=minutes)]


def _doms_of_minutes(text: str) -> tuple[int, ...]:
    return tuple(whole(word) for word in re.findall(_WHOLE, text))


_NTHS = rf"{_NTH}(?:{_AND}?第?{_WHOLE}个?|{_AND}{_NTH})*"
_MONTHLY = r"每个?月的?"
_PATTERNS: tuple[tuple[str, Reader], ...] = (
    (rf"(?:在|于)?(?P<iso>{en._ISO})", lambda f: [p.Moment(at=en.moment(f["iso"].strip()))]),
    (rf"(?:在|于)?(?P<times>{_TIMES})", _clock),
    (rf"(?:在|从)?(?P<first>{_TIME}){_TO}(?P<last>{_TIME})(?:之间|期间|内)?", _between),
    (rf"每隔?一?(?P<length>{_LENGTHS}|个?(?:秒钟?|分钟|刻钟|小时|钟头))", _every_length),
    (rf"每隔?(?P<length>{_LENGTHS})", _every_length),
    (rf"(?P<length>{_LENGTHS})(?:执行|运行)?一次", _every_length),
    (rf"(?:每|(?=隔))(?P<skip>隔)?(?P<n>{_WHOLE})?(?P<unit>个?天|日|个?{_WEEK}|个月|月|个?季度|季|年)", _every),
    (r"天天", lambda _: [p.Every(unit=Unit.DAY)]),
    (
        rf"每(?:个|天|日)?(?P<part>{_PART})",
        lambda f: [p.Every(unit=Unit.DAY), p.PartOfDay(daypart=_DAYPARTS[f["part"]])],
    ),
    (rf"(?P<part>{_PART})", lambda f: [p.PartOfDay(daypart=_DAYPARTS[f["part"]])]),
    (rf"(?P<every>每个?|每逢|逢)?(?P<days>{_DAYS})", _weekdays),
    (
        rf"(?:每|(?=隔))(?P<skip>隔)?(?P<n>{_WHOLE})?个?{_WEEK}的?(?:每个)?(?P<days>{_DAYS})",
        _every_weeks,
    ),
    (
        rf"每?(?P<skip>隔)(?P<n>)(?P<days>{_DAYS})",
        _every_weeks,
    ),
    (rf"(?P<which>下下个?|下个?|这个?|本){_WEEK}(?P<day>{_D})", _week_of),
    (rf"{_MONTHLY}(?P<list>{_NTHS}的?{_WEEK}{_D}(?:{_AND}{_NTHS}的?{_WEEK}{_D})*)", _nth_weekdays),
    (rf"{_MONTHLY}(?P<list>{_NTHS})工作日", _nth_workdays),
    (rf"{_MONTHLY}(?P<list>{_NTHS})[天日]", _nth_days),
    (rf"{_MONTHLY}(?P<list>{_DOMS})(?:{_AND}(?P<last>最后一天))?", _month_days),
    (rf"(?P<list>{_DOMS})", _bare_month_days),
    (
        rf"每(?P<n>{_WHOLE})个月的?(?P<list>{_DOMS})",
        lambda f: [
            p.Every(unit=Unit.MONTH, count=whole(f["n"])),
            p.DaysOfMonth(days=_doms(f["list"]), recurring=True),
        ],
    ),
    (
        rf"每(?P<n>{_WHOLE})个月的?(?P<list>{_NTHS})[天日]",
        lambda f: [p.Every(unit=Unit.MONTH, count=whole(f["n"])), *_nth_days(f)],
    ),
    (
        rf"每(?P<n>{_WHOLE})个月的?(?P<list>{_NTHS})工作日",
        lambda f: [p.Every(unit=Unit.MONTH, count=whole(f["n"])), *_nth_workdays(f)],
    ),
    (
        rf"每(?P<n>{_WHOLE})个月的?(?P<list>{_NTHS}的?{_WEEK}{_D}(?:{_AND}{_NTHS}的?{_WEEK}{_D})*)",
        lambda f: [p.Every(unit=Unit.MONTH, count=whole(f["n"])), *_nth_weekdays(f)],
    ),
    (rf"每年的?(?P<months>{_MONTH_LIST})的?(?:(?P<list>{_DOMS})|最后一天)", _yearly_days),
    (r"每个?季度?的?(?P<which>第一天|首日|最后一天)", _quarter),
    (rf"(?:在|于)?(?P<date>{_DATE})", lambda f: [calendar_date(f["date"])]),
    (
        rf"(?:在|于)?(?P<year>明年|今年|后年)(?P<date>{_WHOLE}月{_WHOLE}[日号號])",
        lambda f: [replace(calendar_date(f["date"]), years_ahead={"今年": 0, "明年": 1, "后年": 2}[f["year"]])],
    ),
    (r"(?P<first>\d{1,2})/(?P<second>\d{1,2})(?:/(?P<year>\d{4}))?(?!\d)", en._slashed),
    (rf"按cron日期 ?{en.CRON_DAYS}", en.named_days),
    (rf"下个?月的?(?P<day>{_WHOLE})[号號日]", lambda f: [p.DayOfNextMonth(day=whole(f["day"]))]),
    (rf"(?P<day>{_any(_RELATIVE)})", lambda f: [p.RelativeDay(days=_RELATIVE[f["day"]])]),
    (r"(?P<day>今|明|后)(?P<part>早上?|晚上?|夜里?)", _relative_part),
    (r"昨[天日晚]|前天|上(?:个?月|个?周|周|星期|礼拜).*", lambda f: [p.Past(text=f[0])]),
    (rf"(?:{_LENGTHS}|{_WHOLE}个?{_any(_UNITS)})(?:之前|以前|前)", lambda f: [p.Past(text=f[0])]),
    (rf"(?:再?过)?(?P<length>{_LENGTHS}){_LATER}", _in),
    (rf"再?过(?P<length>{_LENGTHS})", _in),
    (rf"(?:再?过)?(?P<n>{_WHOLE})(?P<unit>天|日|个?{_WEEK}|个月|年){_LATER}", _in_days),
    (_LENGTHS, lambda f: [p.Duration(text=f[0])]),
    (
        rf"(?P<n>{_WHOLE})(?P<skip>)(?P<unit>天|个?{_WEEK}|个月)",
        lambda f: [p.Duration(text=f[0], every=_every_of(f))],
    ),
    (
        rf"(?:从|自)?(?:(?P<moment>{en._ISO})|(?:(?P<date>{_DATE})|(?P<day>今天|明天|后天))(?P<time>{_TIME})?)(?:开始|起),?",
        _from,
    ),
    (rf"每个?小时的?(?P<list>整点|半|(?:第?{_WHOLE}分钟?{_AND})*第?{_WHOLE}分钟?)", _at_minutes),
    (r"每?(?:逢|个)?(?P<list>整点)", _at_minutes),
    (
        rf"(?P<list>第{_WHOLE}分钟?(?:{_AND}第?{_WHOLE}分钟?)*)",
        lambda f: [p.AtMinutes(minutes=_doms_of_minutes(f["list"]))],
    ),
    (
        rf"每年的?(?P<months>{_MONTH_LIST})的?(?P<list>{_NTHS}的?{_WEEK}{_D}(?:{_AND}{_NTHS}的?{_WEEK}{_D})*)",
        lambda f: [*_year_months(f), *_nth_weekdays(f)],
    ),
    (
        rf"每年的?(?P<months>{_MONTH_LIST})的?(?P<list>{_NTHS})工作日",
        lambda f: [*_year_months(f), *_nth_workdays(f)],
    ),
    (rf"每年的?(?P<months>{_MONTH_LIST})的?(?P<list>{_NTHS})[天日]", lambda f: [*_year_months(f), *_nth_days(f)]),
    (r"按钟点|按时钟", lambda _: [p.OnTheClock()]),
    (
        rf"(?P<months>{_WHOLE}月(?:{_AND}{_WHOLE}月)+)",
        lambda f: [p.Months(months=tuple(whole(word) for word in re.findall(_WHOLE, f["months"])))],
    ),
    (rf"(?P<months>{_WHOLE}月)的?(?=每|周|星期|工作日)", lambda f: [p.Months(months=(whole(f["months"][:-1]),))]),
)
_GLUE = re.compile(r"[\s,的]+|(?:执行|运行)?一次|执行|运行|各(?=\d|[零一二两三四五六七八九十])")
_WORD = re.compile(r"[a-z0-9]+|.")
_HALF_KNOWN = re.compile(r"每个?|隔|在|从|到|第")


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Reader], ...]:
    return tuple((re.compile(pattern), read) for pattern, read in _PATTERNS)


def scan(text: str) -> p.Scan:
    """Take a phrase apart, left to right."""
    joined = re.sub(r"\s*([\u3400-\u9fff、])\s*", r"\1", text)
    found = en.run(joined, _compiled(), glue=_GLUE, word=_WORD, half_known=_HALF_KNOWN)
    return replace(found, left_over=re.sub(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])", "", found.left_over))
