"""A session whose last reply has calls without a result is gone on with: nothing is lost, nothing is done twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.agent.loop import run_agent
from hermes_cron.agent.stop import LoopResult, StopReason
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.command import Halt
from hermes_cron.domain.run import Effect, RunState
from hermes_cron.domain.tool_call import Probe, ToolOutput
from hermes_cron.testing import ScriptedModel
from hermes_cron.testing_journal import MemoryJournal
from hermes_cron.tools.declaration import Tool
from tests.agent_rig import Rig, call, calls, rig, tool


class Killed(BaseException):
    """Stands for ``kill -9``: nothing of the loop runs after it."""


class World:
    """What tools changed, and how often; a tool dies before or after its act when told so."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.keys: list[str] = []
        self.die: dict[str, str] = {}  # name of the act: "before" or "after"
        self.together: threading.Barrier | None = None  # acts wait until all have begun

    def act(self, name: str) -> str:
        if self.together is not None:
            self.together.wait(20)
        if self.die.get(name) == "before":
            raise Killed
        self.done.append(name)
        if self.die.get(name) == "after":
            raise Killed
        return f"{name} done"

    def tool(self, effect: Effect, **more: Any) -> Tool:
        """A tool ``act`` with one argument, the act's name."""

        def handler(arguments: Any, context: Any) -> str:
            self.keys.append(context.key)
            return self.act(arguments.name)

        if effect is Effect.VERIFIABLE:
            more.setdefault("probe", self.probe)
        return replace(tool("act", lambda: "", effect=effect, **more), handler=handler)

    def probe(self, arguments: Any, context: Any) -> Probe:
        assert context.key == self.keys[0], "what it looks for can be named by the key"
        happened = arguments.name in self.done
        return Probe(happened=happened, text="found" if happened else "not found")


def by_name(name: str) -> Callable[..., tuple[Path, ...]]:
    """Acts of different names touch different paths, and so may run together."""
    return lambda arguments, _context: (Path("/") / getattr(arguments, name),)


def act(name: str) -> dict[str, Any]:
    return call("act", {"name": name})


def killed(made: Rig) -> None:
    with pytest.raises(Killed):
        made.go()


def again(made: Rig, *replies: Any, tools: tuple[Tool, ...] = ()) -> LoopResult:
    """Another process goes on with the session."""
    made.model = ScriptedModel(list(replies))
    toolbox = made.run.toolbox
    if tools:
        toolbox.tools = {each.name: each for each in tools}  # type: ignore[attr-defined]
    made.run = replace(made.run, model=made.model, budget=Budget(90), guard=type(made.run.guard)())
    return run_agent(made.run)


def one_act(tmp_path: Path, world: World, effect: Effect, die: str, **more: Any) -> Rig:
    world.die = {"a": die}
    made = rig(tmp_path, [calls(act("a"))], world.tool(effect, **more))
    killed(made)
    world.die = {}
    return made


@pytest.mark.parametrize("die", ["before", "after"])
@pytest.mark.parametrize("effect", [Effect.READ, Effect.IDEMPOTENT])
def test_what_may_be_repeated_is_done_again(tmp_path: Path, effect: Effect, die: str) -> None:
    world = World()
    made = one_act(tmp_path, world, effect, die)
    result = again(made, {"text": "fine"})
    assert (result.stop, result.text) == (StopReason.FINAL, "fine")
    assert made.tool_texts() == ["a done"]
    assert len(world.keys) == 2
    assert world.keys[0] == world.keys[1], "the same key, so that the other side can tell a repetition"
    assert world.keys[0].startswith(made.journal.session_id)


@pytest.mark.parametrize(("die", "answer"), [("before", "a done"), ("after", "found")])
def test_probe_decides(tmp_path: Path, die: str, answer: str) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.VERIFIABLE, die)
    result = again(made, {"text": "fine"})
    assert (result.stop, world.done) == (StopReason.FINAL, ["a"])
    assert answer in made.tool_texts()[0]


def test_probe_that_cannot_tell_parks(tmp_path: Path) -> None:
    world = World()
    cannot = lambda *_: Probe(happened=None, text="the book is locked")  # noqa: E731
    made = one_act(tmp_path, world, Effect.VERIFIABLE, "after", probe=cannot)
    result = again(made)
    assert (result.stop, world.done) == (StopReason.PARKED, ["a"])
    assert "looked up: the book is locked" in result.parked[0].evidence


