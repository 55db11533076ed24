"""A playbook looks at one database. A job that names several is refused and never reports on the first alone."""

from __future__ import annotations

import json

import pytest

from hermes_cron.home import Home
from tests.conftest import RunCli
from tests.planted import plant_sqlite


@pytest.fixture
def two(home: Home, run_cli: RunCli) -> None:
    for name in ("prod", "billing"):
        plant_sqlite(home.root / f"{name}.db")
        assert run_cli("db", "add", name, "--url", str(home.root / f"{name}.db")).rc == 0


@pytest.mark.usefixtures("two")
def test_add_refuses_and_writes_nothing(home: Home, run_cli: RunCli) -> None:
    ran = run_cli("add", "every day 9am: inspect prod and billing db", "--json")
    told = json.loads(ran.err)["error"]
    assert (ran.rc, told["code"]) == (2, "PlaybookOneDatabase")
    assert "prod, billing" in told["message"] or "billing, prod" in told["message"]
    assert not list(home.jobs.glob("*.md"))


@pytest.mark.usefixtures("two")
def test_check_names_the_line_and_a_run_fails(home: Home, run_cli: RunCli) -> None:
    text = "---\nschedule: every day 9am\ntimezone: UTC\ndatabases: [prod, billing]\n---\ninspect prod and billing db\n"
    (home.jobs / "both.md").write_text(text)
    checked = run_cli("check")
    assert checked.rc == 2
    assert checked.out.startswith("jobs/both.md:4 playbook inspect-database looks at one database a run")
    ran = run_cli("run", "both", "--json")
    told = json.loads(ran.out)
    assert (ran.rc, told["state"], told["reason"]) == (1, "failed", "several_databases")
    assert (told["iterations"], told["tool_calls"]) == (0, 0)
    assert "takes one database a run" in run_cli("show", "both").out


@pytest.mark.usefixtures("two")
def test_a_model_may_look_at_several(home: Home, run_cli: RunCli) -> None:
    env = {"HERMES_CRON_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    ran = run_cli("add", "every day 9am: inspect prod and billing db", "--json", env=env)
    assert (ran.rc, json.loads(ran.out)["runs_by"]["kind"]) == (0, "model")
    assert len(list(home.jobs.glob("*.md"))) == 1


@pytest.mark.usefixtures("two")
def test_a_playbook_about_the_host_is_not_about_the_databases(home: Home, run_cli: RunCli) -> None:
    front = "schedule: every day 9am\ntimezone: UTC\ndatabases: [prod, billing]\nskills: [host-health]"
    (home.jobs / "host.md").write_text(f"---\n{front}\n---\ncheck the machine of prod and billing\n")
    assert run_cli("check").rc == 0
    told = json.loads(run_cli("run", "host", "--json").out)
    assert told["state"] == "ok"
    assert not told["text"].startswith(("# prod", "# billing"))
