"""What is a delivery: one message to one target, what may the target answer, and when is it tried again?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
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
    LEARNED = "learned"
    SECURITY = "security"
    PING = "ping"
    TEST = "test"


PING_TARGET = "ping"
"""What stands as the target of a ping: its address is the job's, not a table of config.toml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a target is given. ``id`` is the same at every try, so that a receiver can drop a second one.

    ``body`` is Markdown: the report and its footer line, or a failure. ``facts`` are for machines (webhooks).
    ``again``: an earlier try may have arrived, so a target that can tell looks first.
    """

    id: str
    kind: DeliveryKind
    title: str
    body: str
    job: str
    created_at: datetime
    run_id: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    again: bool = False


class Heard(StrEnum):
    """What one try came to. ``later``: it may work the next time. ``unknown``: it may have arrived, or not."""

    SENT = "sent"
    LATER = "later"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``text`` is what the target said, one bounded line; ``retry_after_s`` how long it asked to be left alone."""

    heard: Heard
    text: str
    retry_after_s: float | None = None


WAITS_S = (10, 60, 300, 900, 3600, *[7200] * 11)
"""Between the tries of a message: 17 tries in about 24 hours, then it is ``failed``."""

PING_WAITS_S = (10, 30, 60)
"""Between the tries of a ping, which says "now": 4 tries within 2 minutes."""

LONGEST_RETRY_AFTER_S = 24 * 3600.0


def wait(kind: DeliveryKind, attempts: int, retry_after_s: float | None = None) -> timedelta | None:
    """How long after the try number ``attempts`` the next one comes; None: that was the last.

    Never sooner than the target asked for; one that asks for more than a day is not waited for.
    """
    waits = PING_WAITS_S if kind is DeliveryKind.PING else WAITS_S
    asked = retry_after_s or 0.0
    if attempts > len(waits) or asked > (waits[-1] if kind is DeliveryKind.PING else LONGEST_RETRY_AFTER_S):
        return None
    return timedelta(seconds=max(float(waits[attempts - 1]), asked))


def people_say(number: int) -> str:
    """``d52``: how people call the delivery with this number."""
    return f"d{number}"


def message_id(number: int, created_at: datetime, *parts: str | None) -> str:
    """The same for one row for ever, and another's nowhere: also another home's ``d52`` goes to the same receiver."""
    told = "\n".join([str(number), created_at.astimezone(UTC).isoformat(), *(part or "" for part in parts)])
    return f"{people_say(number)}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
