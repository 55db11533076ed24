"""Where does the schedule end and the prompt begin, and how is a refusal laid out?"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain.schedule.phrase import language, parse, parse_many, split
from hermes_cron.domain.schedule.trigger import AnyOf, Cron
from hermes_cron.errors import PromptEmpty, ScheduleAmbiguous, ScheduleInPast, ScheduleInvalid

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC)
UTC_ZONE = ZoneInfo("UTC")


@pytest.mark.parametrize(
    ("text", "schedule", "prompt"),
    [
        ("every day 9am: inspect prod db", "every day 9am", "inspect prod db"),
        ("every day 9:30: check https://example.test/a:b", "every day 9:30", "check https://example.test/a:b"),
        ("every day at 9:30: check", "every day at 9:30", "check"),
        ("every day 9am: remind: buy milk", "every day 9am", "remind: buy milk"),
        ("every day 9am:no blank", "every day 9am", "no blank"),
        ("every day 9am:30 files", "every day 9am", "30 files"),
        ("每个工作日早上9点：巡检 prod 数据库", "每个工作日早上9点", "巡检 prod 数据库"),
        ("每天9：30：巡检", "每天9：30", "巡检"),
        ("每天9点:巡检:深度", "每天9点", "巡检:深度"),
        ("0 9 * * 1-5: report", "0 9 * * 1-5", "report"),
        ("2026-12-05T08:00:30+08:00: call", "2026-12-05T08:00:30+08:00", "call"),
        ("2026-12-05 08:00: call", "2026-12-05 08:00", "call"),
        ("in 30m: check the build", "in 30m", "check the build"),
        (
            "every 15 minutes between 9:00 and 17:00 on weekdays: ping",
            "every 15 minutes between 9:00 and 17:00 on weekdays",
            "ping",
        ),
        ("every hour at :15: sync", "every hour at :15", "sync"),
        ("every day 9am:\nfirst line\nsecond: line", "every day 9am", "first line\nsecond: line"),
    ],
)
def test_the_first_colon_that_leaves_a_schedule_is_the_border(text: str, schedule: str, prompt: str) -> None:
    assert split(text, now=NOW, zone=UTC_ZONE) == (schedule, prompt)


@pytest.mark.parametrize("text", ["every day 9am:", "every day 9am:   ", "every day 9am", "每天9点：", "0 9 * * *"])
def test_a_schedule_without_a_task_is_refused(text: str) -> None:
    with pytest.raises(PromptEmpty) as caught:
        split(text, now=NOW, zone=UTC_ZONE)
    assert "what to do" in (caught.value.hint or "")


def test_what_is_not_understood_is_shown_with_what_is_left_over() -> None:
    with pytest.raises(ScheduleInvalid) as caught:
        split("every blursday 9am: x", now=NOW, zone=UTC_ZONE)
    error = caught.value
    assert error.message == 'schedule not understood: "every blursday 9am"'
    assert error.details["understood"] == "every ... 9am"
    assert error.details["left_over"] == "blursday"
    assert error.details["examples"] == ["every friday 9am", "every weekday 09:00", "0 9 * * 5"]
    assert error.details["prompt"] == "x"
    assert "\n" not in (error.hint or "")


def test_two_readings_are_shown_with_both_spellings() -> None:
    with pytest.raises(ScheduleAmbiguous) as caught:
        split("30m: check the build", now=NOW, zone=UTC_ZONE)
    error = caught.value
    assert error.message == '"30m" can mean two things'
    assert error.details["readings"] == [["once", "in 30m"], ["always", "every 30m"]]
    assert error.details["prompt"] == "check the build"
    assert error.hint == "in 30m, or every 30m"


@pytest.mark.parametrize(
    "text",
    [
        "30m",
        "every day",
        "friday 9am",
        "9am",
        "15th at 9am",
        "every 2nd friday at 9am",
        "04/07 at 2pm",
        "1d",
        "2 weeks",
        "every hour from 9 to 5",
        "first monday at 9am",
        "every quarter",
        "30分钟",
        "每天",
        "周五9点",
        "9点",
        "15号9点",
        "3天",
        "每季度",
        "周三三点",
    ],
)
def test_every_offered_reading_is_itself_a_schedule(text: str) -> None:
    with pytest.raises(ScheduleAmbiguous) as caught:
        parse(text, now=NOW, zone=UTC_ZONE)
    readings = caught.value.details["readings"]
    assert isinstance(readings, list)
    assert len(readings) == 2
    for _, phrase in readings:
        if text not in {"04/07 at 2pm"}:  # there the readings are dates
            parse(phrase, now=NOW, zone=UTC_ZONE)


@pytest.mark.parametrize(
    "text",
    [
        "every monday",
        "monday",
        "weekdays",
        "every month",
        "every week",
        "tomorrow",
        "tonight",
        "every evening",
        "每月1号",
        "工作日",
        "周一",
        "明天",
        "今晚",
        "每天上午",
        "每月",
        "每周一到周五",
    ],
)
def test_the_time_that_is_suggested_makes_the_phrase_whole(text: str) -> None:
    with pytest.raises(ScheduleInvalid) as caught:
        parse(text, now=NOW, zone=UTC_ZONE)
    hint = caught.value.hint or ""
    suggested = hint.removeprefix("needs a time: ").removeprefix("needs a day and a time: ")
    assert suggested != hint
    parse(suggested, now=NOW, zone=UTC_ZONE)


def test_the_most_telling_head_is_the_one_reported() -> None:
    with pytest.raises(ScheduleInPast):
        split("2026-11-01T06:24: call: now", now=NOW, zone=UTC_ZONE)


def test_a_list_of_schedules_is_their_union() -> None:
    both = parse_many(["every day 9am", "0 12 * * 6"], now=NOW, zone=UTC_ZONE)
    assert both == AnyOf((Cron("0 9 * * *"), Cron("0 12 * * 6")))
    assert parse_many(["every day 9am"], now=NOW, zone=UTC_ZONE) == Cron("0 9 * * *")
    assert parse("every day 9am; 0 12 * * 6", now=NOW, zone=UTC_ZONE) == both


def test_the_language_is_that_of_the_phrase() -> None:
    assert language("every day 9am") == "en"
    assert language("每天9点") == "zh"


@pytest.mark.parametrize("text", ["Every Day   9AM.", " every day 9am! ", '"every day 9am"', "EVERY DAY, 9 A.M."])
def test_case_blanks_and_closing_marks_do_not_matter(text: str) -> None:
    assert parse(text, now=NOW, zone=UTC_ZONE) == Cron("0 9 * * *")
