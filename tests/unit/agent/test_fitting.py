"""A loop in a small window: when it compacts, what is sent then, and what a server's refusal does."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_cron.agent.stop import StopReason
from hermes_cron.agent.weight import Weight
from hermes_cron.domain.compaction import Compacted, Ends, How, Load, Work, unpaired
from hermes_cron.domain.run import Effect
from hermes_cron.domain.transcript import Header, ModelReply, Usage
from hermes_cron.errors import ModelContextLength, ModelUnreachable
from hermes_cron.ports import Fenced
from hermes_cron.testing_journal import MemoryJournal
from tests.agent_rig import call, calls, tool
from tests.compaction_rig import SUMMARY, TASK, Small, asks, counted, gives, small, steps, task, uncounted

LOOK = tool("look", lambda **_: "seen")
DONE = {"text": "all of it is done"}
TOO_LONG = ModelContextLength("request (33056 tokens) exceeds the available context size (32768 tokens)")


def history(count: int) -> list[dict[str, object]]:
    return [task(), *steps(count)]


def compacted(it: Small) -> list[str]:
    return [row.compacted.how.value for row in it.made.journal.rows.values() if row.compacted]


# --- the marks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "expected"), [(4_900, []), (5_100, ["summary"])])
def test_more_than_half_of_the_window_by_the_providers_count_is_compacted_before_the_next_call(
    tmp_path: Path, tokens: int, expected: list[str]
) -> None:
    it = small(tmp_path, [counted(99, tokens), DONE], LOOK, window=10_000, messages=history(20))
    assert it.go().stop is StopReason.FINAL
    assert compacted(it) == expected
    assert len(it.sides.requests) == len(expected)
    it.all_valid()


def test_a_history_above_the_hard_mark_is_compacted_before_the_agent_starts(tmp_path: Path) -> None:
    it = small(tmp_path, [DONE], LOOK, window=2_000, messages=[task(), *steps(40, size=120)], soft=95, hard=85)
    assert it.go().stop is StopReason.FINAL
    (first,) = it.requests()
    assert compacted(it) == ["summary"]
    assert first[0]["content"] == TASK
    assert len(first) < 10


def test_the_hard_net_holds_with_an_engine_that_does_nothing(tmp_path: Path) -> None:
    class Idle:
        asked = 0

        def due(self, load: Load) -> bool:
            self.asked += 1
            return False

        def compact(self, work: Work) -> Sequence[Compacted]:
            raise AssertionError("it said that nothing is due")

    idle = Idle()
    history_ = [task(), *steps(40, size=120)]
    it = small(tmp_path, [DONE], LOOK, window=2_000, messages=history_, engine=lambda _bench: idle)
    assert it.go().stop is StopReason.FINAL
    assert idle.asked == 1
    assert compacted(it) == ["digest"]
    assert not it.sides.requests
    it.all_valid()


def test_the_estimate_is_scaled_by_what_the_provider_counts() -> None:
    weight = Weight(Header(system="x" * 400))
    messages = [task("y" * 400)]
    assert weight.tokens(messages) == 204
    messages.append({"role": "assistant", "content": "z" * 388})
    weight.reported(Usage(input=900, output=0), messages)
    assert weight.tokens(messages) == 900
    messages.append({"role": "user", "content": "w" * 384})
    assert weight.tokens(messages) == 900 + 100 * 900 // 305
    weight.reported(Usage(input=5, output=5, estimated=True), messages)
    assert weight.tokens(messages) > 1_000, "a guess of the client is not the provider's count"


def test_each_message_is_weighed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_cron.agent import weight as module

    seen: list[object] = []
    real = module.message_tokens
    monkeypatch.setattr(module, "message_tokens", lambda message: seen.append(message) or real(message))
    weight, messages = Weight(Header(system="s")), history(50)
    for _ in range(20):
        weight.tokens(messages)
        messages += [asks("n"), gives("n")]
        weight.reported(Usage(input=100), messages)
    assert len(seen) == len(messages)


@pytest.mark.parametrize(("tokens", "times"), [(600, 0), (700, 1)])
def test_a_window_that_is_guessed_is_asked_for_once_and_late(tmp_path: Path, tokens: int, times: int) -> None:
    asked: list[str] = []
    it = small(
        tmp_path, [counted(98, tokens), counted(99, tokens + 1), DONE], LOOK, window=10_000, messages=history(20)
    )
    fit = it.made.run.fit
    assert fit is not None
    it.made.run = replace(it.made.run, fit=replace(fit, window=replace(fit.window, ask=asked.append)))
    assert it.go().stop is StopReason.FINAL
    assert len(asked) == times


# --- what is sent -----------------------------------------------------------------------------------------------------


def test_requests_grow_by_what_is_new_except_at_a_compaction(tmp_path: Path) -> None:
    replies = [uncounted(calls(call("look", {"n": n, "why": "w" * 60}))) for n in range(60)]
    it = small(tmp_path, [*replies, DONE], LOOK, window=1_600, limit=100)
    assert it.go().stop is StopReason.FINAL
    cuts = 0
    sent = [json.dumps(messages) for messages in it.requests()]
    for before, after in itertools.pairwise(sent):
        cuts += not after.startswith(before[:-1])
    assert cuts == len(it.events("compacted")) >= 3
    it.all_valid()
    assert all(messages[0]["content"] == "do it" for messages in it.requests())
    assert "rows" not in it.requests()[0][-1]


def test_a_compaction_waits_until_the_call_in_flight_has_its_result(tmp_path: Path) -> None:
    """Case C185: the side effect happened, the result was lost, and the agent repeated it."""
    ran: list[str] = []

    def snapshot(**_: object) -> str:
        ran.append("snapshot")
        assert not [row for row in it.made.journal.rows.values() if row.compacted], "compacted with a call in flight"
        return "the snapshot is made"

    acting = tool("snapshot", snapshot, effect=Effect.EFFECT)
    it = small(tmp_path, [counted(77, 9_000, name="snapshot"), DONE], acting, LOOK, window=10_000, messages=history(20))
    assert it.go().stop is StopReason.FINAL
    assert ran == ["snapshot"]
    assert compacted(it) == ["summary"]
    assert it.requests()[-1][-1]["content"] == "the snapshot is made"
    it.all_valid()


def test_counters_and_the_guard_remember_what_a_compaction_stands_for(tmp_path: Path) -> None:
    replies = [uncounted(calls(call("look", {"n": n, "why": "w" * 60}))) for n in range(40)]
    it = small(tmp_path, [*replies, DONE], LOOK, window=1_600, limit=100)
    it.go()
    assert compacted(it)
    again = replace(it.made.run, model=it.made.model)
    from hermes_cron.agent.loop import run_agent

    ended = run_agent(again)
    assert (ended.stop, ended.iterations, ended.tool_calls) == (StopReason.FINAL, 41, 40)


def test_a_report_of_a_run_that_was_stopped_counts_all_its_calls(tmp_path: Path) -> None:
    replies = [uncounted({**calls(call("look", {"n": "{{n}}", "why": "w" * 60})), "repeat": True})]
    it = small(tmp_path, replies, LOOK, window=1_600, limit=40)
    ended = it.go()
    assert ended.stop is StopReason.BUDGET_EXHAUSTED
    assert compacted(it)
    assert "40 model calls, 40 tool calls (0 failed)" in ended.text


def test_what_is_reserved_after_a_compaction_is_that_of_the_shorter_request(tmp_path: Path) -> None:
    class Purse:
        reserved: list[int] = []  # noqa: RUF012  # one test's

        def reserve(self, *, model: str, tokens_input: int, tokens_output: int) -> str:
            self.reserved.append(tokens_input)
            return "r"

        def settle(self, *_: object, **__: object) -> None:
            pass

    replies = [counted(99, 90_000), DONE]
    it = small(tmp_path, replies, LOOK, window=100_000, messages=history(20), purse=Purse())
    assert it.go().stop is StopReason.FINAL
    assert compacted(it) == ["summary"]
    assert Purse.reserved[1] < Purse.reserved[0] < 10_000, "not what the provider counted of the request before"


# --- flush and summary ------------------------------------------------------------------------------------------------


def test_memory_is_flushed_with_the_memory_tool_alone_before_the_summary(tmp_path: Path) -> None:
    kept: list[str] = []
    memory = tool("memory", lambda content: kept.append(content) or "kept", effect=Effect.IDEMPOTENT)
    aside = [calls(call("memory", {"content": "prod is db-7"})), {"text": "done"}, {"text": SUMMARY}]
    it = small(
        tmp_path, [counted(99, 6_000), DONE], LOOK, window=10_000, messages=history(20), aside=aside, memory=memory
    )
    assert it.go().stop is StopReason.FINAL
    assert kept == ["prod is db-7"]
    kinds = [kind for kind, _ in it.made.journal.sides]
    assert kinds == ["flush", "summary"]
    flush, _, summary = it.sides.requests
    assert [schema["function"]["name"] for schema in flush.header.tools] == ["memory"]
    assert summary.header.tools == ()
    assert {request.header.model for request in it.sides.requests} == {"aux"}
    assert [name for name, _ in it.made.events if name in ("memory_flushed", "compacted")] == [
        "memory_flushed", "compacted"
    ]  # fmt: skip
    phases = {kind: {phase for phase, _ in side.usages} for (kind, _), side in it.made.journal.sides.items()}
    assert phases == {"flush": {"flush"}, "summary": {"summary"}}


def test_a_flush_that_never_ends_is_bounded_and_other_tools_are_refused_in_it(tmp_path: Path) -> None:
    memory = tool("memory", lambda **_: "kept", effect=Effect.IDEMPOTENT)
    aside = [calls(call("terminal", {"command": "rm -rf /", "n": n})) for n in range(3)] + [{"text": SUMMARY}]
    it = small(
        tmp_path, [counted(99, 6_000), DONE], LOOK, window=10_000, messages=history(20), aside=aside, memory=memory
    )
    assert it.go().stop is StopReason.FINAL
    assert len(it.sides.requests) == 4
    flush = next(side for (kind, _), side in it.made.journal.sides.items() if kind == "flush")
    results = [message["content"] for message in flush.messages() if message["role"] == "tool"]
    assert all("no tool 'terminal'" in text for text in results)
    assert compacted(it) == ["summary"]


def test_when_the_summary_call_fails_nothing_is_lost_and_the_next_compaction_tries_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Case C188: the summary call failed on a network error and 110 messages were dropped with no summary."""
    down = ModelUnreachable("connection refused")
    it = small(
        tmp_path, [counted(990, 6_000), counted(991, 9_900), DONE], LOOK, window=10_000, messages=history(62),
        aside=[down, SUMMARY],
    )  # fmt: skip
    with caplog.at_level("WARNING"):
        assert it.go().stop is StopReason.FINAL
    rows = it.made.journal.transcript()
    assert len([row for row in rows if row.covers is None]) == 125 + 5
    assert [row.how for row in rows if row.covers] == [How.DIGEST, How.SUMMARY]
    digest = next(row for row in rows if row.covers)
    assert digest.ok is False
    assert "No summary could be made (connection refused)" in digest.message["content"]
    assert "a digest stands in its place" in caplog.text
    assert all(messages[0]["content"] == TASK for messages in it.requests())
    assert it.events("compacted")[0]["ok"] is False
    it.all_valid()


