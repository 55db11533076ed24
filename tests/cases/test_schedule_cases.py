"""The real faults of schedule-parse.jsonl and schedule-time.jsonl: no kind of them comes back."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain.schedule.forecast import explain
from hermes_cron.domain.schedule.phrase import parse, split
from hermes_cron.domain.schedule.trigger import (
    Cron,
    Interval,
    Once,
    Trigger,
    dump,
    instants,
    kind,
    load,
    next_after,
    previous_before,
)
from hermes_cron.domain.schedule.words import words
from hermes_cron.errors import HermesCronError, PromptEmpty

DATA = Path(__file__).parent / "data"
ROWS = {
    row["id"]: row
    for name in ("schedule-parse", "schedule-time")
    for row in map(json.loads, (DATA / f"{name}.jsonl").read_text("utf-8").splitlines())
}
SPECIAL = {"C022", "C024", "C025", "C027", "C044", "C045", "C066", "C071", "C077"}


def setting(row: dict) -> tuple[datetime, ZoneInfo]:
    return datetime.fromisoformat(row["input"]["now"]).astimezone(UTC), ZoneInfo(row["input"]["tz"])


def read(text: str, now: datetime, zone: ZoneInfo) -> tuple[Trigger, str | None]:
    """A schedule alone, or ``SCHEDULE: PROMPT``."""
    if ": " in text or "：" in text:
        head, prompt = split(text, now=now, zone=zone)
        return parse(head, now=now, zone=zone), prompt
    return parse(text, now=now, zone=zone), None


def judge(text: str, expected: dict, now: datetime, zone: ZoneInfo) -> None:
    if "error" in expected:
        with pytest.raises(HermesCronError) as caught:
            read(text, now, zone)
        assert type(caught.value).__name__ == expected["error"]
        assert caught.value.exit_code == 2
        assert expected.get("hint", "") in (caught.value.hint or "")
        assert expected.get("message", "") in caught.value.message
        return
    trigger, prompt = read(text, now, zone)
    assert prompt == expected.get("prompt", prompt)
    assert kind(trigger) == expected.get("kind", kind(trigger))
    if "cron" in expected:
        assert isinstance(trigger, Cron)
        assert trigger.expression == expected["cron"]
    if "at" in expected:
        assert trigger == Once(datetime.fromisoformat(expected["at"]))
    if "next" in expected:
        wanted = [datetime.fromisoformat(each) for each in expected["next"]]
        assert list(islice(instants(trigger, zone, now, now + timedelta(days=800)), len(wanted))) == wanted
    if "warning_at_add" in expected:
        assert expected["warning_at_add"] in explain(text, now=now, zone=zone).warnings


def fits(text: str, expected: dict, now: datetime, zone: ZoneInfo) -> bool:
    try:
        judge(text, expected, now, zone)
    except (AssertionError, HermesCronError, pytest.fail.Exception):
        return False
    return True


@pytest.mark.parametrize("case", sorted(set(ROWS) - SPECIAL))
def test_case(case: str) -> None:
    row = ROWS[case]
    now, zone = setting(row)
    texts = row["input"]["schedule"]
    for text in texts if isinstance(texts, list) else [texts]:
        expected = row["expected"]
        if "either" in expected:
            assert any(fits(text, one, now, zone) for one in expected["either"])
        else:
            judge(text, expected, now, zone)
        if "must_not_be" in expected:
            with suppress(HermesCronError):
                assert read(text, now, zone)[0] != Cron(expected["must_not_be"])
        for day, count in expected.get("fires_on", {}).items():
            start = datetime.fromisoformat(day).replace(tzinfo=zone)
            fired = instants(read(text, now, zone)[0], zone, now, now + timedelta(days=3))
            assert sum(1 for each in fired if each.astimezone(zone).date() == start.date()) == count


def test_c022_phrases_of_the_help_text_parse() -> None:
    check_list("C022")


def test_c024_a_clock_alone_after_every_is_daily() -> None:
    check_list("C024")


def check_list(case: str) -> None:
    row = ROWS[case]
    now, zone = setting(row)
    for text, expression in zip(row["input"]["schedule"], row["expected"], strict=True):
        assert parse(text, now=now, zone=zone) == Cron(expression)


def test_c025_a_missing_number_is_one_and_a_bare_day_is_refused_with_both_spellings() -> None:
    now, zone = setting(ROWS["C025"])
    assert parse("every hour", now=now, zone=zone) == Interval(timedelta(seconds=3600), now)
    judge("every day", ROWS["C025"]["expected"][1], now, zone)


def test_c027_what_is_displayed_can_be_fed_back() -> None:
    now, zone = setting(ROWS["C027"])
    trigger = parse("2026-12-05T08:00", now=now, zone=zone)
    assert trigger == Once(datetime.fromisoformat(ROWS["C027"]["expected"]["at"]))
    for lang in ("en", "zh"):
        assert parse(words(trigger, lang=lang, zone=zone), now=now, zone=zone) == trigger


def test_c044_colons_of_times_and_addresses_do_not_split() -> None:
    row = ROWS["C044"]
    now, zone = setting(row)
    for text, expected in zip(row["input"]["schedule"], row["expected"], strict=True):
        head, prompt = split(text, now=now, zone=zone)
        assert parse(head, now=now, zone=zone) == Cron(expected["cron"])
        assert prompt == expected["prompt"]


def test_c045_nothing_after_the_colon_is_refused() -> None:
    row = ROWS["C045"]
    now, zone = setting(row)
    for text in row["input"]["schedule"]:
        with pytest.raises(PromptEmpty) as caught:
            split(text, now=now, zone=zone)
        assert caught.value.exit_code == 2


def test_c054_the_offset_is_that_of_the_date_and_not_of_today() -> None:
    row = ROWS["C054"]
    now, zone = setting(row)
    trigger = parse(row["input"]["schedule"], now=now, zone=zone)
    assert trigger == Once(datetime.fromisoformat(row["expected"]["utc"]))


def test_c066_a_schedule_is_read_in_the_zone_that_is_given() -> None:
    row = ROWS["C066"]
    zone = ZoneInfo("Pacific/Auckland")
    now = datetime.fromisoformat(row["input"]["now"])
    found = next_after(Cron("0 13 * * *"), now, zone)
    assert found == datetime.fromisoformat(row["expected"]["next"][0])
    assert explain("0 13 * * *", now=now, zone=zone).as_json()["timezone"] == row["expected"]["stored_tz"]


def test_c067_the_stored_form_gives_the_same_instants() -> None:
    row = ROWS["C067"]
    now, zone = setting(row)
    trigger = parse(row["input"]["schedule"], now=now, zone=zone)
    restarted = load(json.loads(json.dumps(dump(trigger))))
    assert next_after(restarted, now, zone) == datetime.fromisoformat(row["expected"]["next"][0])


def test_c071_the_previous_slot_lies_before_now_on_the_day_of_a_gap() -> None:
    now, zone = setting(ROWS["C071"])
    trigger = Cron(ROWS["C071"]["input"]["schedule"])
    before, after = previous_before(trigger, now, zone), next_after(trigger, now, zone)
    assert before == datetime(2024, 3, 10, 7, tzinfo=UTC)
    assert after is not None
    assert before < now < after


def test_c077_slots_are_counted_from_the_anchor_and_not_from_the_tick() -> None:
    now, zone = setting(ROWS["C077"])
    trigger = parse("every 5m", now=now, zone=zone)
    noticed, slots = now, []
    for _ in range(12):
        slot = next_after(trigger, noticed, zone)
        assert slot is not None
        slots.append(slot)
        noticed = slot + timedelta(seconds=59)  # a tick and a run later
    assert slots == [now + k * timedelta(minutes=5) for k in range(1, 13)]


def test_c069_no_instant_outside_the_hour_list() -> None:
    now, zone = setting(ROWS["C069"])
    fired = list(instants(Cron(ROWS["C069"]["input"]["schedule"]), zone, now, now + timedelta(days=1)))
    assert datetime.fromisoformat(ROWS["C069"]["expected"]["no_fire_at"]) not in fired
