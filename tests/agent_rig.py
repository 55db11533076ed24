"""A loop with a scripted model and tools made in the test, for the tests of agent/ and tools/."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from hermes_cron.agent.loop import AgentRun, run_agent
from hermes_cron.agent.stop import LoopResult
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.domain.transcript import Header, Message
from hermes_cron.environments import local
from hermes_cron.home import Home
from hermes_cron.testing import FixedClock, ScriptedModel
from hermes_cron.testing_journal import MemoryJournal
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.connections import Connections
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Anything(BaseModel):
    model_config = {"extra": "allow"}


class Nothing(Arguments):
    pass


def context(folder: Path, **more: Any) -> ToolContext:
    """A context whose workdir is ``folder/work`` and whose home is ``folder/home``."""
    home = Home(folder / "home")
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    home.root.mkdir(parents=True, exist_ok=True)
    values: dict[str, Any] = {
        "run_id": "r0000001", "job_name": "test", "workdir": work, "home": home, "clock": FixedClock(NOON),
        "zone": ZoneInfo("Asia/Shanghai"), "deadline": time.monotonic() + 60, "cancel": threading.Event(),
        "env": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}, "run_command": local.run,
        "connections": Connections(),
    }  # fmt: skip
    return ToolContext(**{**values, **more})


def tool(name: str, handler: Callable[..., Any], **more: Any) -> Tool:
    """A tool whose handler is given the arguments as a dict."""
    values: dict[str, Any] = {
        "name": name, "toolset": "test", "description": name, "arguments": Anything,
        "handler": lambda arguments, _context: handler(**arguments.model_dump()),
    }  # fmt: skip
    return Tool(**{**values, **more})


def writer(name: str, handler: Callable[..., Any], **more: Any) -> Tool:
    """A tool that writes the file ``path``."""
    return tool(
        name, handler, effect=Effect.IDEMPOTENT, paths=lambda arguments, _context: (Path(arguments.path),), **more
    )


def call(name: str, arguments: Mapping[str, Any] | str = "", identity: str | None = None) -> dict[str, Any]:
    """One member of a scripted reply's ``tool_calls``."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"name": name, "arguments": text, **({"id": identity} if identity else {})}


def calls(*made: dict[str, Any]) -> dict[str, Any]:
    """A scripted reply that asks for tools."""
    return {"tool_calls": list(made)}


@dataclass(kw_only=True)
class Rig:
    """One loop run and everything that can be looked at after it."""

    model: ScriptedModel
    journal: MemoryJournal
    run: AgentRun
    events: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def go(self) -> LoopResult:
        return run_agent(self.run)

    def tool_texts(self) -> list[str]:
        return [message["content"] for message in self.journal.messages() if message["role"] == "tool"]

    def bodies(self) -> list[bytes]:
        """Each request's messages as they would go out."""
        return [json.dumps(list(request.messages)).encode() for request in self.model.requests]


def rig(
    folder: Path,
    replies: Sequence[Any] | Mapping[str, Any],
    *tools: Tool,
    limit: int = 90,
    messages: Sequence[Message] = ({"role": "user", "content": "do it"},),
    **more: Any,
) -> Rig:
    around = context(folder)
    box = ToolBox({made.name: made for made in tools}, around)
    journal = MemoryJournal(Header(system="You are a test.", tools=box.schemas()), messages)
    model = ScriptedModel(replies)
    events: list[tuple[str, dict[str, object]]] = []
    values: dict[str, Any] = {
        "model": model, "toolbox": box, "journal": journal, "budget": Budget(limit), "deadline": around.deadline,
        "cancel": around.cancel, "emit": lambda name, facts: events.append((name, dict(facts))),
    }  # fmt: skip
    return Rig(model=model, journal=journal, run=AgentRun(**{**values, **more}), events=events)


def failing(text: str = "no") -> Callable[..., ToolOutput]:
    return lambda **_: ToolOutput(text=text, ok=False)
