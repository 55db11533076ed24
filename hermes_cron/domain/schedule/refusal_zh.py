"""How does a refusal read in Chinese?

The faults are raised in English, which is what ``--json`` keeps; people who typed Chinese see these sentences.
"""

from __future__ import annotations

import re

_DAYPARTS = {
    "small hours": "凌晨",
    "morning": "上午",
    "midday": "中午",
    "afternoon": "下午",
    "evening": "晚上",
    "night": "夜里",
}
_DAYS = {
    "Sunday": "周日",
    "Monday": "周一",
    "Tuesday": "周二",
    "Wednesday": "周三",
    "Thursday": "周四",
    "Friday": "周五",
    "Saturday": "周六",
}
_LABELS = {
    "once": "一次",
    "always": "每次",
    "length": "间隔",
    "time of day": "时刻",
    "by day": "白天",
    "by night": "跨夜",
    "hour": "每小时",
    "year": "每年",
    "month first": "先月后日",
    "day first": "先日后月",
    "same time": "同一时刻",
    "this": "其一",
    "that": "其二",
    "morning": "上午",
    "evening": "晚上",
    "other week": "隔周",
    "understood": "已理解",
    "left_over": "多余",
    "examples": "示例",
}
_WHY = {
    "it says two things of one kind": "同一类内容说了两次",
    "its parts do not go together": "各部分合不到一起",
    'a window needs a step, such as "every 15 minutes"': "时段还需要间隔，例如“每15分钟”",
    "a part of the day has no hours of its own: name them": "上午、晚上等没有固定起止，请写出钟点",
    'a beginning needs how often, such as "every day"': "有了开始还需要频率，例如“每天”",
    'how often in those months, such as "every day in december"': "还需要频率，例如“12月每天”",
    "every so many days, or certain days: not both": "“每几天”与“指定的日子”只能选其一",
    "days can be left out of a week only": "只能从一周中除去某几天",
    "a quarter has a first day and a last day": "季度只能说第一天或最后一天",
}
_SENTENCES = (
    (r'schedule not understood: "(.*?)"', r"看不懂时间表“\1”"),
    (r'"(.*)" can mean two things', r"“\1”有两种意思"),
    (r'"(.*)" can mean two things after "(.*)"', r"“\2”之后的“\1”有两种意思"),
    (r'"(.*)" can mean two things beside am or pm', r"“\1”与 am/pm 并列时有两种意思"),
    (r'"(.*)" can mean one day or each such day', r"“\1”可以是某一天，也可以是每个这样的日子"),
    (r'"(.*)" can mean every (.+) months or one month of the year', r"“\1”可以是每\2个月，也可以是一年中的某个月"),
    (r'"(.*)" names a day and no time(?:, such as ".*")?', r"“\1”只有日期，没有时间"),
    (r'"(.*)" names a part of the day and no time', r"“\1”没有具体钟点"),
    (r'"(.*)" does not say on which day', r"“\1”没有说是哪一天"),
    (r'"(.*)" does not say when', r"“\1”没有说是什么时候"),
    (r'"(.*)" is no time: minutes are 0-59', r"没有“\1”这个时间：分钟是 0 到 59"),
    (r'"(.*)" is no time: hours are 0-23', r"没有“\1”这个时间：小时是 0 到 23"),
    (r'"(.*)" is no time: .*', r"没有“\1”这个时间"),
    (r'"(.*)" is no time of a day: the day ends where the next begins', r"一天里没有“\1”：那是第二天的 0 点"),
    (r'"(.*)" contradicts itself: (\d+) is not in the ([a-z ]+)', r"“\1”自相矛盾：\2 点不在<\3>"),
    (r'"(.*)" contradicts itself: (\S+) is a ([A-Z][a-z]+)', r"“\1”自相矛盾：\2 是<\3>"),
    (r'"(.*)" is not in the ([a-z ]+)', r"“\1”不在<\2>"),
    (r"hour must be 1-12 with am/pm", "带 am/pm 时小时是 1 到 12"),
    (r'"(.*)" is past(?: \((.*)\))?: it is (.*)', r"“\1”已经过去：现在是 \3"),
    (r'"(.*)" never comes: there is no (.*)', r"“\1”永远不会到来：没有 \2 这一天"),
    (r'"(.*)" never fires: no month of it has such a day', "这个时间表永远不会到来：那些月份没有这一天"),
    (r'"(.*)" names no date: (.*)', r"“\1”不是日期：\2"),
    (r'"(.*)" leaves no day', r"“\1”一天也没有剩下"),
    (r'"(.*)" lies too far ahead', r"“\1”太遥远"),
    (r'"(.*)" goes beyond what a calendar can say', r"“\1”超出了日历的范围"),
    (r'"(.*)" has no instant left', r"“\1”没有剩余的时刻"),
    (r'"(.*)" goes with (\d+) times, not with (\d+)', r"“\1”应有 \2 个时间，写了 \3 个"),
    (r'"(.*)" is not a whole number', r"“\1”不是整数"),
    (r'"(.*)" is no number', r"“\1”不是数字"),
    (r'"(.*)": months are 1-12', r"“\1”：月份是 1 到 12"),
    (r'"(.*)" names no weekday', r"“\1”没有说星期几"),
    (r'"(.*)" needs a year', r"“\1”需要年份"),
    (r'"(.*)" begins on a day and at no time', r"“\1”的开始只有日期，没有时间"),
    (r'"(.*)" has two times', r"“\1”有两个时间"),
    (r"(\S+) is no date: .*", r"\1 不是日期"),
    (r"every 0 is never", "每 0 次等于永不"),
    (r"every (\d+) is out of range", r"每 \1 超出范围"),
    (r"an interval of (\S+) s is out of range", r"\1 秒的间隔超出范围"),
    (r"not a whole number of seconds", "不是整数秒"),
    (r"days of a month are 1-31", "每月的日期是 1 到 31"),
    (r"a month has a first to a fifth weekday, and a last", "每月只有第一到第五个星期几，以及最后一个"),
    (r"every month has 20 workdays", "每月至少只有 20 个工作日"),
    (r"days from the end are -2 to -28", "倒数的日子是第 2 到第 28 天"),
    (
        r"(\d+) minutes do not divide a day, so the steps would break off at midnight",
        r"\1 分钟除不尽一天，到午夜会中断",
    ),
    (r"steps within a day are whole minutes, at least one", "一天之内的间隔是整数分钟，至少一分钟"),
    (r"minutes of the hour are 0-59, and go with whole hours", "小时内的分钟是 0 到 59，且间隔须为整小时"),
    (r"a window over midnight needs every day: .*", "跨过午夜的时段只能用于每天：一夜属于两个日期"),
    (r"a window begins before it ends, within one day", "时段须在同一天内先始后终"),
    (r"the rule names no day.*|this schedule never fires", "这个时间表没有任何日子"),
    (r"the schedule is empty|an empty list of schedules", "时间表是空的"),
    (r"a schedule has at most (\d+) characters, this one has (\d+)", r"时间表最多 \1 个字符，这个有 \2 个"),
    (r'nothing to do after "(.*):"', r"“\1：”之后没有要做的事"),
    # hints
    (r'"(.*): what to do"', r"“\1：要做的事”"),
    (r"needs a time: (.*)", r"需要时间：\1"),
    (r"needs the times: (.*)", r"需要写出时间：\1"),
    (r"needs a day and a time: (.*)", r"需要日期和时间：\1"),
    (r'such as "9am", "17:00"|".*": write 9am, 9pm or 17:00|such as "9:30"', "例如“上午9点”“17:00”"),
    (r'such as "half past 9", "9:30"', "例如“9点半”“9:30”"),
    (r"write 00:00 of the next day", "写第二天 0 点"),
    (r"write (\S+), or (\S+) of the next day", r"写明是当天 \1 还是第二天 \2"),
    (r"write (\S+), or (\S+)", r"写 \1 或 \2"),
    (r"(\S+), or (\S+)", r"\1，或 \2"),
    (r'give a time to come, with its date: such as "(.*)"', r"请写将来的时间和日期，例如“\1”"),
    (r"give a time to come", "请写将来的时间"),
    (r'such as "last day of the month at 9am"|for the last day of .*', "每月的最后一天：“每月最后一天9点”"),
    (r'such as "every day except sunday at 9am"', "例如“每天9点，周日除外”"),
    (r'such as "twice a day at .*', "例如“每天两次，9点和17点”"),
    (r'such as "every (?:2 days|36 hours).*|at most every (\d+)', "例如“每2天9点”，最多每 3660"),
    (r'from "every 1 second" to "every 3660 days"', "从“每1秒”到“每3660天9点”"),
    (r'such as "every 90 seconds"|seconds are for intervals .*', "秒只用于单独的间隔，例如“每90秒”"),
    (r"fractions are for hours and minutes only", "小数只用于小时和分钟"),
    (r"dates are year-month-day", "日期按 年-月-日 写"),
    (r"(\S+) at 09:00 would do", r"可以写 \1 9点"),
    (r"years go to (\d+)", r"年份最大 \1"),
    (r"write it in digits", "请用阿拉伯数字"),
    (r'"on the 1st of every month"', "例如“每月1号9点”"),
    (r'"first monday"', "例如“每月第一个周一9点”"),
    (r'"first workday of the month"', "例如“每月第一个工作日9点”"),
    (r'"every hour at :30"', "例如“每小时30分”"),
    (r'"between 9am and 5pm"', "例如“9点到17点每15分钟”"),
    (r'"every (\d+) minutes" alone has no such break; .*', r"单独的“每\1分钟”不会中断；或写时段：“9点到17点每\1分钟”"),
    (r"write two windows: .*", "写两个时段：“周一22:00到23:59每小时；周二0:00到6:00每小时”"),
    (r'say "every": .*', "加上“每”：“每周一…”“每月1号…”"),
    (r'such as "every 2 hours from .*', "例如“每2小时，从 2026-12-04T08:00 起”"),
    (r"begin with a day: .*", "开始只写日期：“每天9点，从 2026-12-04 起”"),
    (r'such as "every weekday 09:00"|such as "every day 9am"', "例如“每个工作日9点”"),
    (r"hermes-cron explain.*", "hermes-cron explain 说明时间表的含义"),
    (r"the zone is an option of its own: (.*)", r"时区另有选项：\1"),
    (r"an end is a key of the job file: (.*)", r"结束写在任务文件里：\1"),
    (r"days off are a key of the job file: (.*)", r"休息日写在任务文件里：\1"),
    (r"use (\S+) or (\S+)", r"写 \1 或 \2"),
)
_NAMED = re.compile(r"<([A-Za-z ]+)>")


def in_chinese(sentence: str) -> str:
    """A message or a hint of this package; what it does not know stays as it is."""
    plain, why = sentence, ""
    if found := re.fullmatch(r'(schedule not understood: ".*?") \((.*)\)', sentence, re.DOTALL):
        plain, why = found[1], f"（{_WHY.get(found[2], found[2])}）"
    for english, chinese in _SENTENCES:
        if said := re.fullmatch(english, plain, re.DOTALL):
            return _NAMED.sub(lambda word: (_DAYPARTS | _DAYS)[word[1]], said.expand(chinese)) + why
    return sentence


def label(word: str) -> str:
    """The name of a reading or of a fact."""
    if found := re.fullmatch(r"every (\d+)", word):
        return f"每 {found[1]}"
    if found := re.fullmatch(r"(\d+) between", word):
        return f"中间隔 {found[1]}"
    return _LABELS.get(word, word)
