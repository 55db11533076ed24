"""What may a model call cost at worst, which caps hold for it, and would it pass one? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol
from zoneinfo import ZoneInfo

from hermes_cron.domain.job import Limits
from hermes_cron.domain.transcript import Usage
from hermes_cron.errors import BudgetExceeded

_DUST = 1e-9
"""Dollars are floats: three calls of 0.10 are a hair more than a cap of 0.30, and must fit under it."""


class Scope(StrEnum):
    """Over which calls a cap holds, and so the row of ``spend`` it is compared with."""

    RUN = "run"
    JOB_DAY = "job_day"
    HOME_DAY = "home_day"
    HOME_MONTH = "home_month"


class Unit(StrEnum):
    """What a cap counts."""

    TOKENS = "tokens"
    USD = "usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """``name`` is the setting that says it: a key of the job file (``limits. ...``) or of config.toml."""

    scope: Scope
    unit: Unit
    limit: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens and dollars of one scope and period. ``unpriced``: calls whose dollars nobody knows."""

    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            tokens=self.tokens + other.tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            unpriced=self.unpriced + other.unpriced,
        )

    def of(self, unit: Unit) -> float:
        return self.tokens if unit is Unit.TOKENS else self.cost_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """What a call can use up: every token of it, and dollars, None where its model has no price."""

    model: str
    tokens: int
    cost_usd: float | None


class HomeBudget(Protocol):
    """The home's caps, as config.toml's ``[budget]`` names them."""

    @property
    def tokens_per_day(self) -> int | None: ...
    @property
    def tokens_per_month(self) -> int | None: ...
    @property
    def cost_usd_per_day(self) -> float | None: ...
    @property
    def cost_usd_per_month(self) -> float | None: ...


def worst_case(last: Usage | None, *, new_bytes: int, whole_bytes: int) -> int:
    """Input tokens of the next request at worst.

    ``last`` is what the provider reported of the request before this one, which this one repeats: its input and its
    reply, and then a token for each of the ``new_bytes`` (UTF-8) of messages added since. No tokenizer makes more
    tokens than bytes. Without a report (the first call, another model, a provider that counts none): ``whole_bytes``,
    the whole request's.
    """
    if last is None or last.estimated:
        return whole_bytes
    return last.input + last.output + new_bytes


def caps(limits: Limits, budget: HomeBudget) -> tuple[Cap, ...]:
    """Every cap that holds for a run, the narrowest first."""
    said = (
        (Scope.RUN, Unit.TOKENS, limits.tokens, "limits.tokens"),
        (Scope.RUN, Unit.USD, limits.cost_usd, "limits.cost_usd"),
        (Scope.JOB_DAY, Unit.USD, limits.cost_usd_per_day, "limits.cost_usd_per_day"),
        (Scope.HOME_DAY, Unit.TOKENS, budget.tokens_per_day, "budget.tokens_per_day"),
        (Scope.HOME_DAY, Unit.USD, budget.cost_usd_per_day, "budget.cost_usd_per_day"),
        (Scope.HOME_MONTH, Unit.TOKENS, budget.tokens_per_month, "budget.tokens_per_month"),
        (Scope.HOME_MONTH, Unit.USD, budget.cost_usd_per_month, "budget.cost_usd_per_month"),
    )
    return tuple(
        Cap(scope=scope, unit=unit, limit=limit, name=name) for scope, unit, limit, name in said if limit is not None
    )


def day(now: datetime, zone: ZoneInfo) -> str:
    """``2026-12-01``: the day that ``now`` lies in, as the zone's clocks show it."""
    return f"{now.astimezone(zone):%Y-%m-%d}"


def month(now: datetime, zone: ZoneInfo) -> str:
    """``2026-12``."""
    return f"{now.astimezone(zone):%Y-%m}"


def day_began(now: datetime, zone: ZoneInfo) -> datetime:
    """The first instant of ``day(now, zone)``, UTC."""
    return now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0).astimezone(UTC)


def month_began(now: datetime, zone: ZoneInfo) -> datetime:
    """The first instant of ``month(now, zone)``, UTC."""
    return day_began(now.astimezone(zone).replace(day=1, hour=12), zone)


def refuse_above(held: Iterable[Cap], spent: Mapping[Scope, Spent], worst: Worst) -> None:
    """Raises ``BudgetExceeded`` for the first cap that ``spent`` and ``worst`` together would pass; equal fits."""
    for cap in held:
        used = spent.get(cap.scope, Spent())
        cost = worst.tokens if cap.unit is Unit.TOKENS else worst.cost_usd
        if cost is None:
            raise _unpriced(cap, worst.model)
        if used.of(cap.unit) + cost > cap.limit + _DUST:
            raise _passed(cap, used, cost)


def amount(value: float, unit: Unit) -> str:
    """``1,200 tokens``, ``0.40 USD``; small sums with the digits that say something."""
    return f"{value:,.0f} tokens" if unit is Unit.TOKENS else f"{dollars(value)} USD"


def dollars(value: float) -> str:
    """Two places from a cent on, else four: a call of 0.0003 is not shown as nothing."""
    if value and abs(value) < 0.01:
        return f"{value:.4f}" if abs(value) >= 0.0001 else "less than 0.0001"
    return f"{value:,.2f}"


_OVER = {Scope.RUN: "a run", Scope.JOB_DAY: "a day of this job", Scope.HOME_DAY: "a day", Scope.HOME_MONTH: "a month"}


def _passed(cap: Cap, used: Spent, cost: float) -> BudgetExceeded:
    counted = used.of(cap.unit)
    return BudgetExceeded(
        f"the cap of {amount(cap.limit, cap.unit)} for {_OVER[cap.scope]} ({cap.name}) leaves no room for the next "
        f"model call: {amount(counted, cap.unit)} used, the call could take {amount(cost, cap.unit)}",
        hint=raise_hint(cap),
        details={
            "cap": cap.name, "scope": cap.scope.value, "unit": cap.unit.value, "limit": cap.limit, "used": counted,
            "worst": cost,
        },
    )  # fmt: skip


def _unpriced(cap: Cap, model: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"{cap.name} caps dollars, and nobody knows what {model} costs: no call can be made under that cap",
        hint=f'add [prices."{model}"] with input and output (USD for a million tokens) to config.toml',
        details={
            "cap": cap.name, "scope": cap.scope.value, "unit": cap.unit.value, "limit": cap.limit, "used": None,
            "worst": None, "model": model,
        },
    )  # fmt: skip


def raise_hint(cap: Cap) -> str:
    """How a person raises the cap."""
    if cap.name.startswith("budget."):
        return f"hermes-cron config set {cap.name} VALUE"
    return f"raise {cap.name} in the job's file: hermes-cron edit JOB"
