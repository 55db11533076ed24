"""One suite for every journal: the store's and the double that ships."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, text

from hermes_cron.domain.compaction import Compacted, How
from hermes_cron.domain.run import Cause, Effect, RunState
from hermes_cron.domain.transcript import Header, ModelReply, PlannedResult, ToolCall, ToolResult, Usage
from hermes_cron.ports import Fenced, Journal
from hermes_cron.store.engine import Store
from hermes_cron.store.journal import SqlJournal
from hermes_cron.store.tables import ApprovalRow, EffectRow, RunRow, UsageRow
from hermes_cron.testing import FixedClock
from hermes_cron.testing_journal import MemoryJournal

HEADER = Header(
    system="You are a test. 中文",
    tools=({"type": "function", "function": {"name": "look"}},),
    model="m",
    parameters={"max_tokens": 10},
)
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A journal, and what its owner and a person can do to its run; the effects as (intent, group, receipt)."""

    journal: Journal
    fence: Callable[[], None]
    cancel: Callable[[], None]
    steer: Callable[[str], None]
    answer: Callable[[int, str | None, str | None], None]
    effects: Callable[[], dict[int, tuple[str, int | None, bool]]]
    usages: Callable[[], list[tuple[str, int, int]]]
    again: Callable[[], Journal]


def memory_bench() -> Bench:
    journal = MemoryJournal(HEADER)

    def effects() -> dict[int, tuple[str, int | None, bool]]:
        groups = {seq: group.pgid for seq, group in journal.groups.items()}
        return {seq: (plan.effect, groups.get(seq), seq in journal.receipts) for seq, plan in journal.intents.items()}

    return Bench(
        journal=journal,
        fence=journal.fence,
        cancel=journal.cancel,
        steer=journal.steer,
        answer=journal.answer,
        effects=effects,
        usages=lambda: [(phase, usage.input, usage.output) for phase, usage in journal.usages],
        again=lambda: journal,
    )


def sql_bench(store: Store) -> Bench:
    runs, effect_rows, usage_rows = RunRow.__table__, EffectRow.__table__, UsageRow.__table__  # type: ignore[attr-defined]
    approval_rows = ApprovalRow.__table__  # type: ignore[attr-defined]
    row = {"id": "r0000001", "job_name": "j", "cause": Cause.MANUAL, "spec": "{}", "state": RunState.RUNNING}
    row |= {"queued_at": NOON, "fence": 3, "late": False, "arguments": "{}", "priority": 0, "attempt": 1}
    row |= {"takeovers": 0, "iterations": 0, "tool_calls": 0, "tool_errors": 0, "tokens_input": 0}
    row |= {"tokens_output": 0, "tokens_cached": 0, "silent": False, "actor": "test"}
    store.write(lambda conn: conn.execute(runs.insert(), row))
    journal = SqlJournal.begin(store, FixedClock(NOON), run_id="r0000001", fence=3, header=HEADER)

    def effects() -> dict[int, tuple[str, int | None, bool]]:
        with store.read() as conn:
            found = conn.execute(effect_rows.select()).mappings().all()
        return {row["seq"]: (row["effect"], row["pgid"], row["receipt_at"] is not None) for row in found}

    def usages() -> list[tuple[str, int, int]]:
        with store.read() as conn:
            found = conn.execute(usage_rows.select().order_by(text("rowid"))).mappings().all()
        return [(row["phase"], row["input"], row["output"]) for row in found]

    def steer(said: str) -> None:
        def work(conn: Connection) -> None:
            waiting = json.loads(conn.execute(select(runs.c.steer)).scalar_one() or "[]")
            conn.execute(runs.update().values(steer=json.dumps([*waiting, said])))

        store.write(work)

    def answer(seq: int, decision: str | None, reason: str | None) -> None:
        asked = {"run_id": "r0000001", "job_name": "j", "session_id": journal.session_id, "seq": seq, "tool": "w"}
        asked |= {"arguments": "{}", "evidence": "[]", "expires_at": NOON, "decision": decision, "reason": reason}

        def work(conn: Connection) -> None:
            number = conn.execute(select(func.count()).select_from(approval_rows)).scalar_one()
            conn.execute(approval_rows.insert(), {**asked, "asked_at": NOON + timedelta(seconds=number)})

        store.write(work)

    return Bench(
        journal=journal,
        fence=lambda: store.write(lambda conn: conn.execute(runs.update().values(fence=4))) and None,
        cancel=lambda: store.write(lambda conn: conn.execute(runs.update().values(cancel_requested_at=NOON))) and None,
        steer=steer,
        answer=answer,
        effects=effects,
        usages=usages,
        again=lambda: SqlJournal.open(
            store, FixedClock(NOON), run_id="r0000001", fence=3, session_id=journal.session_id
        ),
    )


