"""Numbers and dates without measure are refused like any other fault, wherever they are read: never a traceback."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hermes_cron import errors
from hermes_cron.cli.added import upcoming
from hermes_cron.cli.explain import instant_of
from hermes_cron.domain.schedule.forecast import explain
from hermes_cron.domain.schedule.phrase import parse
from hermes_cron.domain.schedule.trigger import Interval, next_after
from hermes_cron.jobs.load import Known, parse_job

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC)
ZONES = ("UTC", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati")
N = "999999999999999999999"
PHRASES = [
    f"every {N} seconds",
    f"every {N} hours",
    f"every {N} days at 9am",
    f"every {N} weeks on monday at 9am",
    f"every {N} months on the 1st at 9am",
    f"every {N} months",
    f"every {N} days",
    f"every {N} hours between 9am and 5pm",
    f"every {N}h on weekdays",
    f"in {N} hours",
    f"in {N} days",
    f"in {N} weeks at 9am",
    f"in {N} months",
    "in 99999999 days",
    "in 99999999 days at 9am",
    "every 10000 days",
    f"{N}m",
    f"{N}d",
    f"每{N}小时",
    f"每{N}天9点",
    f"每{N}周的周一9点",
    f"每{N}个月的1号9点",
    f"{N}小时后",
    "9999999天后",
    "九九九九九九九九九九九九小时后",
    "0001-01-01T00:00",
    "0001-01-01T00:00+14:00",
    "9999-12-31T23:59",
    "9999-12-31T23:59-12:00",
    "9995-01-01 at 9am",
    "every 2 hours from 0001-01-01T00:00",
    f"0 9 {N} * *",
    f"*/{N} * * * *",
    f"0 9 * * 1#{N}",
]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("text", PHRASES)
def test_what_no_calendar_holds_is_refused_and_never_crashes(text: str, zone: str) -> None:
    refused: errors.HermesCronError | None = None
    try:
        found = explain(text, now=NOW, zone=ZoneInfo(zone), count=1000)
    except errors.HermesCronError as error:
        refused = error
    if refused is None:
        assert found.next, text
        return
    assert refused.exit_code == 2
    for example in offered(refused):
        parse(example, now=NOW, zone=ZoneInfo(zone))


def offered(refused: errors.HermesCronError) -> list[str]:
    """The phrases that a refusal says would do."""
    examples, readings = refused.details.get("examples"), refused.details.get("readings")
    assert examples is None or isinstance(examples, list)
    assert readings is None or isinstance(readings, list)
    return [*(examples or []), *(phrase for _, phrase in readings or [])]


def test_an_interval_ends_with_the_calendar() -> None:
    last = datetime(9999, 12, 31, 23, tzinfo=UTC)
    trigger = Interval(timedelta(hours=2), last)
    assert next_after(trigger, NOW, ZoneInfo("UTC")) == last
    assert next_after(trigger, last, ZoneInfo("UTC")) is None


@pytest.mark.parametrize("key", ["start: 0001-01-01T00:00", "until: 9999-12-31T23:59-12:00"])
def test_the_life_span_of_a_job_file_too(key: str) -> None:
    text = f"---\nschedule: every day at 9am\ntimezone: Asia/Tokyo\n{key}\n---\nlook\n"
    with pytest.raises(errors.JobFileError, match="expected an instant"):
        parse_job(text.encode(), path="jobs/a.md", name="a", now=NOW, host_zone="UTC", known=Known())


@pytest.mark.parametrize("text", ["0001-01-01T00:00", "9999-12-31T23:59-12:00"])
def test_and_the_instant_of_an_option(text: str) -> None:
    with pytest.raises(errors.Usage, match="is not an instant"):
        instant_of(text, ZoneInfo("Asia/Tokyo"))


def test_a_job_of_the_next_century_has_a_next_instant() -> None:
    text = "---\nschedule: 2099-01-01T09:00\ntimezone: UTC\n---\nlook\n"
    job = parse_job(text.encode(), path="jobs/a.md", name="a", now=NOW, host_zone="UTC", known=Known())
    assert upcoming(job, NOW, 3) == [datetime(2099, 1, 1, 9, tzinfo=UTC)]
