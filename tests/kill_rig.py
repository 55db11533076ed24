"""A home with one agent job whose tools act outside, schedulers that are killed, and the truth to compare with."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_cron.domain.job import Job, Limits
from hermes_cron.domain.run import Cause
from hermes_cron.home import Home
from hermes_cron.store import approvals, runs, views
from hermes_cron.store.approvals import Approval, Decision
from hermes_cron.store.engine import Store
from hermes_cron.testing import StubServer
from tests.conftest import clean_env

LIMIT_S = 40.0
ALL = os.environ.get("HERMES_CRON_ALL_KILLS") == "1"
TOOL = """
import os
import time
from pathlib import Path

from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import Probe
from hermes_cron.tools.declaration import Arguments, Tool

OUTSIDE = Path({outside!r})


class What(Arguments):
    n: int = 0


def note(line):
    with OUTSIDE.open("a") as file:
        file.write(line + "\\n")
        file.flush()
        os.fsync(file.fileno())


def look(arguments, context):
    return "seen " + str(arguments.n)


def put(arguments, context):
    # the outside drops a second request with the same key
    try:
        os.close(os.open(OUTSIDE.parent / context.key.replace("/", "-"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "put"
    note("put")
    return "put"


def mark(arguments, context):
    note("mark " + str(arguments.n))
    return "marked"


def marked(arguments, context):
    there = OUTSIDE.exists() and "mark " + str(arguments.n) in OUTSIDE.read_text().splitlines()
    return Probe(happened=there, text="marked")


def send(arguments, context):
    note("send")
    return "sent"


def slow(arguments, context):
    time.sleep({slow_s})
    note("slow")
    return "slow"


def deadly(arguments, context):
    note("deadly")
    os.kill(os.getpid(), 9)


TOOL = Tool(name={name!r}, toolset="test", description={name!r}, arguments=What, handler={name}, {declared})
"""
DECLARED = {
    "look": "effect=Effect.READ",
    "put": "effect=Effect.IDEMPOTENT",
    "mark": "effect=Effect.VERIFIABLE, probe=marked",
    "send": "effect=Effect.EFFECT",
    "slow": "effect=Effect.EFFECT",
    "deadly": "effect=Effect.READ",
}
CLEAN = Counter({"put": 1, "mark 1": 1, "mark 2": 1, "send": 1, "slow": 1, "shell": 1})


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in made]}


def steps(outside: Path) -> dict[str, Any]:
    """Six turns with every class of effect, then the last word; the same reply whenever the same turn is asked for."""
    return {
        "by": "turn",
        "replies": [
            calls(("look", {"n": 1}), ("look", {"n": 2})),
            calls(("put", {})),
            calls(("mark", {"n": 1}), ("mark", {"n": 2})),
            calls(("send", {}), ("look", {"n": 3})),
            calls(("slow", {})),
            calls(("terminal", {"command": f"echo shell >> {outside}"})),
            {"text": "All of it is done."},
        ],
    }


class Zygote:
    """See ``tests.kill_zygote``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kill_zygote"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**clean_env(), "PYTHONPATH": str(Path(__file__).parent.parent)},
        )  # fmt: skip
        assert self._said() == "ready"

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def fork(self, **wanted: Any) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        return int(self._said())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


@dataclass(kw_only=True)
class Schedulers:
    """One home, one stub, and the schedulers that live on it; ``threads`` are those whose writes are counted."""

    zygote: Zygote
    home: Home
    stub: StubServer
    clock_file: Path | None = None
    threads: tuple[str, ...] = ()
    pids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = Store(self.home.store)

    def serve(self, *, write: int | None = None, side: str = "before", drain_s: float = 0) -> int:
        env = clean_env({"OPENAI_BASE_URL": self.stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "stub"})
        if self.clock_file is not None:
            env |= {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(self.clock_file)}
        pid = self.zygote.fork(
            home=str(self.home.root), env=env, write=write, side=side, drain_s=drain_s, threads=self.threads
        )
        self.pids.append(pid)
        return pid

    def kill(self, pid: int, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def gone(self, pid: int) -> bool:
        """Whether it has ended; the zygote does not wait for its children, the kernel does."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    def close(self) -> None:
        for pid in self.pids:
            self.kill(pid, signal.SIGCONT)
            self.kill(pid)
        until(lambda: all(map(self.gone, self.pids)), "all schedulers are gone")
        self.store.close()


@dataclass(kw_only=True)
class Rig(Schedulers):
    """Schedulers, and what their one job's tools do outside."""

    outside: Path
    slow_s: float = 0.3
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.home.tools.mkdir(exist_ok=True)
        for name, declared in DECLARED.items():
            source = TOOL.format(outside=str(self.outside), slow_s=self.slow_s, name=name, declared=declared)
            (self.home.tools / f"{name}.py").write_text(source)

    # --- the run ----------------------------------------------------------------------------------------------------

    def queue(self, *, script: str | None = None, **more: Any) -> str:
        tools = ("look", "put", "mark", "send", "slow", "deadly", "terminal")
        work = {"prompt": "do it", "tools": tools} if script is None else {"script": script}
        job = Job(name="j", timezone="UTC", limits=Limits(minutes=5), **work, **more)  # type: ignore[arg-type]
        start = runs.Start(job=job, job_uid=None, actor="test", cause=Cause.PROMPT)
        return self.store.write(lambda conn: runs.enqueue(conn, start, self.now()))

    def now(self) -> Any:
        from hermes_cron.clock import FileClock, SystemClock

        return (SystemClock() if self.clock_file is None else FileClock(self.clock_file)).now()

    def row(self, run_id: str) -> dict[str, Any]:
        with self.store.read() as conn:
            return views.run(conn, run_id)

    def steps(self, run_id: str) -> list[dict[str, Any]]:
        with self.store.read() as conn:
            return views.steps(conn, run_id)

    def open_questions(self) -> list[Approval]:
        with self.store.read() as conn:
            return approvals.listed(conn)

    def answer(self, asked: Approval, decision: Decision) -> None:
        self.store.write(
            lambda conn: approvals.decide(conn, asked.number, decision, by="test", reason=None, now=self.now())
        )
        self.home.run.mkdir(exist_ok=True)
        self.home.wake.touch()

    def lines(self) -> Counter[str]:
        return Counter(self.outside.read_text().splitlines()) if self.outside.exists() else Counter()

    def settled(self, run_id: str) -> dict[str, Any]:
        """The run's end, with every question on the way answered by the truth; what was parked is looked at too."""

        def ended() -> bool:
            for asked in self.open_questions():
                self.truly(asked)
            return self.row(run_id)["ended_at"] is not None

        until(ended, f"run {run_id} ended", say=lambda: str(self.row(run_id)))
        return self.row(run_id)

    def truly(self, asked: Approval) -> None:
        """What a person who looks would say."""
        self.asked.add(asked.tool)
        word = {"terminal": "shell"}.get(asked.tool, asked.tool)
        happened = self.lines()[word] > 0
        assert asked.evidence, "a question without evidence"
        assert any("no result was kept" in line for line in asked.evidence), asked.evidence
        self.answer(asked, Decision.DENIED if happened else Decision.APPROVED)


def chosen(points: list[tuple[int, str]], seed: int, count: int) -> list[tuple[int, str]]:
    """Some of the places to die at, or all of them."""
    return points if ALL else sorted(random.Random(seed).sample(points, count))


def until(
    condition: Callable[[], object], what: str, *, limit_s: float = LIMIT_S, say: Callable[[], str] = lambda: ""
) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"did not happen: {what} {say()}"
        time.sleep(0.02)


def share_their_prefix(bodies: list[bytes]) -> None:
    """Each request is one that was sent before plus new messages, byte for byte, or the same request again."""
    for before, after in itertools.pairwise(bodies):
        head, tail = _parts(before), _parts(after)
        assert head[1] == tail[1], "what is not a message stays as it is"
        assert tail[0].startswith(head[0]) or head[0].startswith(tail[0]), (before, after)


def _parts(body: bytes) -> tuple[bytes, bytes]:
    """The messages without the bracket that closes them, and everything else."""
    began = body.index(b'"messages":[')
    end = began + _array_end(body[began + len(b'"messages":') :]) + len(b'"messages":')
    return body[began : end - 1], body[:began] + body[end:]


def _array_end(text: bytes) -> int:
    decoded = text.decode()
    _, end = json.JSONDecoder().raw_decode(decoded)
    return len(decoded[:end].encode())