@pytest.fixture(params=["memory", "sqlite"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "memory":
        yield memory_bench()
        return
    with Store(tmp_path / "state.db") as store:
        yield sql_bench(store)


def reply(*names: str, usage: Usage | None = None) -> ModelReply:
    calls = tuple(ToolCall(id=f"c{at}", name=name, arguments="{}") for at, name in enumerate(names))
    message = {
        "role": "assistant",
        "content": "试一试 \U0001f680",
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": "{}"}} for call in calls
        ],
    }
    return ModelReply(message=message, text="", tool_calls=calls, usage=usage, model="m")


def plans(made: ModelReply, *effects: Effect) -> list[PlannedResult]:
    pairs = zip(made.tool_calls, effects, strict=True)
    return [PlannedResult(call=call, effect=effect, arguments_hash="h") for call, effect in pairs]


def result(seq: int, said: str, effect: Effect = Effect.READ, *, ok: bool = True) -> ToolResult:
    message = {"role": "tool", "tool_call_id": "c", "content": said}
    return ToolResult(seq=seq, message=message, ok=ok, elapsed_ms=1, started_ms=2, effect=effect)


def test_header_comes_back_as_it_was(bench: Bench) -> None:
    assert bench.journal.header() == HEADER


def test_messages_come_back_whole_and_in_order(bench: Bench) -> None:
    user = {"role": "user", "content": "查 prod", "extra": {"kept": [1, None]}}
    bench.journal.append(user)
    made = reply("look", "look")
    seqs = bench.journal.assistant(made, plans(made, Effect.READ, Effect.READ))
    bench.journal.result(result(seqs[0], "one"), result(seqs[1], "two"))
    got = bench.journal.messages()
    assert got[:2] == [user, made.message]
    assert [message["content"] for message in got[2:]] == ["one", "two"]


def test_result_rows_are_reserved_in_call_order_whenever_they_come(bench: Bench) -> None:
    bench.journal.append({"role": "user", "content": "go"})
    made = reply("a", "b", "c")
    seqs = bench.journal.assistant(made, plans(made, *[Effect.READ] * 3))
    assert seqs == (3, 4, 5)
    for seq, said in ((seqs[2], "c"), (seqs[0], "a"), (seqs[1], "b")):
        bench.journal.result(result(seq, said))
    assert [message["content"] for message in bench.journal.messages()[2:]] == ["a", "b", "c"]


def test_reserved_result_that_never_came_is_left_out(bench: Bench) -> None:
    made = reply("a", "b")
    seqs = bench.journal.assistant(made, plans(made, Effect.READ, Effect.READ))
    bench.journal.result(result(seqs[1], "b"))
    assert [message["role"] for message in bench.journal.messages()] == ["assistant", "tool"]


def test_intent_stands_before_the_effect_and_receipt_after(bench: Bench) -> None:
    made = reply("read", "write")
    seqs = bench.journal.assistant(made, plans(made, Effect.READ, Effect.EFFECT))
    assert bench.effects() == {seqs[1]: ("effect", None, False)}
    bench.journal.spawned(seqs[1], pgid=4711, started="99", boot_id="b")
    assert bench.effects() == {seqs[1]: ("effect", 4711, False)}
    bench.journal.result(result(seqs[1], "done", Effect.EFFECT))
    assert bench.effects() == {seqs[1]: ("effect", 4711, True)}


def test_filled_row_stays_as_it_is(bench: Bench) -> None:
    made = reply("a")
    (seq,) = bench.journal.assistant(made, plans(made, Effect.READ))
    bench.journal.result(result(seq, "first"))
    bench.journal.result(result(seq, "second"))
    assert bench.journal.messages()[-1]["content"] == "first"


def test_usage_is_kept_with_its_phase(bench: Bench) -> None:
    bench.journal.assistant(reply(usage=Usage(input=7, output=2)), [], phase="main")
    bench.journal.assistant(reply(usage=Usage(input=9, output=3)), [], phase="summary")
    assert bench.usages() == [("main", 7, 2), ("summary", 9, 3)]


def test_lost_run_cannot_be_written_to(bench: Bench) -> None:
    made = reply("w")
    (seq,) = bench.journal.assistant(made, plans(made, Effect.EFFECT))
    before = bench.journal.messages()
    bench.fence()
    writes: list[Callable[[], object]] = [
        lambda: bench.journal.append({"role": "user", "content": "x"}),
        lambda: bench.journal.assistant(made, plans(made, Effect.EFFECT)),
        lambda: bench.journal.result(result(seq, "done", Effect.EFFECT)),
        lambda: bench.journal.spawned(seq, pgid=1, started="1", boot_id="b"),
        lambda: bench.journal.redo(seq),
        lambda: bench.journal.unbegun(seq),
        lambda: bench.journal.spent(Usage(input=1), model="m", cost_usd=None),
        bench.journal.steered,
        lambda: bench.journal.compact([stands(1, 1)]),
        lambda: bench.journal.side("summary", 1, HEADER, []),
    ]
    for write in writes:
        with pytest.raises(Fenced):
            write()
    assert bench.journal.messages() == before
    assert bench.effects() == {seq: ("effect", None, False)}


def test_cancel_request_is_seen(bench: Bench) -> None:
    assert not bench.journal.asked().cancel
    bench.cancel()
    assert bench.journal.asked().cancel


def test_workers_may_write_results_at_the_same_time(bench: Bench) -> None:
    made = reply(*["w"] * 8)
    seqs = bench.journal.assistant(made, plans(made, *[Effect.IDEMPOTENT] * 8))
    start = threading.Barrier(8)

    def work(seq: int) -> None:
        start.wait(60)
        bench.journal.spawned(seq, pgid=seq, started="1", boot_id="b")
        bench.journal.result(result(seq, str(seq), Effect.IDEMPOTENT))

    threads = [threading.Thread(target=work, args=(seq,)) for seq in seqs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [message["content"] for message in bench.journal.messages()[1:]] == [str(seq) for seq in seqs]
    assert bench.effects() == {seq: ("idempotent", seq, True) for seq in seqs}


# --- a session that is gone on with ---------------------------------------------------------------------------------


def batches(made: ModelReply, *planned: tuple[Effect, int, bool]) -> list[PlannedResult]:
    """Effect, batch, gated of each call."""
    pairs = zip(made.tool_calls, planned, strict=True)
    return [
        PlannedResult(call=call, effect=effect, arguments_hash="h", batch=batch, gated=gated)
        for call, (effect, batch, gated) in pairs
    ]


def test_fresh_session_has_nothing_open(bench: Bench) -> None:
    assert bench.journal.pending() == []
    bench.journal.append({"role": "user", "content": "go"})
    assert bench.again().pending() == []


def test_session_is_gone_on_with_where_it_stood(bench: Bench) -> None:
    bench.journal.append({"role": "user", "content": "go"})
    made = reply("a", "b")
    seqs = bench.journal.assistant(made, plans(made, Effect.READ, Effect.READ))
    bench.journal.result(result(seqs[1], "b"))
    again = bench.again()
    assert (again.session_id, again.header()) == (bench.journal.session_id, HEADER)
    (left,) = again.pending()
    assert (left.seq, left.call, left.effect, left.begun) == (seqs[0], made.tool_calls[0], "read", False)
    again.result(result(seqs[0], "a"))
    assert again.pending() == []
    assert [message["content"] for message in again.messages()[2:]] == ["a", "b"]
    assert again.append({"role": "user", "content": "and now?"}) == seqs[1] + 1


READ, EFFECT, IDEMPOTENT = Effect.READ, Effect.EFFECT, Effect.IDEMPOTENT


@pytest.mark.parametrize(
    ("planned", "filled", "groups", "begun"),
    [
        pytest.param([(EFFECT, 0, False)], [], [], [True], id="the first batch has begun"),
        pytest.param([(EFFECT, 0, True)], [], [], [False], id="gated without a group has not"),
        pytest.param([(EFFECT, 0, True)], [], [0], [True], id="gated with a group has"),
        pytest.param([(READ, 0, False), (EFFECT, 1, False)], [], [], [False, False], id="a read before it is open"),
        pytest.param([(READ, 0, False), (EFFECT, 1, False)], [0], [], [True], id="the read before it is done"),
        pytest.param([(EFFECT, 0, False), (EFFECT, 1, False)], [], [], [True, False], id="the batch before is open"),
        pytest.param([(EFFECT, 0, False), (EFFECT, 1, False)], [0], [], [True], id="the batch before is done"),
        pytest.param([(IDEMPOTENT, 0, False)] * 3, [1], [], [True, True], id="members of one batch"),
        pytest.param([(IDEMPOTENT, 0, False), (READ, 1, False)], [], [], [True, False], id="a read never acts"),
    ],
)
def test_open_call_says_whether_it_may_have_acted(
    bench: Bench, planned: list[tuple[Effect, int, bool]], filled: list[int], groups: list[int], begun: list[bool]
) -> None:
    made = reply(*["w"] * len(planned))
    seqs = bench.journal.assistant(made, batches(made, *planned))
    for at in groups:
        bench.journal.spawned(seqs[at], pgid=4711, started="1", boot_id="b")
    for at in filled:
        bench.journal.result(result(seqs[at], "done", planned[at][0]))
    left = bench.again().pending()
    assert [call.begun for call in left] == begun
    assert [call.seq for call in left] == [seq for at, seq in enumerate(seqs) if at not in filled]
    assert [call.key for call in left] == [f"{bench.journal.session_id}/{call.seq}" for call in left]


def test_effect_that_was_left_before_it_began_is_known_as_such(bench: Bench) -> None:
    made = reply("w", "w")
    seqs = bench.journal.assistant(made, batches(made, (EFFECT, 0, False), (EFFECT, 1, False)))
    bench.journal.result(result(seqs[0], "done", EFFECT))
    bench.journal.unbegun(seqs[1])
    assert [call.begun for call in bench.again().pending()] == [False]
    assert bench.effects()[seqs[1]] == ("effect", None, False)
    bench.again().redo(seqs[1])
    assert [call.begun for call in bench.again().pending()] == [True]


def test_evidence_names_the_process_group(bench: Bench) -> None:
    made = reply("w")
    (seq,) = bench.journal.assistant(made, plans(made, EFFECT))
    assert "no process of its own" in " ".join(bench.again().pending()[0].evidence)
    bench.journal.spawned(seq, pgid=4711, started="1", boot_id="b")
    assert "process group 4711" in " ".join(bench.again().pending()[0].evidence)


def test_answer_of_a_person_comes_with_the_open_call(bench: Bench) -> None:
    made = reply("w")
    (seq,) = bench.journal.assistant(made, plans(made, EFFECT))
    bench.answer(seq, None, None)
    (open_call,) = bench.again().pending()
    assert (open_call.asked, open_call.decision) == (True, None)
    bench.answer(seq, "denied", "it is in the books")
    (open_call,) = bench.again().pending()
    assert (open_call.asked, open_call.decision, open_call.reason) == (False, "denied", "it is in the books")


def test_effect_begun_once_more_has_no_old_group_and_no_answer(bench: Bench) -> None:
    made = reply("w")
    (seq,) = bench.journal.assistant(made, batches(made, (EFFECT, 0, True)))
    bench.journal.spawned(seq, pgid=4711, started="1", boot_id="b")
    bench.answer(seq, "approved", None)
    again = bench.again()
    assert again.pending()[0].decision == "approved"
    again.redo(seq)
    (open_call,) = again.pending()
    assert (open_call.begun, open_call.decision, open_call.asked) == (False, None, False)
    assert bench.effects() == {seq: ("effect", None, False)}


def test_tokens_of_a_reply_that_was_no_use_are_kept_beside_the_next(bench: Bench) -> None:
    bench.journal.spent(Usage(input=5, output=1), model="small", cost_usd=0.1)
    bench.journal.spent(Usage(input=6, output=1), model="small", cost_usd=None)
    bench.journal.assistant(reply(usage=Usage(input=7, output=2)), [])
    assert bench.usages() == [("main", 5, 1), ("main", 6, 1), ("main", 7, 2)]


def test_what_a_person_says_is_taken_once(bench: Bench) -> None:
    bench.journal.append({"role": "user", "content": "go"})
    assert not bench.journal.asked().steer
    assert bench.journal.steered() == []
    bench.steer("先看订单表")
    bench.steer("be brief")
    assert bench.journal.asked().steer
    said = [{"role": "user", "content": "先看订单表"}, {"role": "user", "content": "be brief"}]
    assert bench.journal.steered() == said
    assert bench.again().messages()[1:] == said
    assert not bench.journal.asked().steer
    assert bench.journal.steered() == []
    made = reply("a")
    seqs = bench.journal.assistant(made, plans(made, READ))
    assert seqs == (5,)


def stands(first: int, last: int, how: How = How.SUMMARY, said: str = "in short", *, ok: bool = True) -> Compacted:
    return Compacted(first=first, last=last, message={"role": "user", "content": said}, how=how, ok=ok)


def told(journal: Journal) -> list[object]:
    return [message["content"] for message in journal.messages()]


def test_a_compaction_is_sent_in_the_place_of_what_it_stands_for(bench: Bench) -> None:
    for number in range(1, 7):
        bench.journal.append({"role": "user", "content": str(number)})
    bench.journal.compact([stands(2, 4)])
    assert told(bench.journal) == ["1", "in short", "5", "6"]
    assert [row.seq for row in bench.journal.transcript()] == [1, 2, 3, 4, 5, 6, 7], "nothing is gone"
    assert bench.journal.append({"role": "user", "content": "7"}) == 8
    assert told(bench.again()) == ["1", "in short", "5", "6", "7"]


def test_a_later_compaction_takes_in_an_earlier_one(bench: Bench) -> None:
    for number in range(1, 7):
        bench.journal.append({"role": "user", "content": str(number)})
    bench.journal.compact([stands(3, 3, How.TRIM, "3 cut"), stands(5, 5, How.TRIM, "5 cut")])
    bench.journal.compact([stands(2, 3, How.DIGEST, "first", ok=False)])
    bench.journal.compact([stands(2, 4, said="second")])
    assert told(bench.again()) == ["1", "second", "5 cut", "6"]
    kept = [(row.covers, row.how, row.ok) for row in bench.journal.transcript() if row.covers]
    assert kept == [
        ((3, 3), How.TRIM, True), ((5, 5), How.TRIM, True), ((2, 3), How.DIGEST, False), ((2, 4), How.SUMMARY, True)
    ]  # fmt: skip


def test_a_result_is_kept_with_its_tool_its_outcome_and_the_effect_of_its_call(bench: Bench) -> None:
    made = reply("look", "write")
    seqs = bench.journal.assistant(made, plans(made, Effect.READ, Effect.EFFECT))
    bench.journal.result(result(seqs[0], "seen"))
    bench.journal.result(result(seqs[1], "no", Effect.EFFECT, ok=False))
    kept = [(row.tool, row.ok, row.effect) for row in bench.journal.transcript()]
    assert kept == [(None, None, None), ("look", True, None), ("write", False, "effect")]


def test_a_session_beside_it_is_gone_on_with_and_not_begun_twice(bench: Bench) -> None:
    copy = [{"role": "user", "content": "what was said"}]
    first = bench.journal.side("summary", 4, HEADER, copy)
    first.assistant(ModelReply(message={"role": "assistant", "content": "short"}, text="short"), [], phase="summary")
    again = bench.again().side("summary", 4, HEADER, [{"role": "user", "content": "another copy"}])
    assert (again.session_id, told(again)) == (first.session_id, ["what was said", "short"])
    assert bench.journal.side("flush", 4, HEADER, copy).session_id != first.session_id
    assert bench.journal.side("summary", 9, HEADER, copy).session_id != first.session_id
    assert told(bench.journal) == []


def test_a_session_beside_it_hears_that_the_run_stops_and_takes_nothing_that_is_said_to_the_run(bench: Bench) -> None:
    side = bench.journal.side("flush", 4, HEADER, [])
    bench.steer("look at the replica, too")
    bench.cancel()
    assert (side.asked().cancel, side.asked().steer) == (True, False)
    assert [message["content"] for message in bench.journal.steered()] == ["look at the replica, too"]
