"""``run`` as a person starts it: here, in a living scheduler, detached, dry, and stopped in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.store.engine import Store
from hermes_cron.testing import StubServer
from tests.conftest import RunCli, clean_env


def write_job(home: Home, name: str, front: str, body: str = "") -> None:
    (home.jobs / f"{name}.md").write_text(
        f'---\nschedule: "@yearly"\ntimezone: UTC\n{front}\n---\n{body}\n', encoding="utf-8"
    )


def start(home: Home, *argv: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", *argv],
        env=clean_env({"HERMES_CRON_HOME": str(home.root), **env}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def until(condition: Callable[[], Any], limit_s: float = 20) -> Any:
    end = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


@contextmanager
def serving(home: Home, **env: str) -> Iterator[subprocess.Popen[str]]:
    process = start(home, "serve", "-q", **env)
    try:
        until(lambda: list(home.owners.glob("serve-*.lock")))
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=40)


def runs(run_cli: RunCli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run_cli("runs", "list", "--json").out)["runs"]
    return found


def test_a_script_job_prints_its_report_and_says_how_it_ended(home: Home, run_cli: RunCli) -> None:
    write_job(home, "hello", 'script: echo "hello from $HERMES_CRON_JOB"')
    ran = run_cli("run", "hello")
    assert (ran.rc, ran.out) == (0, "hello from hello\n")
    first, *_, last = ran.err.splitlines()
    assert first.startswith("run r")
    assert "hermes-cron runs show r" in last
    (row,) = runs(run_cli)
    assert (row["state"], row["cost_usd"], row["tokens"]) == ("ok", 0.0, {"input": 0, "output": 0, "cached": 0})
    assert (home.root / row["output_path"]).read_text() == "hello from hello\n"
    steps = json.loads(run_cli("runs", "trace", row["run_id"], "--json").out)["steps"]
    assert [(step["step"], step["tool"], step["ok"]) for step in steps] == [("tool", "script", True)]


def test_the_json_object_has_the_promised_members(home: Home, run_cli: RunCli) -> None:
    write_job(home, "hello", "script: echo hi")
    told = json.loads(run_cli("run", "hello", "--json").out)
    promised = {
        "run_id", "job", "state", "reason", "verified", "deliveries", "iterations", "tool_calls", "tool_errors",
        "tokens", "cost_usd", "output_path", "text",
    }  # fmt: skip
    assert promised <= set(told)
    assert (told["text"], told["verified"], told["deliveries"]) == ("hi", None, [])


@pytest.mark.parametrize(
    ("front", "body", "state", "reason"),
    [
        ("script: exit 3", "", "failed", "exit_code"),
        ("script: sleep 30\ntimeout: 1s", "", "timeout", None),
        ("", "do something that no playbook does", "failed", "no_model"),
        ("skills: [nobody]", "x", "failed", "not_found"),
    ],
)
def test_every_other_end_is_exit_1_with_its_reason_and_a_file(
    home: Home, run_cli: RunCli, front: str, body: str, state: str, reason: str | None
) -> None:
    write_job(home, "j", front, body)
    ran = run_cli("run", "j")
    assert ran.rc == 1
    facts = [line.split("  ")[1] for line in ran.err.splitlines()[-3:]]
    assert facts == ["kept", "next try", "look"]
    assert "next try  none for a run by hand\n" in ran.err, "its schedule would not repeat it either"
    (row,) = runs(run_cli)
    assert row["state"] == state
    if reason is not None:
        assert row["reason"] == reason
    kept = (home.root / row["output_path"]).read_text()
    assert kept.startswith(f"# j: {state}")


def test_what_cannot_be_run_is_refused_before_a_run_exists(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "script: echo {{ vars.n }}\nvars: {n: 1}")
    assert run_cli("run", "nope").rc == 3
    assert run_cli("run").rc == 2
    assert run_cli("run", "j", "--prompt", "x").rc == 2
    assert run_cli("run", "--prompt", " ").rc == 2
    assert run_cli("run", "--prompt", "inspect prdo db").rc == 2
    unknown = run_cli("run", "j", "--set", "m=1")
    assert (unknown.rc, "its variables: n" in unknown.err) == (2, True)
    assert run_cli("run", "j", "--set", "n=many").rc == 2
    (home.jobs / "bad.md").write_text("---\nshedule: every day 9am\n---\nx\n")
    broken = run_cli("run", "bad")
    assert (broken.rc, "jobs/bad.md:2" in broken.err) == (2, True)
    assert runs(run_cli) == []


def test_set_reaches_the_prompt_and_dry_run_runs_nothing(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "vars: {host: a, days: 3}", "look at {{ vars.host }} for {{ vars.days }} days, {{.Names}}")
    env = {"HERMES_CRON_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    shown = json.loads(run_cli("run", "j", "--dry-run", "--set", "host=b", "--json", env=env).out)
    assert shown["task"] == "look at b for 3 days, {{.Names}}"
    assert shown["tools"] == ["memory", "now", "skill_manage", "skill_view", "skills_list"]
    assert shown["runs_by"] == "m"
    assert list(shown["bytes"]) == ["rules", "guidance", "skill index", "memory", "run", "tools", "task"]
    assert sum(size for name, size in shown["bytes"].items() if name not in {"tools", "task"}) == (
        len(shown["system"].encode()) - 4 * len("\n\n")
    )
    assert runs(run_cli) == []
    assert not home.work.exists() or list(home.work.iterdir()) == []


def test_a_second_run_of_a_running_job_is_a_conflict(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    go = tmp_path / "go"
    write_job(home, "j", f"script: until [ -e {go} ]; do sleep 0.02; done")
    first = start(home, "run", "j")
    try:
        until(lambda: any(row["state"] == "running" for row in runs(run_cli)))
        second = run_cli("run", "j")
        assert (second.rc, "running already" in second.err) == (5, True)
    finally:
        go.touch()
        first.communicate(timeout=20)
    assert first.returncode == 0


def test_ctrl_c_ends_the_run_as_cancelled(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "script: sleep 60\ntimeout: 90s")
    process = start(home, "run", "j")
    until(lambda: any(row["state"] == "running" for row in runs(run_cli)))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert [row["state"] for row in runs(run_cli)] == ["cancelled"]


@pytest.mark.parametrize("then", [signal.SIGINT, signal.SIGKILL])
def test_what_ctrl_c_stopped_no_scheduler_goes_on_with(home: Home, run_cli: RunCli, then: signal.Signals) -> None:
    """Once, and while the step goes on once more, or the terminal is closed."""
    write_job(home, "j", "tools: [terminal]", "do it")
    with StubServer([{"tool_calls": [{"name": "terminal", "arguments": {"command": "sleep 30"}}]}]) as stub:
        model = {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "stub"}
        process = start(home, "run", "j", **model)
        until(lambda: any(row["tool_calls"] or row["state"] == "running" for row in runs(run_cli)))
        until(lambda: stub.requests)
        process.send_signal(signal.SIGINT)
        until(lambda: asked_to_stop(home))
        process.send_signal(then)
        said = process.communicate(timeout=20)
        assert process.returncode == (130 if then is signal.SIGINT else -9), said
        assert "Traceback" not in said[1]
        once = run_cli("serve", "--once", "-q", env=model)
        assert once.rc == 0
        (row,) = runs(run_cli)
        assert (row["state"], row["reason"]) == ("cancelled", "cancelled")
        assert len(stub.requests) == 1


def asked_to_stop(home: Home) -> bool:
    with Store(home.store) as store, store.read() as conn:
        return bool(conn.exec_driver_sql("select count(*) from runs where cancel_requested_at is not null").scalar())


def test_a_killed_command_leaves_a_run_that_is_called_interrupted(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "script: sleep 60\ntimeout: 90s")
    process = start(home, "run", "j")
    until(lambda: any(row["state"] == "running" for row in runs(run_cli)))
    process.kill()
    process.communicate()
    assert run_cli("serve", "--once", "-q").rc == 0
    assert [(row["state"], row["reason"]) for row in runs(run_cli)] == [("interrupted", "owner_died")]


def test_c285_with_a_living_scheduler_the_caller_only_waits(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    go = tmp_path / "go"
    write_job(home, "j1", f"script: until [ -e {go} ]; do sleep 0.02; done; echo done")
    with serving(home):
        caller = start(home, "run", "j1")
        until(lambda: any(row["state"] == "running" for row in runs(run_cli)))
        caller.terminate()  # what `timeout 2` does
        caller.communicate(timeout=60)
        go.touch()
        (row,) = until(lambda: [row for row in runs(run_cli) if row["ended_at"]])
    assert row["state"] == "ok"


def test_with_a_living_scheduler_the_report_comes_back_and_ctrl_c_cancels(home: Home, run_cli: RunCli) -> None:
    write_job(home, "quick", "script: echo done")
    write_job(home, "slow", "script: sleep 60\ntimeout: 90s")
    with serving(home):
        ran = run_cli("run", "quick", "--json")
        assert (ran.rc, json.loads(ran.out)["text"]) == (0, "done")
        caller = start(home, "run", "slow")
        until(lambda: any(row["state"] == "running" for row in runs(run_cli)))
        caller.send_signal(signal.SIGINT)
        caller.communicate(timeout=20)
        assert caller.returncode == 130
    assert sorted(row["state"] for row in runs(run_cli)) == ["cancelled", "ok"]


def test_who_follows_a_run_whose_scheduler_was_killed_is_told_and_let_go(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "script: sleep 60\ntimeout: 90s")
    with serving(home) as scheduler:
        caller = start(home, "run", "j", "--lang", "zh")
        until(lambda: any(row["state"] == "running" for row in runs(run_cli)))
        scheduler.kill()
        _, said = caller.communicate(timeout=40)
    assert caller.returncode == 1
    assert "调度器已结束" in said
    assert run_cli("serve", "--once", "-q").rc == 0  # and its sleep is ended


def test_who_presses_ctrl_c_twice_need_not_wait_for_the_step(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "tools: [terminal]", "do it")
    with StubServer([{"tool_calls": [{"name": "terminal", "arguments": {"command": "sleep 5"}}]}]) as stub:
        model = {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "stub"}
        with serving(home, **model):
            caller = start(home, "run", "j")
            until(lambda: stub.requests)
            caller.send_signal(signal.SIGINT)
            until(lambda: asked_to_stop(home))
            caller.send_signal(signal.SIGINT)
            began = time.monotonic()
            caller.communicate(timeout=20)
            assert caller.returncode == 130
            assert any(row["state"] == "running" for row in runs(run_cli)) or time.monotonic() - began > 2
            (row,) = until(lambda: [row for row in runs(run_cli) if row["ended_at"]])
    assert (row["state"], row["reason"]) == ("cancelled", "cancelled")


def test_detach_queues_and_serve_executes(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "script: echo done")
    queued = run_cli("run", "j", "--detach")
    assert queued.rc == 0
    assert "No scheduler is running" in queued.err
    assert [row["state"] for row in runs(run_cli)] == ["queued"]
    assert run_cli("serve", "--once", "-q").rc == 0
    assert [row["state"] for row in runs(run_cli)] == ["ok"]


def test_a_prompt_without_a_job(home: Home, run_cli: RunCli) -> None:
    with StubServer([{"text": "It is done."}]) as stub:
        env = {"HERMES_CRON_MODEL": "m", "OPENAI_BASE_URL": stub.base_url}
        ran = run_cli("run", "--prompt", "do it", env=env)
        sent = stub.requests[0].json()
    assert (ran.rc, ran.out) == (0, "It is done.\n")
    assert sent["messages"][-1] == {"role": "user", "content": "do it"}
    assert [row["job"] for row in runs(run_cli)] == ["prompt"]


def test_a_secret_reaches_neither_the_request_nor_the_report(home: Home, run_cli: RunCli) -> None:
    run_cli("secrets", "set", "token", "--stdin", stdin="hunter2hunter2")
    with StubServer([{"text": "the token is hunter2hunter2"}]) as stub:
        env = {"HERMES_CRON_MODEL": "m", "OPENAI_BASE_URL": stub.base_url}
        ran = run_cli("run", "--prompt", "say hunter2hunter2", env=env)
        sent = stub.bodies[0]
    assert b"hunter2hunter2" not in sent
    assert "hunter2hunter2" not in ran.out
    (row,) = runs(run_cli)
    assert "hunter2hunter2" not in (home.root / row["output_path"]).read_text()


def test_a_password_in_a_prompt_is_refused_and_goes_nowhere(home: Home, run_cli: RunCli) -> None:
    prompt = "look at postgresql://watcher:" + "hunter2secret@db.example/shop"
    (home.jobs / "hand.md").write_text(f"---\nschedule: every day 9am\ntimezone: UTC\n---\nfirst\n{prompt}\n")
    ran = run_cli("check")
    assert (ran.rc, ran.out) == (
        2, "jobs/hand.md:6 the prompt holds a URL with a password; secrets do not belong in job files\n",
    )  # fmt: skip
    (home.jobs / "hand.md").unlink()
    for argv in (("add", f"every day 9am: {prompt}"), ("run", "--prompt", prompt)):
        ran = run_cli(*argv)
        assert (ran.rc, ran.out) == (4, "")
        assert "hunter2secret" not in ran.err
    assert not [path for path in home.root.rglob("*") if "hunter2" in path.name]
    assert not [p for p in home.root.rglob("*") if p.is_file() and b"hunter2secret" in p.read_bytes()]


def test_the_model_of_a_job_is_enough_and_another_may_be_asked_for_once(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "model: pinned", "say hi")
    with StubServer(["hi", "hello"]) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url}
        assert run_cli("run", "j", env=env).rc == 0
        assert run_cli("run", "j", "--model", "other", env=env).rc == 0
        assert [json.loads(body)["model"] for body in stub.bodies] == ["pinned", "other"]
    assert "model: pinned" in (home.jobs / "j.md").read_text()


@pytest.mark.parametrize(
    "argv",
    [("j", "--db", "prod"), ("j", "--skill", "s"), ("j", "--tool", "now"), ("--prompt", "say hi", "--set", "a=b")],
)
def test_an_option_that_would_change_nothing_is_refused(home: Home, run_cli: RunCli, argv: tuple[str, ...]) -> None:
    write_job(home, "j", "model: pinned", "say hi")
    ran = run_cli("run", *argv)
    assert (ran.rc, ran.out) == (2, "")
    assert argv[-2] in ran.err
    assert runs(run_cli) == []


def test_a_dry_run_shows_what_the_last_run_said(home: Home, run_cli: RunCli) -> None:
    write_job(home, "j", "model: pinned", "before: {{ last.output }}")
    with StubServer(["all is well"]) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url}
        assert run_cli("run", "j", env=env).rc == 0
        assert "all is well" in run_cli("run", "j", "--dry-run", env=env).out
        assert len(stub.bodies) == 1