def test_probe_that_crashes_parks(tmp_path: Path) -> None:
    world = World()

    def crash(*_: Any) -> Probe:
        raise OSError("no route")

    made = one_act(tmp_path, world, Effect.VERIFIABLE, "after", probe=crash)
    assert again(made).stop is StopReason.PARKED


@pytest.mark.parametrize("die", ["before", "after"])
def test_effect_is_never_repeated_on_a_guess(tmp_path: Path, die: str) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.EFFECT, die)
    before = list(world.done)
    result = again(made)
    assert (result.stop, result.stop.state) == (StopReason.PARKED, RunState.WAITING_APPROVAL)
    assert world.done == before
    assert made.model.requests == []
    (parked,) = result.parked
    assert (parked.tool, parked.arguments, parked.session_id) == ("act", '{"name": "a"}', made.journal.session_id)
    told = " ".join(parked.evidence)
    assert "no result was kept" in told
    assert "not known: whether it did" in told
    assert made.journal.receipts == {}


def test_process_group_stands_in_the_evidence(tmp_path: Path) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.EFFECT, "after")
    made.journal.spawned(3, pgid=4711, started="1", boot_id="b")
    assert "process group 4711" in " ".join(again(made).parked[0].evidence)


def test_parked_effect_stays_parked_until_somebody_answers(tmp_path: Path) -> None:
    made = one_act(tmp_path, World(), Effect.EFFECT, "after")
    first = again(made).parked
    made.journal.answer(first[0].seq, None)
    assert again(made).parked == first


def test_approved_effect_is_done(tmp_path: Path) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.EFFECT, "before")
    made.journal.answer(again(made).parked[0].seq, "approved")
    result = again(made, {"text": "fine"})
    assert (result.stop, world.done, made.tool_texts()) == (StopReason.FINAL, ["a"], ["a done"])


def test_approval_counts_for_one_try(tmp_path: Path) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.EFFECT, "before")
    made.journal.answer(again(made).parked[0].seq, "approved")
    world.die = {"a": "after"}
    with pytest.raises(Killed):
        again(made)
    world.die = {}
    assert again(made).stop is StopReason.PARKED, "it may have happened now: a person is asked anew"
    assert world.done == ["a"]


@pytest.mark.parametrize(
    ("decision", "reason", "said"),
    [
        ("denied", "it is in\nthe books", "Their reason: it is in the books"),
        ("denied", None, "a person said that it happened already or must not be done"),
        ("expired", None, "nobody answered in time"),
    ],
)
def test_refused_effect_is_answered_and_not_done(tmp_path: Path, decision: str, reason: str | None, said: str) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.EFFECT, "before")
    made.journal.answer(again(made).parked[0].seq, decision, reason)
    result = again(made, {"text": "without it then"})
    assert (result.text, world.done, result.tool_errors) == ("without it then", [], 1)
    assert said in made.tool_texts()[0]
    assert said in str(made.model.requests[0].messages[-1]["content"])


def test_finished_members_of_a_batch_are_not_repeated(tmp_path: Path) -> None:
    world = World()
    world.die = {"b": "after"}
    world.together = threading.Barrier(3)
    made = rig(tmp_path, [calls(act("a"), act("b"), act("c"))], world.tool(Effect.IDEMPOTENT, paths=by_name("name")))
    killed(made)
    world.die, world.together = {}, None
    assert sorted(world.done) == ["a", "b", "c"]
    again(made, {"text": "fine"})
    assert sorted(world.done) == ["a", "b", "b", "c"]
    assert made.tool_texts() == ["a done", "b done", "c done"]
    sent = [message.get("tool_call_id") for message in made.model.requests[0].messages if message["role"] == "tool"]
    assert sent == [each["id"] for each in made.journal.messages()[1]["tool_calls"]]


def test_rest_of_the_batch_is_finished_before_the_run_parks(tmp_path: Path) -> None:
    """``a`` (an effect) and ``b`` ran together; ``c`` comes after them and may rest on both."""
    world = World()
    world.die = {"a": "after", "b": "before"}
    world.together = threading.Barrier(2)
    made = rig(
        tmp_path,
        [calls(act("a"), call("other", {"name": "b"}), act("a"))],
        world.tool(Effect.EFFECT, paths=by_name("name")),
        replace(world.tool(Effect.IDEMPOTENT, paths=by_name("name")), name="other"),
    )
    killed(made)
    world.die, world.together = {}, None
    result = again(made)
    assert result.stop is StopReason.PARKED
    assert [parked.seq for parked in result.parked] == [3]
    assert sorted(world.done) == ["a", "b"], "b was finished, the second a was not begun"
    made.journal.answer(3, "denied")
    assert again(made, {"text": "fine"}).stop is StopReason.FINAL
    assert sorted(world.done) == ["a", "a", "b"], "the second a had not begun, so it needs nobody's word"


