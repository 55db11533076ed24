"""How often a schedule fires in a month, what that will use, and which cap it would pass."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain import cost_forecast as forecast
from hermes_cron.domain.cost_forecast import Rate, Sample, Spread
from hermes_cron.domain.job import Job
from hermes_cron.domain.money import Cap, Scope, Unit
from hermes_cron.domain.schedule import phrase
from hermes_cron.domain.schedule.trigger import instants

NOW = datetime(2026, 12, 1, tzinfo=UTC)
ZONE = ZoneInfo("UTC")


def job(schedule: str, **more: object) -> Job:
    return Job(name="j", prompt="x", trigger=phrase.parse(schedule, now=NOW, zone=ZONE), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "month", "day"),
    [
        (job("every day 9am"), 30, 1),
        (job("every weekday 9am"), 22, 1),
        (job("every hour"), 720, 24),
        (job("* * * * *"), 43_200, 1440),
        (job("every 1 second"), 2_592_000, 86_400),
        (job("*/2 9-17 * * 1-5"), 5940, 270),
        (job("on the 1st of every month 9am"), 1, 1),
        (job("0 9 1 1 *"), 0.08, 1),
        (job("0 9 29 2 *"), 0.02, 1),
        (job("2030-01-01 09:00"), 0.01, 1),
        (job("* * * 6 *"), 43_200, 1440),  # as in the month in which it comes
        (job("0 9 1-5 6 *", max_runs=3), 3, 1),
        (job("every year on june 1 at 9am", until=NOW + timedelta(days=60)), 0, 0),
        (job("in 2h"), 1, 1),
        (job("every hour", max_runs=5), 5, 5),
        (job("every hour", until=NOW + timedelta(hours=3)), 3, 3),
        (job("every day 9am", start=NOW + timedelta(days=60)), 30, 1),
        (Job(name="j", prompt="x"), 0, 0),
    ],
    ids=lambda value: " ".join(value.schedule) if isinstance(value, Job) else str(value),
)
def test_runs_a_month_come_from_the_schedule(made: Job, month: float, day: int) -> None:
    found = forecast.rate(made, NOW)
    assert found.month == pytest.approx(month, rel=0.005)
    assert found.day == pytest.approx(day, rel=0.005)


def test_after_five_runs_the_forecast_is_within_a_quarter_of_the_month() -> None:
    """Runs differ (log-normal, the dearest run in ten costs twice the cheapest); a month is drawn run by run."""
    made = job("every day 9am")
    runs = forecast.rate(made, NOW)
    due = list(instants(made.trigger, ZONE, NOW, NOW + forecast.MONTH))  # type: ignore[arg-type]
    assert len(due) == runs.month
    near = covered = 0
    months = 300
    for seed in range(months):
        chance = random.Random(seed)
        draw = [Sample(tokens=1, cost_usd=0.02 * chance.lognormvariate(0, 0.27)) for _ in range(5 + len(due))]
        said = forecast.from_own(draw[:5], runs).usd
        assert said is not None
        real = sum(each.cost_usd or 0 for each in draw[5:])
        near += abs(said.p50 - real) <= 0.25 * real
        covered += real <= said.p90
    assert near >= 0.9 * months
    assert 0.85 * months <= covered <= 0.96 * months, "p90 is what nine months in ten stay below"


def test_runs_that_are_all_alike_leave_nothing_open() -> None:
    said = forecast.from_own([Sample(tokens=1000, cost_usd=0.01)] * 5, Rate(month=30, day=1))
    assert said.tokens == Spread(p50=30_000, p90=30_000)
    assert said.usd == Spread(p50=pytest.approx(0.3), p90=pytest.approx(0.3))  # type: ignore[arg-type]


def test_one_unpriced_run_makes_the_month_unknown_and_not_cheaper() -> None:
    samples = [Sample(tokens=1000, cost_usd=0.01)] * 4 + [Sample(tokens=1000, cost_usd=None)]
    assert forecast.from_own(samples, Rate(month=30, day=1)).usd is None
    assert forecast.from_like(samples, Rate(month=30, day=1)).usd is None
    assert forecast.from_prior(None, Rate(month=30, day=1)).usd is None


def test_a_job_like_others_may_be_like_any_of_them() -> None:
    samples = [Sample(tokens=count * 1000, cost_usd=count / 100) for count in range(1, 12)]
    said = forecast.from_like(samples, Rate(month=10, day=1))
    assert (said.tokens.p50, said.tokens.p90) == (60_000, 100_000)


def cap(scope: Scope, unit: Unit, limit: float) -> Cap:
    return Cap(scope=scope, unit=unit, limit=limit, name="cap")


def test_a_cap_on_a_run_bounds_its_months() -> None:
    said = forecast.from_prior(lambda usage: usage.output / 5000, Rate(month=10, day=1))  # 1.00 and 2.25 a run
    held = forecast.bounded(said, [cap(Scope.RUN, Unit.USD, 0.5), cap(Scope.RUN, Unit.TOKENS, 20_000)])
    assert (held.run_usd, held.usd) == (0.5, Spread(p50=5, p90=5))
    assert held.tokens == Spread(p50=180_000, p90=200_000)


@pytest.mark.parametrize(
    ("held", "amount"),
    [
        (cap(Scope.HOME_MONTH, Unit.USD, 9.9), 10),
        (cap(Scope.HOME_MONTH, Unit.USD, 10), None),
        (cap(Scope.JOB_DAY, Unit.USD, 1.9), 2),
        (cap(Scope.HOME_DAY, Unit.TOKENS, 35_000), 36_000),
        (cap(Scope.RUN, Unit.TOKENS, 1), None),
    ],
)
def test_a_forecast_is_above_a_cap_by_the_days_and_the_month(held: Cap, amount: float | None) -> None:
    said = forecast.from_prior(lambda usage: usage.output / 5000, Rate(month=10, day=2))
    found = forecast.above(said, [held])
    assert (found.amount if found else None) == amount


def test_a_month_with_one_run_needs_room_for_the_whole_run() -> None:
    said = forecast.from_prior(lambda usage: usage.output / 5000, forecast.rate(job("0 9 1 1 *"), NOW))
    found = forecast.above(said, [cap(Scope.HOME_MONTH, Unit.USD, 0.9)])
    assert found is not None
    assert found.amount == pytest.approx(1)
    assert forecast.above(said, [cap(Scope.HOME_MONTH, Unit.USD, 1)]) is None


@pytest.mark.parametrize("said", [word for pair in forecast.CHEAPER for word in pair])
def test_what_is_offered_instead_can_be_typed(said: str) -> None:
    phrase.parse(said, now=NOW, zone=ZONE)


def test_what_is_offered_gets_rarer() -> None:
    english = [forecast.rate(job(pair[0]), NOW).month for pair in forecast.CHEAPER]
    assert english == sorted(english, reverse=True)
    assert english == [forecast.rate(job(pair[1]), NOW).month for pair in forecast.CHEAPER]
