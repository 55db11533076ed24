"""What was spent, what is reserved, and may this call be made?

A call's worst case is written to ``spend`` before the call, in one transaction for all its caps, and corrected by what
it really used. So the sum over processes never passes a cap, and what a process that died had reserved stays spent.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Connection, Select, bindparam, delete, exists, func, insert, or_, select
from sqlalchemy.dialects.sqlite import insert as upsert

from hermes_cron.domain import money
from hermes_cron.domain.money import Cap, Scope, Spent, Worst
from hermes_cron.domain.review import ReviewState
from hermes_cron.domain.run import RunState
from hermes_cron.domain.transcript import Usage
from hermes_cron.ports import Clock
from hermes_cron.store import counters
from hermes_cron.store.engine import Store
from hermes_cron.store.ownership import Claim, ReviewClaim, RunClaim
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import ReservationRow, ReviewRow, RunRow, SpendRow, UsageRow

_spend = SpendRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_reservations = ReservationRow.__table__  # type: ignore[attr-defined]
_usage = UsageRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]
_reviews = ReviewRow.__table__  # type: ignore[attr-defined]

TOKENS = "hermes_cron_model_tokens_total"
"""Labels ``model`` and ``type``. The four types are disjoint: ``input`` is what was neither read from the provider's
cache (``cache_read``) nor written to it (``cache_write``), so that they add up to what the provider counted."""
COST = "hermes_cron_model_cost_usd_total"

_SPENT = Prepared(
    select(_spend.c.tokens, _spend.c.cost_usd, _spend.c.unpriced).where(
        _spend.c.scope == bindparam("b_scope"),
        _spend.c.key == bindparam("b_key"),
        _spend.c.period == bindparam("b_period"),
    )
)
_PUT = upsert(_spend)
_SPEND = Prepared(
    _PUT.on_conflict_do_update(
        index_elements=["scope", "key", "period"],
        set_={name: _PUT.excluded[name] for name in ("tokens", "cost_usd", "unpriced")},
    ),
    ("scope", "key", "period", "tokens", "cost_usd", "unpriced"),
)
_RESERVE = Prepared(
    insert(_reservations),
    ("id", "run_id", "job_uid", "fence", "review", "model", "tokens", "cost_usd", "day", "month", "at"),
)
_RESERVED = Prepared(
    select(
        _reservations.c.tokens, _reservations.c.cost_usd, _reservations.c.day, _reservations.c.month,
    ).where(_reservations.c.id == bindparam("b_id"))
)  # fmt: skip


def _used_where(condition: ColumnElement[bool]) -> Prepared:
    used = select(
        _usage.c.model, func.sum(_usage.c.input), func.sum(_usage.c.output), func.sum(_usage.c.cached),
        func.sum(_usage.c.cache_write), func.count(), func.count(_usage.c.cost_usd), func.sum(_usage.c.cost_usd),
    )  # fmt: skip
    return Prepared(used.where(condition).group_by(_usage.c.model))


_USED = _used_where(_usage.c.run_id == bindparam("b_run"))
_USED_IN = _used_where(_usage.c.session_id == bindparam("b_session"))
_SETTLED = Prepared(delete(_reservations).where(_reservations.c.id == bindparam("b_id")))


class Tariff(Protocol):
    """What a model asks for tokens."""

    def worst(self, tokens_input: int, tokens_output: int) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """The run that pays. ``job_uid`` None: a prompt, which has no job's day. ``fence``: as the run was taken.

    ``review``: it is the review with this number, and its fence. What a run may use holds for its review too, on a
    line of its own: neither pays for the other.
    """

    run_id: str
    fence: int
    job_uid: str | None
    review: int | None = None

    @property
    def line(self) -> str:
        """The key of what it alone spends."""
        return self.run_id if self.review is None else line_of(self.review)

    @property
    def claim(self) -> Claim:
        if self.review is None:
            return RunClaim(run_id=self.run_id, fence=self.fence)
        return ReviewClaim(run_id=self.run_id, fence=self.fence, review=self.review)


def line_of(review: int) -> str:
    """The key in ``spend`` of what a review spends."""
    return f"review/{review}"


class StorePurse:
    """``ports.Purse`` of one run. Thread-safe, across processes too: the store's one writer decides.

    ``caps`` are all that hold for the run; without any, nothing is written. ``zone`` is the home's: its days and
    months are the periods.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        payer: Payer,
        caps: tuple[Cap, ...],
        tariff: Callable[[str], Tariff | None],
        zone: ZoneInfo,
    ) -> None:
        self._store = store
        self._clock = clock
        self._payer = payer
        self._caps = caps
        self._tariff = tariff
        self._zone = zone
        self._floors: Mapping[Scope, Spent] | None = None

    def reserve(self, *, model: str, tokens_input: int, tokens_output: int) -> str | None:
        """The reservation's id. Raises ``BudgetExceeded``, or ``Fenced`` when the run is not this fence's any more."""
        if not self._caps:
            return None
        tariff = self._tariff(model)
        worst = Worst(
            model=model,
            tokens=tokens_input + tokens_output,
            cost_usd=None if tariff is None else tariff.worst(tokens_input, tokens_output),
        )
        now = self._clock.now()
        floors = self._known(now)
        return self._store.write(lambda conn: self._reserve(conn, worst, floors, now))

    def _known(self, now: datetime) -> Mapping[Scope, Spent]:
        """What was spent before this purse's first call: a cap that is set at noon counts the morning too.

        Read outside the writer's turn: it only grows, so it is at most what the rows must say.
        """
        if self._floors is None:
            with self._store.read() as conn:
                scopes = dict.fromkeys(cap.scope for cap in self._caps)
                self._floors = {scope: _ledger(conn, scope, self._payer, now, self._zone) for scope in scopes}
            return self._floors
        return {}

    def _reserve(self, conn: Connection, worst: Worst, floors: Mapping[Scope, Spent], now: datetime) -> str:
        payer, day, month = self._payer, money.day(now, self._zone), money.month(now, self._zone)
        payer.claim.require(conn)
        rows = {scope: (key, period) for scope, key, period in _rows(payer, day, month)}
        spent = {scope: _most(_read(conn, scope, *row), floors.get(scope)) for scope, row in rows.items()}
        money.refuse_above(self._caps, spent, worst)
        reservation = uuid.uuid4().hex
        _RESERVE.run(
            conn,
            {
                "id": reservation, "run_id": payer.run_id, "job_uid": payer.job_uid, "fence": payer.fence,
                "review": payer.review, "model": worst.model, "tokens": worst.tokens, "cost_usd": worst.cost_usd,
                "day": day, "month": month, "at": now,
            },
        )  # fmt: skip
        for scope, row in rows.items():
            _write(conn, scope, *row, _plus(spent[scope], worst.tokens, worst.cost_usd or 0.0, worst.cost_usd is None))
        return reservation

    def settle(self, reservation: str | None, *, usage: Usage | None, cost_usd: float | None, model: str) -> None:
        """An estimate is no report: its tokens are settled at a token for each byte, as far as the worst case goes."""
        if reservation is None or usage is None:
            return
        self._store.write(lambda conn: self._settle(conn, reservation, usage, cost_usd))

    def _settle(self, conn: Connection, reservation: str, usage: Usage, cost_usd: float | None) -> None:
        held = _RESERVED.first(conn, {"b_id": reservation})
        if held is None:
            return
        tokens, worst_usd, day, month = held
        _SETTLED.run(conn, {"b_id": reservation})
        used = usage.input + usage.output
        if usage.estimated:
            used = min(tokens, used * _BYTES_A_TOKEN)
        # The answering model's price may be unknown where the asked one's was not: then the worst case stays.
        real_usd = worst_usd if cost_usd is None else cost_usd
        unpriced = (real_usd is None) - (worst_usd is None)
        for scope, key, period in _rows(self._payer, day, month):
            spent = _read(conn, scope, key, period)
            _write(conn, scope, key, period, _plus(spent, used - tokens, (real_usd or 0) - (worst_usd or 0), unpriced))


