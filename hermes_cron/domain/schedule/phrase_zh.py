"""Which parts does a Chinese schedule phrase have?

The patterns stand as in ``phrase_en``: anchored, longest first, what none takes is left over. Blanks beside a Chinese
character mean nothing and are removed first.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from hermes_cron.domain.schedule import english, english_parts, phrase_en
from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.chinese import (
    AND,
    DATE,
    DAY,
    DAYPARTS,
    DAYS,
    DOMS,
    LATER,
    LENGTHS,
    MONTH_LIST,
    NTH,
    NTHS,
    PART,
    RELATIVE,
    SHORT_RELATIVE,
    TIME,
    TIMES,
    TO,
    UNITS,
    WEEK,
    WEEKDAYS,
    WHOLE,
    N,
    calendar_date,
    clock_word,
    day_numbers,
    length_of,
    minutes_in,
    month_days,
    nths,
    one_of,
    whole,
)
from hermes_cron.domain.schedule.parts import Daypart, Unit
from hermes_cron.domain.schedule.scan import Reader, run
from hermes_cron.errors import ScheduleInvalid


def _clock(found: re.Match[str]) -> list[p.Part]:
    """A time without 上午 or 下午 takes that of the one before, if it is an hour of twelve."""
    times: list[p.ClockWord] = []
    for item in re.findall(TIME, found["times"]):
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


def _weekdays(found: re.Match[str]) -> list[p.Part]:
    days = day_numbers(found["days"])
    workdays = "工作日" in found["days"] or "平日" in found["days"]
    return [p.Weekdays(days=days, recurring=found["every"] is not None or len(days) > 1, workdays=workdays)]


def _every_weeks(found: re.Match[str]) -> list[p.Part]:
    unclear = _unclear_gap(found, "周")
    count = _gap(found["skip"], found["n"] or "一")
    return [*unclear, p.Every(unit=Unit.WEEK, count=count), p.Weekdays(days=day_numbers(found["days"]), recurring=True)]


def _gap(skip: str | None, n: str) -> int:
    return 2 if skip else whole(n)


def _unclear_gap(found: re.Match[str], unit: str) -> list[p.Part]:
    """隔三天 is said for every third day and for every fourth. Nothing where there is one reading: 每三天, 隔一天."""
    if not found["skip"] or not found["n"] or whole(found["n"]) == 1:
        return []
    count, text = whole(found["n"]), f"{found['skip']}{found['n']}{unit}"
    text = ("每" if found[0].startswith("每") else "") + text
    time = {"天": "9点", "日": "9点", "月": "1号9点", "年": "3月1日9点"}.get(unit[-1], "周一9点")
    readings = tuple((f"every {number}", f"每{number}{unit}") for number in (count, count + 1))
    return [p.TwoWays(text=text, readings=readings, time=time)]


def _how_often(found: re.Match[str]) -> list[p.Part]:
    unit, count = UNITS[found["unit"].removeprefix("个")], whole(found["n"])
    often = [p.HowOften(count=count, unit=unit, text=found[0].rstrip(","))] if count > 1 else []
    return [p.Every(unit=unit), *often]


def _edge(found: re.Match[str]) -> list[p.Part]:
    """每月月底, 季度末, 每年第一天. (月初 is no day: it can be any of the first.)"""
    last = found["edge"] in {"底", "末", "最后一天"}
    months = {"月": range(1, 13), "季": (3, 6, 9, 12) if last else (1, 4, 7, 10), "年": (12,) if last else (1,)}
    named = months[found["unit"][0]]
    day = p.DaysOfMonth(days=(-1,) if last else (1,), recurring=found["every"] is not None)
    return [day] if len(named) == 12 else [day, p.Months(months=tuple(named))]


def _every_of(found: re.Match[str]) -> p.Every:
    if found["n"] and found["unit"] == "月":
        raise ScheduleInvalid(
            f'"{found[0]}" can mean every {found["n"]} months or one month of the year',
            hint=f"写 每{found['n']}个月，或 每年{found['n']}月",
        )
    unit = UNITS[found["unit"].removeprefix("个")]
    return p.Every(unit=unit, count=_gap(found["skip"], found["n"] or "一"))


def _every(found: re.Match[str]) -> list[p.Part]:
    return [*_unclear_gap(found, found["unit"]), _every_of(found)]


def _every_length(found: re.Match[str]) -> list[p.Part]:
    text = found["length"]
    if not re.match(rf"{N}|半", text):
        text = "一" + text
    return [p.Every(unit=Unit.MINUTE, length=length_of(text))]


def _in(found: re.Match[str]) -> list[p.Part]:
    return [p.In(length=length_of(found["length"]))]


def _in_days(found: re.Match[str]) -> list[p.Part]:
    count, unit = whole(found["n"]), UNITS[found["unit"].removeprefix("个") or "月"]
    if unit in {Unit.DAY, Unit.WEEK}:
        return [p.In(days=count * (7 if unit is Unit.WEEK else 1))]
    return [p.In(months=count * (12 if unit is Unit.YEAR else 1))]


def _nth_weekdays(found: re.Match[str]) -> list[p.Part]:
    picks = [
        (nth, WEEKDAYS[day])
        for several, day in re.findall(rf"((?:{NTH}{AND}?)+|{NTHS})的?{WEEK}({DAY})", found["list"])
        for nth in nths(several)
    ]
    if not picks:
        raise ScheduleInvalid(f'"{found[0]}" names no weekday', hint="例如 每月第一个周一9点")
    return [p.NthWeekdays(picks=tuple(picks), recurring=True)]


def _nth_workdays(found: re.Match[str]) -> list[p.Part]:
    return [p.NthWorkdays(nth=tuple(nths(found["list"])), recurring=True)]


def _nth_days(found: re.Match[str]) -> list[p.Part]:
    return [p.DaysOfMonth(days=tuple(nths(found["list"])), recurring=True)]


def _month_days(found: re.Match[str]) -> list[p.Part]:
    days = month_days(found["list"])
    last = (-1,) if found["last"] else ()
    return [p.DaysOfMonth(days=days + last, recurring=True)]


def _bare_month_days(found: re.Match[str]) -> list[p.Part]:
    days = month_days(found["list"])
    return [p.DaysOfMonth(days=days, recurring=len(set(days)) > 1)]


def _yearly_days(found: re.Match[str]) -> list[p.Part]:
    months = tuple(whole(word) for word in re.findall(WHOLE, found["months"]))
    days = month_days(found["list"]) if found["list"] else (-1,)
    if any(not 1 <= month <= 12 for month in months):
        raise ScheduleInvalid(f'"{found[0]}": months are 1-12', hint="例如 每年3月1日9点")
    return [p.Every(unit=Unit.YEAR), p.DaysOfMonth(days=days, recurring=True), p.Months(months=months)]


def _year_months(found: re.Match[str]) -> list[p.Part]:
    months = tuple(whole(word) for word in re.findall(WHOLE, found["months"]))
    return [p.Every(unit=Unit.YEAR), p.Months(months=months)]


def _from(found: re.Match[str]) -> list[p.Part]:
    if found["moment"]:
        return [p.From(moment=english.moment(found["moment"]))]
    time = clock_word(found["time"]) if found["time"] else None
    if found["date"]:
        named = calendar_date(found["date"])
        if named.year is None:
            raise ScheduleInvalid(f'"{found["date"]}" needs a year', hint="例如 从2026-12-04开始")
        return [p.From(day=english.valid_date(named.year, named.month, named.day), time=time)]
    if found["alone"]:
        return [p.From(time=clock_word(found["alone"]))]
    return [p.From(relative_day=RELATIVE[found["day"]], time=time)]


def _week_of(found: re.Match[str]) -> list[p.Part]:
    weeks = {"下下": 2, "下": 1}.get(found["which"], 0)
    return [p.WeekdayOf(day=WEEKDAYS[found["day"]], weeks=weeks)]


def _relative_part(found: re.Match[str]) -> list[p.Part]:
    parts = {"早": Daypart.MORNING, "晚": Daypart.EVENING, "夜": Daypart.NIGHT}
    return [p.RelativeDay(days=SHORT_RELATIVE[found["day"]]), p.PartOfDay(daypart=parts[found["part"][0]])]


def _quarter(found: re.Match[str]) -> list[p.Part]:
    first = "最后" not in found["which"]
    return [
        p.DaysOfMonth(days=(1,) if first else (-1,), recurring=True),
        p.Months(months=(1, 4, 7, 10) if first else (3, 6, 9, 12)),
    ]


def _at_minutes(found: re.Match[str]) -> list[p.Part]:
    text = found["list"]
    minutes = (0,) if "整点" in text else (30,) if text == "半" else minutes_in(text)
    return [english.every(Unit.HOUR, 1), p.AtMinutes(minutes=minutes)]


_MONTHLY = r"每个?月的?"

_PATTERNS: tuple[tuple[str, Reader], ...] = (
    (rf"(?:在|于)?(?P<iso>{english.ISO})", lambda f: [p.Moment(at=english.moment(f["iso"].strip()))]),
    (rf"(?:在|于)?(?P<times>{TIMES})", _clock),
    (rf"(?:在|从)?(?P<first>{TIME}){TO}(?P<last>{TIME})(?:之间|期间|内)?", _between),
    (rf"每隔?一?(?P<length>{LENGTHS}|个?(?:秒钟?|分钟|刻钟|小时|钟头))", _every_length),
    (rf"每隔?(?P<length>{LENGTHS})", _every_length),
    (rf"(?P<length>{LENGTHS})(?:执行|运行)?一次", _every_length),
    (rf"(?:每|(?=隔))(?P<skip>隔)?(?P<n>{WHOLE})?(?P<unit>个?天|日|个?{WEEK}|个月|月|个?季度|季|年)", _every),
    (r"天天", lambda _: [p.Every(unit=Unit.DAY)]),
    (rf"[每一](?P<unit>天|日|周|星期|个?月)(?P<n>{WHOLE})[次回],?", _how_often),
    (
        rf"除(?:了|去)?(?:每(?:逢|个)?)?(?P<days>{DAYS})(?:之外|以外|外)?,?|(?:每(?:逢|个)?)?(?P<after>{DAYS})除外|不[含包]括?(?P<no>{DAYS})",
        lambda f: [p.Except(days=day_numbers(f["days"] or f["after"] or f["no"]))],
    ),
    (
        r"(?P<every>每个?)?(?P<unit>(?:月的?)?月|(?:季度?的?)?季度?|(?:年的?)?年)的?(?P<edge>底|末|最后一天|第一天)",
        _edge,
    ),
    (
        rf"每(?:天|日)(?P<part>(?>{PART}))(?!的?(?:\d|差|[零〇一二两三四五六七八九十]))|每个?(?P<short>{PART})",
        lambda f: [p.Every(unit=Unit.DAY), p.PartOfDay(daypart=DAYPARTS[f["part"] or f["short"]])],
    ),
    (rf"(?P<part>{PART})", lambda f: [p.PartOfDay(daypart=DAYPARTS[f["part"]])]),
    (rf"(?P<every>每个?|每逢|逢)?(?P<days>{DAYS})", _weekdays),
    (
        rf"(?:每|(?=隔))(?P<skip>隔)?(?P<n>{WHOLE})?个?{WEEK}的?(?:每个)?(?P<days>{DAYS})",
        _every_weeks,
    ),
    (
        rf"每?(?P<skip>隔)(?P<n>)(?P<days>{DAYS})",
        _every_weeks,
    ),
    (rf"(?P<which>下下个?|下个?|这个?|本){WEEK}(?P<day>{DAY})", _week_of),
    (rf"{_MONTHLY}(?P<list>{NTHS}的?{WEEK}{DAY}(?:{AND}{NTHS}的?{WEEK}{DAY})*)", _nth_weekdays),
    (rf"{_MONTHLY}(?P<list>{NTHS})工作日", _nth_workdays),
    (rf"{_MONTHLY}(?P<list>{NTHS})[天日]", _nth_days),
    (rf"{_MONTHLY}(?P<list>{DOMS})(?:{AND}(?P<last>最后一天))?", _month_days),
    (rf"(?P<list>{DOMS})", _bare_month_days),
    (
        rf"每(?P<n>{WHOLE})个月的?(?P<list>{DOMS})",
        lambda f: [
            p.Every(unit=Unit.MONTH, count=whole(f["n"])),
            p.DaysOfMonth(days=month_days(f["list"]), recurring=True),
        ],
    ),
    (
        rf"每(?P<n>{WHOLE})个月的?(?P<list>{NTHS})[天日]",
        lambda f: [p.Every(unit=Unit.MONTH, count=whole(f["n"])), *_nth_days(f)],
    ),
    (
        rf"每(?P<n>{WHOLE})个月的?(?P<list>{NTHS})工作日",
        lambda f: [p.Every(unit=Unit.MONTH, count=whole(f["n"])), *_nth_workdays(f)],
    ),
    (
        rf"每(?P<n>{WHOLE})个月的?(?P<list>{NTHS}的?{WEEK}{DAY}(?:{AND}{NTHS}的?{WEEK}{DAY})*)",
        lambda f: [p.Every(unit=Unit.MONTH, count=whole(f["n"])), *_nth_weekdays(f)],
    ),
    (rf"每年的?(?P<months>{MONTH_LIST})的?(?:(?P<list>{DOMS})|最后一天)", _yearly_days),
    (r"每个?季度?的?(?P<which>第一天|首日|最后一天)", _quarter),
    (rf"(?:在|于)?(?P<date>{DATE})", lambda f: [calendar_date(f["date"])]),
    (
        rf"(?:在|于)?(?P<year>明年|今年|后年)(?P<date>{WHOLE}月{WHOLE}[日号號])",
        lambda f: [replace(calendar_date(f["date"]), years_ahead={"今年": 0, "明年": 1, "后年": 2}[f["year"]])],
    ),
    (r"(?P<first>\d{1,2})/(?P<second>\d{1,2})(?:/(?P<year>\d{4}))?(?!\d)", english_parts.slashed),
    (rf"按cron日期 ?{phrase_en.CRON_DAYS}", english_parts.named_days),
    (rf"下个?月的?(?P<day>{WHOLE})[号號日]", lambda f: [p.DayOfNextMonth(day=whole(f["day"]))]),
    (rf"(?P<day>{one_of(RELATIVE)})", lambda f: [p.RelativeDay(days=RELATIVE[f["day"]])]),
    (r"(?P<day>今|明|后)(?P<part>早上?|晚上?|夜里?)", _relative_part),
    (r"昨[天日晚]|前天|上(?:个?月|个?周|周|星期|礼拜).*", lambda f: [p.Past(text=f[0])]),
    (rf"(?:{LENGTHS}|{WHOLE}个?{one_of(UNITS)})(?:之前|以前|前)", lambda f: [p.Past(text=f[0])]),
    (rf"(?:再?过)?(?P<length>{LENGTHS}){LATER}", _in),
    (rf"再?过(?P<length>{LENGTHS})", _in),
    (rf"(?:再?过)?(?P<n>{WHOLE})(?P<unit>天|日|个?{WEEK}|个月|年){LATER}", _in_days),
    (LENGTHS, lambda f: [p.Duration(text=f[0])]),
    (
        rf"(?P<n>{WHOLE})(?P<skip>)(?P<unit>天|个?{WEEK}|个月)",
        lambda f: [p.Duration(text=f[0], every=_every_of(f))],
    ),
    (
        rf"(?:从|自)?(?:(?P<moment>{english.ISO})|(?:(?P<date>{DATE})|(?P<day>今天|明天|后天))(?P<time>{TIME})?|(?P<alone>{TIME}))(?:开始|起),?",
        _from,
    ),
    (rf"每个?小时的?(?P<list>整点|半|(?:第?{WHOLE}分钟?{AND})*第?{WHOLE}分钟?)", _at_minutes),
    (r"每?(?:逢|个)?(?P<list>整点)", _at_minutes),
    (
        rf"(?P<list>第{WHOLE}分钟?(?:{AND}第?{WHOLE}分钟?)*)",
        lambda f: [p.AtMinutes(minutes=minutes_in(f["list"]))],
    ),
    (
        rf"每年的?(?P<months>{MONTH_LIST})的?(?P<list>{NTHS}的?{WEEK}{DAY}(?:{AND}{NTHS}的?{WEEK}{DAY})*)",
        lambda f: [*_year_months(f), *_nth_weekdays(f)],
    ),
    (
        rf"每年的?(?P<months>{MONTH_LIST})的?(?P<list>{NTHS})工作日",
        lambda f: [*_year_months(f), *_nth_workdays(f)],
    ),
    (rf"每年的?(?P<months>{MONTH_LIST})的?(?P<list>{NTHS})[天日]", lambda f: [*_year_months(f), *_nth_days(f)]),
    (r"按钟点|按时钟", lambda _: [p.OnTheClock()]),
    (
        rf"(?P<months>{WHOLE}月(?:{AND}{WHOLE}月)+)",
        lambda f: [p.Months(months=tuple(whole(word) for word in re.findall(WHOLE, f["months"])))],
    ),
    (rf"(?P<months>{WHOLE}月)的?(?=每|周|星期|工作日)", lambda f: [p.Months(months=(whole(f["months"][:-1]),))]),
)

_GLUE = re.compile(r"[\s,()的]+|(?:执行|运行)?一次|执行|运行|定时|各(?=\d|[零一二两三四五六七八九十])")

_WORD = re.compile(r"[a-z0-9]+|.")

_HALF_KNOWN = re.compile(r"每个?|隔|在|从|到|第")


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Reader], ...]:
    return tuple((re.compile(pattern), read) for pattern, read in _PATTERNS)


def scan(text: str) -> p.Scan:
    """Take a phrase apart, left to right."""
    joined = re.sub(r"\s*([\u3400-\u9fff、])\s*", r"\1", text)
    found = run(joined, _compiled(), glue=_GLUE, word=_WORD, half_known=_HALF_KNOWN)
    return replace(found, left_over=re.sub(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])", "", found.left_over))