def test_a_run_that_is_cancelled_while_it_is_summed_up_keeps_nothing_and_stops(tmp_path: Path) -> None:
    def cancelled(_request: object) -> ModelReply:
        it.made.journal.cancel()
        return ModelReply(message={"role": "assistant", "content": SUMMARY}, text=SUMMARY)

    replies = [counted(99, 6_000), DONE]
    it = small(tmp_path, replies, LOOK, window=10_000, messages=history(20), aside=[cancelled])
    assert it.go().stop is StopReason.CANCELLED
    assert len(it.requests()) == len(it.sides.requests) == 1
    assert not compacted(it)


def test_what_is_said_to_the_run_is_not_taken_by_the_session_beside_it(tmp_path: Path) -> None:
    it = small(tmp_path, [counted(99, 6_000), DONE, DONE], LOOK, window=10_000, messages=history(20))
    it.made.journal.steer("look at the replica, too")
    assert it.go().stop is StopReason.FINAL
    assert "look at the replica, too" in str(it.requests()[0])
    it.made.journal.steer("and at the standby")
    assert all("replica" not in str(side.messages()[1:]) for side in it.made.journal.sides.values())


def test_summaries_of_two_sessions_do_not_mix(tmp_path: Path) -> None:
    """Case C192: a summary from a scheduled session appeared in an unrelated chat."""
    cron = small(
        tmp_path / "cron_1", [counted(99, 6_000), DONE], LOOK, window=10_000,
        messages=[task("the secret of cron"), *steps(20)], aside=[SUMMARY.replace("db-7", "cron-only")],
    )  # fmt: skip
    chat = small(tmp_path / "chat_2", [counted(99, 6_000), DONE], LOOK, window=10_000, messages=history(20))
    threads = [threading.Thread(target=each.go) for each in (cron, chat)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert compacted(cron) == compacted(chat) == ["summary"]
    assert "cron-only" in str(cron.requests()[-1])
    assert "cron" not in str(chat.requests()[-1])
    assert "cron" not in str(chat.sides.requests)


# --- what the server says ---------------------------------------------------------------------------------------------


def refused(window: int | None, requested: int | None) -> ModelContextLength:
    error = ModelContextLength(TOO_LONG.message)
    error.window, error.requested = window, requested
    return error


def test_a_window_that_the_server_names_is_learned_and_one_shorter_request_is_sent(tmp_path: Path) -> None:
    """Case C190: the server stated its real limit; one compression, one retry."""
    it = small(tmp_path, [refused(32_768, 33_056), DONE], LOOK, window=128_000, messages=[task(), *steps(60, size=900)])
    ended = it.go()
    assert (ended.stop, ended.iterations) == (StopReason.FINAL, 61), "the second try is no second step"
    assert it.windows == {"": 32_768}
    assert compacted(it) == ["summary"]
    first, second = it.requests()
    assert len(second) < len(first) // 4
    assert second[0] == first[0]
    assert second[-4:] == first[-4:]
    it.all_valid()


def test_a_refusal_without_a_number_makes_the_window_smaller_than_the_request(tmp_path: Path) -> None:
    it = small(tmp_path, [refused(None, None), DONE], LOOK, window=128_000, messages=[task(), *steps(60, size=900)])
    assert it.go().stop is StopReason.FINAL
    assert 10_000 < it.windows[""] < 20_000


def test_a_request_that_is_refused_twice_ends_the_run_with_the_servers_word(tmp_path: Path) -> None:
    it = small(
        tmp_path, [refused(32_768, 33_056), refused(32_768, 33_000), DONE], LOOK, window=128_000,
        messages=[task(), *steps(60, size=900)],
    )  # fmt: skip
    ended = it.go()
    assert (ended.stop, ended.reason) == (StopReason.MODEL_ERROR, "context_length")
    assert len(it.requests()) == 2


def test_a_refusal_for_the_sake_of_the_reply_weighs_nothing_more_than_the_server_counted(tmp_path: Path) -> None:
    history = [task(), *steps(60, size=900)]
    it = small(tmp_path, [refused(32_768, 25_000), DONE], LOOK, window=128_000, messages=history)
    assert it.go().stop is StopReason.FINAL
    assert it.events("compacted")[0]["before"] == 25_000


def test_where_the_room_for_a_reply_is_too_much_the_remedy_is_named(tmp_path: Path) -> None:
    it = small(tmp_path, [refused(8_192, 767)], LOOK, window=64_000, messages=[task()], max_tokens=8_192)
    ended = it.go()
    assert ended.reason == "context_length"
    assert "hermes-cron config set model.max_tokens=2048" in str(ended.error)


def test_a_task_that_is_too_long_itself_is_not_cut(tmp_path: Path) -> None:
    it = small(tmp_path, [refused(1_000, 5_000), DONE], LOOK, window=128_000, messages=[task("t" * 20_000)])
    assert it.go().reason == "context_length"
    assert len(it.requests()) == 1
    assert not compacted(it)


# --- another engine ---------------------------------------------------------------------------------------------------


class First:
    """Cuts the oldest step and nothing else; ``bad`` parts a call from its result."""

    def __init__(self, *, bad: bool = False) -> None:
        self.bad, self.loads = bad, list[Load]()

    def due(self, load: Load) -> bool:
        self.loads.append(load)
        return load.tokens > 300

    def compact(self, work: Work) -> Sequence[Compacted]:
        message = {"role": "user", "content": "a step was here"}
        return [Compacted(first=2, last=2 if self.bad else 3, message=message, how=How.SUMMARY)]


def test_an_engine_of_ones_own_is_called_and_its_rows_are_kept(tmp_path: Path) -> None:
    mine = First()
    it = small(tmp_path, [DONE], LOOK, messages=history(20), engine=lambda _bench: mine, ends=Ends(head=3, tail=20))
    assert it.go().stop is StopReason.FINAL
    assert mine.loads[0].window == 2_000
    assert it.requests()[0][1]["content"] == "a step was here"
    it.all_valid()


def test_rows_of_an_engine_that_would_break_the_conversation_are_not_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    it = small(tmp_path, [DONE], LOOK, messages=history(20), engine=lambda _bench: First(bad=True))
    assert it.go().stop is StopReason.FINAL
    assert not compacted(it)
    assert "a result without its call" in caplog.text
    assert unpaired(it.requests()[0]) is None


def test_an_engine_that_crashes_ends_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(First):
        def compact(self, work: Work) -> Sequence[Compacted]:
            raise ZeroDivisionError

    long = [task(), *steps(40, size=120)]
    it = small(tmp_path, [DONE], LOOK, window=2_000, messages=long, engine=lambda _bench: Broken())
    assert it.go().stop is StopReason.FINAL
    assert compacted(it) == ["digest"]
    assert "the context engine crashed" in caplog.text


def test_a_lost_run_is_lost_while_it_is_compacted_too(tmp_path: Path) -> None:
    class Lost(First):
        def compact(self, work: Work) -> Sequence[Compacted]:
            raise Fenced

    with pytest.raises(Fenced):
        small(tmp_path, [DONE], LOOK, messages=history(20), engine=lambda _bench: Lost()).go()


def test_a_journal_of_a_test_can_be_compacted_by_hand() -> None:
    journal = MemoryJournal(Header(system="s"), history(3))
    journal.compact([Compacted(first=2, last=3, message={"role": "user", "content": "short"}, how=How.SUMMARY)])
    assert [message.get("content") for message in journal.messages()][1] == "short"
