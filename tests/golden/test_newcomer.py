"""What somebody meets on the first day: by hand, with a slip of the pen, in English and in Chinese."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.serving import Serving, until, write_job

Cli = Callable[..., Any]


@pytest.fixture
def shop(tmp_path: Path, run_cli: Cli) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("create table orders (id integer primary key); insert into orders values (1);")
    assert run_cli("db", "add", "shop", "--url", str(path)).rc == 0
    return path


def test_a_target_that_nobody_has_is_refused_as_it_was_typed_and_with_what_there_is(run_cli: Cli) -> None:
    said = ("add", "every day 9am: look", "--deliver", "ops-chat")
    assert run_cli(*said).err == (
        'error: no target "ops-chat"\n  known    none yet\n  add one  hermes-cron targets add ops-chat\n'
    )
    assert run_cli("targets", "add", "ops-chats", "--kind", "file", "--path", "x.md", "--no-test").rc == 0
    assert "known    ops-chats\n" in run_cli(*said).err


def test_a_database_file_that_is_not_there_is_told_with_the_ways_to_spell_it(home: Home, run_cli: Cli) -> None:
    told = run_cli("db", "add", "prod", "--url", "sqlite:///shop.db")
    assert f"database prod: there is no file {home.root}/shop.db" in told.err
    assert f"  ways  sqlite:////PATH is absolute; sqlite:///PATH begins in {home.root}\n" in told.err
    assert "ways" not in run_cli("db", "add", "prod", "--url", "sqlite:////no/such/shop.db").err


def test_history_after_a_run_by_hand_says_where_that_is(home: Home, run_cli: Cli) -> None:
    write_job(home, "j", "schedule: every day 9am", "script: echo 1")
    assert run_cli("history", "j").out == "Nothing was due yet.\n"
    assert run_cli("run", "j").rc == 0
    for words, of in ((("history", "j"), " --job j"), (("history",), "")):
        said = f"Nothing was due yet. Runs by hand are no instants: hermes-cron runs list{of}\n"
        assert run_cli(*words).out == said


def test_a_model_that_takes_jobs_over_from_playbooks_is_said_to_cost_something(shop: Path, run_cli: Cli) -> None:
    assert run_cli("add", "every day 9am: inspect shop db").rc == 0
    said = run_cli("model", "set", "gpt-5-mini", "--base-url", "http://127.0.0.1:9/v1").err
    assert "It drives inspect-shop-db from now on, which playbooks did and which cost nothing." in said
    assert "hermes-cron edit inspect-shop-db --playbook only" in said
    assert run_cli("edit", "inspect-shop-db", "--playbook", "only").rc == 0
    assert "playbook inspect-database; no model" in run_cli("show", "inspect-shop-db").out
    assert "playbooks" not in run_cli("model", "set", "gpt-5").err
    assert run_cli("model", "set", "none").rc == 0
    assert "playbooks" not in run_cli("model", "set", "gpt-5").err  # there is no other job


def test_show_names_the_beginning_that_an_interval_counts_from(home: Home) -> None:
    write_job(home, "j", "schedule: every 10 minutes", "script: echo 1")
    with Serving(home, start_at="11:59") as serving:
        serving.at("12:03")
        told = serving.cli("show", "j").out
        assert "every 10 minutes from 2026-12-01T11:59+00:00, UTC" in told
        assert "Tue 2026-12-01 12:09" in told
        assert serving.ask("show", "j")["job"]["trigger"]["anchor"] == "2026-12-01T11:59:00+00:00"


def test_a_run_that_goes_on_says_what_it_used_so_far(home: Home) -> None:
    look = {"tool_calls": [{"name": "now", "arguments": {}}], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}
    write_job(home, "j", "schedule: every day 9am", "tools: [now]", prompt="look")
    with StubServer([look, {"hang": True}, look, {"text": "done"}]) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "m"}
        with Serving(home, env=env) as serving:
            run_id = serving.ask("run", "j", "--detach")["run_id"]
            until(lambda: len(stub.requests) == 2, "the second request")
            told = serving.ask("runs", "show", run_id)
            assert (told["state"], told["model"], told["iterations"], told["tool_calls"]) == ("running", "m", 1, 1)
            assert (told["tokens"]["input"], told["cost_usd"]) == (100, None)
            assert serving.ask("runs", "list")["runs"][0]["tokens"]["output"] == 7
            shown = serving.cli("runs", "show", run_id).out
            assert "  by       m\n" in shown
            assert "1 model call, 1 tool call (0 failed), 107 tokens" in shown
            assert "  1 call " in shown
            assert "运行 " + run_id in serving.cli("runs", "show", run_id, "--lang", "zh").out


def test_what_a_run_was_told_stands_in_its_trace(home: Home, tmp_path: Path) -> None:
    """The run's command ends when the person has spoken, however long that takes."""
    said = tmp_path / "said"
    wait = {"command": f"while [ ! -e {said} ]; do sleep 0.05; done"}
    waits = {"tool_calls": [{"name": "terminal", "arguments": wait}]}
    write_job(home, "j", "schedule: every day 9am", "tools: [terminal]", prompt="look")
    with StubServer([waits, {"text": "done"}]) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "m"}
        with Serving(home, env=env) as serving:
            run_id = serving.ask("run", "j", "--detach")["run_id"]
            until(lambda: stub.requests, "the first request")
            assert serving.cli("runs", "steer", run_id, "be", "brief").rc == 0
            said.touch()
            until(lambda: serving.runs()[0]["state"] == "ok", "the end")
            (step,) = [each for each in serving.ask("runs", "trace", run_id)["steps"] if each["step"] == "told"]
            assert step["text"].endswith("be brief")
            assert "told" in serving.cli("runs", "trace", run_id).out
            assert step["text"] in [each["content"] for each in json.loads(stub.requests[-1].body)["messages"]]
