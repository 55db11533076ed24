"""A job that fails for ten hours under a real service with a real receiver: who hears what, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.receivers import Receiver
from tests.serving import Serving, until, write_job

HOURS = 10


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def _all_sent(serve: Serving) -> None:
    until(
        lambda: not serve.rows("SELECT 1 FROM deliveries WHERE state = 'queued'"),
        lambda: serve.rows("SELECT kind, state, error FROM deliveries"),
    )


def _told(hook: Receiver, job: str = "watch") -> list[dict[str, Any]]:
    return [posted.json() for posted in hook.got if posted.json()["job"] == job]


def test_ten_failing_hours_make_two_messages_though_the_service_dies_in_between(
    home: Home, tmp_path: Path, hook: Receiver
) -> None:
    home.config.write_text(f'timezone = "UTC"\n[targets.ops]\nkind = "webhook"\nurl = "{hook.root}/ops"\n')
    fixed = tmp_path / "fixed"
    write_job(
        home, "watch", 'schedule: "0 * * * *"', "catch_up: all", "deliver: {to: [ops], when: failure}",
        "pause_after: 0",
        f"script: \"test -e '{fixed}' || {{ echo still broken >&2; exit 3; }}; echo fine\"",
    )  # fmt: skip
    with Serving(home) as serve:
        serve.due("12:00", runs=1)
        serve.due("16:00", runs=HOURS // 2)
        _all_sent(serve)
        serve.kill()
        serve.start()
        serve.due("21:00", runs=HOURS)
        _all_sent(serve)
        assert [told["kind"] for told in _told(hook)] == ["failure"]
        fixed.touch()
        serve.due("22:00", runs=HOURS + 1)
        _all_sent(serve)
        (incident,) = serve.ask("incidents", "list", "--all")["incidents"]
        first_run = serve.runs()[0]["id"]
        assert (incident["kind"], incident["failures"], incident["first_run"]) == ("exit_code", HOURS, first_run)
        assert incident["ended_run"] == serve.runs()[-1]["id"]
        states = serve.rows("SELECT kind, state, reason FROM deliveries")
    failure, recovery = _told(hook)
    assert failure["text"] == (
        "FAILED watch, due Tue 2026-12-01 12:00\n"
        "exit code 3: still broken\n"
        "Last good run: none. Next: 13:00. No report exists for today. "
        f"What was known: outputs/watch/{first_run}.md.\n"
        f"look: hermes-cron runs show {first_run}     quiet until solved: hermes-cron incidents ack i1"
    )
    assert recovery["text"] == "RECOVERED watch: Tue 2026-12-01 22:00 ok, no checks. Failed 10 runs in 10 h (i1)."
    assert [(row["kind"], row["state"], row["reason"]) for row in states] == [
        ("failure", "sent", None),
        ("recovery", "sent", None),
        ("report", "silent", "only_failures"),
    ]


def test_a_false_report_goes_out_with_a_warning_and_its_evidence_to_those_who_asked(home: Home, hook: Receiver) -> None:
    home.config.write_text(
        f'timezone = "UTC"\n[targets.ops]\nkind = "webhook"\nurl = "{hook.root}/ops"\n'
        f'[targets.dba]\nkind = "webhook"\nurl = "{hook.root}/dba"\n'
    )
    write_job(
        home, "watch", 'schedule: "0 * * * *"', "deliver: [ops]", "on_check_failure: {notify: [dba]}",
        "checks: [{report: {matches: '## 结论'}}]", "script: echo all is well",
    )  # fmt: skip
    with Serving(home) as serve:
        serve.due("12:00", runs=1)
        _all_sent(serve)
        serve.cli("incidents", "ack", "i1")
        serve.due("13:00", runs=2)
        _all_sent(serve)
        run_id = serve.runs()[0]["id"]
    ops = [posted.json()["text"] for posted in hook.at("/ops")]
    (dba,) = [posted.json()["text"] for posted in hook.at("/dba")]
    warned = [text for text in ops if text.startswith("all is well\n\n")]
    assert len(warned) == 2
    assert all(", CHECK FAILED: " in text.splitlines()[-1] for text in warned)
    assert [text for text in ops if text not in warned] == [dba]
    assert dba.startswith(
        "CHECK FAILED watch, due Tue 2026-12-01 12:00\nThe run ended as done; its checks say otherwise:"
    )
    assert "## 结论" in dba.splitlines()[2]
    assert "all is well" not in dba
    assert f"look: hermes-cron runs show {run_id}" in dba
