"""Which messages are to be sent, which of them are being sent now, and what became of the others?

A row is written in the transaction of what it tells of (``put``). A sender takes due rows by writing its name into
``sending_by`` (``claim``); the receipt and the next claim are one transaction (``settle``). A row that has a name in
it is in somebody's hand: if that process dies, nobody knows whether the message arrived (``lost``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    not_,
    or_,
    select,
    update,
)

from hermes_cron.domain.delivery import DeliveryKind, DeliveryState, message_id, people_say
from hermes_cron.errors import Conflict, NotFound
from hermes_cron.store import counters
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import DeliveryRow, RunRow

_rows = DeliveryRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]

NO_PLATFORM = "none"
"""The platform of what went nowhere: silent, or to a target that is not configured."""

_NEW = (
    "kind", "run_id", "job_uid", "job_name", "incident", "target", "state", "reason", "title", "body", "text_hash",
    "created_at", "next_try_at", "attempts",
)  # fmt: skip
_INSERT = Prepared(insert(_rows), _NEW)
_NEWEST = Prepared(select(func.last_insert_rowid()))
_OVERTAKES = 64
"""Of the newest reports of a job to a target that are looked at: one that waited may arrive after younger ones."""
_LAST_REPORTS = Prepared(
    select(_rows.c.state, _rows.c.text_hash, _rows.c.sent_at)
    .where(
        _rows.c.job_uid == bindparam("uid"),
        _rows.c.target == bindparam("name"),
        _rows.c.text_hash.is_not(None),
        or_(*(_rows.c.state == state.value for state in DeliveryState if state is not DeliveryState.FAILED)),
    )
    .order_by(_rows.c.number.desc())
    .limit(_OVERTAKES)
)
_QUEUED = _rows.c.state == literal_column(f"'{DeliveryState.QUEUED}'")
"""Word for word the condition of ``deliveries_due``: SQLite uses that index for nothing less."""
_UNTRIED = _rows.c.attempts == literal_column("0")
"""Due whatever the clock says: one that was set back does not hold up what was written before."""
_FACTS = ("state", "reason", "verdict", "cause", "scheduled_at", "started_at", "ended_at", "attempt", "cost_usd")
_ANY_QUEUED = Prepared(select(_rows.c.number).where(_QUEUED).limit(1))
_SHOWN = tuple(column for column in _rows.c if column.name not in {"body", "text_hash"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryView:
    """A row of the outbox without its text. ``in_hand``: a sender has it right now. People say ``id``."""

    number: int
    kind: DeliveryKind
    run_id: str | None
    job_uid: str | None
    job_name: str
    incident: int | None
    target: str
    state: DeliveryState
    reason: str | None
    title: str
    created_at: datetime
    next_try_at: datetime | None
    attempts: int
    sending_by: str | None
    sending_since: datetime | None
    sent_at: datetime | None
    receipt: str | None
    error: str | None

    @property
    def id(self) -> str:
        return people_say(self.number)

    @property
    def in_hand(self) -> bool:
        return self.sending_by is not None

    @property
    def untried(self) -> bool:
        """Nobody knows yet how its first try ends."""
        return self.state is DeliveryState.QUEUED and (self.in_hand or self.attempts == 0)

    @property
    def again(self) -> bool:
        """An earlier try may have arrived: also where the tries are counted anew, by ``retry``."""
        return self.attempts > 1 or self.next_try_at != self.created_at

    @property
    def message_id(self) -> str:
        """What receivers are told, the same at every try."""
        return message_id(self.number, self.created_at, self.run_id, self.job_uid, self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A row that this process sends now, with its text."""

    view: DeliveryView
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What becomes of a claimed row. ``next_try_at`` goes with ``queued`` alone. ``platform`` is the target's kind."""

    number: int
    state: DeliveryState
    text: str
    platform: str
    next_try_at: datetime | None = None


# --- writing ----------------------------------------------------------------------------------------------------------


