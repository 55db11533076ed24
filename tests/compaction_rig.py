"""Transcripts that are long enough to be compacted, and loops whose window is small, for the tests of agent/."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hermes_cron.agent.compaction import SummaryEngine
from hermes_cron.agent.compaction_side import Beside
from hermes_cron.agent.fitting import Fit, Window
from hermes_cron.agent.loop import run_agent
from hermes_cron.agent.stop import LoopResult
from hermes_cron.domain.compaction import Bench, Ends, Load, Row, Said, Work, sent, unpaired
from hermes_cron.domain.transcript import Message, ModelReply, ModelRequest, ToolCall, Usage
from hermes_cron.ports import ContextEngine
from hermes_cron.testing import ScriptedModel
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.declaration import Tool
from tests import agent_rig

TASK = "find out why the nightly export of prod fails, and write it down"
SUMMARY = """## Solved
- the export was found
## Open
- nobody knows who owns it
## Facts
- the host is db-7
## Files and effects
- notes.md was written
## Next
- ask the owner"""


def asks(*identities: str, name: str = "look", arguments: str = "{}") -> Message:
    """An assistant message with calls."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": each, "type": "function", "function": {"name": name, "arguments": arguments}} for each in identities
        ],
    }


def gives(identity: str, text: str = "seen") -> Message:
    return {"role": "tool", "tool_call_id": identity, "content": text}


def as_rows(messages: Iterable[Message], *, ok: bool | None = True) -> list[Row]:
    """As a journal keeps them."""
    rows, names = [], {}
    for seq, message in enumerate(messages, 1):
        names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls") or ()}
        name = names.get(message.get("tool_call_id"))
        rows.append(Row(seq=seq, message=message, tool=name, ok=None if name is None else ok))
    return rows


def steps(count: int, size: int = 40, first: int = 0) -> list[Message]:
    """``count`` calls with their results."""
    made: list[Message] = []
    for number in range(first, first + count):
        made += [asks(f"c{number}"), gives(f"c{number}", f"result {number} " + "x" * size)]
    return made


def task(text: str = TASK) -> Message:
    return {"role": "user", "content": text}


def work(
    rows: Sequence[Row],
    *,
    window: int = 1_000,
    tokens: int | None = None,
    forced: bool = False,
    searchable: bool = True,
) -> Work:
    from hermes_cron.domain.tokens import message_tokens

    count = sum(message_tokens(each.message) for each in sent(rows)) if tokens is None else tokens
    load = Load(tokens=count, window=window, soft=window // 2, hard=window * 85 // 100)
    return Work(session_id="s1", rows=rows, load=load, forced=forced, searchable=searchable)


def says(text: str | None, why: str = "") -> Callable[[int, str, str], Said]:
    """An auxiliary model with one answer."""
    return lambda _at, _system, _text: Said(text=text, why=why)


def bench(text: str | None = SUMMARY, *, head: int = 3, tail: int = 4, **more: Any) -> Bench:
    return Bench(ends=Ends(head=head, tail=tail), summarise=says(text, "nobody there"), **more)


@dataclass(kw_only=True)
class Small:
    """A loop in a small window, and all that can be looked at after it."""

    made: agent_rig.Rig
    windows: dict[str, int]
    sides: ScriptedModel

    def go(self) -> LoopResult:
        return run_agent(self.made.run)

    def requests(self) -> list[list[Message]]:
        """Messages of the main session's requests, without the system message."""
        return [list(request.messages)[1:] for request in self.made.model.requests]

    def all_valid(self) -> None:
        for messages in self.requests():
            assert unpaired(messages) is None

    def events(self, name: str) -> list[dict[str, object]]:
        return [facts for event, facts in self.made.events if event == name]


class Both:
    """The run's model and the auxiliary one behind one port, told apart by the name that is asked."""

    def __init__(self, main: ScriptedModel, aside: ScriptedModel) -> None:
        self.main, self.aside = main, aside

    def complete(self, request: ModelRequest) -> ModelReply:
        return (self.aside if request.header.model == "aux" else self.main).complete(request)


def small(
    folder: Path,
    replies: Sequence[Any],
    *tools: Tool,
    window: int = 2_000,
    aside: Sequence[Any] = ({"text": SUMMARY, "repeat": True},),
    memory: Tool | None = None,
    ends: Ends | None = None,
    engine: Callable[[Bench], ContextEngine] = SummaryEngine,
    soft: int = 50,
    hard: int = 85,
    **more: Any,
) -> Small:
    """A loop over ``tools`` whose model reads ``window`` tokens; ``memory`` is a tool for the flush."""
    ends = ends or Ends(head=3, tail=4)
    made = agent_rig.rig(folder, replies, *tools, **more)
    windows: dict[str, int] = {}
    sides = ScriptedModel(list(aside))
    both = Both(made.model, sides)
    box = None if memory is None else ToolBox({memory.name: memory}, agent_rig.context(folder))
    beside = Beside(
        journal=made.journal,
        model=both,
        name="aux",
        parameters={"max_tokens": 500},
        deadline=made.run.deadline,
        cancel=made.run.cancel,
        emit=made.run.emit,
        timeout_s=60,
        memory=None if box is None else (box, box.schemas()),
    )
    fit = Fit(
        engine=engine(Bench(ends=ends, summarise=beside.summarise, flush=beside.flush, room=2_000)),
        window=Window(
            of=lambda model: windows.get(model, window),
            learn=windows.__setitem__,
            soft_percent=soft,
            hard_percent=hard,
        ),
        ends=ends,
    )
    made.run = replace(made.run, model=both, fit=fit)
    return Small(made=made, windows=windows, sides=sides)


def counted(number: int, tokens: int, *, name: str = "look") -> ModelReply:
    """A reply with one call, for whose request the provider counted ``tokens``."""
    call = ToolCall(id=f"c{number}", name=name, arguments=f'{{"n": {number}}}')
    message = asks(call.id, name=name, arguments=call.arguments)
    usage = Usage(input=tokens, output=0)
    return ModelReply(message=message, text="", tool_calls=(call,), finish="tool_calls", usage=usage, model="m")


def uncounted(reply: dict[str, Any]) -> dict[str, Any]:
    """A scripted reply whose provider counts nothing: what it weighs is estimated."""
    return {**reply, "usage": None}
