"""What will a job cost in a month, in words, and is it refused because a cap would be passed?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.cli.context import Cli
from hermes_cron.domain import cost_forecast, money
from hermes_cron.domain.cost_forecast import Above, Forecast, Rate, Sample
from hermes_cron.domain.money import Cap, Scope, Unit, Worst
from hermes_cron.errors import BudgetExceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_cron.domain.job import Job
    from hermes_cron.models.prices import Price
    from hermes_cron.store.usage import PastRun

_OWN, _ALL = 50, 300
"""How many past runs are looked at, of the job itself and of all jobs."""

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "cost": "{sum} USD a month ({basis}{cap})", "range": "{low} to {high}",
        "unknown": "unknown: no price for {model} ({basis}{cap})",
        "guess": "guess: {runs} x {tokens} tokens, no history",
        "like": "like {seen} runs of other jobs: {runs} x {tokens} tokens",
        "own": "{runs} x {tokens} tokens, as its last {seen} runs",
        "run": "1 run", "runs": "{count} runs", "cap": "; cap {amount} {over}",
        "usd": "{sum} USD", "tokens": "{sum} tokens",
        "over_run": "a run", "over_job_day": "a day", "over_home_day": "a day for all",
        "over_home_month": "a month for all",
    },
    "zh": {
        "cost": "每月 {sum} 美元（{basis}{cap}）", "range": "{low} 至 {high}",
        "unknown": "未知：{model} 没有价格（{basis}{cap}）",
        "guess": "估计：{runs} x {tokens} token，尚无历史",
        "like": "参照其他任务的 {seen} 次运行：{runs} x {tokens} token",
        "own": "{runs} x {tokens} token，按最近 {seen} 次运行",
        "run": "1 次", "runs": "{count} 次", "cap": "；{over}上限 {amount}",
        "usd": "{sum} 美元", "tokens": "{sum} token",
        "over_run": "每次", "over_job_day": "每天", "over_home_day": "全部任务每天", "over_home_month": "全部任务每月",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The forecast of a job under its model and caps; ``at`` gives it for another schedule."""

    job: Job
    model: str
    caps: tuple[Cap, ...]
    forecast: Forecast
    at: Callable[[Rate], Forecast]

    @property
    def above(self) -> Above | None:
        return cost_forecast.above(self.forecast, self.caps)


def expected(state: Cli, job: Job, model: str, *, uid: str | None = None) -> Expected:
    """From the history of the job (``uid`` None: it has none), else of jobs like it, else the stated prior."""
    held = money.caps(job.limits, state.settings.budget)
    price = state.app.prices.price(model)
    own, like = _samples(state, job, model, price, uid)

    def at(rate: Rate) -> Forecast:
        if len(own) >= cost_forecast.OWN_RUNS:
            made = cost_forecast.from_own(own, rate)
        elif len(like) >= cost_forecast.LIKE_RUNS:
            made = cost_forecast.from_like(like, rate)
        else:
            made = cost_forecast.from_prior(None if price is None else price.cost, rate)
        return cost_forecast.bounded(made, held)

    rate = cost_forecast.rate(job, state.clock.now())
    return Expected(job=job, model=model, caps=held, forecast=at(rate), at=at)


def _samples(
    state: Cli, job: Job, model: str, price: Price | None, uid: str | None
) -> tuple[list[Sample], list[Sample]]:
    """(of the job, of jobs like it): those with its model and skill, where there are enough, else with its model."""
    from hermes_cron.models.prices import same
    from hermes_cron.store.usage import past_runs

    if not state.home.store.exists():
        return [], []
    with state.app.store.read() as conn:
        own = past_runs(conn, job_uid=uid, limit=_OWN) if uid else []
        others = [] if len(own) >= cost_forecast.OWN_RUNS else past_runs(conn, limit=_ALL)
    like = [run for run in others if run.job_uid != uid and same(run.model, model)]
    skilled = [run for run in like if set(run.skills) & set(job.skills)]
    like = skilled if len(skilled) >= cost_forecast.LIKE_RUNS else like
    return _priced(own, model, price), _priced(like, model, price)