def put(  # noqa: PLR0913  # the columns of a row, each by name
    conn: Connection,
    *,
    kind: DeliveryKind,
    target: str,
    title: str,
    body: str,
    run_id: str | None,
    job_uid: str | None,
    job_name: str,
    now: datetime,
    state: DeliveryState = DeliveryState.QUEUED,
    reason: str | None = None,
    incident: int | None = None,
    text_hash: str | None = None,
) -> int:
    """One message to one target, in the caller's transaction; its number.

    ``queued`` is sent by the next sender that looks. ``silent`` and ``held`` say why in ``reason``. Title and body are
    complete and redacted. ``text_hash`` is of the report alone: what ``last_hash`` answers later.
    """
    _INSERT.run(
        conn,
        {
            "kind": kind.value,
            "run_id": run_id,
            "job_uid": job_uid,
            "job_name": job_name,
            "incident": incident,
            "target": target,
            "state": state.value,
            "reason": reason,
            "title": title,
            "body": body,
            "text_hash": text_hash,
            "created_at": now,
            "next_try_at": now if state is DeliveryState.QUEUED else None,
            "attempts": 0,
        },
    )
    if state is DeliveryState.SILENT and kind is not DeliveryKind.PING:
        counters.raise_by(conn, [_counted(NO_PLATFORM, state)])
    number = _NEWEST.first(conn, {})
    assert number is not None  # noqa: S101  # a function has one row
    return int(number[0])


def claim(
    conn: Connection,
    owner: str,
    now: datetime,
    *,
    limit: int,
    full: Collection[str] = (),
    only: str | int | None = None,
) -> list[Claimed]:
    """Make at most ``limit`` due messages ``owner``'s to send: none of the targets in ``full``.

    ``only``: the messages of this run, or the one with this number.

    A ping waits for the pings of its run before it, a recovery for what its job told before of failures.
    """
    if limit < 1:
        return []
    query = (
        select(_rows)
        .where(_free(full, only), or_(_UNTRIED, _rows.c.next_try_at <= now))
        .order_by(_rows.c.next_try_at, _rows.c.number)
        .limit(limit)
    )
    found = [dict(row) for row in conn.execute(query).mappings()]
    if found:
        conn.execute(
            update(_rows)
            .where(_rows.c.number.in_([row["number"] for row in found]))
            .values(sending_by=owner, sending_since=now, attempts=_rows.c.attempts + 1)
        )
    return [
        Claimed(
            view=_view({**row, "sending_by": owner, "sending_since": now, "attempts": row["attempts"] + 1}),
            body=row["body"],
        )
        for row in found
    ]


def settle(conn: Connection, owner: str, receipt: Receipt, now: datetime) -> bool:
    """Write down what a try came to; False when the row is not in ``owner``'s hand any more."""
    state = receipt.state
    sent = state is DeliveryState.SENT
    values: dict[str, object] = {
        "state": state,
        "next_try_at": receipt.next_try_at,
        "sending_by": None,
        "sending_since": None,
        "sent_at": now if sent else None,
        "receipt": receipt.text if sent else None,
        "error": None if sent or state is DeliveryState.SILENT else receipt.text,
    }
    if state is DeliveryState.SILENT:
        values["reason"] = receipt.text
    kind = conn.execute(
        update(_rows)
        .where(_rows.c.number == receipt.number, _rows.c.sending_by == owner, _QUEUED)
        .values(values)
        .returning(_rows.c.kind)
    ).scalar()
    if kind is None:
        return False
    if state is not DeliveryState.QUEUED and kind != DeliveryKind.PING:
        counters.raise_by(conn, [_counted(receipt.platform, state)])
    return True


DIED = "died between send and receipt"


def lost(
    conn: Connection, owners: Collection[str], now: datetime, *, provable: Collection[str], platforms: Mapping[str, str]
) -> list[DeliveryView]:
    """What becomes of the messages that dead ``owners`` had in their hands; those that are ``unknown`` now.

    A target in ``provable`` can tell whether a message arrived, and is asked before the next try: its messages are
    queued again. ``scheduler.sending`` calls this at every look, so nobody else has to.
    """
    found = [view for view in in_hand(conn) if view.sending_by in owners]
    unknown: list[DeliveryView] = []
    for view in found:
        again = view.kind is DeliveryKind.PING or view.target in provable
        receipt = Receipt(
            number=view.number,
            state=DeliveryState.QUEUED if again else DeliveryState.UNKNOWN,
            text=DIED,
            platform=platforms.get(view.target, NO_PLATFORM),
            next_try_at=now if again else None,
        )
        if settle(conn, view.sending_by or "", receipt, now) and not again:
            unknown.append(view)
    return unknown


