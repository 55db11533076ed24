"""What runs together, what never does, and that order stays."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.agent.batch import groups
from hermes_cron.agent.stop import StopReason
from hermes_cron.agent.workers import run_all
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import PreparedCall, arguments_hash
from hermes_cron.domain.transcript import ToolCall
from tests.agent_rig import call, calls, rig, tool, writer


class Gauge:
    """How many are inside at once; ``most`` is the peak."""

    def __init__(self) -> None:
        self.most = self._now = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._now -= 1


def read() -> PreparedCall:
    return prepared(Effect.READ)


def write(*paths: str, effect: Effect = Effect.IDEMPOTENT) -> PreparedCall:
    return prepared(effect, tuple(Path(path) for path in paths))


def prepared(effect: Effect, paths: tuple[Path, ...] | None = None) -> PreparedCall:
    made = ToolCall(id="c", name="t", arguments="{}")
    return PreparedCall(call=made, effect=effect, arguments_hash="h", paths=paths)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([read(), read(), read()], [[0, 1, 2]], id="reads"),
        pytest.param([write("/a"), write("/b")], [[0, 1]], id="two files"),
        pytest.param([write("/a"), write("/a")], [[0], [1]], id="the same file"),
        pytest.param([write("/a"), write("/a/b")], [[0], [1]], id="folder and what is in it"),
        pytest.param([write("/a/b"), write("/a")], [[0], [1]], id="file and its folder"),
        pytest.param([write("/ab"), write("/a")], [[0, 1]], id="a prefix of the name is no folder"),
        pytest.param([write("/a", "/b"), write("/c", "/b/x")], [[0], [1]], id="one of several paths"),
        pytest.param([write("/a"), write("/b"), write("/a")], [[0, 1], [2]], id="third touches first"),
        pytest.param([read(), write("/a"), read()], [[0], [1], [2]], id="a read after a write sees it"),
        pytest.param([prepared(Effect.EFFECT), prepared(Effect.EFFECT)], [[0], [1]], id="effects without a path"),
        pytest.param([write("/a", effect=Effect.EFFECT), write("/b")], [[0, 1]], id="an effect with a path"),
        pytest.param([prepared(Effect.VERIFIABLE), write("/b")], [[0], [1]], id="one without a path"),
    ],
)
def test_groups(made: list[PreparedCall], expected: list[list[int]]) -> None:
    assert groups(made) == expected


def test_twenty_reads_run_eight_at_a_time_and_keep_their_order(tmp_path: Path) -> None:
    """A barrier of eight passes only when eight are inside; the last four of twenty wait for each other."""
    gauge, eight, four = Gauge(), threading.Barrier(8), threading.Barrier(4)

    def look(n: int) -> str:
        with gauge:
            (eight if n < 16 else four).wait(60)
        return f"result {n}"

    made = rig(tmp_path, [calls(*[call("look", {"n": n}) for n in range(20)]), {"text": "done"}], tool("look", look))
    result = made.go()
    assert gauge.most == 8
    assert made.tool_texts() == [f"result {n}" for n in range(20)]
    assert (result.tool_calls, result.tool_errors) == (20, 0)


def test_writes_to_one_path_follow_one_another(tmp_path: Path) -> None:
    gauge, target = Gauge(), tmp_path / "a.txt"

    def put(path: str, text: str) -> str:
        with gauge:
            Path(path).write_text(text)
        return "ok"

    script: list[Any] = [
        calls(call("put", {"path": str(target), "text": "1"}), call("put", {"path": str(target), "text": "2"})),
        {"text": "done"},
    ]
    rig(tmp_path, script, writer("put", put)).go()
    assert gauge.most == 1
    assert target.read_text() == "2"


def test_writes_to_two_paths_overlap(tmp_path: Path) -> None:
    both = threading.Barrier(2)

    def put(path: str) -> str:
        both.wait(60)
        return path

    script: list[Any] = [calls(call("put", {"path": "/a"}), call("put", {"path": "/b"})), {"text": "done"}]
    made = rig(tmp_path, script, writer("put", put))
    assert made.go().tool_errors == 0
    assert made.tool_texts() == ["/a", "/b"]


def test_receipt_of_a_fast_write_does_not_wait_for_a_slow_one(tmp_path: Path) -> None:
    fast_kept = threading.Event()

    def put(path: str) -> str:
        if path == "/slow":
            assert fast_kept.wait(60)
        return path

    made = rig(
        tmp_path,
        [calls(call("put", {"path": "/slow"}), call("put", {"path": "/fast"})), {"text": "done"}],
        writer("put", put),
        emit=lambda name, facts: fast_kept.set() if (name, facts.get("seq")) == ("tool_finished", 4) else None,
    )
    assert made.go().tool_errors == 0
    assert [seqs for kind, seqs in made.journal.commits if kind == "result"] == [(4,), (3,)]


def test_progress_is_told_one_event_at_a_time(tmp_path: Path) -> None:
    gauge, eight = Gauge(), threading.Barrier(8)

    def listen(_name: str, _facts: object) -> None:
        with gauge:
            threading.Event().wait(0.002)

    def look(n: int) -> str:
        eight.wait(60)
        return str(n)

    script: list[Any] = [calls(*[call("look", {"n": n}) for n in range(8)]), {"text": "done"}]
    rig(tmp_path, script, tool("look", look), emit=listen).go()
    assert gauge.most == 1


def test_budget_is_never_exceeded_by_a_hundred_threads() -> None:
    budget, start = Budget(90), threading.Barrier(100)
    yes: list[bool] = []

    def take() -> None:
        start.wait(60)
        yes.append(budget.consume())

    threads = [threading.Thread(target=take) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (sum(yes), len(yes), budget.used, budget.left) == (90, 100, 90, 0)


def test_budget_takes_all_or_nothing() -> None:
    budget = Budget(3)
    assert budget.consume(2)
    assert not budget.consume(2)
    assert budget.left == 1
    with pytest.raises(ValueError, match="-1"):
        Budget(-1)


def test_hash_of_arguments_is_of_their_meaning() -> None:
    assert arguments_hash('{"a":1,"b":"\u8bd5"}') == arguments_hash('{ "b" : "\\u8bd5", "a": 1 }')
    assert arguments_hash("") == arguments_hash("{}")
    assert arguments_hash('{"a":1}') != arguments_hash('{"a":"1"}')
    assert arguments_hash("{broken") != arguments_hash("{")


# --- a read that hangs ---------------------------------------------------------------------------------------------


def test_read_that_hangs_does_not_hold_the_run(tmp_path: Path) -> None:
    release = threading.Event()

    def look(n: int) -> str:
        if n == 1:
            release.wait(20)
        return f"result {n}"

    made = rig(
        tmp_path,
        [calls(*[call("look", {"n": n}) for n in range(3)]), {"text": "never asked"}],
        tool("look", look), deadline=time.monotonic() + 0.1, grace_s=0.2,
    )  # fmt: skip
    try:
        result = made.go()
    finally:
        release.set()
    assert result.stop is StopReason.DEADLINE
    first, hung, third = made.tool_texts()
    assert (first, third) == ("result 0", "result 2")
    assert "given up" in hung
    assert len(made.model.requests) == 1


def test_write_is_waited_for_beyond_the_deadline(tmp_path: Path) -> None:
    late = threading.Event()
    timer = threading.Timer(0.3, late.set)
    timer.start()

    def act() -> str:
        assert late.wait(60)
        return "whole"

    made = rig(
        tmp_path, [calls(call("act")), {"text": "x"}], tool("act", act, effect=Effect.EFFECT),
        deadline=time.monotonic() + 0.1, grace_s=0.0,
    )  # fmt: skip
    assert made.go().stop is StopReason.DEADLINE
    assert made.tool_texts() == ["whole"]
    assert list(made.journal.receipts.values()) == [True]


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_results_come_in_order_whatever_the_workers(workers: int) -> None:
    assert run_all(lambda at: at * at, 20, workers=workers, until=time.monotonic() + 10) == [n * n for n in range(20)]


def test_error_of_a_worker_is_raised_after_the_others_ended() -> None:
    ended: list[int] = []

    def work(at: int) -> None:
        if at == 0:
            raise KeyError("first")
        ended.append(at)

    with pytest.raises(KeyError, match="first"):
        run_all(work, 5, workers=2, until=time.monotonic() + 10)
    assert sorted(ended) == [1, 2, 3, 4]