_BYTES_A_TOKEN = 4
"""An estimate takes a token for a quarter of the bytes (``models.wire``); a cap takes one for each byte."""


class UsedOf(NamedTuple):
    """What a run's calls of one model used. ``priced`` of ``calls`` have a cost, and ``cost_usd`` is its sum."""

    model: str
    input: int
    output: int
    cached: int
    cache_write: int
    calls: int
    priced: int
    cost_usd: float | None


def used(conn: Connection, run_id: str) -> list[UsedOf]:
    """The run's usage rows, by model."""
    return [UsedOf(*row) for row in _USED.all(conn, {"b_run": run_id})]


def used_in(conn: Connection, session_id: str) -> list[UsedOf]:
    """The usage rows of one session, by model."""
    return [UsedOf(*row) for row in _USED_IN.all(conn, {"b_session": session_id})]


def totals(models: Iterable[UsedOf]) -> list[counters.Raise]:
    """What they add to the counters of tokens and dollars; calls without a price add none."""
    found: list[counters.Raise] = []
    for each in models:
        read = min(each.cached, each.input)
        wrote = min(each.cache_write, each.input - read)
        kinds = {"input": each.input - read - wrote, "output": each.output, "cache_read": read, "cache_write": wrote}
        found += [(TOKENS, {"model": each.model, "type": kind}, count) for kind, count in kinds.items() if count]
        if each.cost_usd:
            found.append((COST, {"model": each.model}, each.cost_usd))
    return found


