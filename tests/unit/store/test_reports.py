"""Which targets get a report, which do not and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.domain.job import Deliver, OnCheckFailure, When
from hermes_cron.domain.run import Cause
from hermes_cron.store import overview, reader
from hermes_cron.store.tables import DeliveryRow
from tests.ended import NO_HEADING, PROVEN, at, failed, good
from tests.endings_rig import Ends, opened

REPORT = DeliveryKind.REPORT
_deliveries = DeliveryRow.__table__  # type: ignore[attr-defined]


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    made = opened(tmp_path)
    yield made
    made.store.close()


def test_a_good_run_sends_its_report_to_each_target(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat", "mail", "mail")))
    run_id = ends(good(text="# prod: nothing found\n", title="Week 48", checks=(PROVEN,)))
    assert ends.told() == [("report", "ops-chat", "queued"), ("report", "mail", "queued")]
    for row in ends.rows():
        assert row["run_id"] == run_id
        assert row["title"] == "Week 48"
        assert row["body"] == f"# prod: nothing found\n\ninspect-prod-db {run_id}, verified, 0 tokens."


def test_a_report_that_its_checks_deny_goes_out_with_a_word_about_it(ends: Ends) -> None:
    run_id = ends(good(text="# All is well", checks=(NO_HEADING,)))
    (row,) = ends.rows(REPORT)
    assert row["state"] == "queued"
    assert row["body"].split("\n")[-1] == (
        f'inspect-prod-db {run_id}, CHECK FAILED: report matches: the report has no "## 结论". '
        f"0 tokens. Look: hermes-cron runs show {run_id}"
    )


def test_a_run_that_failed_has_no_report(ends: Ends) -> None:
    ends(failed(text="half of it"))
    assert ends.rows(REPORT) == []


def test_by_hand_a_report_is_sent_as_well(ends: Ends) -> None:
    ends(good(), cause=Cause.MANUAL)
    assert ends.told() == [("report", "ops-chat", "queued")]


def test_nothing_to_say_is_kept_as_silence(ends: Ends) -> None:
    ends(good(text="3 items skipped.\n\n[SILENT]", silent=True))
    assert ends.told() == [("report", "ops-chat", "silent said_nothing")]


def test_only_failures_are_wanted(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat",), when=When.FAILURE))
    ends(good(text="a"))
    assert ends.told() == [("report", "ops-chat", "silent only_failures")]


def _settle(ends: Ends, state: DeliveryState) -> None:
    newest = ends.rows()[-1]["number"]
    values = {"state": state, "sent_at": at(12, 1) if state is DeliveryState.SENT else None}
    ends.store.write(
        lambda conn: conn.execute(update(_deliveries).where(_deliveries.c.number == newest).values(**values))
    )


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (DeliveryState.QUEUED, "silent unchanged"),
        (DeliveryState.SENT, "silent unchanged"),
        (DeliveryState.FAILED, "queued"),
        (DeliveryState.UNKNOWN, "queued"),
    ],
)
def test_an_unchanged_report_is_not_sent_again_unless_nobody_got_it(
    ends: Ends, before: DeliveryState, now: str
) -> None:
    ends.has(deliver=Deliver(to=("ops-chat",), when=When.CHANGE))
    ends(good(text="disk is full\n"))
    _settle(ends, before)
    ends(good(text="\ndisk is full"))
    assert ends.told()[-1] == ("report", "ops-chat", now)


def test_a_change_is_one_against_what_this_target_got_last(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat",), when=When.CHANGE))
    ends(good(text="a"))
    ends(good(silent=True, text=""))
    ends(good(text="a"))  # silence in between is no report
    ends.has(deliver=Deliver(to=("ops-chat", "mail"), when=When.CHANGE))
    ends(good(text="a"))
    ends(good(text="b"))
    ends(good(text="a"))
    assert [f"{target}: {state}" for _, target, state in ends.told()] == [
        "ops-chat: queued",
        "ops-chat: silent said_nothing",
        "ops-chat: silent unchanged",
        "ops-chat: silent unchanged", "mail: queued",
        "ops-chat: queued", "mail: queued",
        "ops-chat: queued", "mail: queued",
    ]  # fmt: skip


def test_what_is_not_sent_keeps_no_second_copy_of_the_report(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat",), when=When.FAILURE))
    ends(good(text="x" * 10_000))
    assert [row["body"] for row in ends.rows()] == [""]


def _need(ends: Ends) -> list[str]:
    """What `status` names; `list` counts the same."""
    with ends.store.read() as conn:
        found = [need.ref or "" for need in overview.needs(conn) if need.kind == "delivery"]
    (listed,) = reader.listed(ends.store.path) or []
    assert listed.needs == len(found)
    return found


def test_what_was_not_sent_needs_a_person_until_it_is_answered(ends: Ends) -> None:
    ends.has(deliver=Deliver(to=("ops-chat",)), on_check_failure=OnCheckFailure(notify=("phone",)))
    ends(good(text="a"))
    _settle(ends, DeliveryState.FAILED)
    assert _need(ends) == ["d1"]
    ends.has(deliver=Deliver(to=("mail",)), on_check_failure=OnCheckFailure(notify=("phone",)))
    assert _need(ends) == ["d1"], "that the job tells another target now brings nobody the report"
    ends(good(text="b"))
    assert _need(ends) == ["d1"]
    _settle(ends, DeliveryState.SENT)
    assert _need(ends) == [], "nothing will be sent to the old target again: the job's messages arrive elsewhere"
    ends.has(deliver=Deliver(to=("mail", "ops-chat")), on_check_failure=OnCheckFailure(notify=("phone",)))
    assert _need(ends) == ["d1"], "a target that the job tells answers for itself"
    ends.has(deliver=Deliver(to=("mail",)), on_check_failure=OnCheckFailure(notify=("ops-chat",)))
    assert _need(ends) == ["d1"]
