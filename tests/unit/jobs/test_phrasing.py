"""What is written into a file means the same whenever it is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain.schedule.phrase import parse
from hermes_cron.jobs.phrasing import written

NOW = datetime(2026, 12, 1, 2, 0, 30, tzinfo=UTC)  # Tuesday, 10:00:30 in Shanghai
ZONE = ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("every day 9am", ["every day 9am"]),
        ("每个工作日早上9点", ["每个工作日早上9点"]),
        ("*/5 * * * *", ["*/5 * * * *"]),
        ("every 30m", ["every 30m"]),
        ("in 30m", ["2026-12-01T10:30:30+08:00"]),
        ("tomorrow 9am", ["2026-12-02T09:00+08:00"]),
        ("明天上午10点", ["2026-12-02T10:00+08:00"]),
        ("2026-12-05T08:00", ["2026-12-05T08:00+08:00"]),
        ("2026-12-05T08:00Z", ["2026-12-05T16:00+08:00"]),
        ("every other friday 9am", ["every 2 weeks on friday at 09:00 from 2026-12-04"]),
        ("every day 9am; every friday 5pm", ["every day 9am", "every friday 5pm"]),
        ("tomorrow 9am; every friday 5pm", ["2026-12-02T09:00+08:00", "every friday 5pm"]),
    ],
)
def test_relative_phrases_become_absolute_and_lasting_ones_stay(phrase: str, expected: list[str]) -> None:
    assert written(phrase, now=NOW, zone=ZONE) == expected


@pytest.mark.parametrize(
    "phrase", ["in 30m", "tomorrow 9am", "every other friday 9am", "every day 9am", "每隔一周的周五9点", "0 9 * * 1"]
)
def test_what_is_written_reads_the_same_a_day_later(phrase: str) -> None:
    meant = parse(phrase, now=NOW, zone=ZONE)
    for later in (NOW, NOW + timedelta(minutes=7)):
        (text,) = written(phrase, now=NOW, zone=ZONE)
        assert parse(text, now=later, zone=ZONE) == meant
