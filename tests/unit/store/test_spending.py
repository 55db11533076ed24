"""What was spent and reserved, against caps that several processes share."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from hermes_cron.domain import money
from hermes_cron.domain.job import Limits
from hermes_cron.domain.money import Spent
from hermes_cron.domain.run import RunState
from hermes_cron.domain.transcript import Usage
from hermes_cron.errors import BudgetExceeded
from hermes_cron.models.prices import Prices
from hermes_cron.ports import Fenced
from hermes_cron.settings import BudgetSettings
from hermes_cron.store import spending
from hermes_cron.store.engine import Store
from hermes_cron.store.spending import Payer, StorePurse
from hermes_cron.store.tables import JobRow, ReservationRow, RunRow, SessionRow, SpendRow, UsageRow
from hermes_cron.testing import FixedClock
from tests.conftest import clean_env

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
UTC_ZONE = ZoneInfo("UTC")
MODEL = "gpt-5-mini"  # 0.25 and 2.00 USD for a million tokens

runs, jobs, sessions = RunRow.__table__, JobRow.__table__, SessionRow.__table__  # type: ignore[attr-defined]
usage_rows, spend_rows, reservations = UsageRow.__table__, SpendRow.__table__, ReservationRow.__table__  # type: ignore[attr-defined]


@dataclass
class Bank:
    """A store with runs, and their purses."""

    store: Store
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOON))

    def job(self, uid: str) -> None:
        row = {
            "uid": uid, "name": uid, "name_key": uid, "file_name": f"{uid}.md", "file_stat": "", "file_hash": "",
            "anchor": NOON, "first_seen": NOON, "settled_until": NOON,
        }  # fmt: skip
        self.store.write(lambda conn: conn.execute(jobs.insert(), row))

    def run(self, run_id: str, job_uid: str | None = None) -> None:
        row: dict[str, Any] = {
            "id": run_id, "job_uid": job_uid, "job_name": job_uid or "prompt", "cause": "manual", "spec": "{}",
            "state": RunState.RUNNING.value, "queued_at": NOON, "fence": 1, "late": False, "silent": False,
            "actor": "t",
        }  # fmt: skip
        session = {"id": f"s-{run_id}", "run_id": run_id, "kind": "main", "started_at": NOON}

        def work(conn: Any) -> None:
            conn.execute(runs.insert(), row)
            conn.execute(sessions.insert(), session)

        self.store.write(work)

    def end(self, run_id: str) -> None:
        self.store.write(lambda conn: conn.execute(runs.update().where(runs.c.id == run_id).values(state="failed")))

    def used(self, run_id: str, seq: int, usage: Usage, cost: float | None, model: str = MODEL) -> None:
        row = {
            "session_id": f"s-{run_id}", "seq": seq, "run_id": run_id, "phase": "main", "model": model,
            "input": usage.input, "output": usage.output, "cached": usage.cached, "cache_write": usage.cache_write,
            "estimated": usage.estimated, "cost_usd": cost, "elapsed_ms": 1, "at": self.clock.now(),
        }  # fmt: skip
        self.store.write(lambda conn: conn.execute(usage_rows.insert(), row))

    def purse(
        self, run_id: str, job_uid: str | None = None, *, limits: Limits | None = None, fence: int = 1, **budget: Any
    ) -> StorePurse:
        return StorePurse(
            self.store,
            self.clock,
            payer=Payer(run_id=run_id, fence=fence, job_uid=job_uid),
            caps=money.caps(limits or Limits(), BudgetSettings(**budget)),
            tariff=Prices().price,
            zone=UTC_ZONE,
        )

    def spent(self) -> dict[tuple[str, str, str], tuple[int, float, int]]:
        with self.store.read() as conn:
            rows = conn.execute(select(spend_rows)).all()
        return {(r.scope, r.key, r.period): (r.tokens, round(r.cost_usd, 9), r.unpriced) for r in rows}

    def open(self) -> int:
        with self.store.read() as conn:
            return len(conn.execute(select(reservations.c.id)).all())


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    with Store(tmp_path / "state.db") as store:
        made = Bank(store)
        made.job("watch")
        made.run("r1", "watch")
        yield made


def test_a_reservation_raises_every_scope_at_once_and_its_settlement_corrects_all(bank: Bank) -> None:
    purse = bank.purse("r1", "watch", cost_usd_per_day=1.0)
    held = purse.reserve(model=MODEL, tokens_input=1_000_000, tokens_output=100_000)
    scopes = [("run", "r1", ""), ("job_day", "watch", "2026-12-01"), ("home_day", "", "2026-12-01"),
              ("home_month", "", "2026-12")]  # fmt: skip
    assert bank.spent() == dict.fromkeys(scopes, (1_100_000, 0.45, 0))
    purse.settle(held, usage=Usage(input=1000, output=10), cost_usd=0.00027, model=MODEL)
    assert bank.spent() == dict.fromkeys(scopes, (1010, 0.00027, 0))
    assert bank.open() == 0
    purse.settle(held, usage=Usage(input=1000, output=10), cost_usd=0.00027, model=MODEL)
    assert bank.spent() == dict.fromkeys(scopes, (1010, 0.00027, 0)), "settled once"


def test_a_refusal_reserves_nothing(bank: Bank) -> None:
    purse = bank.purse("r1", "watch", limits=Limits(cost_usd_per_day=0.01), tokens_per_day=10_000)
    purse.reserve(model=MODEL, tokens_input=1000, tokens_output=100)
    before = bank.spent()
    with pytest.raises(BudgetExceeded) as refused:
        purse.reserve(model=MODEL, tokens_input=9000, tokens_output=100)
    assert refused.value.details["cap"] == "budget.tokens_per_day"
    with pytest.raises(BudgetExceeded) as refused:
        purse.reserve(model=MODEL, tokens_input=10, tokens_output=6000)
    assert refused.value.details["cap"] == "limits.cost_usd_per_day"
    assert (bank.spent(), bank.open()) == (before, 1)


def test_runs_without_a_cap_write_nothing(bank: Bank) -> None:
    purse = bank.purse("r1", "watch")
    held = purse.reserve(model="of unknown price", tokens_input=10**9, tokens_output=1)
    purse.settle(held, usage=Usage(input=5), cost_usd=None, model=MODEL)
    assert (held, bank.spent(), bank.open()) == (None, {}, 0)


def test_what_nobody_knows_stays_spent_at_its_worst_case(bank: Bank) -> None:
    purse = bank.purse("r1", "watch", tokens_per_day=1000)
    held = purse.reserve(model=MODEL, tokens_input=600, tokens_output=100)
    purse.settle(held, usage=None, cost_usd=None, model=MODEL)
    bank.end("r1")
    bank.run("r2", "watch")
    with pytest.raises(BudgetExceeded, match="700 tokens used, the call could take 301 tokens"):
        bank.purse("r2", "watch", tokens_per_day=1000).reserve(model=MODEL, tokens_input=300, tokens_output=1)
    with bank.store.read() as conn:
        assert spending.today(conn, UTC_ZONE, NOON).tokens == 700


def test_a_cap_that_is_set_at_noon_counts_the_morning(bank: Bank) -> None:
    bank.used("r1", 2, Usage(input=800, output=100), 0.0004)
    bank.run("r2", "watch")
    with pytest.raises(BudgetExceeded, match="900 tokens used"):
        bank.purse("r2", "watch", tokens_per_day=1000).reserve(model=MODEL, tokens_input=100, tokens_output=1)
    bank.clock.advance(timedelta(days=1))
    assert bank.purse("r2", "watch", tokens_per_day=1000).reserve(model=MODEL, tokens_input=100, tokens_output=1)


def test_another_runs_open_reservation_is_counted_once(bank: Bank) -> None:
    bank.run("r2", "watch")
    first, second = (bank.purse(run, "watch", tokens_per_day=1000) for run in ("r1", "r2"))
    held = first.reserve(model=MODEL, tokens_input=700, tokens_output=0)
    with pytest.raises(BudgetExceeded):
        second.reserve(model=MODEL, tokens_input=400, tokens_output=0)
    first.settle(held, usage=Usage(input=10), cost_usd=0.0, model=MODEL)
    assert second.reserve(model=MODEL, tokens_input=900, tokens_output=0)


def test_a_run_that_was_taken_over_reserves_nothing_more(bank: Bank) -> None:
    with pytest.raises(Fenced):
        bank.purse("r1", "watch", fence=0, tokens_per_day=1000).reserve(model=MODEL, tokens_input=1, tokens_output=1)
    assert bank.spent() == {}


def test_a_dollar_cap_takes_the_dearest_rate_that_may_apply(bank: Bank) -> None:
    purse = bank.purse("r1", limits=Limits(cost_usd=5.0))
    purse.reserve(model="claude-sonnet-4-5", tokens_input=300_000, tokens_output=10_000)
    assert bank.spent()["run", "r1", ""][1] == round((300_000 * 7.5 + 10_000 * 22.5) / 1e6, 9)


def test_an_estimate_is_settled_as_bytes_and_an_unknown_answerer_at_the_worst_case(bank: Bank) -> None:
    purse = bank.purse("r1", tokens_per_day=100_000)
    held = purse.reserve(model=MODEL, tokens_input=5000, tokens_output=1000)
    purse.settle(held, usage=Usage(input=100, output=10, estimated=True), cost_usd=None, model="elsewhere")
    assert bank.spent()["home_day", "", "2026-12-01"] == (440, round((5000 * 0.25 + 1000 * 2) / 1e6, 9), 0)


def test_the_counters_types_are_disjoint_and_add_up(bank: Bank) -> None:
    bank.used("r1", 2, Usage(input=1000, output=50, cached=700, cache_write=200), 0.25)
    bank.used("r1", 4, Usage(input=500, output=5), None, model="other")
    with bank.store.read() as conn:
        found = {
            (name, *sorted(labels.items())): value for name, labels, value in spending.totals(spending.used(conn, "r1"))
        }
    tokens = "hermes_cron_model_tokens_total"
    assert found == {
        (tokens, ("model", MODEL), ("type", "input")): 100,
        (tokens, ("model", MODEL), ("type", "output")): 50,
        (tokens, ("model", MODEL), ("type", "cache_read")): 700,
        (tokens, ("model", MODEL), ("type", "cache_write")): 200,
        (tokens, ("model", "other"), ("type", "input")): 500,
        (tokens, ("model", "other"), ("type", "output")): 5,
        ("hermes_cron_model_cost_usd_total", ("model", MODEL)): 0.25,
    }


def test_what_a_day_cost_and_who_was_dearest(bank: Bank) -> None:
    bank.job("report")
    bank.run("r2", "report")
    bank.used("r1", 2, Usage(input=10), 0.1)
    bank.used("r2", 2, Usage(input=10), 0.2)
    bank.used("r2", 4, Usage(input=10), None)
    bank.clock.set(NOON - timedelta(days=1))
    bank.used("r1", 4, Usage(input=7), 5.0)
    with bank.store.read() as conn:
        assert spending.today(conn, UTC_ZONE, NOON) == Spent(tokens=30, cost_usd=0.1 + 0.2, unpriced=1)
        assert spending.this_month(conn, UTC_ZONE, NOON).tokens == 30, "the day before was November"
        assert spending.dearest(conn, NOON.replace(hour=0)) == ("report", 0.2)


RACER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo
from hermes_cron.domain import money
from hermes_cron.domain.job import Limits
from hermes_cron.domain.transcript import Usage
from hermes_cron.errors import BudgetExceeded
from hermes_cron.settings import BudgetSettings
from hermes_cron.store.engine import Store
from hermes_cron.store.spending import Payer, StorePurse
from hermes_cron.testing import FixedClock

store = Store(Path(sys.argv[1]))
made = 0
purse = StorePurse(store, FixedClock(datetime(2026, 12, 1, 12, tzinfo=UTC)),
    payer=Payer(run_id=sys.argv[2], fence=1, job_uid=None),
    caps=money.caps(Limits(), BudgetSettings(tokens_per_day=1000)), tariff=lambda _: None, zone=ZoneInfo("UTC"))
print("ready", flush=True)
sys.stdin.readline()
try:
    while True:
        held = purse.reserve(model="m", tokens_input=90, tokens_output=10)
        made += 1
        purse.settle(held, usage=Usage(input=20, output=5), cost_usd=None, model="m")
except BudgetExceeded:
    print(made)
"""


def test_eight_processes_never_pass_one_cap(bank: Bank, tmp_path: Path) -> None:
    racer = tmp_path / "racer.py"
    racer.write_text(textwrap.dedent(RACER))
    names = [f"p{number}" for number in range(8)]
    for name in names:
        bank.run(name)
    racing = [
        subprocess.Popen(
            [sys.executable, str(racer), str(bank.store.path), name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env(),
        )
        for name in names
    ]  # fmt: skip
    for each in racing:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    told = [each.communicate("go\n", timeout=60)[0] for each in racing]
    # A call needs 100 free and takes 25 in the end. The last to be refused saw nobody else's reservation: 925 are used.
    assert sum(int(line) for line in told) == 37
    assert bank.spent()["home_day", "", "2026-12-01"][0] == 925
