"""What does a step of a conversation cost beside a bare ``chat.completions.create`` loop with a commit a step?

Both loops talk to the same stub server on loopback, send the same tools and messages, and commit every step (the
reply and its result) to a SQLite file with ``synchronous=FULL``. The bare loop is what a reader of the openai
package's README would write. They take turns, so that a slow moment of the machine meets both.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, show, spread
from hermes_cron.clock import SystemClock
from hermes_cron.domain.transcript import Header, ModelRequest
from hermes_cron.models.endpoint import Endpoint
from hermes_cron.models.openai_compatible import OpenAICompatible
from hermes_cron.testing import StubServer

SCRIPT = {"replies": [{"repeat": True, "tool_calls": [{"name": "shell", "arguments": {"command": "echo {{n}}"}}]}]}
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


def bare_loop(base_url: str, steps: Steps, calls: int) -> float:
    """Seconds."""
    import httpx2
    import openai

    with httpx2.Client(trust_env=False) as http:
        client = openai.OpenAI(api_key="none", base_url=base_url, http_client=http)
        messages: list[Any] = first_messages()
        started = time.perf_counter()
        for _ in range(calls):
            made = client.chat.completions.create(model="m", messages=messages, tools=TOOLS, max_tokens=1000)  # type: ignore[call-overload]
            message = made.choices[0].message.model_dump(exclude_none=True)
            result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": RESULT}
            steps.add(message, result)
            messages += [message, result]
        return time.perf_counter() - started


def our_loop(base_url: str, steps: Steps, calls: int) -> float:
    """Seconds."""
    model = OpenAICompatible(Endpoint(model="m", base_url=base_url), clock=SystemClock())
    header = Header(system=SYSTEM, tools=tuple(TOOLS), parameters={"max_tokens": 1000})
    messages = first_messages()
    try:
        started = time.perf_counter()
        for _ in range(calls):
            reply = model.complete(ModelRequest(header=header, messages=messages, timeout_s=30))
            result = {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": RESULT}
            steps.add(reply.message, result)
            messages += [reply.message, result]
        return time.perf_counter() - started
    finally:
        model.close()


def measure(loop: Callable[[str, Steps, int], float], calls: int) -> float:
    """Milliseconds a step, on a fresh server and a fresh file."""
    with tempfile.TemporaryDirectory() as folder, StubServer(SCRIPT) as stub:
        steps = Steps(Path(folder) / "steps.db")
        try:
            return loop(stub.base_url, steps, calls) / calls * 1000
        finally:
            steps.close()


def run() -> list[Figure]:
    for loop in (bare_loop, our_loop):
        measure(loop, 2)  # imports
    figures = []
    for calls, limit in LIMITS.items():
        bare, ours = [], []
        for _ in range(ROUNDS[calls]):
            bare.append(measure(bare_loop, calls))
            ours.append(measure(our_loop, calls))
        ratio = statistics.median(ours) / statistics.median(bare)
        note = f"ms a step, ours {spread(ours)}, bare {spread(bare)}"
        figures.append(Figure(name=f"client loop, {calls} calls", value=ratio, unit="x bare", limit=limit, note=note))
    return figures


if __name__ == "__main__":
    raise SystemExit(0 if show(run()) else 1)
