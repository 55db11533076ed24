"""`check` knows the home: its targets, its databases, and which queries only read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_cron.cli.main import run
from hermes_cron.home import Home

CONFIG = """\
timezone = "UTC"
[databases.shop]
url = "shop.db"
[databases.far]
url = "postgresql://me@127.0.0.1/far"
[targets.ops-chat]
kind = "file"
path = "chat.md"
[limits]
tokens = 5000
cost_usd = 0.5
"""


@pytest.fixture
def checked(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("HERMES_CRON_HOME", str(home.root))
    monkeypatch.setenv("LANG", "C.UTF-8")
    home.config.write_text(CONFIG)

    def check(*keys: str) -> list[str]:
        lines = "".join(f"{key}\n" for key in keys)
        Path(home.jobs / "j.md").write_text(f"---\nschedule: every day 9am\n{lines}---\nlook\n")
        run(["check", "--json"])
        found = json.loads(capsys.readouterr().out)
        return [f"{fault['line']} {fault['message']}" for fault in found["faults"]]

    return check


def sql(database: str, query: str) -> str:
    return f"checks: [{{sql: {{database: {database}, query: {json.dumps(query)}, rows: 0}}}}]"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("deliver: [ops-chat]", None),
        ("deliver: [ops-chta]", '3 deliver: no target "ops-chta", did you mean "ops-chat"?'),
        (sql("shop", "select 1"), None),
        (sql("shp", "select 1"), '3 checks.sql: no database "shp", did you mean "shop"?'),
        (sql("shop", "delete from orders"), "3 checks.sql.query: "),
        (sql("far", "select pg_sleep(1)"), "3 checks.sql.query: "),
        (sql("far", "select 1; drop table t"), "3 checks.sql.query: "),
    ],
)
def test_what_the_home_knows(checked: object, line: str, fault: str | None) -> None:
    assert callable(checked)
    found = checked(line)
    assert len(found) == (fault is not None)
    if fault is not None:
        assert found[0].startswith(fault)


def test_the_home_s_caps_are_those_of_a_job_that_names_none(
    home: Home, checked: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(checked)
    checked("limits: {cost_usd: 0.1}")
    assert run(["show", "j"]) == 0
    assert "  30 min, 90 model calls, 5,000 tokens, 0.10 USD a run\n" in capsys.readouterr().out
