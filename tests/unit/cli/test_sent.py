"""The words and colours of SENT: a line is green only when all three facts are known to be good."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hermes_cron.cli import sent
from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.store.outbox import DeliveryView


def message(target: str = "ops-chat", state: str = "sent", attempts: int = 1) -> DeliveryView:
    at = datetime(2026, 12, 1, tzinfo=UTC)
    return DeliveryView(
        number=1, kind=DeliveryKind.REPORT, run_id="r1", job_uid="u", job_name="j", incident=None, target=target,
        state=DeliveryState(state), reason=None, title="", created_at=at, next_try_at=None, attempts=attempts,
        sending_by=None, sending_since=None, sent_at=None, receipt=None, error=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], ""),
        ([message(state="silent")], "silent"),
        ([message()], "ops-chat"),
        ([message(attempts=2)], "ops-chat, 2nd try"),
        ([message(attempts=3)], "ops-chat, 3rd try"),
        ([message(attempts=11)], "ops-chat, 11th try"),
        ([message(attempts=21)], "ops-chat, 21st try"),
        ([message(), message("phone", "failed")], "ops-chat, phone failed"),
        ([message(), message("phone", "silent")], "ops-chat"),
        ([message(), message(state="unknown")], "ops-chat unknown"),
        ([message(state="queued")], "ops-chat queued"),
    ],
)
def test_to_whom(messages: list[DeliveryView], words: str) -> None:
    assert sent.whom(messages, "en") == words


@pytest.mark.parametrize(
    ("result", "checked", "states", "colour"),
    [
        ("ok", "verified", ["sent"], "green"),
        ("ok", "verified", ["sent", "silent"], "green"),
        ("ok", "verified", [], None),
        ("ok", None, ["sent"], None),
        ("skipped", "verified", ["sent"], None),
        ("ok", "verified", ["sent", "queued"], None),
        ("ok", "verified", ["sent", "failed"], "red"),
        ("ok", "verified", ["unknown"], "red"),
        ("ok", "not_checkable", ["sent"], "red"),
        ("ok", "check_failed", ["sent"], "red"),
        ("failed", None, ["sent"], "red"),
        ("cancelled", None, [], None),
        ("running", None, [], None),
        ("waiting_approval", None, ["sent"], None),
    ],
)
def test_green_needs_all_three(result: str, checked: str | None, states: list[str], colour: str | None) -> None:
    assert sent.colour(result, checked, states) == colour


def test_only_rows_are_painted() -> None:
    assert sent.painted("HEAD\na\nb", ["green", None]) == ["HEAD", "\x1b[32ma\x1b[0m", "b"]
    assert sent.painted("HEAD\na", []) == ["HEAD", "a"]