def today(conn: Connection, zone: ZoneInfo, now: datetime) -> Spent:
    """What the home spent since the day began, with what was reserved and is lost."""
    return _ledger(conn, Scope.HOME_DAY, None, now, zone)


def this_month(conn: Connection, zone: ZoneInfo, now: datetime) -> Spent:
    """The same since the month began."""
    return _ledger(conn, Scope.HOME_MONTH, None, now, zone)


def dearest(conn: Connection, since: datetime) -> tuple[str, float] | None:
    """The job whose runs cost most since then, and how many dollars; None where nothing cost anything."""
    cost = func.sum(_usage.c.cost_usd)
    query = (
        select(func.max(_runs.c.job_name), cost)
        .select_from(_usage.join(_runs, _usage.c.run_id == _runs.c.id))
        .where(_usage.c.at >= since, _usage.c.cost_usd > 0)
        .group_by(func.coalesce(_runs.c.job_uid, _runs.c.id))
        .order_by(cost.desc())
        .limit(1)
    )
    row = conn.execute(query).first()
    return None if row is None else (str(row[0]), float(row[1]))


def forget(conn: Connection, run_ids: Iterable[str]) -> None:
    """What caps kept of these runs and of their reviews, which nobody needs any more. Days and months stay."""
    ids = list(run_ids)
    looked_back = conn.execute(select(_reviews.c.number).where(_reviews.c.run_id.in_(ids))).scalars()
    keys = [*ids, *map(line_of, looked_back)]
    conn.execute(delete(_reservations).where(_reservations.c.run_id.in_(ids)))
    conn.execute(delete(_spend).where(_spend.c.scope == Scope.RUN.value, _spend.c.key.in_(keys)))


# --- the rows ---------------------------------------------------------------------------------------------------------


def _rows(payer: Payer, day: str, month: str) -> Iterable[tuple[Scope, str, str]]:
    """(scope, key, period) of every row that a call of this run raises."""
    yield Scope.RUN, payer.line, ""
    if payer.job_uid is not None:
        yield Scope.JOB_DAY, payer.job_uid, day
    yield Scope.HOME_DAY, "", day
    yield Scope.HOME_MONTH, "", month


