"""Every phrase that docs/formats/schedules.md shows is read as the page says."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hermes_cron import errors
from hermes_cron.domain.schedule.phrase import parse
from hermes_cron.domain.schedule.trigger import dump, instants, load
from hermes_cron.domain.schedule.words import words
from hermes_cron.errors import HermesCronError

PAGE = (Path(__file__).parents[3] / "docs/formats/schedules.md").read_text("utf-8")
NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)
ZONE = ZoneInfo("Asia/Shanghai")


def section(number: int) -> str:
    found = re.search(rf"^## {number}\. .*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


def cells(number: int, column: int) -> list[str]:
    rows = [line for line in section(number).splitlines() if line.startswith("| ")]
    return [row.split("|")[column].strip() for row in rows[1:]]


ENGLISH = [phrase for cell in cells(4, 2) for phrase in re.findall(r"`([^`]+)`", cell) if phrase not in {"*/5", "...Z"}]
CHINESE = [phrase for cell in cells(5, 2) for phrase in re.split(r"[，；](?!从)", re.sub(r"（.*?）", "", cell))]


def reads(phrase: str) -> bool:
    """Whole, or with the time, the day or the length that the row leaves out."""
    whole = [phrase, f"{phrase} at 9am", f"every day {phrase}", f"every day at 9am {phrase}", f"every hour {phrase}"]
    whole += [f"every day at 8 {phrase}", f"every morning {phrase}", f"every 2 hours {phrase}"]
    whole += [f"{phrase}9点", f"每天{phrase}", f"每天{phrase}9点"]
    for text in whole:
        try:
            parse(text, now=NOW, zone=ZONE)
        except HermesCronError:
            continue
        return True
    return False


@pytest.mark.parametrize("phrase", ENGLISH + CHINESE)
def test_a_documented_phrase_is_read(phrase: str) -> None:
    assert reads(phrase)


def test_the_page_shows_many() -> None:
    assert len(ENGLISH) > 65
    assert len(CHINESE) > 55


NO_WHOLE_PHRASE = re.compile(
    r" over a clock change| at 06:49|more than 200|9\.30|13am|25:00|24:00|every day at 3|from 9 to 5|隔|每3月"
)
REFUSED = [
    (phrase, error.strip("`"))
    for texts, error in zip(cells(6, 1), cells(6, 2), strict=True)
    for phrase in [each.strip().strip("`") for each in texts.split(", ")]
    if not NO_WHOLE_PHRASE.search(phrase)
]


@pytest.mark.parametrize(("phrase", "error"), REFUSED)
def test_a_documented_refusal_is_that_error(phrase: str, error: str) -> None:
    with pytest.raises(getattr(errors, error)):
        parse(phrase, now=NOW, zone=ZONE)


def test_in_three_days_is_refused_only_over_a_clock_change() -> None:
    zone = ZoneInfo("America/New_York")
    before = datetime(2027, 3, 12, 15, tzinfo=UTC)
    with pytest.raises(errors.ScheduleAmbiguous) as caught:
        parse("in 3 days", now=before, zone=zone)
    assert caught.value.details["readings"] == [["length", "in 72 hours"], ["same time", "2027-03-15 10:00"]]
    parse("in 3 days", now=before, zone=ZoneInfo("UTC"))


def test_the_documented_words_are_the_words() -> None:
    now = datetime.fromisoformat("2026-12-01T10:00:00+08:00")
    for text, english, chinese in zip(cells(8, 1), cells(8, 2), cells(8, 3), strict=True):
        phrase = text.strip("`")
        trigger = parse(phrase, now=now, zone=ZONE)
        assert words(trigger, lang="en", zone=ZONE) == (phrase if english == "itself" else english)
        assert words(trigger, lang="zh", zone=ZONE) == (phrase if chinese == "itself" else chinese)


def test_the_documented_stored_forms_read_back() -> None:
    block = re.search(r"```json\n(.*?)```", section(10), re.DOTALL)
    assert block is not None
    for line in block[1].splitlines():
        form = json.loads(line)
        assert dump(load(form)) == form


def test_the_documented_new_york_days() -> None:
    zone = ZoneInfo("America/New_York")

    def fires(text: str, day: str) -> list[str]:
        start = datetime.fromisoformat(f"{day}T00:00:00").replace(tzinfo=zone)
        trigger = parse(text, now=NOW, zone=zone)
        found = instants(trigger, zone, start, datetime.fromisoformat(f"{day}T03:30:00").replace(tzinfo=zone))
        return [f"{each.astimezone(zone):%H:%M %Z}" for each in found]

    assert fires("30 2 * * *", "2027-03-14") == ["03:00 EDT"]
    assert fires("30 2 * * *", "2027-11-07") == ["02:30 EST"]
    assert fires("30 1 * * *", "2027-11-07") == ["01:30 EDT"]
    assert fires("*/30 1-3 * * *", "2027-03-14") == ["01:00 EST", "01:30 EST", "03:00 EDT", "03:30 EDT"]
    assert fires("*/30 1 * * *", "2027-11-07") == ["01:00 EDT", "01:30 EDT", "01:00 EST", "01:30 EST"]


@pytest.mark.parametrize(
    "form", [{}, {"v": 2, "cron": "0 9 * * *"}, {"v": 1}, {"v": 1, "cron": 5}, {"v": 1, "days": {}, "clock": []}]
)
def test_an_unknown_stored_form_is_refused(form: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="unknown"):
        load(form)
