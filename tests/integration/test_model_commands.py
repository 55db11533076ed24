"""``model`` and ``dev stub`` as a person starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import RunCli


def test_without_a_model_it_says_so_and_a_test_names_the_next_command(run_cli: RunCli, home: Home) -> None:
    assert "playbooks only" in run_cli("model", "show").out
    assert json.loads(run_cli("model", "show", "--json").out)["model"] is None
    tested = run_cli("model", "test")
    assert tested.rc == 1
    assert "hermes-cron model set" in tested.err
    assert json.loads(run_cli("model", "test", "--json").err)["error"]["code"] == "ModelNotConfigured"


def test_set_show_list_and_test_one_after_the_other(run_cli: RunCli, home: Home) -> None:
    home.config.write_text('# my notes\ntimezone = "UTC"  # stays\n', encoding="utf-8")
    with StubServer({"models": ["a", "gpt-5-mini"], "replies": [{"repeat": True, "text": "ready"}]}) as stub:
        done = run_cli("model", "set", "gpt-5-mini", "--base-url", stub.base_url)
        assert (done.rc, done.out) == (0, f"gpt-5-mini at {stub.base_url}\n")
        assert home.config.read_text("utf-8").startswith('# my notes\ntimezone = "UTC"  # stays\n')
        shown = json.loads(run_cli("model", "show", "--json").out)
        assert (shown["model"], shown["base_url"]) == ("gpt-5-mini", stub.base_url)
        assert shown["key"] == {"source": None, "present": False}
        assert shown["price_usd_per_million"] == {"input": 0.25, "output": 2, "cached": 0.025}
        assert json.loads(run_cli("model", "list", "--json").out) == {
            "models": ["a", "gpt-5-mini"],
            "current": "gpt-5-mini",
        }
        assert "gpt-5-mini *" in run_cli("model", "list").out
        tested = json.loads(run_cli("model", "test", "--json").out)
        assert (tested["text"], tested["tokens"]["input"]) == ("ready", 100)
        assert tested["cost_usd"] == pytest.approx(45e-6)
        assert "0.000045 USD" in run_cli("model", "test").out
        assert len(stub.requests) == 2


def test_the_environments_key_is_named_and_never_shown(run_cli: RunCli, home: Home) -> None:
    key = "sk-live-1234567890"
    with StubServer([{"status": 401, "body": {"error": {"message": f"wrong key {key}"}}, "repeat": True}]) as stub:
        env = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "unpriced"}
        ran = [run_cli("model", "show", env=env), run_cli("model", "show", "--json", env=env)]
        ran += [run_cli("model", "test", env=env), run_cli("model", "test", "--json", env=env)]
        assert stub.requests[0].headers["authorization"] == f"Bearer {key}"
    assert "OPENAI_API_KEY" in ran[0].out
    assert "unknown" in ran[0].out
    assert json.loads(ran[3].err)["error"]["code"] == "ModelAuth"
    assert all(key not in one.out + one.err for one in ran)


def test_a_key_in_place_of_a_reference_is_refused_and_the_file_stays(run_cli: RunCli, home: Home) -> None:
    before = home.config.read_bytes()
    done = run_cli("model", "set", "m", "--key", "sk-live-1234567890")
    assert done.rc == 4
    assert home.config.read_bytes() == before
    assert "sk-live" not in done.err


def test_a_shadowed_choice_is_said(run_cli: RunCli, home: Home) -> None:
    done = run_cli("model", "set", "m", env={"HERMES_CRON_MODEL": "other"})
    assert done.rc == 0
    assert "HERMES_CRON_MODEL" in done.err


def test_the_stub_prints_its_address_serves_logs_and_ends_on_a_signal(tmp_path: Path) -> None:
    import httpx2

    script, log = tmp_path / "s.json", tmp_path / "req.jsonl"
    script.write_text('["hello"]', encoding="utf-8")
    command = [sys.executable, "-m", "hermes_cron", "dev", "stub", str(script), "--log", str(log), "--delay-ms", "1"]
    env = {**os.environ, "HERMES_CRON_HOME": str(tmp_path / "none")}  # it needs no home
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        body = '{"model": "m", "messages": [{"role": "user", "content": "巡检"}]}'.encode()
        with httpx2.Client(trust_env=False) as http:
            said = http.post(f"{base_url}/chat/completions", content=body).json()
        assert said["choices"][0]["message"]["content"] == "hello"
        assert log.read_bytes() == body + b"\n"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert base_url in err


@pytest.mark.parametrize("text, fact", [(b"[", "not JSON"), (b'[{"txt": 1}]', "txt"), (b'["\xff"]', "not UTF-8")])
def test_a_wrong_script_is_a_usage_error(run_cli: RunCli, tmp_path: Path, text: bytes, fact: str) -> None:
    script = tmp_path / "s.json"
    script.write_bytes(text)
    done = run_cli("dev", "stub", str(script))
    assert done.rc == 2
    assert fact in done.err
    assert "docs/formats/stub.md" in done.err
    assert run_cli("dev", "stub", str(tmp_path / "absent.json")).rc == 2
