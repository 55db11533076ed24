"""What may a call cost at worst, which caps hold, and when is one passed?"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain import money
from hermes_cron.domain.job import Limits
from hermes_cron.domain.money import Cap, Scope, Spent, Unit, Worst
from hermes_cron.domain.transcript import Usage
from hermes_cron.errors import BudgetExceeded
from hermes_cron.settings import BudgetSettings

SHANGHAI = ZoneInfo("Asia/Shanghai")
DAY = Cap(scope=Scope.HOME_DAY, unit=Unit.USD, limit=2.0, name="budget.cost_usd_per_day")


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (Usage(input=1000, output=50), 1000 + 50 + 30),
        (Usage(input=1000, output=50, cached=900), 1000 + 50 + 30),
        (None, 4000),
        (Usage(input=1000, output=50, estimated=True), 4000),
    ],
    ids=["reported", "cached tokens are input too", "first call", "an estimate is no report"],
)
def test_worst_case_is_what_was_reported_and_a_token_a_new_byte(last: Usage | None, expected: int) -> None:
    assert money.worst_case(last, new_bytes=30, whole_bytes=4000) == expected


def test_every_cap_that_was_set_holds_and_no_other() -> None:
    assert money.caps(Limits(), BudgetSettings()) == ()
    held = money.caps(Limits(tokens=5, cost_usd_per_day=0.3), BudgetSettings(tokens_per_month=9, cost_usd_per_day=2))
    assert [(cap.scope.value, cap.unit.value, cap.limit, cap.name) for cap in held] == [
        ("run", "tokens", 5, "limits.tokens"),
        ("job_day", "usd", 0.3, "limits.cost_usd_per_day"),
        ("home_day", "usd", 2, "budget.cost_usd_per_day"),
        ("home_month", "tokens", 9, "budget.tokens_per_month"),
    ]


def test_a_cap_may_be_reached_and_not_passed() -> None:
    tenths = Spent(cost_usd=0.1 + 0.2)  # a hair above 0.3
    money.refuse_above([DAY], {Scope.HOME_DAY: tenths}, Worst(model="m", tokens=1, cost_usd=1.7))
    with pytest.raises(BudgetExceeded) as refused:
        money.refuse_above([DAY], {Scope.HOME_DAY: tenths}, Worst(model="m", tokens=1, cost_usd=1.71))
    assert refused.value.message == (
        "the cap of 2.00 USD for a day (budget.cost_usd_per_day) leaves no room for the next model call: "
        "0.30 USD used, the call could take 1.71 USD"
    )
    assert refused.value.hint == "hermes-cron config set budget.cost_usd_per_day VALUE"
    assert refused.value.details["cap"] == "budget.cost_usd_per_day"
    assert (refused.value.details["limit"], refused.value.details["worst"]) == (2.0, 1.71)


def test_a_cap_on_dollars_refuses_a_model_of_unknown_price_and_says_how_to_add_one() -> None:
    with pytest.raises(BudgetExceeded) as refused:
        money.refuse_above([DAY], {}, Worst(model="my-model", tokens=1, cost_usd=None))
    assert "nobody knows what my-model costs" in refused.value.message
    assert '[prices."my-model"]' in str(refused.value.hint)
    tokens = Cap(scope=Scope.RUN, unit=Unit.TOKENS, limit=10, name="limits.tokens")
    money.refuse_above([tokens], {}, Worst(model="my-model", tokens=1, cost_usd=None))


def test_days_and_months_are_those_of_the_zone() -> None:
    late = datetime(2026, 11, 30, 16, 30, tzinfo=UTC)  # half past midnight in Shanghai, on the first of December
    assert (money.day(late, SHANGHAI), money.month(late, SHANGHAI)) == ("2026-12-01", "2026-12")
    assert money.day_began(late, SHANGHAI) == datetime(2026, 11, 30, 16, 0, tzinfo=UTC)
    assert money.month_began(late, SHANGHAI) == datetime(2026, 11, 30, 16, 0, tzinfo=UTC)
    assert (money.day(late, ZoneInfo("UTC")), money.month(late, ZoneInfo("UTC"))) == ("2026-11-30", "2026-11")


def test_the_month_began_before_the_clocks_were_changed() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    summer = datetime(2026, 3, 30, 12, 0, tzinfo=UTC)  # changed on the 29th
    assert money.month_began(summer, berlin) == datetime(2026, 2, 28, 23, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0.00"), (0.0003, "0.0003"), (0.00000001, "less than 0.0001"), (0.4, "0.40"), (1234.5, "1,234.50")],
)
def test_small_sums_are_not_shown_as_nothing(value: float, said: str) -> None:
    assert money.dollars(value) == said
