"""The loop as a person meets it: ``run`` against a stub model, the log of its requests, and the trace."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import RunCli, clean_env

GATE = """
import threading
from hermes_cron.tools.declaration import Arguments, Tool

class Gate(Arguments):
    n: int

EIGHT, FOUR = threading.Barrier(8), threading.Barrier(4)

def gate(arguments, context):
    (EIGHT if arguments.n < 16 else FOUR).wait(20)
    return f"passed {arguments.n}"

TOOL = Tool(name="gate", toolset="test", description="Passes eight at a time.", arguments=Gate, handler=gate)
"""
NEEDY = """
from hermes_cron.tools.declaration import Arguments, Tool

TOOL = Tool(name="needy", toolset="test", description="Needs a key.", arguments=Arguments,
            handler=lambda arguments, context: "here", requires_env=("NEEDY_KEY",))
"""
JOB = """---
schedule: every day 9am
timezone: UTC
tools: [now, write_file, terminal{more}]
workdir: {workdir}
---
do it
"""


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


WriteJob = Callable[..., None]


@pytest.fixture
def job(home: Home, workdir: Path) -> WriteJob:
    def write(*more: str, plugins: Mapping[str, str] = {}) -> None:  # not changed
        home.tools.mkdir(exist_ok=True)
        for name, source in (plugins or {}).items():
            (home.tools / f"{name}.py").write_text(source)
        (home.jobs / "j.md").write_text(JOB.format(workdir=workdir, more="".join(f", {name}" for name in more)))

    return write


def model_env(stub: StubServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "stub-model", "OPENAI_API_KEY": "k"}


def asks(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls]}


def test_conversation_is_the_one_before_plus_new_messages(
    home: Home, run_cli: RunCli, job: WriteJob, workdir: Path
) -> None:
    job("needy", plugins={"needy": NEEDY})
    script = [
        asks(("write_file", {"path": "a.txt", "content": "1"}), ("write_file", {"path": "a.txt", "content": "2"})),
        asks(("terminal", {"command": "cat a.txt"})),
        {"text": "It says 2."},
    ]
    with StubServer(script) as stub:
        told = json.loads(run_cli("run", "j", "--json", env=model_env(stub)).out)
        bodies = [request.json() for request in stub.requests]
    assert (told["state"], told["iterations"], told["tool_calls"]) == ("ok", 3, 3)
    assert told["text"].strip() == "It says 2."
    assert (workdir / "a.txt").read_text() == "2"
    for before, after in itertools.pairwise(bodies):
        assert after["messages"][: len(before["messages"])] == before["messages"]
        assert after["tools"] == before["tools"]
    assert [message["role"] for message in bodies[-1]["messages"]] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert [tool["function"]["name"] for tool in bodies[0]["tools"]] == ["now", "terminal", "write_file"]
    with StubServer([{"text": "x"}]) as stub:
        run_cli("run", "j", env={**model_env(stub), "NEEDY_KEY": "k"})
        assert "needy" in [tool["function"]["name"] for tool in stub.requests[0].json()["tools"]]


def test_twenty_reads_run_eight_at_a_time(home: Home, run_cli: RunCli, job: WriteJob) -> None:
    job("gate", plugins={"gate": GATE})
    with StubServer([asks(*[("gate", {"n": n}) for n in range(20)]), {"text": "through"}]) as stub:
        told = json.loads(run_cli("run", "j", "--json", env=model_env(stub)).out)
        answers = [message["content"] for message in stub.requests[1].json()["messages"] if message["role"] == "tool"]
    assert (told["state"], told["tool_errors"]) == ("ok", 0)
    assert answers == [f"passed {n}" for n in range(20)]
    trace = json.loads(run_cli("runs", "trace", told["run_id"], "--json").out)
    assert trace["calls"] == trace["results"] == 20
    assert all(step["arguments_hash"] and step["ms"] >= 0 for step in trace["steps"] if step["step"] == "tool")


def test_ninety_calls_and_no_more(home: Home, run_cli: RunCli, job: WriteJob) -> None:
    job()
    with home.config.open("a") as config:
        config.write("[learning]\nskill_iterations = 0\n")  # nobody looks back at it: a review has calls of its own
    reply = {**asks(("terminal", {"command": "echo {{n}}"})), "repeat": True}
    with StubServer([reply]) as stub:
        ran = run_cli("run", "j", "--json", env=model_env(stub))
        assert len(stub.requests) == 90
    told = json.loads(ran.out)
    assert (ran.rc, told["state"], told["iterations"]) == (1, "budget_exhausted", 90)
    kept = (home.root / told["output_path"]).read_text()
    assert "limit of 90 model calls" in kept
    assert '"output": "90' in kept


def test_cancel_during_a_write_leaves_it_whole(home: Home, run_cli: RunCli, job: WriteJob, workdir: Path) -> None:
    job()
    command = "echo begun > f; until [ -e go ]; do sleep 0.02; done; echo ended >> f"
    with StubServer([asks(("terminal", {"command": command})), {"text": "never asked"}]) as stub:
        running = subprocess.Popen(
            [sys.executable, "-m", "hermes_cron", "run", "j", "--json"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root), **model_env(stub)}),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            wait_for(workdir / "f")
            (run,) = json.loads(run_cli("runs", "list", "--json").out)["runs"]
            assert run_cli("runs", "cancel", run["run_id"]).rc == 0
            (workdir / "go").touch()
            told = json.loads(running.communicate(timeout=20)[0])
        finally:
            running.kill()
            running.communicate()
        assert len(stub.requests) == 1
    assert (running.returncode, told["state"]) == (1, "cancelled")
    assert (workdir / "f").read_text() == "begun\nended\n"


def wait_for(path: Path, limit_s: float = 20) -> None:
    end = time.monotonic() + limit_s
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.02)