def _read(conn: Connection, scope: Scope, key: str, period: str) -> Spent:
    row = _SPENT.first(conn, {"b_scope": scope.value, "b_key": key, "b_period": period})
    return Spent() if row is None else Spent(tokens=row[0], cost_usd=row[1], unpriced=row[2])


def _write(conn: Connection, scope: Scope, key: str, period: str, spent: Spent) -> None:
    values: dict[str, Any] = {"tokens": spent.tokens, "cost_usd": spent.cost_usd, "unpriced": spent.unpriced}
    _SPEND.run(conn, {"scope": scope.value, "key": key, "period": period, **values})


def _plus(spent: Spent, tokens: int, cost_usd: float, unpriced: int) -> Spent:
    return Spent(
        tokens=max(0, spent.tokens + tokens),
        cost_usd=max(0.0, spent.cost_usd + cost_usd),
        unpriced=max(0, spent.unpriced + unpriced),
    )


def _most(row: Spent, floor: Spent | None) -> Spent:
    if floor is None:
        return row
    return Spent(
        tokens=max(row.tokens, floor.tokens),
        cost_usd=max(row.cost_usd, floor.cost_usd),
        unpriced=max(row.unpriced, floor.unpriced),
    )


def _ledger(conn: Connection, scope: Scope, payer: Payer | None, now: datetime, zone: ZoneInfo) -> Spent:
    """What the calls' own rows say was spent in a scope: their usage, and what was reserved and is lost."""
    used: list[ColumnElement[bool]] = []
    held: list[ColumnElement[bool]] = [LOST]
    match scope:
        case Scope.RUN if payer is not None:
            mine = select(_reviews.c.session_id).where(_reviews.c.run_id == payer.run_id)
            if payer.review is not None:
                mine = mine.where(_reviews.c.number == payer.review)
            reviewing = _usage.c.session_id.in_(mine.where(_reviews.c.session_id.is_not(None)))
            used += [_usage.c.run_id == payer.run_id, ~reviewing if payer.review is None else reviewing]
            held += [_reservations.c.run_id == payer.run_id, _reservations.c.review.is_not_distinct_from(payer.review)]
        case Scope.JOB_DAY if payer is not None:
            of_job = select(_runs.c.id).where(_runs.c.job_uid == payer.job_uid)
            used += [_usage.c.at >= money.day_began(now, zone), _usage.c.run_id.in_(of_job)]
            held += [_reservations.c.day == money.day(now, zone), _reservations.c.job_uid == payer.job_uid]
        case Scope.HOME_MONTH:
            used.append(_usage.c.at >= money.month_began(now, zone))
            held.append(_reservations.c.month == money.month(now, zone))
        case _:
            used.append(_usage.c.at >= money.day_began(now, zone))
            held.append(_reservations.c.day == money.day(now, zone))
    return _sum(conn, select(*_sums(_usage.c.input + _usage.c.output, _usage.c.cost_usd)).where(*used)) + _sum(
        conn, select(*_sums(_reservations.c.tokens, _reservations.c.cost_usd)).where(*held)
    )


LOST = ~or_(
    exists().where(
        _reservations.c.review.is_(None),
        _runs.c.id == _reservations.c.run_id,
        _runs.c.state == RunState.RUNNING.value,
        _runs.c.fence == _reservations.c.fence,
    ),
    exists().where(
        _reviews.c.number == _reservations.c.review,
        _reviews.c.state == ReviewState.RUNNING.value,
        _reviews.c.fence == _reservations.c.fence,
    ),
)
"""Of a reservation: nobody will settle it. Its process died, or its call ended without anybody knowing what it used."""


def _sums(tokens: Any, cost: Any) -> tuple[Any, ...]:
    return func.coalesce(func.sum(tokens), 0), func.coalesce(func.sum(cost), 0.0), func.count() - func.count(cost)


def _sum(conn: Connection, query: Select[Any]) -> Spent:
    row = conn.execute(query).one()
    return Spent(tokens=row[0], cost_usd=row[1], unpriced=row[2])
