"""What will a job use in a month, and which cap would it pass? Pure.

The longer a job ran, the less is guessed: its own runs, else those of jobs like it, else a stated prior.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from statistics import fmean, quantiles, stdev
from zoneinfo import ZoneInfo

from hermes_cron.domain.job import Job
from hermes_cron.domain.money import Cap, Scope, Unit
from hermes_cron.domain.schedule.trigger import instants
from hermes_cron.domain.transcript import Usage

MONTH = timedelta(days=30)
_YEAR = timedelta(days=365)
_LEAP = 8 * timedelta(days=365.25)
"""In which each leap day comes, also around 2100."""
_RAREST = 0.01
"""Runs a month that are shown at least: what comes once in ten years is not nothing."""
_TICK = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_WALK = 10_080
"""Instants that are looked at one by one, a week of minutes; what is denser is counted over the time they cover."""

OWN_RUNS, LIKE_RUNS = 3, 5
"""From how many runs on a history says more than the kind of history below it."""

PRIOR_P50 = Usage(input=13_000, output=5_000)
PRIOR_P90 = Usage(input=30_000, output=11_250)
"""A run nobody has seen. The middle: six calls of an inspection, each sending the prompt, the tools' descriptions and
what came before (about 2,000 tokens, nothing cached: the dear side), with reasoning and a report of a page written. One
run in ten takes a little more than twice that. Stated as a guess wherever it is shown."""

_T90 = (3.08, 1.89, 1.64, 1.53, 1.48, 1.44, 1.42, 1.40, 1.38, 1.37)
_Z90 = 1.30
"""Student's t, one-sided 90 %, for 1, 2, 3 ... degrees of freedom, and for many: few runs tell little of the next."""


class Basis(StrEnum):
    """What a forecast rests on."""

    OWN = "own"
    LIKE = "like"
    GUESS = "guess"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run that called a language model: all its tokens, and its dollars, None where nobody knows them."""

    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """``month``: runs in the next 30 days, a fraction for what comes less often; ``day``: the most on one day of the
    job's zone."""

    month: float
    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The middle of what may come, and what nine months in ten stay below."""

    p50: float
    p90: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """``run_tokens`` and ``run_usd`` are of one run, in the middle; ``usd`` None: the model has no price.

    ``runs_seen``: how many runs it rests on.
    """

    basis: Basis
    rate: Rate
    run_tokens: float
    run_usd: float | None
    tokens: Spread
    usd: Spread | None
    runs_seen: int = 0


def rate(job: Job, now: datetime) -> Rate:
    """How often the job's schedule starts it in the 30 days after ``now``, within its life span.

    Of one that has nothing in them, the 30 days from its first instant; what comes once in those, over a year or more.
    """
    if job.trigger is None:
        return Rate(month=0, day=0)
    zone = ZoneInfo(job.timezone)
    begin = now if job.start is None else max(now, job.start - _TICK)
    found = _counted(job, zone, begin)
    if found.month:
        return found
    first = next(instants(job.trigger, zone, begin, _end(job, begin, _LEAP)), None)
    if first is None:
        return found
    found = _counted(job, zone, first - _TICK)
    return found if found.month > 1 else Rate(month=_rare(job, zone, begin), day=1)


def _counted(job: Job, zone: ZoneInfo, begin: datetime) -> Rate:
    end = _end(job, begin, MONTH)
    seen = _instants(job, zone, begin, end)
    if not seen:
        return Rate(month=0, day=0)
    month, day = float(len(seen)), max(Counter(f"{at.astimezone(zone):%Y-%m-%d}" for at in seen).values())
    if len(seen) == _WALK:
        month = len(seen) * ((end - begin) / (seen[-1] - begin))
        if seen[-1] - begin < _DAY:
            day = math.ceil(len(seen) * (_DAY / (seen[-1] - begin)))
    most = math.inf if job.max_runs is None else job.max_runs
    return Rate(month=min(round(month, 2), most), day=int(min(day, most)))


def _rare(job: Job, zone: ZoneInfo, begin: datetime) -> float:
    """Never nothing, and at most the runs that the job has left."""
    for span in (_YEAR, _LEAP):
        count = min(len(_instants(job, zone, begin, _end(job, begin, span))), job.max_runs or _WALK)
        if count:
            return max(_RAREST, round(count * (MONTH / span), 2))
    return _RAREST


def _instants(job: Job, zone: ZoneInfo, begin: datetime, end: datetime) -> list[datetime]:
    return [] if job.trigger is None else list(islice(instants(job.trigger, zone, begin, end), _WALK))


def _end(job: Job, begin: datetime, span: timedelta) -> datetime:
    return begin + span if job.until is None else min(begin + span, job.until)


def from_own(samples: Sequence[Sample], runs: Rate) -> Forecast:
    """From the job's own runs, at least ``OWN_RUNS`` of them.

    A month is a sum, so its middle is the mean run times the runs; it strays as the runs do, and as far as a mean of
    few runs may be wrong.
    """
    tokens = [float(each.tokens) for each in samples]
    costs = [each.cost_usd for each in samples if each.cost_usd is not None]
    priced = len(costs) == len(samples)
    return Forecast(
        basis=Basis.OWN,
        rate=runs,
        run_tokens=fmean(tokens),
        run_usd=fmean(costs) if priced else None,
        tokens=_sum_of(tokens, runs.month),
        usd=_sum_of(costs, runs.month) if priced else None,
        runs_seen=len(samples),
    )


def _sum_of(values: Sequence[float], count: float) -> Spread:
    middle = fmean(values) * count
    freedom = len(values) - 1
    t90 = _T90[freedom - 1] if freedom <= len(_T90) else _Z90
    stray = stdev(values) * math.sqrt(count + count * count / len(values))
    return Spread(p50=middle, p90=middle + t90 * stray)


def from_like(samples: Sequence[Sample], runs: Rate) -> Forecast:
    """From runs of other jobs, at least ``LIKE_RUNS``: this job may be like any of them in all its runs."""
    costs = [each.cost_usd for each in samples if each.cost_usd is not None]
    tokens = _quantiles([float(each.tokens) for each in samples])
    usd = _quantiles(costs) if len(costs) == len(samples) else None
    return _scaled(Basis.LIKE, tokens, usd, runs, seen=len(samples))


def _quantiles(values: Sequence[float]) -> Spread:
    tenths = quantiles(values, n=10, method="inclusive")
    return Spread(p50=tenths[4], p90=tenths[8])


def from_prior(price: Callable[[Usage], float] | None, runs: Rate) -> Forecast:
    """From nothing but experience."""
    tokens = Spread(p50=PRIOR_P50.input + PRIOR_P50.output, p90=PRIOR_P90.input + PRIOR_P90.output)
    usd = None if price is None else Spread(p50=price(PRIOR_P50), p90=price(PRIOR_P90))
    return _scaled(Basis.GUESS, tokens, usd, runs, seen=0)


def _scaled(basis: Basis, tokens: Spread, usd: Spread | None, runs: Rate, *, seen: int) -> Forecast:
    return Forecast(
        basis=basis,
        rate=runs,
        run_tokens=tokens.p50,
        run_usd=None if usd is None else usd.p50,
        tokens=_times(tokens, runs.month),
        usd=None if usd is None else _times(usd, runs.month),
        runs_seen=seen,
    )


def _times(spread: Spread, count: float) -> Spread:
    return Spread(p50=spread.p50 * count, p90=spread.p90 * count)


def bounded(forecast: Forecast, caps: Iterable[Cap]) -> Forecast:
    """A cap on a run's dollars or tokens ends it there, so no run of the forecast is dearer."""
    for cap in caps:
        if cap.scope is not Scope.RUN:
            continue
        if cap.unit is Unit.TOKENS:
            forecast = _cut_tokens(forecast, cap.limit)
        elif forecast.run_usd is not None and forecast.usd is not None:
            most = cap.limit * forecast.rate.month
            usd = Spread(p50=min(forecast.usd.p50, most), p90=min(forecast.usd.p90, most))
            forecast = replace(forecast, run_usd=min(forecast.run_usd, cap.limit), usd=usd)
    return forecast


