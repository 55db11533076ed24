"""The rows of the outbox: what is told of them, who may take them, what stays when runs go; and pings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import event

from hermes_cron.domain.delivery import (
    LONGEST_RETRY_AFTER_S,
    DeliveryKind,
    DeliveryState,
    message_id,
    wait,
)
from hermes_cron.domain.job import Job
from hermes_cron.domain.run import Cause, RunState, TakenRun
from hermes_cron.errors import Conflict, NotFound
from hermes_cron.store import outbox, pings
from hermes_cron.store.engine import Store
from hermes_cron.store.outbox import Receipt
from tests.ended import at, ending, failed, good, job

NOW = at(12, 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "state.db") as made:
        yield made


def put(store: Store, target: str = "ops", **more: object) -> int:
    row: dict[str, object] = {
        "kind": DeliveryKind.REPORT, "title": "t", "body": "b", "run_id": "r1", "job_uid": "j1", "job_name": "inspect",
        "now": NOW,
    }  # fmt: skip
    row.update(more)
    return store.write(lambda conn: outbox.put(conn, target=target, **row))  # type: ignore[arg-type]


def settle(store: Store, number: int, state: DeliveryState) -> bool:
    receipt = Receipt(number=number, state=state, text="said", platform="webhook")
    store.write(lambda conn: outbox.claim(conn, "me", NOW, limit=100))
    return store.write(lambda conn: outbox.settle(conn, "me", receipt, NOW))


def counted(store: Store) -> dict[str, float]:
    with store.read() as conn:
        return dict(conn.exec_driver_sql("SELECT labels, value FROM counters").fetchall())


def test_numbers_are_given_in_order_and_belong_to_their_own_row(store: Store) -> None:
    def work(conn: object) -> list[int]:
        return [
            outbox.put(
                conn, kind=DeliveryKind.REPORT, target=f"t{n}", title="t", body="b", run_id="r1", job_uid="j1",  # type: ignore[arg-type]
                job_name="x", now=NOW,
            )
            for n in range(3)
        ]  # fmt: skip

    numbers = store.write(work)
    with store.read() as conn:
        assert [outbox.one(conn, number).target for number in numbers] == ["t0", "t1", "t2"]


def test_a_row_is_taken_once_and_only_its_holder_settles_it(store: Store) -> None:
    number = put(store)
    first = store.write(lambda conn: outbox.claim(conn, "a", NOW, limit=5))
    assert [claimed.view.number for claimed in first] == [number]
    assert store.write(lambda conn: outbox.claim(conn, "b", NOW, limit=5)) == []
    receipt = Receipt(number=number, state=DeliveryState.SENT, text="ok", platform="file")
    assert not store.write(lambda conn: outbox.settle(conn, "b", receipt, NOW))
    assert store.write(lambda conn: outbox.settle(conn, "a", receipt, NOW))
    assert not store.write(lambda conn: outbox.settle(conn, "a", receipt, NOW))
    assert counted(store) == {'{"outcome":"sent","platform":"file"}': 1}


def test_what_is_not_due_or_of_a_full_target_is_left(store: Store) -> None:
    put(store, "ops")
    later = put(store, "later")
    tried = Receipt(
        number=later, state=DeliveryState.QUEUED, text="busy", platform="webhook",
        next_try_at=NOW + timedelta(seconds=1),
    )  # fmt: skip
    store.write(lambda conn: outbox.claim(conn, "a", NOW, limit=1, full={"ops"}))
    store.write(lambda conn: outbox.settle(conn, "a", tried, NOW))
    other = put(store, "other")
    found = store.write(lambda conn: outbox.claim(conn, "a", NOW, limit=5, full={"ops"}))
    assert [claimed.view.number for claimed in found] == [other]
    with store.read() as conn:
        assert outbox.next_due(conn, NOW, full={"ops"}) == NOW + timedelta(seconds=1)


def test_silent_rows_are_never_due_and_counted_as_silent(store: Store) -> None:
    number = put(store, state=DeliveryState.SILENT, reason="unchanged")
    with store.read() as conn:
        assert outbox.next_due(conn, NOW) is None
        assert outbox.one(conn, number).reason == "unchanged"
    assert counted(store) == {'{"outcome":"silent","platform":"none"}': 1}


def test_the_last_hash_is_of_what_the_target_got_or_gets(store: Store) -> None:
    def last(target: str = "ops") -> str | None:
        with store.read() as conn:
            return outbox.last_hash(conn, "j1", target)

    assert last() is None
    settle(store, put(store, text_hash="one"), DeliveryState.SENT)
    assert last() == "one"
    put(store, text_hash=None, state=DeliveryState.SILENT, reason="unchanged")
    assert last() == "one"
    settle(store, put(store, text_hash="two"), DeliveryState.FAILED)
    assert last() == "one"  # the second never arrived: it must be told again
    settle(store, put(store, text_hash="three"), DeliveryState.UNKNOWN)
    assert last() is None  # it may be the third that it got last
    put(store, text_hash="four")
    assert last() == "four"
    assert last("other") is None


def test_a_report_that_was_overtaken_is_what_the_target_got_last(store: Store) -> None:
    def put_one(text_hash: str) -> int:
        number = put(store, text_hash=text_hash)
        store.write(lambda conn: outbox.claim(conn, "me", NOW, limit=1))
        return number

    def answered(number: int, seconds: int, *, later: bool = False) -> None:
        state, at_ = DeliveryState.QUEUED if later else DeliveryState.SENT, NOW + timedelta(seconds=seconds)
        receipt = Receipt(
            number=number, state=state, text="said", platform="webhook", next_try_at=NOW + timedelta(hours=1) if later
            else None,
        )  # fmt: skip
        store.write(lambda conn: outbox.settle(conn, "me", receipt, at_))

    def last() -> str | None:
        with store.read() as conn:
            return outbox.last_hash(conn, "j1", "ops")

    answered(put_one("well"), 1)
    answered(broken := put_one("broken"), 2, later=True)
    answered(put_one("well"), 3)
    assert last() == "well"
    store.write(lambda conn: outbox.claim(conn, "me", NOW + timedelta(hours=2), limit=1))
    answered(broken, 7200)
    assert last() == "broken"  # the one that says "well" must be told again
    answered(put_one("well"), 7300)
    assert last() == "well"


def test_of_runs_and_counts_leave_pings_out(store: Store) -> None:
    settle(store, put(store), DeliveryState.SENT)
    put(store, "ping", kind=DeliveryKind.PING, title="start")
    put(store, run_id="r2", state=DeliveryState.SILENT, reason="said_nothing")
    with store.read() as conn:
        found = outbox.of_runs(conn, ["r1", "r2", "r3"])
        assert {run: [view.state.value for view in views] for run, views in found.items()} == {
            "r1": ["sent"], "r2": ["silent"],
        }  # fmt: skip
        assert outbox.counts(conn, NOW - timedelta(seconds=1)) == Counter(
            {DeliveryState.SENT: 1, DeliveryState.SILENT: 1}
        )
        assert outbox.counts(conn, NOW).total() == 0
        assert len(outbox.listed(conn, pings=True)) == 3


def test_what_goes_with_its_run_and_what_stays(store: Store) -> None:
    old = put(store, text_hash="old")
    settle(store, old, DeliveryState.SENT)
    last = put(store, text_hash="last")
    settle(store, last, DeliveryState.SENT)
    waiting = put(store, text_hash="new")
    store.write(lambda conn: outbox.forget(conn, ["r1"]))
    with store.read() as conn:
        assert {view.number for view in outbox.listed(conn)} == {last, waiting}


def test_a_retry_is_for_what_failed(store: Store) -> None:
    number = put(store)
    with pytest.raises(Conflict):
        store.write(lambda conn: outbox.retry(conn, number, NOW))
    settle(store, number, DeliveryState.FAILED)
    view = store.write(lambda conn: outbox.retry(conn, number, NOW))
    assert (view.state, view.attempts, view.error, view.untried) == (DeliveryState.QUEUED, 0, None, True)
    with pytest.raises(NotFound):
        store.write(lambda conn: outbox.retry(conn, 999, NOW))


def test_an_id_is_one_message_for_ever() -> None:
    assert message_id(52, NOW, "r1", None, "ops") == message_id(52, NOW, "r1", None, "ops")
    assert message_id(52, NOW, "r1", None, "ops").startswith("d52-")
    others = [(53, NOW, "r1"), (52, NOW + timedelta(microseconds=1), "r1"), (52, NOW, "r2")]
    assert len({message_id(n, when, run, None, "ops") for n, when, run in [(52, NOW, "r1"), *others]}) == 4


def test_patience() -> None:
    waits = [wait(DeliveryKind.REPORT, n) for n in range(1, 18)]
    assert [it.total_seconds() for it in waits[:7] if it] == [10, 60, 300, 900, 3600, 7200, 7200]
    assert waits[16] is None
    assert sum(it.total_seconds() for it in waits if it) <= 24 * 3600
    assert wait(DeliveryKind.REPORT, 1, 45) == timedelta(seconds=45)
    assert wait(DeliveryKind.REPORT, 2, 45) == timedelta(seconds=60)
    assert wait(DeliveryKind.REPORT, 1, LONGEST_RETRY_AFTER_S + 1) is None
    assert wait(DeliveryKind.PING, 4) is None
    assert wait(DeliveryKind.PING, 1, 3600) is None


# --- pings ------------------------------------------------------------------------------------------------------------

PINGED = job(ping="https://hc.example/x")


def taken(job: Job = PINGED, cause: Cause = Cause.SCHEDULE) -> TakenRun:
    return TakenRun(
        id="r7dd8", job_uid="j1", job=job, cause=cause, owner="o", fence=1, attempt=1, started_at=NOW, deadline_at=NOW
    )


def signals(store: Store) -> list[tuple[str, str]]:
    with store.read() as conn:
        found = outbox.listed(conn, pings=True)
        return [(view.title, outbox.body_of(conn, view.number)) for view in reversed(found)]


def test_a_run_says_that_it_starts_once_however_often_it_is_taken(store: Store) -> None:
    for _ in range(3):
        store.write(lambda conn: pings.note_start(conn, taken(), NOW))
    assert signals(store) == [("start", "")]


def test_the_end_is_one_line_good_or_not(store: Store) -> None:
    ends = [
        ending(good(), job=PINGED),
        ending(failed(), job=PINGED),
        ending(failed(state=RunState.CANCELLED, reason=None, error="two\nlines"), job=PINGED),
    ]
    for each in ends:
        store.write(lambda conn, each=each: pings.note_end(conn, each, NOW))  # type: ignore[misc]
    told = signals(store)
    assert [signal for signal, _ in told] == ["success", "fail", "fail"]
    assert told[0][1] == "inspect-prod-db r7dd8: ok"
    assert told[1][1].startswith("inspect-prod-db r7dd8: failed, database_unreachable; prod does not answer")
    assert told[2][1] == "inspect-prod-db r7dd8: cancelled; two lines"


def test_neither_runs_by_hand_nor_jobs_without_a_ping_say_anything(store: Store) -> None:
    for cause in (Cause.MANUAL, Cause.PROMPT):
        store.write(lambda conn, cause=cause: pings.note_start(conn, taken(cause=cause), NOW))  # type: ignore[misc]
        store.write(lambda conn, cause=cause: pings.note_end(conn, ending(good(), job=PINGED, cause=cause), NOW))  # type: ignore[misc]
    store.write(lambda conn: pings.note_start(conn, taken(job()), NOW))
    store.write(lambda conn: pings.note_end(conn, ending(good()), NOW))
    assert signals(store) == []


# --- what a look costs ------------------------------------------------------------------------------------------------


def test_no_look_of_the_sender_goes_through_what_was_sent(store: Store) -> None:
    asked: list[tuple[str, object]] = []
    put(store)
    with store.read() as conn:

        @event.listens_for(conn.engine, "before_cursor_execute")
        def _seen(_conn: object, _cursor: object, sql: str, values: object, *_: object) -> None:
            if sql.lstrip().upper().startswith("SELECT"):
                asked.append((sql, values))

        assert outbox.anything_queued(conn)
        outbox.next_due(conn, NOW)
        outbox.in_hand(conn)
        outbox.counts(conn, NOW)
        outbox.of_runs(conn, ["r1"])
        event.remove(conn.engine, "before_cursor_execute", _seen)
        assert len(asked) == 4
        asked.append((outbox._ANY_QUEUED._sql, outbox._ANY_QUEUED._bound({})))
        for sql, values in asked:
            plan = [row[3] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()]  # type: ignore[arg-type]
            reads = [step for step in plan if "deliveries" in step or step.startswith("SCAN")]
            assert reads
            assert all("USING" in step and "INDEX" in step for step in reads), plan
