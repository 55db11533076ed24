"""What an agent says is one thing, what it did another: check 4 of runs that can be believed, as a person meets it.

A stub model plays the agent; the command line, the store, the files, the database and the commands are real.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import Ran, RunCli

JOB = """---
schedule: every day 9am
timezone: UTC
tools: [now, write_file, terminal]
workdir: {workdir}
{keys}
---
load the orders
"""
ORDERS = 'checks: [{sql: {database: shop, query: "select count(*) from orders", at_least: 1}}]'
LOAD = "sqlite3.connect('shop.db', isolation_level=None).execute('insert into orders values (1)')"


@pytest.fixture
def workdir(tmp_path: Path, home: Home) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "shop.db")) as conn:
        conn.execute("create table orders (id integer)")
    with home.config.open("a") as config:
        config.write(f'[databases.shop]\nurl = "sqlite:///{folder}/shop.db"\n')
    return folder


class Agent:
    """A job, and a model that plays the given replies in its run."""

    def __init__(self, home: Home, run_cli: RunCli, workdir: Path) -> None:
        self.home, self.workdir, self._cli = home, workdir, run_cli
        self.file = home.jobs / "load.md"
        self.asked: list[list[dict[str, Any]]] = []

    def job(self, *keys: str) -> None:
        self.file.write_text(JOB.format(workdir=self.workdir, keys="\n".join(keys)))

    def plays(self, *replies: Any) -> tuple[Ran, dict[str, Any]]:
        """The command as it ended, and the object it printed."""
        with StubServer([{"text": reply} if isinstance(reply, str) else reply for reply in replies]) as stub:
            env = {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "stub-model", "OPENAI_API_KEY": "k"}
            ran = self._cli("run", "load", "--json", env=env)
            self.asked = [request.messages for request in stub.requests]
        return ran, json.loads(ran.out)

    def counted(self, outcome: str) -> float:
        """``hermes_cron_job_checks_total`` of the job."""
        labels = json.dumps({"job_name": "load", "outcome": outcome}, separators=(",", ":"))
        with closing(sqlite3.connect(self.home.store)) as conn:
            row = conn.execute(
                "select value from counters where name = 'hermes_cron_job_checks_total' and labels = ?", (labels,)
            ).fetchone()
        return row[0] if row else 0.0


@pytest.fixture
def agent(home: Home, run_cli: RunCli, workdir: Path) -> Iterator[Agent]:
    return Agent(home, run_cli, workdir)


def does(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "terminal", "arguments": {"command": command}}]}


def python(code: str) -> dict[str, Any]:
    return does(f'python3 -c "import sqlite3; {code}"')


def only(told: dict[str, Any]) -> dict[str, Any]:
    (check,) = told["checks"]
    return dict(check)


def test_an_agent_that_says_done_and_did_nothing(agent: Agent) -> None:
    agent.job(ORDERS)
    ran, told = agent.plays("Done: all orders are loaded.")
    assert (ran.rc, told["state"], told["verified"]) == (1, "ok", "check_failed")
    assert only(told)["says"] == "sql shop: select count(*) from orders, at_least 1"
    assert only(told)["detail"] == "0, not at least 1"
    assert (agent.counted("verified"), agent.counted("check_failed")) == (0, 1)
    assert told["text"] == "Done: all orders are loaded."


def test_an_agent_that_did_it_is_verified(agent: Agent) -> None:
    agent.job(ORDERS)
    ran, told = agent.plays(python(LOAD), "Loaded 1 order.")
    assert (ran.rc, told["state"], told["verified"], only(told)["detail"]) == (0, "ok", "verified", "1")
    assert (agent.counted("verified"), agent.counted("check_failed")) == (1, 0)


@pytest.mark.parametrize(
    "edit, now",
    [
        ("sed -i 's/at_least: 1/at_least: 0/' {file}", "the job file's checks are others now"),
        ("sed -i '/^checks/d' {file}", "the job file's checks are others now"),
        ("rm {file}", "the job has no file now"),
        ("echo broken > {file}", "the job file is broken now"),
    ],
)
def test_an_agent_that_edits_its_own_checks_is_judged_by_those_it_began_with(agent: Agent, edit: str, now: str) -> None:
    agent.job(ORDERS)
    ran, told = agent.plays(does(edit.format(file=agent.file)), "Done.")
    assert (ran.rc, told["verified"]) == (1, "check_failed")
    said = only(told)["detail"]
    assert said.startswith("0, not at least 1; judged by the revision of 20")
    assert said.endswith(f" UTC: {now}")
    assert agent.counted("verified") == 0


def test_an_edit_that_leaves_the_checks_alone_is_not_told(agent: Agent) -> None:
    agent.job(ORDERS)
    _, told = agent.plays(does(f"sed -i 's/load the orders/load all/' {agent.file}"), python(LOAD), "Done.")
    assert (told["verified"], only(told)["detail"]) == ("verified", "1")


def test_a_job_that_ran_at_its_one_instant_is_not_called_broken(agent: Agent) -> None:
    agent.job(ORDERS)
    agent.file.write_text(agent.file.read_text().replace("every day 9am", '"2031-01-01 09:00"'))
    _, told = agent.plays(python(LOAD), "Done.")
    assert only(told)["detail"] == "1"


def test_an_agent_that_edits_the_schema_is_judged_by_the_old_one(agent: Agent) -> None:
    schema = agent.workdir / "schema.json"
    schema.write_text('{"type": "object", "required": ["orders"]}')
    agent.job("checks: [{report: {schema: schema.json}}]")
    ran, told = agent.plays(does("echo '{}' > schema.json"), "{}")
    assert (ran.rc, told["verified"]) == (1, "check_failed")
    assert only(told)["detail"] == (
        "$ has no orders; judged by schema.json as it was before the run, which was changed since"
    )


def test_an_agent_that_edits_the_script_of_a_check_proves_nothing(agent: Agent) -> None:
    verify = agent.workdir / "verify.sh"
    verify.write_text("exit 1\n")
    agent.job('checks: [{shell: {command: "sh verify.sh"}}]')
    ran, told = agent.plays(does("echo exit 0 > verify.sh"), "Done.")
    assert (ran.rc, told["verified"]) == (1, "not_checkable")
    assert only(told)["detail"] == f"{verify} was changed during the run, so what it says proves nothing"
    assert (agent.counted("verified"), agent.counted("not_checkable")) == (0, 1)


def test_changed_means_changed_by_this_run(agent: Agent) -> None:
    (agent.workdir / "out.csv").write_text("from yesterday\n")
    agent.job("checks: [{file: {path: out.csv, changed: true}}]")
    ran, told = agent.plays(does("touch out.csv"), "Written.")
    assert (ran.rc, only(told)["detail"]) == (1, "it is as it was before the run")
    ran, told = agent.plays(does("echo new > out.csv"), "Written.")
    assert (ran.rc, told["verified"]) == (0, "verified")


@pytest.mark.parametrize(
    "check, said",
    [
        ('sql: {database: shop, query: "select n from nowhere", equals: 1}', "no such table"),
        ("http: {url: http://127.0.0.1:9/}", "no answer"),
        ("shell: {command: no-such-program}", "did not start"),
        ("shell: {command: sleep 60, timeout: 1s}", "no end within 1 s"),
        ("file: {path: ., changed: true}", "is a folder"),
        ("report: {schema: missing.json}", "no such file"),
    ],
)
def test_a_check_that_cannot_run_is_never_ok(agent: Agent, check: str, said: str) -> None:
    agent.job(f"checks: [{{{check}}}, {{report: {{matches: Done}}}}]")
    ran, told = agent.plays("Done.")
    assert (ran.rc, told["state"], told["verified"]) == (1, "ok", "not_checkable")
    first, second = told["checks"]
    assert (first["verdict"], second["verdict"]) == ("not_checkable", "verified")
    assert said in first["detail"]
    assert agent.counted("verified") == 0


def test_a_failed_check_is_told_to_the_agent_in_the_same_transcript(agent: Agent) -> None:
    agent.job(ORDERS, "on_check_failure: {attempts: 2}")
    ran, told = agent.plays("Done.", python(LOAD), "Now it is loaded.")
    assert (ran.rc, told["verified"], told["text"]) == (0, "verified", "Now it is loaded.")
    first, second, _ = agent.asked
    assert second[: len(first)] == first
    evidence = second[-1]
    assert evidence["role"] == "user"
    assert (
        '<data source="checks">\nsql shop: select count(*) from orders, at_least 1: 0, not at least 1\n</data>'
        in (evidence["content"])
    )


def test_tries_end_after_their_number(agent: Agent) -> None:
    agent.job(ORDERS, "on_check_failure: {attempts: 2}")
    ran, told = agent.plays("Done.", "Done, really.", "I tell you it is done.")
    assert (ran.rc, told["verified"], told["iterations"]) == (1, "check_failed", 3)
    assert told["text"] == "I tell you it is done."
    assert agent.counted("check_failed") == 1


def test_what_could_not_be_checked_is_not_tried_again(agent: Agent) -> None:
    agent.job("checks: [{shell: {command: no-such-program}}]", "on_check_failure: {attempts: 2}")
    _, told = agent.plays("Done.")
    assert (told["verified"], told["iterations"]) == ("not_checkable", 1)


def test_a_run_that_failed_is_not_checked(agent: Agent) -> None:
    agent.job(ORDERS)
    _, told = agent.plays({"status": 400})
    assert (told["state"], told["verified"], told["checks"]) == ("failed", None, [])


def test_a_script_job_is_checked_too(agent: Agent) -> None:
    agent.file.write_text(
        f"---\nschedule: every day 9am\ntimezone: UTC\nworkdir: {agent.workdir}\n{ORDERS}\nscript: echo loaded\n---\n"
    )
    ran, told = agent.plays()
    assert (ran.rc, told["state"], told["verified"]) == (1, "ok", "check_failed")


def test_c112_silence_is_kept_and_is_never_verified(agent: Agent) -> None:
    agent.job("checks: [{report: {matches: skipped}}]")
    ran, told = agent.plays("3 items skipped.\n\n[SILENT]")
    assert (ran.rc, told["state"], told["silent"], told["verified"]) == (0, "ok", True, None)
    assert "3 items skipped." in (agent.home.root / told["output_path"]).read_text()
    assert only(told)["verdict"] == "verified"
    assert agent.counted("verified") == 0


@pytest.mark.parametrize("text", ["[SILENT", "[SILENT].", " [silent] \n", "SILENT"])
def test_c113_a_mistyped_marker_is_a_report(agent: Agent, text: str) -> None:
    agent.job()
    _, told = agent.plays(text)
    assert (told["state"], told["silent"], told["text"]) == ("ok", False, text.rstrip("\n"))


def test_a_silent_run_may_fail_its_check(agent: Agent) -> None:
    agent.job(ORDERS)
    ran, told = agent.plays("[SILENT]")
    assert (ran.rc, told["verified"], told["silent"]) == (1, "check_failed", True)


def test_a_refusal_is_no_success(agent: Agent) -> None:
    agent.job("checks: [{report: {matches: help}}]")
    ran, told = agent.plays("I'm sorry, but I can't help with that.")
    assert (ran.rc, told["state"], told["reason"], told["verified"]) == (1, "failed", "model_refused", None)
    assert "can't help" in (agent.home.root / told["output_path"]).read_text()
