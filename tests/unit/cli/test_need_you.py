"""``list`` counts what ``status`` lists: two readers of one store (docs/adr/0001), one answer."""

from __future__ import annotations

import json
import sqlite3

import pytest

from hermes_cron.cli.main import run
from hermes_cron.domain.check import Verdict
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
    assert _both(capsys) == (3, 3), "a held job is one line, its failed run none"
    assert run(["remove", "bad", "-y"]) == 0
    assert _both(capsys) == (2, 2)


@pytest.mark.usefixtures("said")
@pytest.mark.parametrize("verdict", list(Verdict))
def test_what_checks_say_is_judged_alike(home: Home, capsys: pytest.CaptureFixture[str], verdict: Verdict) -> None:
    with sqlite3.connect(home.store) as store:
        store.execute("UPDATE runs SET state = 'ok', verdict = ?", (verdict,))
        store.execute("UPDATE incidents SET ended_at = '2026-11-30 00:00:00'")
    store.close()
    listed, shown = _both(capsys)
    assert listed == shown == (1 if verdict is Verdict.VERIFIED else 2)


@pytest.mark.usefixtures("said")
def test_an_incident_counts_until_it_is_acknowledged(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(home.store) as store:
        store.execute(
            "INSERT INTO incidents (job_uid, job_name, kind, opened_at, first_run, last_run, last_at, failures)"
            " SELECT uid, name, 'exit_code', '2026-11-30', 'r1', 'r1', '2026-11-30', 1 FROM jobs WHERE name = 'bad'"
        )
    store.close()
    assert _both(capsys) == (2, 2), "its run shows it already"
    with sqlite3.connect(home.store) as store:
        store.execute("UPDATE runs SET state = 'skipped'")
    store.close()
    assert _both(capsys) == (2, 2), "a skipped run ends no incident"
    with sqlite3.connect(home.store) as store:
        store.execute("UPDATE incidents SET acked_at = '2026-11-30', acked_by = 'me'")
        store.execute("UPDATE runs SET state = 'failed'")
    store.close()
    assert _both(capsys) == (1, 1)


def _message(store: sqlite3.Connection, state: str, target: str = "chat", kind: str = "report") -> None:
    store.execute(
        "INSERT INTO deliveries (kind, job_uid, job_name, target, state, title, body, created_at, attempts)"
        " SELECT ?, uid, name, ?, ?, '', '', '2026-11-30', 1 FROM jobs WHERE name = 'bad'",
        (kind, target, state),
    )
    store.commit()


@pytest.mark.usefixtures("said")
def test_messages_that_did_not_arrive_count_once_a_target(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    store = sqlite3.connect(home.store)
    for state in ("silent", "queued", "held", "sent"):
        _message(store, state)
    _message(store, "failed", kind="ping")
    _message(store, "failed", kind="test")
    assert _both(capsys) == (2, 2)
    _message(store, "failed")
    _message(store, "unknown")
    _message(store, "failed", target="phone")
    assert _both(capsys) == (4, 4)
    store.execute("UPDATE jobs SET spec = json_set(spec, '$.deliver.to', json('[\"chat\", \"phone\"]'))")
    store.commit()
    _message(store, "sent")
    assert _both(capsys) == (3, 3), "a later one arrived there"
    store.execute("UPDATE jobs SET spec = json_set(spec, '$.deliver.to', json('[\"chat\"]'))")
    store.commit()
    assert _both(capsys) == (2, 2), "nobody is to hear of it there any more"
    store.close()


@pytest.mark.usefixtures("said")
def test_questions_count_with_and_without_a_job(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    store = sqlite3.connect(home.store)
    for name in ("bad", None):
        store.execute(
            "INSERT INTO approvals (run_id, job_uid, job_name, session_id, seq, tool, arguments, evidence, asked_at,"
            " expires_at) SELECT id, (SELECT uid FROM jobs WHERE name = ?), 'x', coalesce(?, 's'), 1, 'terminal',"
            " '{}', '[]', '2026-11-30', '2026-12-01' FROM runs",
            (name, name),
        )
    store.commit()
    assert _both(capsys) == (4, 4)
    store.execute("UPDATE approvals SET decision = 'denied' WHERE job_uid IS NULL")
    store.commit()
    assert _both(capsys) == (3, 3)
    store.close()