def test_batch_that_was_not_reached_is_run(tmp_path: Path) -> None:
    world = World()
    world.die = {"r": "before"}
    made = rig(
        tmp_path,
        [calls(call("look", {"name": "r"}), act("a"))],
        world.tool(Effect.EFFECT),
        replace(world.tool(Effect.READ), name="look"),
    )
    killed(made)
    world.die = {}
    assert again(made, {"text": "fine"}).stop is StopReason.FINAL
    assert world.done == ["r", "a"]


def test_release_while_open_calls_are_finished_leaves_the_rest_as_not_begun(tmp_path: Path) -> None:
    world, halt = World(), Halt()
    world.die = {"r": "before"}
    look = tool("look", lambda **_: world.act("r"))
    made = rig(tmp_path, [calls(call("look"), act("a"))], world.tool(Effect.EFFECT), look)
    killed(made)
    world.die = {}
    releasing = tool("look", lambda **_: halt.release() or "seen")
    made.run = replace(made.run, cancel=halt)
    assert again(made, tools=(world.tool(Effect.EFFECT), releasing)).stop is StopReason.RELEASED
    made.run = replace(made.run, cancel=Halt())
    assert again(made, {"text": "fine"}).stop is StopReason.FINAL, "nobody is asked about what never began"
    assert world.done == ["a"]


def test_gated_effect_without_a_process_never_began(tmp_path: Path) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.EFFECT, "before", gated=True)
    assert again(made, {"text": "fine"}).stop is StopReason.FINAL
    assert world.done == ["a"]


def test_tool_that_is_gone_answers_an_error(tmp_path: Path) -> None:
    made = one_act(tmp_path, World(), Effect.READ, "before")
    result = again(made, {"text": "fine"}, tools=(tool("other", lambda: ""),))
    assert (result.stop, result.tool_errors) == (StopReason.FINAL, 1)
    assert "no tool 'act'" in made.tool_texts()[0]


def test_effect_of_a_tool_that_is_gone_is_parked_all_the_same(tmp_path: Path) -> None:
    made = one_act(tmp_path, World(), Effect.EFFECT, "before")
    assert again(made, tools=(tool("other", lambda: ""),)).stop is StopReason.PARKED


@pytest.mark.parametrize(
    ("then", "now"), [(Effect.EFFECT, Effect.IDEMPOTENT), (Effect.IDEMPOTENT, Effect.EFFECT)], ids=["laxer", "stricter"]
)
def test_stricter_of_two_declarations_holds(tmp_path: Path, then: Effect, now: Effect) -> None:
    world = World()
    made = one_act(tmp_path, world, then, "after")
    assert again(made, tools=(world.tool(now),)).stop is StopReason.PARKED
    assert world.done == ["a"]


def test_read_that_became_a_writer_is_not_run(tmp_path: Path) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.READ, "before")
    again(made, {"text": "fine"}, tools=(world.tool(Effect.EFFECT),))
    assert world.done == []
    assert "changes things now" in made.tool_texts()[0]


def test_request_after_the_crash_begins_with_the_one_before_it(tmp_path: Path) -> None:
    world = World()
    world.die = {"b": "before"}
    made = rig(tmp_path, [calls(act("a")), calls(act("b"))], world.tool(Effect.IDEMPOTENT))
    killed(made)
    before = made.bodies()[-1]
    world.die = {}
    again(made, {"text": "fine"})
    assert made.bodies()[0].startswith(before[:-1])
    assert world.done == ["a", "b"]


def test_circle_is_seen_across_a_crash(tmp_path: Path) -> None:
    refuse = tool("act", lambda **_: ToolOutput(text='{"error": "no"}', ok=False))
    made = rig(tmp_path, [calls(call("act")), calls(call("act")), Killed()], refuse)
    killed(made)
    result = again(made, calls(call("act")))
    assert (result.stop, result.tool_calls) == (StopReason.LOOP_DETECTED, 3)


def test_cancelled_run_finishes_nothing_more(tmp_path: Path) -> None:
    world = World()
    made = one_act(tmp_path, world, Effect.IDEMPOTENT, "before")
    made.journal.cancel()
    assert again(made).stop is StopReason.CANCELLED
    assert world.done == []
    assert isinstance(made.journal, MemoryJournal)
    assert made.journal.receipts == {}
