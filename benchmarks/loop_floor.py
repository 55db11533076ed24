"""What does a step of a conversation cost, durably kept, beside a bare ``chat.completions.create`` loop?

Both loops talk to a stub server in a process of its own on loopback and send the same tools and messages. Ours is the
real one, a no-op read tool in its box: every reply and every result is committed to the store, ``synchronous=FULL``.
The bare one, which is what a reader of the openai package's README would write, keeps nothing. They take turns, so
that a slow moment meets both. A third loop calls a tool with an effect, whose intent and receipt are kept besides.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from benchmarks.figures import Figure, show, spread
from hermes_cron.agent.loop import AgentRun, run_agent
from hermes_cron.clock import SystemClock
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.job import Job
from hermes_cron.domain.run import Effect, TakenRun
from hermes_cron.domain.transcript import Header
from hermes_cron.environments.local import run as run_command
from hermes_cron.home import Home
from hermes_cron.models.endpoint import Endpoint
from hermes_cron.models.openai_compatible import OpenAICompatible
from hermes_cron.store.engine import Store
from hermes_cron.store.journal import SqlJournal
from hermes_cron.store.runs import Start, enqueue
from hermes_cron.store.takes import take_run
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.connections import Connections
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool

SCRIPT = {"replies": [{"repeat": True, "tool_calls": [{"name": "noop", "arguments": {"note": "echo {{n}}"}}]}]}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": f"tool_{number}",
            "description": "What the tool does, in two sentences of the usual length. " * 3,
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
    for number in range(10)
]
SYSTEM = "You inspect databases. " * 40
RESULT = "one line of a result with some figures 12345\n" * 10
LIMITS = {20: 0.6, 200: 0.12}
ROUNDS = {20: 7, 200: 3}


class Steps:
    """The least that keeps a step: one row, one durable commit."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file)
        self._connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE step (seq INTEGER PRIMARY KEY, body TEXT)"
        )

    def add(self, *messages: dict[str, Any]) -> None:
        with self._connection:
            rows = [(json.dumps(message, ensure_ascii=False),) for message in messages]
            self._connection.executemany("INSERT INTO step (body) VALUES (?)", rows)

    def close(self) -> None:
        self._connection.close()


def first_messages() -> list[dict[str, Any]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "inspect prod db"}]


def bare_loop(client: Any, calls: int) -> float:
    """Seconds. ``client``: an ``openai.OpenAI``, made before, as ours is."""
    messages: list[Any] = first_messages()
    started = time.perf_counter()
    for _ in range(calls):
        made = client.chat.completions.create(model="m", messages=messages, tools=TOOLS, max_tokens=1000)
        message = made.choices[0].message.model_dump(exclude_none=True)
        messages += [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": RESULT}]
    return time.perf_counter() - started


class Noop(Arguments):
    note: str


NOOP = Tool(name="noop", toolset="clock", description="Does nothing.", arguments=Noop, handler=lambda *_: RESULT)
ACTING = replace(NOOP, effect=Effect.EFFECT)
EFFECT_LIMIT = 1.3


def our_loop(model: OpenAICompatible, calls: int, tool: Tool = NOOP) -> float:
    """Seconds of the real loop: agent, tool box, journal and store, until its budget of ``calls`` is used up."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "state.db") as store:
        journal = _journal(store)
        box = ToolBox({"noop": tool}, _context(Path(folder)))
        run = AgentRun(
            model=model,
            toolbox=box,
            journal=journal,
            budget=Budget(calls),
            deadline=time.monotonic() + 600,
            cancel=threading.Event(),
            emit=lambda _event, _facts: None,
        )
        started = time.perf_counter()
        ended = run_agent(run)
        took = time.perf_counter() - started
        if (ended.iterations, ended.tool_calls, ended.tool_errors) != (calls, calls, 0):
            raise RuntimeError(f"not the loop that was meant: {ended}")
        return took


def _journal(store: Store) -> SqlJournal:
    """Of a run that this process owns."""
    job = Job(name="bench", prompt="inspect prod db")
    start = Start(job=job, job_uid=None, actor="bench")
    now = SystemClock().now()

    def taken(conn: Connection) -> TakenRun | None:
        return take_run(conn, enqueue(conn, start, now), "bench", now)

    run = store.write(taken)
    assert run is not None
    header = Header(system=SYSTEM, tools=tuple(TOOLS), parameters={"max_tokens": 1000})
    first = [{"role": "user", "content": "inspect prod db"}]
    return SqlJournal.begin(store, SystemClock(), run_id=run.id, fence=run.fence, header=header, messages=first)


def _context(folder: Path) -> ToolContext:
    return ToolContext(
        run_id="bench",
        job_name="bench",
        workdir=folder,
        home=Home(folder),
        clock=SystemClock(),
        zone=ZoneInfo("UTC"),
        deadline=time.monotonic() + 600,
        cancel=threading.Event(),
        env={},
        run_command=run_command,
        connections=Connections(),
    )


def commit_ms() -> float:
    """The median of a durable commit here and now: a slow disk, not a slow client, shows in this number."""
    with tempfile.TemporaryDirectory() as folder:
        steps = Steps(Path(folder) / "steps.db")
        taken = []
        for _ in range(30):
            started = time.perf_counter()
            steps.add({"role": "tool", "content": RESULT})
            taken.append((time.perf_counter() - started) * 1000)
        steps.close()
        return statistics.median(taken)


@contextmanager
def stub_process() -> Iterator[str]:
    """Its base URL. In this process it would share the interpreter's lock with what is measured."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps(SCRIPT), encoding="utf-8")
        command = [sys.executable, "-m", "hermes_cron", "dev", "stub", str(script), "-q"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline().strip()
            finally:
                process.terminate()


def run() -> list[Figure]:
    import httpx2
    import openai

    figures = []
    with stub_process() as base_url, httpx2.Client(trust_env=False) as http:
        client = openai.OpenAI(api_key="none", base_url=base_url, http_client=http)
        model = OpenAICompatible(Endpoint(model="m", base_url=base_url), clock=SystemClock())
        bare_loop(client, 2)
        our_loop(model, 2)
        for calls, limit in LIMITS.items():
            bare, ours, acting, commits = [], [], [], []
            for _ in range(ROUNDS[calls]):
                bare.append(bare_loop(client, calls) / calls * 1000)
                ours.append(our_loop(model, calls) / calls * 1000)
                acting.append(our_loop(model, calls, ACTING) / calls * 1000)
                commits.append(commit_ms())
            ratio = statistics.median(ours) / statistics.median(bare)
            note = f"ms a step, min/median/max: ours {spread(ours)}, bare {spread(bare)}, a commit {spread(commits)}"
            figures.append(
                Figure(name=f"agent loop, {calls} calls", value=ratio, unit="x bare", limit=limit, note=note)
            )
            dearer = statistics.median(acting) / statistics.median(ours)
            note = f"ms a step with an intent and a receipt, min/median/max: {spread(acting)}"
            figures.append(
                Figure(name="  an effect each call", value=dearer, unit="x read", limit=EFFECT_LIMIT, note=note)
            )
        model.close()
    return figures


if __name__ == "__main__":
    raise SystemExit(0 if show(run()) else 1)
