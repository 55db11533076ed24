"""``serve`` as a process: one pass, signals, a clock of the test, what it imports, what status says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hermes_cron.home import Home
from tests.conftest import RunCli, clean_env

TESTING = {"HERMES_CRON_TESTING": "1"}


def job(home: Home, name: str, *lines: str) -> None:
    (home.jobs / f"{name}.md").write_text("\n".join(["---", "timezone: UTC", *lines, "---", ""]))


def clock_at(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_once_runs_what_is_due_and_ends(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    clock = clock_at(tmp_path / "clock", "2026-12-01T12:00:00Z")
    env = {**TESTING, "HERMES_CRON_CLOCK_FILE": str(clock)}
    for number in range(6):  # more than run at once
        job(home, f"j{number}", "schedule: '*/5 * * * *'", f"script: echo hello {number}")
    assert run_cli("serve", "--once", env=env).rc == 0
    assert json.loads(run_cli("history", "--json", env=env).out)["due"] == 0
    clock_at(clock, "2026-12-01T12:05:00Z")
    assert run_cli("serve", "--once", env=env).rc == 0
    rows = json.loads(run_cli("history", "--json", env=env).out)["history"]
    assert sorted((row["job"], row["result"]) for row in rows) == [(f"j{number}", "ok") for number in range(6)]
    report = next((home.outputs / "j3").iterdir()).read_text()
    assert report == "hello 3\n"
    assert run_cli("serve", "--once", env=env).rc == 0
    assert len(json.loads(run_cli("history", "--json", env=env).out)["history"]) == 6


def test_a_clock_file_is_for_tests(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    clock = clock_at(tmp_path / "clock", "2026-12-01T12:00:00Z")
    assert run_cli("serve", "--once", "--clock-file", str(clock)).rc == 2
    assert run_cli("serve", "--once", "--clock-file", str(clock), env=TESTING).rc == 0
    assert run_cli("serve", "--once", "--clock-file", str(tmp_path / "none"), env=TESTING).rc == 2
    clock_at(clock, "noon")
    assert run_cli("serve", "--once", "--clock-file", str(clock), env=TESTING).rc == 2


def test_a_script_gets_its_run_and_no_key_of_the_service(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    clock = clock_at(tmp_path / "clock", "2026-12-01T12:00:00Z")
    env = {**TESTING, "HERMES_CRON_CLOCK_FILE": str(clock), "OPENAI_API_KEY": "sk-not-for-scripts", "SECRET_TOKEN": "x"}
    job(home, "j", "schedule: '*/5 * * * *'", "script: env; pwd", "env: {MINE: yes-it-is}")
    run_cli("serve", "--once", env=env)
    clock_at(clock, "2026-12-01T12:05:00Z")
    run_cli("serve", "--once", env=env)
    (report,) = (home.outputs / "j").iterdir()
    said = dict(line.partition("=")[::2] for line in report.read_text().splitlines() if "=" in line)
    assert said["HERMES_CRON_JOB"] == "j"
    assert said["HERMES_CRON_RUN_ID"] == report.stem
    assert said["HERMES_CRON_SCHEDULED_AT"] == "2026-12-01T12:05:00Z"
    assert said["HERMES_CRON_HOME"] == str(home.root)
    assert said["HERMES_CRON_ATTEMPT"] == "1"
    assert said["MINE"] == "yes-it-is"
    assert not {"OPENAI_API_KEY", "SECRET_TOKEN"} & set(said)
    assert report.read_text().splitlines()[-1] == str(home.work / report.stem)


@pytest.mark.parametrize(
    ("script", "state", "reason", "silent"),
    [
        ("echo report", "ok", None, False),
        ("'true'", "ok", None, True),
        ("'echo half; echo why >&2; exit 3'", "failed", "exit_code", False),
        ("'sleep 60'", "timeout", "timeout", False),
    ],
    ids=["report", "silent", "failed", "timeout"],
)
def test_how_a_script_ends(
    home: Home, run_cli: RunCli, script: str, state: str, reason: str | None, silent: bool
) -> None:
    job(home, "j", "schedule: every day at 09:00", f"script: {script}", "timeout: 1s")
    run_cli("run", "j")
    (row,) = json.loads(run_cli("runs", "list", "--json").out)["runs"]
    assert (row["state"], row["reason"], row["silent"]) == (state, reason, silent)
    if state == "failed":
        assert row["error"] == "exit code 3: why"
        assert "half" in (home.root / row["output_path"]).read_text()


def test_an_idle_service_loads_neither_model_nor_templates(home: Home) -> None:
    code = (
        "import sys, threading, os, signal\n"
        "from hermes_cron.cli.main import run\n"
        "code = run(['serve', '--once'])\n"
        "heavy = {'openai', 'jinja2', 'ruamel', 'sqlglot', 'httpx2', 'rich', 'psycopg', 'prometheus_client'}\n"
        "print(code, sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_env({"HERMES_CRON_HOME": str(home.root)}), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "0 []"


def test_status_of_a_living_and_a_dead_service(home: Home, run_cli: RunCli) -> None:
    job(home, "j", "schedule: every day at 09:00", "script: exit 4")
    assert run_cli("status").rc == 1
    serve = subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", "serve"], env=clean_env({"HERMES_CRON_HOME": str(home.root)}),
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        end = time.monotonic() + 20
        while run_cli("status").rc != 0:
            assert time.monotonic() < end
        said = run_cli("status").out
        assert f"pid {serve.pid}" in said
        assert "0 due, 0 accounted for" in said
        assert "nothing needs you" in said
        assert run_cli("run", "j").rc == 1  # executed by the living service
        told = run_cli("status")
        assert told.rc == 6
        assert "1 needs you" in told.out
        assert "exit code 4" in told.out
        assert "hermes-cron runs show r" in told.out
        need = json.loads(run_cli("status", "--json").out)["need_you"]
        assert [(each["kind"], each["job"], each["state"]) for each in need] == [("run", "j", "failed")]
        assert "需要处理" in run_cli("status", "--lang", "zh").out
        serve.send_signal(signal.SIGHUP)
    finally:
        serve.send_signal(signal.SIGTERM)
        _, err = serve.communicate(timeout=40)
    assert serve.returncode == 0
    assert "serving" in err
    assert run_cli("status").rc == 1
    lines = json.loads(run_cli("logs", "--json").out)["lines"]
    assert lines[-1]["event"] == "ServeStopped"
    assert {"ServeStarted", "RunStarted", "RunFinished"} <= {line["event"] for line in lines}
    assert "RunFinished" in run_cli("logs", "--since", "1h").out


def test_logs_follow_a_file_that_is_turned_over(home: Home, run_cli: RunCli) -> None:
    from hermes_cron.observe.logs import LogFile

    file = LogFile(home.logs, max_bytes=300, kept=3)
    file.write(json.dumps({"at": "2026-12-01T12:00:00+00:00", "level": "info", "event": "First"}))
    follow = subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", "logs", "-f"], env=clean_env({"HERMES_CRON_HOME": str(home.root)}),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert follow.stdout is not None
    with follow.stdout as pipe:
        assert "First" in pipe.readline()
        for number in range(12):
            file.write(json.dumps({"at": "2026-12-01T12:00:00+00:00", "level": "info", "event": f"E{number}"}))
            assert f"E{number}" in pipe.readline()
        follow.send_signal(signal.SIGINT)
        assert follow.wait(60) == 130
    assert len(os.listdir(home.logs)) <= 5
    assert run_cli("logs", "--limit", "2").out.count("\n") == 2


def test_a_home_that_cannot_be_written_is_one_line(tmp_path: Path, run_cli: RunCli) -> None:
    ran = run_cli("serve", "--once", at=Home(tmp_path / "none"))
    assert ran.rc == 78
    assert ran.err.startswith("error: no home at")
    assert "Traceback" not in ran.err