def _priced(runs: Sequence[PastRun], model: str, price: Price | None) -> list[Sample]:
    """At what was paid where the model is the same; else the run's tokens at this model's price."""
    from hermes_cron.domain.transcript import Usage
    from hermes_cron.models.prices import same

    found = []
    for run in runs:
        cost = run.cost_usd if same(run.model, model) else None
        if cost is None and price is not None:
            call = Usage(input=run.input // run.calls, output=run.output // run.calls, cached=run.cached // run.calls)
            cost = price.cost(call) * run.calls
        found.append(Sample(tokens=run.input + run.output, cost_usd=cost))
    return found


# --- refused ----------------------------------------------------------------------------------------------------------


def refuse_above(state: Cli, new: Expected, *, before: Expected | None = None, lang: str = "en") -> None:
    """Raises ``BudgetExceeded`` when the job alone would probably pass a cap, or no call of it could be paid.

    ``before`` is the job as it was: an edit that makes nothing dearer is not refused for what was there already.
    """
    if new.forecast.usd is None and not (before and before.forecast.usd is None):
        money.refuse_above(new.caps, {}, Worst(model=new.model, tokens=0, cost_usd=None))
    found = new.above
    if found is None:
        return
    was = before.above if before else None
    if was is not None and was.cap.name == found.cap.name and found.amount <= was.amount:
        return
    raise _refusal(state, new, found, lang)


def _refusal(state: Cli, new: Expected, found: Above, lang: str) -> BudgetExceeded:
    cap = found.cap
    period = "month" if cap.scope is Scope.HOME_MONTH else "day"
    details: dict[str, object] = {}
    cheaper = _cheaper(state, new, lang)
    if cheaper is not None:
        details["cheaper"] = cheaper
    details["or_raise"] = _raise(state, new.job, found)
    details["forecast"] = as_json(new)
    details["cap"] = {"name": cap.name, "limit": cap.limit, "unit": cap.unit.value, "expected": found.amount}
    return BudgetExceeded(
        f"{new.job.name} would use about {money.amount(found.amount, cap.unit)} a {period}, above the cap of "
        f"{money.amount(cap.limit, cap.unit)} ({cap.name})",
        details=details,
    )


def _cheaper(state: Cli, new: Expected, lang: str) -> str | None:
    """The densest schedule of ``CHEAPER`` that is rarer than the job's and passes no cap."""
    from hermes_cron.domain.schedule import phrase

    now, zone = state.clock.now(), ZoneInfo(new.job.timezone)
    for english, chinese in cost_forecast.CHEAPER:
        said = chinese if lang == "zh" else english
        rate = cost_forecast.rate(replace(new.job, trigger=phrase.parse(said, now=now, zone=zone)), now)
        if rate.month < new.forecast.rate.month and cost_forecast.above(new.at(rate), new.caps) is None:
            return said
    return None


def _raise(state: Cli, job: Job, found: Above) -> str:
    """The command that makes the cap fit, or the key of the file that says it."""
    enough = math.ceil(found.amount) if found.cap.unit is Unit.TOKENS or found.amount >= 1 else _up(found.amount)
    if found.cap.scope is Scope.JOB_DAY and job.limits.cost_usd_per_day != state.settings.limits.cost_usd_per_day:
        return f"{found.cap.name}: {enough} in jobs/{job.name}.md"
    return f"hermes-cron config set {found.cap.name} {enough}"


def _up(amount: float) -> float:
    return math.ceil(amount * 100) / 100


# --- in words ---------------------------------------------------------------------------------------------------------


def line(new: Expected, lang: str) -> str:
    """``0.40 to 0.90 USD a month (guess: 30 runs x 18k tokens, no history; cap 0.50 USD a run)``."""
    texts, forecast = _TEXTS[lang], new.forecast
    count = f"{forecast.rate.month:,.10g}"
    basis = texts[forecast.basis.value].format(
        runs=texts["run" if count == "1" else "runs"].format(count=count),
        tokens=_short(forecast.run_tokens),
        seen=forecast.runs_seen,
    )
    cap = _cap(new.caps, texts)
    if forecast.usd is None:
        return texts["unknown"].format(model=new.model, basis=basis, cap=cap)
    low, high = money.dollars(forecast.usd.p50), money.dollars(forecast.usd.p90)
    total = low if low == high else texts["range"].format(low=low, high=high)
    return texts["cost"].format(sum=total, basis=basis, cap=cap)


def _cap(caps: Sequence[Cap], texts: Mapping[str, str]) -> str:
    """The narrowest, dollars before tokens: what a single run cannot pass says most."""
    if not caps:
        return ""
    order = list(Scope)
    first = min(caps, key=lambda cap: (order.index(cap.scope), cap.unit is not Unit.USD))
    value = money.dollars(first.limit) if first.unit is Unit.USD else f"{first.limit:,.0f}"
    return texts["cap"].format(
        amount=texts[first.unit.value].format(sum=value), over=texts[f"over_{first.scope.value}"]
    )


def _short(tokens: float) -> str:
    """``850``, ``18k``, ``1.2M``."""
    if tokens < 1000:
        return f"{tokens:.0f}"
    return f"{tokens / 1000:.0f}k" if tokens < 999_500 else f"{tokens / 1_000_000:.1f}M"


def as_json(new: Expected | None) -> dict[str, object]:
    """None: a script or playbook, which calls no model. Dollars are null where the model has no price."""
    if new is None:
        return {"tokens": {"p50": 0, "p90": 0}, "usd": {"p50": 0, "p90": 0}, "runs": None, "basis": None}
    forecast = new.forecast
    return {
        "tokens": {"p50": round(forecast.tokens.p50), "p90": round(forecast.tokens.p90)},
        "usd": None if forecast.usd is None else {"p50": forecast.usd.p50, "p90": forecast.usd.p90},
        "runs": forecast.rate.month,
        "basis": forecast.basis.value,
        "runs_seen": forecast.runs_seen,
    }
