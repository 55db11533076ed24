"""The screens of `usage`: what adds up, what is unknown, what nobody knows the end of."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.golden.screens import START, ZONE, Screens, insert_run, made, stored


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    return made(home, run_cli)


def call(
    connection: sqlite3.Connection, run: str, seq: int, at: datetime, tokens: tuple[int, int, int],
    cost: float | None, *, model: str = "gpt-5-mini", estimated: int = 0, phase: str = "main",
) -> None:  # fmt: skip
    """A model call of a run: (input, output, cached)."""
    connection.execute(
        "INSERT INTO usage (session_id, seq, run_id, phase, model, input, output, cached, cache_write, estimated,"
        " cost_usd, elapsed_ms, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, 1, ?)",
        (f"s{run}", seq, run, phase, model, *tokens, estimated, cost, stored(at)),
    )


@pytest.fixture
def spent(screens: Screens) -> Screens:
    """Two jobs over two days: one with two skills, one whose model has no price; and a playbook's run."""
    screens.job("digest", "---\nschedule: every day 9am\nmodel: gpt-5-mini\n---\nx\n")
    screens.job("report", "---\nschedule: every day 9am\nmodel: my-own\n---\nx\n")
    screens("list")
    today, before = START - timedelta(hours=1), START - timedelta(days=1, hours=7, minutes=30)  # 00:30 of Monday
    with screens.store() as store:
        uids = dict(store.execute("SELECT name, uid FROM jobs").fetchall())
        insert_run(store, uids["digest"], "r0000001", before, job_name="digest", skills='["log-digest", "sql"]')
        insert_run(store, uids["digest"], "r0000002", today, job_name="digest", skills='["log-digest"]')
        insert_run(store, uids["report"], "r0000003", today, job_name="report", after=60)
        insert_run(store, uids["report"], "r0000004", before, job_name="report", after=60)
        for run in ("r0000001", "r0000002", "r0000003", "r0000004"):
            store.execute(
                "INSERT INTO sessions (id, run_id, kind, started_at) VALUES (?, ?, 'main', ?)",
                (f"s{run}", run, stored(today)),
            )
        call(store, "r0000001", 2, before, (10_000, 500, 8_000), 0.0017)
        call(store, "r0000001", 4, before, (12_000, 600, 9_000), 0.3, phase="summary")
        call(store, "r0000002", 2, today, (5_000, 100, 0), 0.00145)
        call(store, "r0000003", 2, today + timedelta(minutes=1), (700, 50, 0), None, model="my-own", estimated=1)
        call(store, "r0000004", 2, before, (0, 0, 0), 0.0, model="playbook:inspect-database")
    return screens


BY_JOB = """\
JOB     CALLS      IN  CACHED    OUT  COST USD
digest      3  27,000  17,000  1,200      0.30
report      1     700       0     50   unknown
since Mon 2026-11-02 00:00: 4 calls, 28,950 tokens (27,700 in, 1,250 out), at least 0.30 USD
estimated, because the provider counted nothing: 1 call
without a price: 1 call; add [prices."MODEL"] with input and output to config.toml
"""


def test_by_job(spent: Screens) -> None:
    assert spent("usage").out == BY_JOB


def test_by_skill_says_that_a_run_counts_under_each(spent: Screens) -> None:
    lines = spent("usage", "--by", "skill").out.splitlines()
    assert lines[:4] == [
        "SKILL       CALLS      IN  CACHED    OUT  COST USD",
        "log-digest      3  27,000  17,000  1,200      0.30",
        "sql             2  22,000  17,000  1,100      0.30",
        "-               1     700       0     50   unknown",
    ]
    assert lines[5] == "A run's tokens count under each skill it was given, so the lines may add up to more."


def test_by_day_is_the_homes_day(spent: Screens) -> None:
    lines = spent("usage", "--by", "day").out.splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["2026-12-01", "2", "5,700", "0", "150", "at", "least", "0.0014"],
        ["2026-11-30", "2", "22,000", "17,000", "1,100", "0.30"],
    ]
    assert "2 calls" in spent("usage", "--days", "1").out
    assert "2 calls" in spent("usage", "--days", "1", TZ="America/New_York").out


def test_by_run_model_and_phase(spent: Screens) -> None:
    lines = spent("usage", "--by", "run", "--job", "digest").out.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [["RUN", "JOB"], ["r0000002", "digest"], ["r0000001", "digest"]]
    assert lines[3].startswith("since Mon 2026-11-02 00:00: 3 calls, 28,200 tokens")
    cut = spent("usage", "--by", "run", "--limit", "1").out
    assert "lines left out: 2 (--limit 3)\n" in cut
    models = spent("usage", "--by", "model").out.splitlines()
    assert [line.split()[0] for line in models[1:3]] == ["gpt-5-mini", "my-own"], "a playbook is no model"
    phases = spent("usage", "--by", "phase").out.splitlines()
    assert [line.split()[:2] for line in phases[1:3]] == [["summary", "1"], ["main", "3"]]


@pytest.mark.parametrize("by", ["run", "job", "model", "phase", "day"])
def test_the_lines_add_up_to_the_total(spent: Screens, by: str) -> None:
    told = json.loads(spent("usage", "--by", by, "--json").out)
    total = told["total"]
    assert total["tokens"] == {"input": 27_700, "output": 1250, "cached": 17_000}
    for kind in ("input", "output", "cached"):
        assert sum(line["tokens"][kind] for line in told["lines"]) == total["tokens"][kind]
    assert sum(line["calls"] for line in told["lines"]) == total["calls"] == 4
    assert (total["cost_usd"], total["unpriced_calls"]) == (None, 1)
    assert sum(line["cost_usd_known"] for line in told["lines"]) == pytest.approx(total["cost_usd_known"])


def test_what_nobody_knows_the_end_of_is_said_apart(spent: Screens) -> None:
    with spent.store() as store:
        store.execute(
            "INSERT INTO reservations (id, run_id, fence, model, tokens, cost_usd, day, month, at)"
            " VALUES ('x', 'r0000002', 1, 'gpt-5-mini', 9000, 0.02, '2026-12-01', '2026-12', ?)",
            (stored(START.astimezone(ZONE) - timedelta(hours=1)),),
        )
    said = spent("usage").out
    assert said.startswith(BY_JOB)
    assert said.endswith(
        "reserved by runs that died or got no answer: up to 9,000 tokens, 0.02 USD, for 1 call; caps count them as "
        "spent\n"
    )
    assert json.loads(spent("usage", "--json").out)["lost"] == {"calls": 1, "tokens": 9000, "cost_usd": 0.02}


def test_nothing_yet_and_a_wrong_word(screens: Screens) -> None:
    assert screens("usage").out == "No model was called since Mon 2026-11-02 00:00.\n"
    assert screens("usage", LANG="zh_CN.UTF-8").out == "自 2026-11-02 周一 00:00 起没有调用过模型。\n"
    assert '--by "tool" is none of run, job' in screens("usage", "--by", "tool", rc=2).err