def retry(conn: Connection, number: int, now: datetime) -> DeliveryView:
    """Queue a failed or unknown message once more, with all its tries. Raises ``NotFound``, ``Conflict``."""
    view = one(conn, number)
    if view.state not in {DeliveryState.FAILED, DeliveryState.UNKNOWN}:
        raise Conflict(f"{view.id} is {view.state}: there is nothing to try again", hint="hermes-cron outbox list")
    conn.execute(
        update(_rows)
        .where(_rows.c.number == number, _rows.c.state == view.state)
        .values(state=DeliveryState.QUEUED, next_try_at=now, attempts=0, error=None)
    )
    return one(conn, number)


def forget(conn: Connection, run_ids: Sequence[str]) -> None:
    """Remove what was sent of these runs. What ``last_hash`` answers from stays: an old report is still the last."""
    of_runs = _rows.c.run_id.in_(run_ids)
    jobs = select(_rows.c.job_uid).where(of_runs)
    newest = (
        select(func.max(_rows.c.number))
        .where(_rows.c.job_uid.in_(jobs), _rows.c.text_hash.is_not(None), _rows.c.state == DeliveryState.SENT)
        .group_by(_rows.c.job_uid, _rows.c.target)
    )
    conn.execute(delete(_rows).where(of_runs, not_(_QUEUED), _rows.c.number.not_in(newest)))


# --- looking ----------------------------------------------------------------------------------------------------------


def of_runs(conn: Connection, run_ids: Iterable[str]) -> dict[str, list[DeliveryView]]:
    """The messages of these runs, oldest first; pings are none. A run without messages is not in the answer."""
    ids = list(run_ids)
    found: defaultdict[str, list[DeliveryView]] = defaultdict(list)
    for at in range(0, len(ids), 500):
        query = (
            select(*_SHOWN)
            .where(_rows.c.run_id.in_(ids[at : at + 500]), _rows.c.kind != DeliveryKind.PING)
            .order_by(_rows.c.number)
        )
        for row in conn.execute(query).mappings():
            found[row["run_id"]].append(_view(row))
    return dict(found)


def last_hash(conn: Connection, job_uid: str, target: str) -> str | None:
    """The hash of the report that this target got last or is about to get; None: nobody knows, or it never got one.

    What came last is not what was written last: a report that was tried for hours arrives after younger ones.
    """
    rows = _LAST_REPORTS.all(conn, {"uid": job_uid, "name": target})
    if not rows or rows[0][0] == DeliveryState.UNKNOWN:
        return None
    if rows[0][0] != DeliveryState.SENT:
        return str(rows[0][1])
    return str(max((row for row in rows if row[0] == DeliveryState.SENT), key=lambda row: row[2])[1])


def counts(conn: Connection, since: datetime) -> Counter[DeliveryState]:
    """How many messages of after ``since`` are in which state, pings left out."""
    query = (
        select(_rows.c.state, func.count().label("n"))
        .where(
            _rows.c.state.in_([state.value for state in DeliveryState]),  # so that the index of states is used
            _rows.c.created_at > since,
            _rows.c.kind != DeliveryKind.PING,
        )
        .group_by(_rows.c.state)
    )
    return Counter({DeliveryState(row.state): row.n for row in conn.execute(query)})


def listed(
    conn: Connection,
    *,
    states: Collection[DeliveryState] = (),
    job_name: str | None = None,
    job_uid: str | None = None,
    pings: bool = False,
    limit: int = 100,
) -> list[DeliveryView]:
    """Rows of the outbox, newest first. Of a job: under the name that it has now, and under what it was called then."""
    query = select(*_SHOWN).order_by(_rows.c.number.desc()).limit(limit)
    if states:
        query = query.where(_rows.c.state.in_([state.value for state in states]))
    if job_name is not None:
        called = _rows.c.job_name == job_name
        query = query.where(called if job_uid is None else or_(called, _rows.c.job_uid == job_uid))
    if not pings:
        query = query.where(_rows.c.kind != DeliveryKind.PING)
    return [_view(row) for row in conn.execute(query).mappings()]