def _cut_tokens(forecast: Forecast, limit: float) -> Forecast:
    most = limit * forecast.rate.month
    tokens = Spread(p50=min(forecast.tokens.p50, most), p90=min(forecast.tokens.p90, most))
    return replace(forecast, run_tokens=min(forecast.run_tokens, limit), tokens=tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Above:
    """The forecast's middle passes a cap: ``amount`` in the cap's unit and time."""

    cap: Cap
    amount: float


def above(forecast: Forecast, caps: Iterable[Cap]) -> Above | None:
    """The first cap on a day or month that the job alone would probably pass."""
    for cap in caps:
        if cap.scope is Scope.RUN:
            continue
        each = forecast.run_tokens if cap.unit is Unit.TOKENS else forecast.run_usd
        if each is None:
            continue
        # What comes less than once a month needs a whole run's room in the month in which it comes.
        month = max(forecast.rate.month, min(1, forecast.rate.day))
        amount = each * (month if cap.scope is Scope.HOME_MONTH else forecast.rate.day)
        if amount > cap.limit:
            return Above(cap=cap, amount=amount)
    return None


CHEAPER = (
    ("every 2 minutes", "每2分钟"),
    ("every 5 minutes", "每5分钟"),
    ("every 10 minutes", "每10分钟"),
    ("every 15 minutes", "每15分钟"),
    ("every 30 minutes", "每30分钟"),
    ("every hour", "每小时"),
    ("every 2 hours", "每2小时"),
    ("every 4 hours", "每4小时"),
    ("every 8 hours", "每8小时"),
    ("every day 9am", "每天早上9点"),
    ("every weekday 9am", "每个工作日早上9点"),
    ("every monday 9am", "每周一早上9点"),
    ("on the 1st of every month 9am", "每月1号早上9点"),
)
"""Schedules to offer instead, the densest first, in English and Chinese."""
