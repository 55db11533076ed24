"""``list`` counts what ``status`` lists: two readers of one store (docs/adr/0001), one answer."""

from __future__ import annotations

import json
import sqlite3

import pytest

from hermes_cron.cli.main import run
from hermes_cron.domain.run import RunState
from hermes_cron.home import Home


@pytest.fixture
def said(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_CRON_HOME", str(home.root))
    monkeypatch.setenv("LANG", "C.UTF-8")
    assert run(["add", "every day 9am", "--script", "exit 4", "--name", "bad"]) == 0
    assert run(["add", "in 5 minutes", "--script", "true", "--name", "once"]) == 0
    assert run(["run", "bad"]) == 1
    (home.jobs / "broken.md").write_text("---\nshedule: every day 9am\n---\nx\n")
    capsys.readouterr()


def _both(capsys: pytest.CaptureFixture[str]) -> tuple[int, int]:
    capsys.readouterr()
    run(["list", "--json"])
    listed = json.loads(capsys.readouterr().out)["need_you"]
    run(["status", "--json"])
    return listed, len(json.loads(capsys.readouterr().out)["need_you"])


@pytest.mark.usefixtures("said")
def test_a_failed_run_and_a_broken_file_both_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert _both(capsys) == (2, 2)
    run(["list"])
    assert capsys.readouterr().out.endswith("\n2 need you:  hermes-cron status\n")


@pytest.mark.usefixtures("said")
def test_every_end_of_a_run_is_judged_alike(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    for state in (each for each in RunState if each.ended):
        with sqlite3.connect(home.store) as store:
            store.execute("UPDATE runs SET state = ?", (state.value,))
        store.close()
        listed, shown = _both(capsys)
        assert (state, listed) == (state, shown)


@pytest.mark.usefixtures("said")
def test_held_and_missed_for_good_count_too(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(home.store) as store:
        store.execute("UPDATE jobs SET held_reason = 'why', held_at = '2026-11-30 00:00:00' WHERE name = 'bad'")
        store.execute("UPDATE jobs SET next_due = NULL WHERE name = 'once'")
        store.execute(
            "INSERT INTO occurrence_spans (job_uid, revision, first_at, last_at, count, state, reason, noted_at)"
            " SELECT uid, revision, '2026-11-30 00:00:00', '2026-11-30 00:00:00', 1, 'missed', 'too_old',"
            " '2026-11-30 00:00:00' FROM jobs WHERE name = 'once'"
        )
    store.close()
    assert _both(capsys) == (4, 4)
    assert run(["remove", "bad", "-y"]) == 0
    assert _both(capsys) == (2, 2)
