"""One incident for each kind of failure, from the first failed run to the first good one; who hears what of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.domain.job import Deliver, OnCheckFailure, When
from hermes_cron.domain.run import Cause, Outcome, RunState
from hermes_cron.errors import Conflict, NotFound
from hermes_cron.store import incident_desk, outbox
from tests.ended import NO_HEADING, PROVEN, UNREACHED, at, failed, good
from tests.endings_rig import Ends, opened

FAILURE, RECOVERY, CHECK_FAILED = DeliveryKind.FAILURE, DeliveryKind.RECOVERY, DeliveryKind.CHECK_FAILED
ABOUT_FAILURES = (FAILURE, RECOVERY, CHECK_FAILED, DeliveryKind.HELD)


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    made = opened(tmp_path)
    yield made
    made.store.close()


def test_ten_failing_runs_of_one_kind_make_two_messages(ends: Ends) -> None:
    ends(good())
    failing = [ends(failed(error=f"{number} refused")) for number in range(10)]
    healed = ends(good(checks=(PROVEN,)))
    ends(good())
    first, last = ends.rows(*ABOUT_FAILURES)
    assert (first["kind"], first["run_id"], first["target"]) == (FAILURE, failing[0], "ops-chat")
    assert (last["kind"], last["run_id"], last["target"]) == (RECOVERY, healed, "ops-chat")
    assert "Last good run: Fri 09:00." in first["body"]
    assert last["body"] == (
        "RECOVERED inspect-prod-db: Tue 2026-12-08 09:00 ok, verified. Failed 10 runs in 10 days (i1)."
    )
    (incident,) = ends.incidents()
    assert (incident.id, incident.kind, incident.failures) == ("i1", "database_unreachable", 10)
    assert (incident.first_run, incident.last_run, incident.ended_run) == (failing[0], failing[-1], healed)
    assert incident.error == "9 refused"
    assert first["incident"] == last["incident"] == 1


def test_each_target_hears_of_it_once(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat", "mail", "ops-chat")))
    ends(failed())
    ends(failed())
    ends(good())
    assert ends.told(FAILURE, RECOVERY) == [
        ("failure", "ops-chat", "queued"),
        ("failure", "mail", "queued"),
        ("recovery", "ops-chat", "queued"),
        ("recovery", "mail", "queued"),
    ]


def test_failures_are_told_whatever_reports_are_wanted(ends: Ends) -> None:
    for wanted in When:
        ends.has(deliver=Deliver(to=("ops-chat",), when=wanted))
        ends(failed())
        ends(good())
    assert [kind for kind, _, _ in ends.told(FAILURE, RECOVERY)] == ["failure", "recovery"] * 3


def test_a_job_that_tells_nobody_has_its_incident_all_the_same(ends: Ends) -> None:
    ends.has(deliver=Deliver())
    ends(failed())
    assert [each.id for each in ends.incidents(ended=False)] == ["i1"]
    ends(good())
    assert ends.incidents(ended=False) == []
    assert ends.rows() == []


def test_kinds_that_take_turns_open_once_each_and_end_with_one_message(ends: Ends) -> None:
    for _ in range(5):
        ends(failed())
        ends(failed(reason="model_auth", error="key refused"))
    ends(good())
    bodies = [row["body"].split("\n") for row in ends.rows(*ABOUT_FAILURES)]
    assert [lines[1] for lines in bodies[:2]] == ["prod does not answer: connection refused by 10.0.3.17:5432",
                                                  "key refused"]  # fmt: skip
    assert len(bodies) == 3
    assert bodies[2][0].endswith("ok, no checks. Failed 10 runs in 10 days (i1, i2).")
    assert [(each.kind, each.failures) for each in ends.incidents()] == [("database_unreachable", 5), ("model_auth", 5)]


def test_what_failed_again_after_a_good_run_is_a_new_incident(ends: Ends) -> None:
    for _ in range(2):
        ends(failed())
        ends(good())
    assert [each.id for each in ends.incidents()] == ["i1", "i2"]
    assert len(ends.rows(*ABOUT_FAILURES)) == 4


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(state=RunState.TIMEOUT, reason="deadline"),
        Outcome(state=RunState.INTERRUPTED, reason="owner_died"),
        Outcome(state=RunState.BUDGET_EXHAUSTED, reason="limits.tokens", error="the cap of 10 tokens"),
        Outcome(state=RunState.DENIED),
        Outcome(state=RunState.UNKNOWN),
    ],
    ids=lambda outcome: outcome.state.value,
)
def test_every_bad_end_is_a_failure_of_its_kind(ends: Ends, outcome: Outcome) -> None:
    ends(outcome)
    (incident,) = ends.incidents()
    assert incident.kind == (outcome.reason or outcome.state)
    assert [kind for kind, _, _ in ends.told()] == ["failure"]


@pytest.mark.parametrize("state", [RunState.CANCELLED, RunState.SKIPPED])
def test_a_run_that_was_stopped_or_had_nothing_to_do_proves_neither(ends: Ends, state: RunState) -> None:
    ends(Outcome(state=state))
    assert ends.incidents() == []
    ends(failed())
    ends(Outcome(state=state))
    assert [each.failures for each in ends.incidents(ended=False)] == [1]
    assert ends.told(RECOVERY) == []


def test_a_failure_by_hand_opens_and_counts_nothing_and_success_by_hand_is_the_end(ends: Ends) -> None:
    ends(failed(), cause=Cause.MANUAL)
    assert ends.incidents() == []
    ends(failed())
    ends(failed(), cause=Cause.MANUAL)
    assert [each.failures for each in ends.incidents()] == [1]
    ends(good(), cause=Cause.MANUAL)
    assert ends.incidents(ended=False) == []
    assert [row["body"] for row in ends.rows(RECOVERY)] == [
        "RECOVERED inspect-prod-db: by hand Mon 2026-11-30 09:00 ok, no checks. Failed 1 run in 2 days (i1)."
    ]


def test_a_failed_check_is_an_incident_of_its_own_and_tells_those_who_asked(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat",)), on_check_failure=OnCheckFailure(notify=("dba-chat", "ops-chat")))
    ends(good(text="# All is well", checks=(NO_HEADING,)))
    ends(good(text="# All is well", checks=(NO_HEADING,)))
    ends(good(text="# Really", checks=(PROVEN,)))
    assert ends.told(*ABOUT_FAILURES) == [
        ("check_failed", "ops-chat", "queued"),
        ("check_failed", "dba-chat", "queued"),
        ("recovery", "ops-chat", "queued"),
        ("recovery", "dba-chat", "queued"),
    ]
    assert "All is well" not in ends.rows(CHECK_FAILED)[0]["body"]
    (incident,) = ends.incidents()
    assert (incident.kind, incident.failures) == ("check_failed", 2)
    assert incident.error == 'report matches: the report has no "## 结论"'


def test_those_who_hear_of_checks_alone_hear_nothing_of_other_failures(ends: Ends) -> None:
    ends.has(deliver=Deliver(), on_check_failure=OnCheckFailure(notify=("dba-chat",)))
    ends(failed())
    ends(good())
    assert ends.told() == []


def test_a_run_that_could_not_be_checked_ends_nothing_and_opens_its_own(ends: Ends) -> None:
    ends(failed())
    ends(good(checks=(UNREACHED, PROVEN)))
    assert [(each.kind, each.ended_at) for each in ends.incidents()] == [
        ("database_unreachable", None),
        ("not_checkable", None),
    ]


def test_the_last_good_run_is_one_that_its_checks_did_not_deny(ends: Ends) -> None:
    ends(good(checks=(PROVEN,)))
    ends(good(checks=(NO_HEADING,)))
    ends(failed())
    assert "Last good run: Fri 09:00. Next: Mon 09:00." in ends.rows(FAILURE)[0]["body"]


def _ack(ends: Ends, word: str, by: str = "oncall") -> incident_desk.IncidentView:
    return ends.store.write(lambda conn: incident_desk.ack(conn, word, by=by, now=at(11, 28, 3, 12)))[0]


def test_after_an_ack_the_job_is_quiet_until_its_recovery(ends: Ends) -> None:
    ends(failed())
    acked = _ack(ends, "i1")
    assert (acked.acked_by, acked.acked_at) == ("oncall", at(11, 28, 3, 12))
    ends(failed(reason="model_auth"))
    ends(good(checks=(NO_HEADING,)))
    ends(good())
    assert ends.told(*ABOUT_FAILURES) == [
        ("failure", "ops-chat", "queued"),
        ("failure", "ops-chat", "silent acked"),
        ("check_failed", "ops-chat", "silent acked"),
        ("recovery", "ops-chat", "queued"),
    ]
    ends(failed())
    assert ends.told(FAILURE)[-1] == ("failure", "ops-chat", "queued")


def test_an_ack_is_for_what_is_open_and_the_first_one_stays(ends: Ends) -> None:
    with pytest.raises(NotFound):
        _ack(ends, "i1")
    ends(failed())
    for word in ("", "x1", "i", "i2", "1.0", "i" + "9" * 40):
        with pytest.raises(NotFound):
            _ack(ends, word)
    _ack(ends, "1", by="first")
    assert _ack(ends, "I1", by="second").acked_by == "first"
    run_id = ends(good())
    with pytest.raises(Conflict, match=run_id):
        _ack(ends, "i1")


@pytest.mark.parametrize("cap", ["limits.cost_usd_per_day", "budget.tokens_per_day", "budget.cost_usd_per_month"])
def test_a_cap_of_more_than_one_run_is_told_once_by_its_hold(ends: Ends, cap: str) -> None:
    ends(Outcome(state=RunState.BUDGET_EXHAUSTED, reason=cap, error="the cap of 0.30 USD for a day is used up"))
    ends(good())
    held, recovered = ends.rows(*ABOUT_FAILURES)
    assert (held["kind"], recovered["kind"]) == (DeliveryKind.HELD, RECOVERY)
    assert held["body"].startswith("OUT OF BUDGET inspect-prod-db, due Fri 2026-11-27 09:00\nthe cap of 0.30 USD")
    assert "go on: hermes-cron resume inspect-prod-db" in held["body"]
    assert [each.kind for each in ends.incidents()] == [cap]


def test_the_fifth_failure_in_a_row_holds_the_job_with_one_message(ends: Ends) -> None:
    ends.has(pause_after=5)
    for _ in range(7):
        ends(failed())
    assert ends.told() == [("failure", "ops-chat", "queued"), ("held", "ops-chat", "queued")]
    assert ends.rows(DeliveryKind.HELD)[0]["title"] == "HELD inspect-prod-db after 5 failures in a row"


def test_no_target_hears_of_the_end_before_the_beginning(ends: Ends) -> None:
    """Not even of one of two incidents that a run ended together."""
    ends(failed())
    ends(failed(reason="model_auth"))
    ends(good())
    _, second, recovery = ends.rows(*ABOUT_FAILURES)

    def claimed(owner: str, limit: int) -> list[int]:
        return ends.store.write(
            lambda conn: [each.view.number for each in outbox.claim(conn, owner, ends.now, limit=limit)]
        )

    def arrived(number: int) -> None:
        receipt = outbox.Receipt(number=number, state=DeliveryState.SENT, text="200", platform="webhook")
        assert ends.store.write(lambda conn: outbox.settle(conn, "s", receipt, ends.now))

    assert recovery["number"] not in claimed("s", 9)
    arrived(second["number"])
    assert recovery["number"] not in claimed("s", 9)
    arrived(1)
    assert recovery["number"] in claimed("s", 9)


def test_the_message_is_in_the_language_of_the_job(ends: Ends) -> None:
    ends.has(prompt="巡检 prod 数据库")
    ends(failed())
    ends(good())
    first, last = (row["title"] for row in ends.rows(FAILURE, RECOVERY))
    assert first == "失败 inspect-prod-db，应于 2026-11-27 周五 09:00 执行"
    assert last.startswith("恢复 inspect-prod-db：2026-11-28 周六 09:00 成功")


def test_an_incident_of_a_removed_job_is_no_open_one(ends: Ends) -> None:
    ends(failed())
    ends.store.write(
        lambda conn: conn.exec_driver_sql("UPDATE jobs SET removed_at = ?", ("2026-11-28 00:00:00.000000",))
    )
    assert ends.incidents(ended=False) == []
    assert [each.id for each in ends.incidents()] == ["i1"]


def test_an_incident_has_the_name_that_its_job_has_now(ends: Ends) -> None:
    ends(failed())
    ends.has(name="inspect-all")
    assert [each.job_name for each in ends.incidents(ended=False)] == ["inspect-all"]
    with ends.store.read() as conn:
        assert incident_desk.one(conn, "i1").job_name == "inspect-all"


def test_a_prompt_by_hand_has_no_incidents(ends: Ends) -> None:
    ends.step = timedelta(0)
    uid, ends.uid = ends.uid, None  # type: ignore[assignment]
    ends(failed(), cause=Cause.PROMPT)
    ends.uid = uid
    assert ends.incidents() == []
