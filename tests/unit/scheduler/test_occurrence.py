"""What becomes of due instants, as a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain.job import CatchUp
from hermes_cron.domain.occurrence import Reason, Span, Timing, jitter_of, plan_due
from hermes_cron.domain.run import OccurrenceState
from hermes_cron.domain.schedule.trigger import AnyOf, Cron, Interval, Once

ZONE = ZoneInfo("UTC")
DAY = timedelta(days=1)


def at(text: str) -> datetime:
    day, _, clock = text.rpartition(" ")
    return datetime.fromisoformat(f"{day or '2026-12-01'}T{clock}+00:00")


def timing(trigger: object, **changes: object) -> Timing:
    return Timing(trigger=trigger, zone=ZONE, **changes)  # type: ignore[arg-type]


def shown(span: Span) -> tuple[str, str, int, str]:
    return (f"{span.first:%d %H:%M}", f"{span.last:%d %H:%M}", span.count, span.reason.value)


MINUTELY = Cron("* * * * *")
NINE = Cron("0 9 * * *")


@pytest.mark.parametrize(
    ("trigger", "changes", "settled", "now", "runs", "spans", "next_due"),
    [
        pytest.param(NINE, {}, "08:00", "09:00", ["01 09:00"], [], "02 09:00", id="due-at-the-instant"),
        pytest.param(NINE, {}, "09:00", "09:00", [], [], "02 09:00", id="nothing-at-or-before-what-is-settled"),
        pytest.param(NINE, {}, "08:00", "08:59", [], [], "01 09:00", id="not-early"),
        pytest.param(
            MINUTELY, {}, "12:00", "12:10", ["01 12:10"], [("01 12:01", "01 12:09", 9, "merged")], "01 12:11",
            id="ten-minutes-down-is-one-run",
        ),
        pytest.param(
            MINUTELY, {"catch_up": CatchUp.NONE}, "12:00", "12:10", ["01 12:10"],
            [("01 12:01", "01 12:07", 7, "catch_up_none"), ("01 12:08", "01 12:09", 2, "merged")], "01 12:11",
            id="none-runs-only-what-is-on-time",
        ),
        pytest.param(
            MINUTELY, {"catch_up": CatchUp.ALL}, "12:00", "12:03", ["01 12:01", "01 12:02", "01 12:03"], [], "01 12:04",
            id="all-oldest-first",
        ),
        pytest.param(
            NINE, {}, "2026-11-27 10:00", "2026-12-01 10:00", ["01 09:00"],
            [("28 09:00", "30 09:00", 3, "too_old")], "02 09:00", id="older-than-a-day-is-missed",
        ),
        pytest.param(
            NINE, {}, "2026-11-29 10:00", "2026-12-01 08:59", ["30 09:00"], [], "01 09:00", id="caught-up"
        ),
        pytest.param(Once(at("09:00")), {}, "08:00", "2026-12-02 09:00", ["01 09:00"], [], None, id="one-shot-late"),
        pytest.param(
            Once(at("09:00")), {}, "08:00", "2026-12-02 09:01", [], [("01 09:00", "01 09:00", 1, "too_old")], None,
            id="one-shot-more-than-a-day-late",
        ),
        pytest.param(
            MINUTELY, {"blocked": Reason.PAUSED}, "12:00", "12:10", [], [("01 12:01", "01 12:10", 10, "paused")],
            "01 12:11", id="paused-is-skipped",
        ),
        pytest.param(
            NINE, {"blocked": Reason.PAUSED}, "2026-11-20 10:00", "2026-12-01 10:00", [],
            [("21 09:00", "01 09:00", 11, "paused")], "02 09:00", id="paused-is-never-missed",
        ),
        pytest.param(MINUTELY, {"until": at("12:02")}, "12:00", "12:10", ["01 12:02"],
                     [("01 12:01", "01 12:01", 1, "merged")], None, id="until-is-the-last-instant"),
        pytest.param(MINUTELY, {"start": at("12:05")}, "12:00", "12:05", ["01 12:05"], [], "01 12:06", id="at-start"),
        pytest.param(MINUTELY, {"start": at("12:05")}, "12:00", "12:04", [], [], "01 12:05", id="before-start"),
        pytest.param(None, {}, "12:00", "12:05", [], [], None, id="no-schedule"),
        pytest.param(AnyOf((Once(at("09:00")), Once(at("09:30")))), {}, "08:00", "09:30", ["01 09:30"],
                     [("01 09:00", "01 09:00", 1, "merged")], None, id="a-list-is-one-schedule"),
    ],
)  # fmt: skip
def test_due_instants_are_split_by_policy(  # noqa: PLR0917  # the columns of the table
    trigger: object, changes: dict[str, object], settled: str, now: str,
    runs: list[str], spans: list[tuple[str, str, int, str]], next_due: str | None,
) -> None:  # fmt: skip
    plan = plan_due(timing(trigger, **changes), uid="u", settled_until=at(settled), now=at(now))
    assert [f"{run.at:%d %H:%M}" for run in plan.runs] == runs
    assert [shown(span) for span in plan.spans] == spans
    assert (plan.next_due and f"{plan.next_due:%d %H:%M}") == next_due


@pytest.mark.parametrize(
    ("now", "late"),
    [("11:00", False), ("11:00:01", True)],
    ids=["exactly-at-the-grace", "a-second-after"],
)
def test_exactly_at_the_grace_is_still_on_time(now: str, late: bool) -> None:
    plan = plan_due(timing(NINE), uid="u", settled_until=at("08:00"), now=at(now))
    assert [run.late for run in plan.runs] == [late]


def test_none_counts_exactly_at_the_grace_as_on_time() -> None:
    none = timing(NINE, catch_up=CatchUp.NONE, grace=timedelta(minutes=10))
    assert plan_due(none, uid="u", settled_until=at("08:00"), now=at("09:10")).runs
    missed = plan_due(none, uid="u", settled_until=at("08:00"), now=at("09:10:01"))
    assert not missed.runs
    assert [shown(span) for span in missed.spans] == [("01 09:00", "01 09:00", 1, "catch_up_none")]


def test_all_is_capped_at_the_newest_hundred_in_order() -> None:
    plan = plan_due(timing(MINUTELY, catch_up=CatchUp.ALL), uid="u", settled_until=at("12:00"), now=at("15:00"))
    assert [run.at for run in plan.runs] == [at("15:00") - timedelta(minutes=n) for n in range(99, -1, -1)]
    assert [shown(span) for span in plan.spans] == [("01 12:01", "01 13:20", 80, "catch_up_cap")]


def test_nothing_is_due_after_the_last_of_max_runs() -> None:
    limited = timing(MINUTELY, catch_up=CatchUp.ALL, max_runs=5)
    plan = plan_due(limited, uid="u", settled_until=at("12:00"), now=at("12:10"), fired=3)
    assert [f"{run.at:%H:%M}" for run in plan.runs] == ["12:01", "12:02"]
    assert plan.spans == ()
    assert plan.next_due is None
    assert plan_due(limited, uid="u", settled_until=at("12:00"), now=at("12:10"), fired=5).next_due is None


def test_a_clock_that_went_back_settles_nothing_twice() -> None:
    plan = plan_due(timing(MINUTELY), uid="u", settled_until=at("12:10"), now=at("11:00"))
    assert (plan.runs, plan.spans, plan.settled_until) == ((), (), at("12:10"))
    assert plan.next_due == at("12:11")


def test_an_every_second_job_a_month_down_is_counted_without_listing() -> None:
    start = at("00:00")
    every = timing(Interval(timedelta(seconds=1), start))
    plan = plan_due(every, uid="u", settled_until=start, now=start + 30 * DAY)
    assert [span.count for span in plan.spans] == [29 * 86_400 - 1, 86_400]
    assert len(plan.runs) == 1


def test_a_long_absence_of_a_wall_clock_job_is_counted_in_bounded_passes() -> None:
    start = at("00:00")
    settled, counted, passes, plan = start, 0, 0, None
    while plan is None or (plan.next_due is not None and plan.next_due <= start + 40 * DAY):
        plan = plan_due(timing(MINUTELY), uid="u", settled_until=settled, now=start + 40 * DAY)
        counted += sum(span.count for span in plan.spans) + len(plan.runs)
        settled, passes = plan.settled_until, passes + 1
    assert counted == 40 * 1440
    assert passes == 3


def test_jitter_is_a_function_of_job_and_instant_and_never_moves_the_instant() -> None:
    limit = timedelta(minutes=5)
    plan = plan_due(timing(NINE, jitter=limit), uid="u", settled_until=at("08:00"), now=at("09:00"))
    assert plan.runs[0].at == at("09:00")
    assert plan.runs[0].start_after == at("09:00") + jitter_of("u", at("09:00"), limit)
    delays = {jitter_of(f"u{n}", at("09:00"), limit) for n in range(200)}
    assert len(delays) > 190
    assert all(timedelta(0) <= delay < limit for delay in delays)


def test_merged_names_the_run_that_stands_for_it() -> None:
    plan = plan_due(timing(MINUTELY), uid="u", settled_until=at("12:00"), now=at("12:10"))
    assert plan.spans[0].into == plan.runs[0].at
    assert plan.spans[0].state is OccurrenceState.MERGED


def test_instants_are_utc() -> None:
    plan = plan_due(timing(NINE), uid="u", settled_until=at("08:00"), now=at("09:00"))
    assert plan.runs[0].at.tzinfo is UTC
