"""What a person adds or changes while a scheduler runs is there for its next run: databases, model, key, tools."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import RunCli
from tests.serving import Serving, write_job

TOOL = '''"""The tool ``pay``."""
from hermes_cron.tools.declaration import Arguments, Tool


class Pay(Arguments):
    pass


TOOL = Tool(name="pay", toolset="money", description="Pay.", arguments=Pay, handler=lambda a, c: "{said}")
'''
PAY = [{"tool_calls": [{"name": "pay", "arguments": {}}]}, {"text": "done"}]


def ran(serving: Serving, *argv: str) -> dict[str, Any]:
    """The run of the living scheduler that this command follows."""
    found: dict[str, Any] = serving.ask("run", *argv)
    return found


def shop(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("create table orders (id integer primary key); insert into orders values (1);")
    return path


def test_a_database_that_is_added_while_it_runs_can_be_inspected_at_once(home: Home, tmp_path: Path) -> None:
    with Serving(home) as serving:
        assert serving.cli("db", "add", "shop", "--url", str(shop(tmp_path / "shop.db"))).rc == 0
        assert serving.cli("add", "every day 9am: inspect shop db").rc == 0
        first = ran(serving, "inspect-shop-db")
        assert (first["state"], first["model"]) == ("ok", "playbook:inspect-database")
        assert serving.cli("edit", "inspect-shop-db", "--db", "shop").rc == 0
        path = home.jobs / "inspect-shop-db.md"
        check = 'checks:\n  - sql: {database: later, query: "select count(*) from orders", equals: 1}\n---\n\ninspect'
        path.write_text(path.read_text().replace("---\ninspect", check.replace("\n\n", "\n")))
        assert ran(serving, "inspect-shop-db")["verified"] == "not_checkable"
        assert serving.cli("db", "add", "later", "--url", str(shop(tmp_path / "later.db"))).rc == 0
        assert ran(serving, "inspect-shop-db")["verified"] == "verified"
        assert serving.cli("db", "remove", "shop", "-y").rc == 0
        gone = ran(serving, "inspect-shop-db")
        assert (gone["state"], gone["error"]) == ("failed", 'no database "shop"')


def test_another_model_another_server_and_another_key_are_the_next_runs(home: Home) -> None:
    write_job(home, "j", "schedule: every day 9am", "tools: [now]", prompt="look")
    answer = {"text": "fine", "repeat": True}
    with StubServer([answer]) as first, StubServer([answer]) as second, Serving(home) as serving:
        assert ran(serving, "j")["reason"] == "no_model"
        assert serving.cli("secrets", "set", "k", "--stdin", stdin="key-one-of-the-first").rc == 0
        assert serving.cli("model", "set", "m1", "--base-url", first.base_url, "--key", "secret:k").rc == 0
        assert ran(serving, "j")["model"] == "m1"
        assert serving.cli("model", "set", "m2", "--base-url", second.base_url).rc == 0
        assert serving.cli("secrets", "set", "k", "--stdin", "-y", stdin="key-two-of-the-first").rc == 0
        assert serving.cli("config", "set", "model.max_tokens", "77").rc == 0
        assert ran(serving, "j")["model"] == "m2"
        (one,), (two,) = first.requests, second.requests
        assert one.headers["authorization"] == "Bearer key-one-of-the-first"
        assert two.headers["authorization"] == "Bearer key-two-of-the-first"
        assert json.loads(two.body)["max_tokens"] == 77


def test_a_tool_of_the_homes_own_is_offered_when_its_file_is_there_and_as_it_is_then(home: Home) -> None:
    with StubServer([*PAY, *PAY]) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "m"}
        with Serving(home, env=env) as serving:
            (home.root / "tools").mkdir()
            for said in ("paid at last", "paid once more"):
                (home.root / "tools" / "pay.py").write_text(TOOL.format(said=said))
                if said == "paid at last":
                    assert serving.cli("add", "every day 9am: pay the bill", "--tool", "pay").rc == 0
                assert ran(serving, "pay-the-bill")["tool_errors"] == 0
                assert json.loads(stub.requests[-1].body)["messages"][-1]["content"] == said


def test_a_setting_that_a_running_scheduler_does_not_take_is_said_to_be_so(home: Home, run_cli: RunCli) -> None:
    with Serving(home) as serving:
        assert "next start" in serving.cli("config", "set", "concurrency", "2").err
        assert serving.cli("config", "set", "limits.minutes", "2").err == ""
    assert run_cli("config", "set", "concurrency", "3").err == ""


def test_a_secret_that_a_target_names_and_nobody_stored_is_found_beforehand(home: Home, run_cli: RunCli) -> None:
    said = '[targets.ops]\nkind = "webhook"\nurl = "https://example.com/x"\nsecret = "secret:ops-key"\n'
    home.config.write_text(said)
    done = run_cli("config", "check")
    assert (done.rc, 'config.toml:4: targets.ops.secret: no secret "ops-key"' in done.err) == (78, True), done.err
