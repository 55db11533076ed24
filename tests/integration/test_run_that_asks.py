"""A run whose process died in the middle of an effect is parked, and whoever watches it is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import clean_env
from tests.serving import Serving, until, write_job

COMMAND = "touch began; sleep 60"
REPLIES = [
    {"tool_calls": [{"name": "terminal", "arguments": {"command": COMMAND}}]},
    {"text": "all is done"},
]


def test_run_stops_at_the_question_and_names_it(home: Home, tmp_path: Path) -> None:
    write_job(home, "j", "schedule: every day 9am", "tools: [terminal]", f"workdir: {tmp_path}", prompt="do it")
    with StubServer(REPLIES) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "stub-model", "OPENAI_API_KEY": "k"}
        with Serving(home, env=env) as serving:
            watched = subprocess.Popen(
                [sys.executable, "-m", "hermes_cron", "run", "j"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, encoding="utf-8",
                env=clean_env({
                    "HERMES_CRON_HOME": str(home.root), "HERMES_CRON_TESTING": "1",
                    "HERMES_CRON_CLOCK_FILE": str(serving.clock), **env,
                }),
            )  # fmt: skip
            until((tmp_path / "began").exists, "the command of the run began")
            serving.kill()
            serving.start()
            _, said = watched.communicate(timeout=60)
            assert watched.returncode == 6, said
            assert "a1 waits for your answer, silence means no at Wed 2026-12-02 11:59: terminal " in said
            assert "  yes   hermes-cron approve a1\n" in said
            assert '  no    hermes-cron deny a1 "reason"\n  more  hermes-cron approvals show a1' in said

            (run,) = serving.ask("runs", "list")["runs"]
            assert (run["state"], [question["id"] for question in run["approvals"]]) == ("waiting_approval", ["a1"])
            assert json.loads(run["approvals"][0]["arguments"])["command"] == COMMAND
            told = serving.cli("status")
            assert told.rc == 6
            assert "a1 approval  j: terminal " in told.out
            assert serving.cli("list").out.splitlines()[1].split()[-3:] == ["waiting_approval", "-", "-"]
            assert "1 needs you:" in serving.cli("list").out

            assert serving.cli("deny", "a1").rc == 0
            until(lambda: serving.runs()[0]["state"] == "ok", lambda: str(serving.runs()))
            shown = serving.ask("runs", "trace", run["run_id"])
            assert shown["calls"] == shown["results"] == 1
            assert all(
                step["id"] and step["arguments_hash"] and step["ms"] is not None
                for step in shown["steps"]
                if step["step"] == "tool"
            )
            assert "a1 terminal" in serving.cli("runs", "show", run["run_id"]).out
            assert serving.cli("status").rc == 0
