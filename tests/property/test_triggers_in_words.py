"""Whatever the trigger: its words parse back, in both languages, at any time; and the border to the prompt is found."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_cron.domain.schedule.days import CronDays, EveryDays, EveryMonths, EveryWeeks, MonthDays, MonthWorkdays
from hermes_cron.domain.schedule.phrase import LONGEST, parse, split
from hermes_cron.domain.schedule.timetable import at_times, canonical, in_window
from hermes_cron.domain.schedule.trigger import Cron, Interval, Once, Rule, Times, Trigger, Window, any_of, instants
from hermes_cron.domain.schedule.words import short, words
from hermes_cron.errors import HermesCronError, PromptEmpty

ZONES = ["Asia/Shanghai", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu"]
START = datetime(2026, 1, 1, tzinfo=UTC)


def some(rng: random.Random, low: int, high: int, most: int) -> list[int]:
    return sorted(rng.sample(range(low, high + 1), rng.randint(1, most)))


def listed(numbers: list[int]) -> str:
    return ",".join(str(number) for number in numbers)


def plain_days(rng: random.Random) -> CronDays | MonthDays | MonthWorkdays:
    months = rng.choice(["*", "*", "*", listed(some(rng, 1, 12, 3))])
    names = tuple(some(rng, 1, 12, 2)) if rng.random() < 0.3 else ()
    return rng.choice(
        [
            CronDays(months=months),
            CronDays(weekdays=rng.choice(["1-5", "0,6", "1", "2-4", "0,2,4", "5"]), months=months),
            CronDays(days=rng.choice(["1", "15", "28", "1,15", "L", "15,L", "LW", "1,11,21"]), months=months),
            CronDays(weekdays=rng.choice(["1#1", "5L", "0L", "2#2,4#4", "6#5", "1#1,5L"]), months=months),
            CronDays(days="1-7", weekdays="1", months=months),
            CronDays(days="*/2", weekdays="1-5"),
            MonthDays(days=rng.choice([(-2,), (-3, 1), (-2, -1)]), months=names),
            MonthWorkdays(nth=rng.choice([(1,), (3,), (-2,), (1, -1)]), months=names),
        ]
    )


def random_rule(rng: random.Random) -> Trigger:
    first = (START + timedelta(days=rng.randint(0, 900))).date()
    every = rng.randint(1, 5)
    days = rng.choice(
        [
            plain_days(rng),
            plain_days(rng),
            EveryDays(every=every, first=first),
            EveryWeeks(every=every, weekdays=tuple(some(rng, 0, 6, 3)), first=first),
            EveryMonths(every=every, within=CronDays(days=rng.choice(["1", "1,15", "L", "LW"])), first=first),
            EveryMonths(every=every, within=CronDays(weekdays=rng.choice(["1#1", "5L"])), first=first),
            EveryMonths(every=every, within=MonthWorkdays(nth=(1,)), first=first),
        ]
    )
    if rng.random() < 0.6:
        return Rule(days=days, clock=Times(minutes=tuple(some(rng, 0, 1439, 5))))
    if isinstance(days, EveryDays | EveryWeeks | EveryMonths) and days.every > 1:
        return Rule(days=days, clock=Times(minutes=(540, 1050)))  # no phrase says a window on every second day
    first_minute = rng.randint(0, 1438)
    step = rng.choice([1, 5, 7, 15, 30, 45, 60, 120])
    return Rule(days=days, clock=Window(step=step, first=first_minute, last=rng.randint(first_minute, 1439)))


def random_cron(rng: random.Random) -> Trigger:
    minute = rng.choice(["0", "30", "*", "*/5", "*/15", "*/27", "0,30", "5-10", "*/60", str(rng.randint(0, 59))])
    hour = rng.choice(["9", "*", "*/2", "9-17", "8-20/2", "0,12", "22,23", "*/5", "1-5,9", str(rng.randint(0, 23))])
    days = plain_days(rng)
    fields = f"{days.days} {days.months} {days.weekdays}" if isinstance(days, CronDays) else "1,2 * *"
    return Cron(f"{minute} {hour} {fields}")


def random_trigger(seed: int) -> tuple[Trigger, ZoneInfo]:
    rng = random.Random(seed)
    zone = ZoneInfo(rng.choice(ZONES))
    shape = rng.random()
    if shape < 0.45:
        return random_rule(rng), zone
    if shape < 0.75:
        return random_cron(rng), zone
    if shape < 0.9:
        seconds = rng.choice([1, 7, 30, 60, 90, 300, 3600, 5400, 86400, rng.randint(1, 10**6)])
        return Interval(timedelta(seconds=seconds), START + timedelta(seconds=rng.randint(0, 10**8))), zone
    return any_of((random_rule(rng), random_cron(rng))), zone


@pytest.mark.parametrize("chunk", range(10))
def test_words_parse_back_at_any_time_and_in_both_languages(chunk: int) -> None:
    for seed in range(chunk * 150, chunk * 150 + 150):
        trigger, zone = random_trigger(seed)
        now = START + timedelta(seconds=random.Random(seed).randint(0, 10**8))
        for lang in ("en", "zh"):
            text = words(trigger, lang=lang, zone=zone)
            if len(text) <= LONGEST:
                assert parse(text, now=now, zone=zone) == canonical(trigger), text
        assert short(trigger, zone)


@pytest.mark.parametrize("seed", range(0, 600, 7))
def test_the_canonical_form_has_the_same_instants(seed: int) -> None:
    trigger, _ = random_trigger(seed)
    utc = ZoneInfo("UTC")
    until = START + timedelta(days=800)
    assert list(islice(instants(trigger, utc, START, until), 50)) == list(
        islice(instants(canonical(trigger), utc, START, until), 50)
    )


@settings(max_examples=150, deadline=None)
@given(at=st.datetimes(min_value=datetime(2026, 2, 1), max_value=datetime(2036, 1, 1)), zone=st.sampled_from(ZONES))
def test_a_single_instant_parses_back(at: datetime, zone: str) -> None:
    trigger = Once(at.replace(tzinfo=UTC))
    for lang in ("en", "zh"):
        assert parse(words(trigger, lang=lang, zone=ZoneInfo(zone)), now=START, zone=ZoneInfo(zone)) == trigger


SCHEDULES = [
    "every day 9:30",
    "0 9 * * 1-5",
    "2027-12-05T08:00:30+08:00",
    "每天9：30",
    "每个工作日早上9点",
    "in 30m",
    "every friday 9am",
]


@settings(max_examples=150, deadline=None)
@given(
    schedule=st.sampled_from(SCHEDULES),
    colon=st.sampled_from([": ", "：", ":  "]),
    prompt=st.text(min_size=1, max_size=60).filter(lambda text: text.strip()),
)
def test_the_prompt_is_everything_after_the_first_border(schedule: str, colon: str, prompt: str) -> None:
    head, task = split(f"{schedule}{colon}{prompt}", now=START, zone=ZoneInfo("UTC"))
    assert (head, task) == (schedule, prompt.strip())


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=250))
def test_any_text_is_a_schedule_or_a_refusal(text: str) -> None:
    for read in (parse, split):
        with suppress(HermesCronError):
            read(text, now=START, zone=ZoneInfo("UTC"))


WORDS = [
    "every",
    "each",
    "other",
    "9am",
    "at",
    "17:00",
    "monday",
    "fri",
    "and",
    ",",
    "first",
    "last",
    "of",
    "the",
    "month",
    "day",
    "week",
    "hour",
    "5",
    "30",
    "minutes",
    "between",
    "from",
    "to",
    "on",
    "2026-12-05",
    "next",
    "tomorrow",
    "in",
    ":",
    "每",
    "每天",
    "周一",
    "9点",
    "工作日",
    "到",
    "和",
    "的",
    "第一个",
    "月",
    "号",
    "1",
    "15",
    "最后一天",
    "分钟",
    "小时",
    "从",
    "起",
    "*",
    "/",
    "-",
    "0",
    "1-5",
    "#",
    "L",
]


@settings(max_examples=600, deadline=None)
@given(tokens=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), glue=st.sampled_from([" ", ""]))
def test_any_words_of_the_grammar_are_a_schedule_that_parses_back_or_a_refusal(tokens: list[str], glue: str) -> None:
    zone = ZoneInfo("UTC")
    try:
        trigger = parse(glue.join(tokens), now=START, zone=zone)
    except HermesCronError:
        return
    for lang in ("en", "zh"):
        assert parse(words(trigger, lang=lang, zone=zone), now=START, zone=zone) == canonical(trigger)


def test_an_oversized_schedule_is_refused_before_it_is_read() -> None:
    with pytest.raises(HermesCronError):
        parse("every day at 9am " * 10_000, now=START, zone=ZoneInfo("UTC"))


def test_nothing_after_the_border() -> None:
    for text in ("every day 9am:", "every day 9am", "每天9点：  "):
        with pytest.raises(PromptEmpty):
            split(text, now=START, zone=ZoneInfo("UTC"))


def test_constructors_of_the_timetable_prefer_a_cron_line() -> None:
    assert at_times(CronDays(), (540, 1080)) == Cron("0 9,18 * * *")
    assert in_window(CronDays(), step=120, first=480, last=1200) == Cron("0 8-20/2 * * *")
