"""What a schedule will do: the screen, the JSON, the warnings."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain.schedule.forecast import explain, render
from hermes_cron.domain.schedule.phrase import parse
from hermes_cron.domain.schedule.trigger import Cron, Interval, Once, period
from hermes_cron.domain.schedule.words import short
from hermes_cron.errors import ScheduleInPast

NOW = datetime.fromisoformat("2026-11-30T18:00:00+08:00")
SHANGHAI = ZoneInfo("Asia/Shanghai")


def shown(text: str, zone: str, lang: str = "en") -> list[str]:
    return render(explain(text, now=NOW, zone=ZoneInfo(zone)), lang).splitlines()  # type: ignore[arg-type]


def test_the_screen_names_the_gap_of_the_coming_year() -> None:
    assert shown("every day 2:30am", "America/New_York") == [
        "every day at 02:30, America/New_York",
        "  next    Tue 2026-12-01 02:30 EST (07:30 UTC), Wed 12-02, Thu 12-03",
        "  gap     Sun 2027-03-14 has no 02:30: runs at 03:00 EDT",
        "  fold    none at this time of day",
    ]


def test_the_screen_names_the_fold_of_the_coming_year() -> None:
    assert shown("every day 1:30am", "America/New_York")[2:] == [
        "  gap     none at this time of day",
        "  fold    Sun 2027-11-07 has 01:30 twice: runs once, the first time (01:30 EDT)",
    ]


def test_real_minutes_run_in_both_passes_and_not_in_a_gap() -> None:
    assert shown("*/15 * * * *", "America/New_York")[2:] == [
        "  gap     Sun 2027-03-14 has no 02:00-02:45: does not run then",
        "  fold    Sun 2027-11-07 has 01:00-01:45 twice: runs both times",
    ]


def test_a_zone_without_changes_says_nothing_of_them() -> None:
    assert shown("工作日 9:00", "Asia/Shanghai", "zh") == [
        "每个工作日 09:00（Asia/Shanghai）",
        "  接下来  2026-12-01 周二 09:00 CST (01:00 UTC)，周三 12-02，周四 12-03",
        "  注意    未计节假日",
    ]


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "Zulu"])
def test_utc_stands_once_whatever_its_name(zone: str) -> None:
    assert "(" not in shown("every day 9am", zone)[1]


def test_dates_of_another_year_show_it() -> None:
    assert shown("0 0 31 * *", "UTC")[1] == "  next    Thu 2026-12-31 00:00 UTC, Sun 2027-01-31, Wed 2027-03-31"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("0 0 31 * *", "skips Feb, Apr, Jun, Sep, Nov"),
        ("0 0 30 * *", "skips Feb"),
        ("0 0 29 * *", "skips Feb but in leap years"),
        ("0 0 29 2 *", "skips years without 29 February"),
        ("0 0 31 1,2,3 *", "skips Feb"),
        ("*/27 * * * *", "the step restarts every hour: the last gap is 6 minutes, not 27"),
        ("0 */5 * * *", "the step restarts every day: the last gap is 4 hours, not 5"),
        ("*/60 * * * *", "the step restarts every hour: */60 fires at 0 only, every 60 minutes"),
        ("0 0 13 * 5", "day or weekday: either one is enough (cron's OR)"),
        ("0 0 * * 1#5", "skips months without a fifth such weekday"),
        ("every weekday 9am", "holidays are not considered"),
        ("工作日 9:00", "holidays are not considered"),
        ("first workday of the month at 9am", "holidays are not considered"),
        ("last workday of the month at 9am", "holidays are not considered"),
        ("every month on the 31st at 9am; 0 9 * * 6", "skips Feb, Apr, Jun, Sep, Nov"),
    ],
)
def test_what_surprises_is_said(text: str, warning: str) -> None:
    found = explain(text, now=NOW, zone=SHANGHAI)
    assert warning in found.warnings
    chinese = render(found, "zh").splitlines()[-1]
    assert warning not in chinese
    assert not re.search("[A-Z][a-z]", chinese), "an English word, such as a month's name"


@pytest.mark.parametrize(
    "text", ["every day 9am", "*/15 * * * *", "0 9 1 * *", "every 5m", "every sunday 9am", "0 0 31 1 *"]
)
def test_what_does_not_surprise_is_not(text: str) -> None:
    assert explain(text, now=NOW, zone=SHANGHAI).warnings == ()


def test_the_json_form() -> None:
    found = explain("every workday 9am", now=NOW, zone=SHANGHAI, prompt="inspect").as_json()
    assert json.loads(json.dumps(found)) == {
        "schedule": {
            "kind": "cron",
            "cron": "0 9 * * 1-5",
            "words_en": "every workday at 09:00",
            "words_zh": "每个工作日 09:00",
        },
        "timezone": "Asia/Shanghai",
        "prompt": "inspect",
        "next": ["2026-12-01T09:00:00+08:00", "2026-12-02T09:00:00+08:00", "2026-12-03T09:00:00+08:00"],
        "warnings": ["holidays are not considered"],
    }


def test_the_json_form_of_lengths_and_single_instants() -> None:
    interval = explain("every 90 seconds", now=NOW, zone=SHANGHAI).as_json()["schedule"]
    assert isinstance(interval, dict)
    assert (interval["kind"], interval["cron"], interval["seconds"]) == ("interval", None, 90)
    once = explain("tomorrow 9am", now=NOW, zone=SHANGHAI).as_json()["schedule"]
    assert isinstance(once, dict)
    assert (once["kind"], once["cron"], once["at"]) == ("once", None, "2026-12-01T09:00:00+08:00")


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(ScheduleInPast):
        explain(Once(NOW - timedelta(days=1)), now=NOW, zone=SHANGHAI)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("every day 9am", timedelta(days=1)),
        ("every weekday 9am", timedelta(days=1)),
        ("every 5m", timedelta(minutes=5)),
        ("every day at 9am and 9:10am", timedelta(minutes=10)),
        ("every monday 9am", timedelta(days=7)),
        ("tomorrow 9am", None),
    ],
)
def test_the_period_is_the_smallest_gap_ahead(text: str, expected: timedelta | None) -> None:
    assert period(parse(text, now=NOW, zone=SHANGHAI), SHANGHAI, NOW) == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("every sunday 2:30am", "Sun 02:30"),
        ("every monday 8am", "Mon 08:00"),
        ("every 5 minutes", "every 5 min"),
        ("every workday 9am", "workday 09:00"),
        ("every 2 hours between 8am and 8pm", "2 h, 08-20 h"),
        ("every day 9am", "daily 09:00"),
        ("last day of the month at 0:00", "last day 00:00"),
        ("1st and 15th of the month at 8am", "1st, 15th 08:00"),
        ("every 15 minutes between 9am and 5pm on weekdays", "15 min, 09-17 h, workday"),
        ("every other friday 9am", "2 wk Fri 09:00"),
        ("2026-12-05 08:00", "2026-12-05 08:00"),
    ],
)
def test_the_column_of_the_list(text: str, column: str) -> None:
    assert short(parse(text, now=NOW, zone=SHANGHAI), SHANGHAI) == column


def test_intervals_count_from_their_anchor() -> None:
    trigger = parse("every 2h", now=NOW, zone=SHANGHAI, anchor=datetime(2026, 1, 1, tzinfo=UTC))
    assert trigger == Interval(timedelta(hours=2), datetime(2026, 1, 1, tzinfo=UTC))
    assert parse("0 9 * * *", now=NOW, zone=SHANGHAI, anchor=datetime(2026, 1, 1, tzinfo=UTC)) == Cron("0 9 * * *")
