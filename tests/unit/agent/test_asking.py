"""Which model is asked, how often, and on whose money."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.agent.stop import LoopResult, StopReason
from hermes_cron.domain.run import RunState
from hermes_cron.domain.transcript import Header, ModelReply, Usage
from hermes_cron.errors import (
    BudgetExceeded,
    EmptyReply,
    ModelAuth,
    ModelBadRequest,
    ModelError,
    ModelGarbage,
    ModelOverloaded,
    ModelRateLimited,
    ModelTimeout,
    ModelUnknown,
    ModelUnreachable,
    StreamTruncated,
)
from hermes_cron.testing_journal import MemoryJournal
from tests import model_rig
from tests.agent_rig import Rig, call, calls, rig, tool

MAX_TOKENS = 50


class TestPurse:
    """Counts tokens; ``cap`` None holds nobody back. ``reserved`` and ``settled`` are what was said to it."""

    __test__ = False

    def __init__(self, cap: int | None = None) -> None:
        self.cap = cap
        self.used = 0
        self.reserved: list[tuple[str, int, int]] = []
        self.settled: list[tuple[str | None, Usage | None, float | None, str]] = []
        self._open: dict[str, int] = {}

    def reserve(self, *, model: str, tokens_input: int, tokens_output: int) -> str:
        worst = tokens_input + tokens_output
        if self.cap is not None and self.used + worst > self.cap:
            raise BudgetExceeded(f"a cap of {self.cap} tokens", details={"cap": "limits.tokens"})
        name = f"s{len(self.reserved) + 1}"
        self.reserved.append((model, tokens_input, tokens_output))
        self._open[name] = worst
        self.used += worst
        return name

    def settle(self, reservation: str | None, *, usage: Usage | None, cost_usd: float | None, model: str) -> None:
        assert reservation is not None
        worst = self._open.pop(reservation)
        if usage is not None:
            self.used += usage.input + usage.output - worst
        self.settled.append((reservation, usage, cost_usd, model))

    @property
    def open(self) -> int:
        return len(self._open)


def said(text: str, *, used: tuple[int, int] = (100, 5), model: str = "big", cost: float | None = 0.5) -> ModelReply:
    return ModelReply(
        message={"role": "assistant", "content": text},
        text=text,
        usage=Usage(input=used[0], output=used[1]),
        model=model,
        cost_usd=cost,
    )


def fault(kind: type[ModelError], *, usage: Usage | None = None, cost: float | None = None, **more: Any) -> ModelError:
    error = kind("no")
    error.usage, error.cost_usd = usage, cost
    for name, value in more.items():
        setattr(error, name, value)
    return error


def asked(tmp_path: Path, *replies: Any, purse: TestPurse | None = None, models: tuple[str, ...] = ()) -> Rig:
    made = rig(tmp_path, list(replies), purse=purse, models=models, max_tokens=MAX_TOKENS)
    made.journal = MemoryJournal(Header(system="You are a test.", model="big"), [{"role": "user", "content": "do it"}])
    made.run = replace(made.run, journal=made.journal)
    return made


def models_of(made: Rig) -> list[str]:
    return [request.model or request.header.model for request in made.model.requests]


def fallbacks(made: Rig) -> list[tuple[object, object, object]]:
    return [
        (facts["model"], facts["fallback"], facts["reason"]) for name, facts in made.events if name == "model_fallback"
    ]


# --- once more -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [EmptyReply("e"), StreamTruncated("c"), fault(ModelUnreachable, paid=True), said(" ")],
    ids=["empty", "cut", "lost on its way", "blank"],
)
def test_reply_that_is_no_use_is_asked_for_once_more(tmp_path: Path, first: Any) -> None:
    made = asked(tmp_path, first, said("fine"))
    result = made.go()
    assert (result.text, result.iterations) == ("fine", 1)
    one, other = made.model.requests
    assert json.dumps(list(one.messages)) == json.dumps(list(other.messages))


@pytest.mark.parametrize("kind", [EmptyReply, StreamTruncated])
def test_and_not_twice(tmp_path: Path, kind: type[ModelError]) -> None:
    result = asked(tmp_path, kind("1"), kind("2"), said("too late")).go()
    assert (result.stop, result.reason) == (StopReason.MODEL_ERROR, kind.reason)
    assert isinstance(result.fault, kind)


@pytest.mark.parametrize("kind", [ModelRateLimited, ModelOverloaded, ModelAuth, ModelTimeout, ModelUnreachable])
def test_other_faults_are_not_repeated_here(tmp_path: Path, kind: type[ModelError]) -> None:
    made = asked(tmp_path, kind("no"), said("too late"))
    result = made.go()
    assert (result.reason, len(made.model.requests)) == (kind.reason, 1)


def test_what_a_useless_reply_cost_is_kept(tmp_path: Path) -> None:
    made = asked(tmp_path, fault(EmptyReply, usage=Usage(input=70, output=9), cost=0.1), said("fine"))
    result = made.go()
    assert made.journal.usages == [("main", Usage(input=70, output=9)), ("main", Usage(input=100, output=5))]
    assert result.usage == Usage(input=170, output=14)


def test_what_a_fault_cost_that_ends_the_run_is_kept(tmp_path: Path) -> None:
    made = asked(tmp_path, fault(ModelGarbage, usage=Usage(input=70, output=9)))
    assert made.go().usage == Usage(input=70, output=9)
    assert made.journal.usages == [("main", Usage(input=70, output=9))]


# --- the result says why -------------------------------------------------------------------------------------------


def test_fault_and_progress_come_along(tmp_path: Path) -> None:
    error = fault(ModelRateLimited, retry_after_s=40.0)
    result = asked(tmp_path, error).go()
    assert (result.fault, result.progressed) == (error, False)
    made = rig(tmp_path, [calls(call("look")), error], tool("look", lambda: "seen"))
    result = made.go()
    assert (result.fault, result.progressed) == (error, True)


# --- money ---------------------------------------------------------------------------------------------------------


def test_first_call_reserves_every_byte_and_the_next_what_is_new(tmp_path: Path) -> None:
    purse = TestPurse()
    reply = {**calls(call("look")), "usage": {"prompt_tokens": 30, "completion_tokens": 4}}
    made = rig(tmp_path, [reply, {"text": "done"}], tool("look", lambda: "seen"), purse=purse, max_tokens=MAX_TOKENS)
    made.go()
    first, second = purse.reserved
    header = made.journal.header()
    whole = len(header.system) + len(json.dumps(list(header.tools))) + len("do it")
    assert first[1] >= whole
    assert first[2] == second[2] == MAX_TOKENS
    answer = made.journal.messages()[2]
    assert second[1] == 30 + 4 + len(json.dumps(answer, ensure_ascii=False).encode())
    assert purse.open == 0


def test_chinese_is_reserved_by_its_bytes(tmp_path: Path) -> None:
    purse = TestPurse()
    made = rig(tmp_path, ["好"], purse=purse, messages=[{"role": "user", "content": "查" * 1000}])
    made.go()
    assert purse.reserved[0][1] > 3000


def test_settled_with_what_was_used(tmp_path: Path) -> None:
    purse = TestPurse()
    asked(tmp_path, said("fine"), purse=purse).go()
    assert purse.settled == [("s1", Usage(input=100, output=5), 0.5, "big")]
    assert purse.used == 105


@pytest.mark.parametrize(
    ("error", "usage", "cost"),
    [
        pytest.param(fault(ModelOverloaded), Usage(), 0.0, id="free"),
        pytest.param(fault(ModelTimeout), None, None, id="may have been paid"),
        pytest.param(
            fault(ModelGarbage, usage=Usage(input=7), cost=0.2), Usage(input=7), 0.2, id="paid, and the server says it"
        ),
    ],
)
def test_settled_when_there_is_no_reply(
    tmp_path: Path, error: ModelError, usage: Usage | None, cost: float | None
) -> None:
    purse = TestPurse()
    asked(tmp_path, error, purse=purse).go()
    assert [settled[1:3] for settled in purse.settled] == [(usage, cost)]
    assert (purse.used > 0) is (usage is None or usage.input > 0)


def test_each_try_has_its_own_reservation(tmp_path: Path) -> None:
    purse = TestPurse()
    asked(tmp_path, StreamTruncated("c"), said("fine"), purse=purse).go()
    assert [settled[0] for settled in purse.settled] == ["s1", "s2"]


def test_cap_ends_the_run_with_what_it_has(tmp_path: Path) -> None:
    purse = TestPurse(cap=4000)
    reply = {"text": "Look {{n}}", "tool_calls": [call("look", {"n": "{{n}}"})], "repeat": True}
    reply["usage"] = {"prompt_tokens": 900, "completion_tokens": 100}
    made = rig(
        tmp_path, [reply], tool("look", lambda n: f"disk {n} is full"), purse=purse, max_tokens=MAX_TOKENS
    )  # fmt: skip
    result = made.go()
    assert (result.stop, result.stop.state) == (StopReason.BUDGET_EXHAUSTED, RunState.BUDGET_EXHAUSTED)
    assert result.reason == "limits.tokens"
    assert result.iterations == len(made.model.requests) > 0
    assert "a cap of 4000 tokens" in result.text
    assert "look: disk" in result.text
    assert purse.used <= 4000


def test_cap_that_allows_no_call_makes_none(tmp_path: Path) -> None:
    made = asked(tmp_path, said("never"), purse=TestPurse(cap=10))
    result = made.go()
    assert (result.stop, result.iterations, made.model.requests) == (StopReason.BUDGET_EXHAUSTED, 0, [])
    assert "model_called" not in [name for name, _ in made.events]


# --- other models --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ModelRateLimited, ModelOverloaded, ModelTimeout, ModelUnreachable, ModelUnknown])
def test_next_listed_model_answers(tmp_path: Path, kind: type[ModelError]) -> None:
    made = asked(tmp_path, kind("no"), said("fine", model="small"), models=("small", "third"))
    result = made.go()
    assert (result.text, result.model, result.iterations) == ("fine", "small", 1)
    assert models_of(made) == ["big", "small"]
    assert fallbacks(made) == [("big", "small", kind.reason)]


@pytest.mark.parametrize("kind", [ModelAuth, ModelBadRequest, ModelGarbage])
def test_fault_that_another_model_would_meet_too_is_the_end(tmp_path: Path, kind: type[ModelError]) -> None:
    made = asked(tmp_path, kind("no"), said("never"), models=("small",))
    assert made.go().reason == kind.reason
    assert models_of(made) == ["big"]


def test_no_model_is_asked_that_is_not_listed(tmp_path: Path) -> None:
    made = asked(tmp_path, ModelOverloaded("no"), said("never"))
    assert made.go().reason == "model_overloaded"
    assert models_of(made) == ["big"]


def test_loop_stays_with_the_model_that_answered(tmp_path: Path) -> None:
    made = rig(
        tmp_path,
        [ModelOverloaded("no"), calls(call("look")), {"text": "done"}],
        tool("look", lambda: "seen"),
        models=("small",),
    )
    result = made.go()
    assert [request.model for request in made.model.requests] == [None, "small", "small"]
    assert (result.model, result.iterations) == ("small", 2)


def test_cut_reply_is_asked_for_again_before_another_model(tmp_path: Path) -> None:
    made = asked(tmp_path, StreamTruncated("1"), StreamTruncated("2"), said("fine", model="small"), models=("small",))
    assert made.go().text == "fine"
    assert models_of(made) == ["big", "big", "small"]


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ((ModelRateLimited, ModelUnknown), ModelRateLimited),
        ((ModelUnknown, ModelOverloaded), ModelOverloaded),
        ((ModelUnknown, ModelUnknown), ModelUnknown),
        ((ModelOverloaded, ModelAuth), ModelOverloaded),
    ],
)
def test_when_none_answers_the_fault_that_may_pass_is_told(
    tmp_path: Path, errors: tuple[type[ModelError], ...], told: type[ModelError]
) -> None:
    result = asked(tmp_path, *[kind("no") for kind in errors], models=("small",)).go()
    assert isinstance(result.fault, told)


def test_fallback_that_a_cap_forbids_is_not_asked(tmp_path: Path) -> None:
    class Dear(TestPurse):
        def reserve(self, *, model: str, tokens_input: int, tokens_output: int) -> str:
            if model == "dear":
                raise BudgetExceeded("too dear", details={"cap": "limits.cost_usd"})
            return super().reserve(model=model, tokens_input=tokens_input, tokens_output=tokens_output)

    made = asked(tmp_path, ModelOverloaded("no"), said("fine"), purse=Dear(), models=("dear", "small"))
    assert made.go().text == "fine"
    assert models_of(made) == ["big", "small"]
    alone = asked(tmp_path, ModelOverloaded("no"), purse=Dear(), models=("dear",))
    assert alone.go().reason == "model_overloaded"


def test_cancelled_run_asks_no_further_model(tmp_path: Path) -> None:
    def cancel(_request: Any) -> ModelReply:
        made.journal.cancel()
        raise ModelOverloaded("no")

    made = asked(tmp_path, cancel, said("never"), models=("small",))
    result: LoopResult = made.go()
    assert (result.stop, len(made.model.requests)) == (StopReason.CANCELLED, 1)


def test_request_names_the_model_that_is_asked(tmp_path: Path) -> None:
    """With the real client: 404 is what servers say of a model that they do not have."""
    script = [{"status": 404, "body": {"error": {"message": "model not found"}}}, "fine"]
    with model_rig.rig(script) as server:
        result = rig(tmp_path, [], model=server.model, models=("small",)).go()
        assert [json.loads(body)["model"] for body in server.stub.bodies] == ["m", "small"]
    assert (result.text, result.fault) == ("fine", None)
