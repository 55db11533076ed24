"""What is a delivery: one message to one target, and what became of it?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DeliveryState(StrEnum):
    """``unknown``: a process died between sending and receipt; nobody resends it on a guess.

    ``silent``: there was nothing to send. ``held``: a person was asked to be left alone for now.
    """

    QUEUED = "queued"
    HELD = "held"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SILENT = "silent"


class DeliveryKind(StrEnum):
    """What a message tells."""

    REPORT = "report"
    FAILURE = "failure"
    RECOVERY = "recovery"
    HELD = "held"
    APPROVAL = "approval"
    CHECK_FAILED = "check_failed"
    PING = "ping"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a target is given. ``id`` is the same at every try, so that a receiver can drop a second one.

    ``body`` is Markdown: the report and its footer line, or a failure. ``facts`` are for machines (webhooks, files).
    """

    id: str
    kind: DeliveryKind
    title: str
    body: str
    job: str
    run_id: str | None = None
    facts: tuple[tuple[str, str], ...] = ()
