"""A run that a scheduler executes is cancelled from another process within a moment, its script's group with it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from hermes_cron.home import Home
from tests.conftest import RunCli, clean_env


def test_a_running_script_is_cancelled_at_once(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (home.jobs / "slow.md").write_text(
        f"---\nschedule: every day at 09:00\ntimezone: UTC\nscript: touch {mark}; sleep 300; touch {mark}\n"
        "timeout: 10m\n---\n"
    )
    serve = subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", "serve"], env=clean_env({"HERMES_CRON_HOME": str(home.root)}),
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        run_id = json.loads(run_cli("run", "slow", "--detach", "--json").out)["run_id"]
        end = time.monotonic() + 20
        while not mark.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        began = time.monotonic()
        assert run_cli("runs", "cancel", run_id).rc == 0
        while json.loads(run_cli("runs", "show", run_id, "--json").out)["state"] == "running":
            assert time.monotonic() - began < 8
        state = json.loads(run_cli("runs", "show", run_id, "--json").out)["state"]
        assert state == "cancelled"
        assert subprocess.run(["pgrep", "-f", str(mark)], capture_output=True, check=False).stdout == b""
    finally:
        serve.send_signal(signal.SIGTERM)
        assert serve.wait(40) == 0
