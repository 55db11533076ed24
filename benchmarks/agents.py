"""What does the whole path of an agent run cost beside the bare calls?"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2

from benchmarks import rig
from benchmarks.figures import Figure, spread
from benchmarks.scheduler import serving, wait_for
from hermes_cron.home import Home
from hermes_cron.store import reader

JOBS = 50
AT_ONCE = 16
SCRIPT = {
    "by": "turn",
    "replies": [
        {"tool_calls": [{"name": "now", "arguments": {}}]},
        {"tool_calls": [{"name": "now", "arguments": {}}]},
        {"text": "done"},
    ],
}


@contextmanager
def stub() -> Iterator[str]:
    """The base URL of a stub in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps(SCRIPT), encoding="utf-8")
        with subprocess.Popen(
            [rig.HERMES, "dev", "stub", str(script), "-q"], stdout=subprocess.PIPE, text=True, env=rig.environment()
        ) as process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline().strip()
            finally:
                process.terminate()


def bodies() -> list[dict[str, object]]:
    """The three requests of a conversation."""
    messages: list[dict[str, object]] = [{"role": "system", "content": "s" * 1500}, {"role": "user", "content": "go"}]
    made = []
    for turn in range(3):
        made.append({"model": "m", "max_tokens": 1000, "messages": list(messages)})
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "now", "arguments": "{}"}}
        messages = [
            *messages,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": "2026-12-01 09:00"},
        ]
    return made


def bare(base_url: str) -> float:
    """Seconds for the same calls over plain HTTP, as many at once: written as JSON, sent, read, nothing kept."""
    wanted = bodies()
    local = threading.local()

    def conversation(_number: int) -> None:
        client = getattr(local, "client", None)
        if client is None:
            client = local.client = httpx2.Client(trust_env=False)
        for body in wanted:
            answer = client.post(f"{base_url}/chat/completions", json=body)
            answer.raise_for_status()
            answer.json()["choices"][0]["message"]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(conversation, range(AT_ONCE)))  # connections and threads made
        began = time.perf_counter()
        list(pool.map(conversation, range(JOBS)))
        return time.perf_counter() - began


def ours(base_url: str) -> tuple[float, int]:
    """Seconds from the first start to the last end of 50 jobs due at one instant; locked-store errors."""
    config = f'concurrency = {AT_ONCE}\n[model]\nname = "m"\nbase_url = "{base_url}"\n'
    with rig.fresh_home(config) as home, serving(home):
        wait_for((home.logs / "serve.log").exists, 20)
        _round(home, "warm", AT_ONCE, after_s=4)
        took = _round(home, "agent", JOBS, after_s=4)
        log = (home.logs / "serve.log").read_text(encoding="utf-8")
    return took, log.count("locked")


def _round(home: Home, name: str, count: int, *, after_s: float) -> float:
    at = datetime.now(UTC) + timedelta(seconds=after_s)
    text = f'---\nschedule: "{at.isoformat()}"\ntimezone: UTC\n---\nsay when you are done\n'
    rig.write_jobs(home, count, lambda _: text, prefix=name)
    rows: list[tuple[str, str, str]] = []

    def all_ended() -> bool:
        nonlocal rows
        with reader.opened(home.store) as conn:
            assert conn is not None
            rows = conn.execute(
                "SELECT started_at, ended_at, state FROM runs WHERE job_name LIKE ? AND ended_at IS NOT NULL",
                (f"{name}-%",),
            ).fetchall()
        return len(rows) == count

    wait_for(all_ended, 60, 0.2)
    if any(state != "ok" for _, _, state in rows):
        raise RuntimeError(f"not every run was ok: {sorted({state for _, _, state in rows})}")
    began = min(datetime.fromisoformat(start) for start, _, _ in rows)
    ended = max(datetime.fromisoformat(end) for _, end, _ in rows)
    return (ended - began).total_seconds()


def run() -> list[Figure]:
    with stub() as base_url:
        pairs = [(bare(base_url), *ours(base_url)) for _ in range(3)]
    floor, full, locked = zip(*pairs, strict=True)
    ratio = rig.median(rig.ratios(full, floor))
    note = f"s: ours {spread(full)}, bare {spread(floor)}"
    return [
        Figure(name="50 agent jobs, 3 calls each / bare HTTP", value=ratio, unit="x", limit=5.0, note=note),
        Figure(name="  lock errors", value=float(sum(locked)), unit="", limit=0),
    ]