def one(conn: Connection, number: int) -> DeliveryView:
    """Raises ``NotFound``."""
    row = conn.execute(select(*_SHOWN).where(_rows.c.number == number)).mappings().first()
    if row is None:
        raise NotFound(f'no delivery "{people_say(number)}"', hint="hermes-cron outbox list --all")
    return _view(row)


def body_of(conn: Connection, number: int) -> str:
    """The text of a message; empty where nothing was to be sent."""
    found: str | None = conn.execute(select(_rows.c.body).where(_rows.c.number == number)).scalar()
    return found or ""


def in_hand(conn: Connection) -> list[DeliveryView]:
    """What senders, dead or alive, have in their hands now."""
    query = select(*_SHOWN).where(_QUEUED, _rows.c.next_try_at.is_not(None), _rows.c.sending_by.is_not(None))
    return [_view(row) for row in conn.execute(query).mappings()]


def anything_queued(conn: Connection) -> bool:
    """A cheap first question: whether a row waits or is in somebody's hand."""
    return _ANY_QUEUED.first(conn, {}) is not None


def next_due(
    conn: Connection, now: datetime, *, full: Collection[str] = (), only: str | int | None = None
) -> datetime | None:
    """When ``claim`` will find the next message, ``now`` for one that was never tried; None: nothing waits."""
    query = select(_UNTRIED, _rows.c.next_try_at).where(_free(full, only)).order_by(not_(_UNTRIED), _rows.c.next_try_at)
    row = conn.execute(query.limit(1)).first()
    return None if row is None else now if row[0] else row[1]


def facts(conn: Connection, run_id: str) -> dict[str, object]:
    """What machines are told of the run besides the text."""
    row = conn.execute(select(*(_runs.c[name] for name in _FACTS)).where(_runs.c.id == run_id)).mappings().first()
    return {} if row is None else {name: _plain(row[name]) for name in _FACTS}


def spec_of(conn: Connection, run_id: str) -> str | None:
    """The job as it was when the run was queued, JSON; None when the run is gone."""
    found: str | None = conn.execute(select(_runs.c.spec).where(_runs.c.id == run_id)).scalar()
    return found


# --- inside -----------------------------------------------------------------------------------------------------------


def _free(full: Collection[str], only: str | int | None) -> ColumnElement[bool]:
    """Queued, in nobody's hand, not waiting for another."""
    wanted = [_QUEUED, _rows.c.next_try_at.is_not(None), _rows.c.sending_by.is_(None), _in_order()]
    if full:
        wanted.append(_rows.c.target.not_in(sorted(full)))
    if only is not None:
        wanted.append((_rows.c.number if isinstance(only, int) else _rows.c.run_id) == only)
    return and_(*wanted)


def _plain(value: Any) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _in_order() -> ColumnElement[bool]:
    """Not before what it follows. Other messages overtake each other: one that is tried for hours holds up nothing."""
    earlier = _rows.alias("earlier")
    still = and_(earlier.c.state == literal_column(f"'{DeliveryState.QUEUED}'"), earlier.c.number < _rows.c.number)
    ping = select(earlier.c.number).where(still, earlier.c.run_id == _rows.c.run_id, earlier.c.kind == _rows.c.kind)
    failure = select(earlier.c.number).where(
        still,
        earlier.c.job_uid == _rows.c.job_uid,
        earlier.c.target == _rows.c.target,
        earlier.c.incident.is_not(None),
    )
    return and_(
        or_(_rows.c.kind != DeliveryKind.PING.value, not_(ping.exists())),
        or_(_rows.c.kind != DeliveryKind.RECOVERY.value, not_(failure.exists())),
    )


def _counted(platform: str, state: DeliveryState) -> counters.Raise:
    return counters.DELIVERIES, {"platform": platform, "outcome": state.value}, 1


def _view(row: RowMapping | dict[str, Any]) -> DeliveryView:
    values = {column.name: row[column.name] for column in _SHOWN}
    return DeliveryView(
        **{**values, "kind": DeliveryKind(values["kind"]), "state": DeliveryState(values["state"])},
    )
