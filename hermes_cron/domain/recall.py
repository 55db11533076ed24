"""What may a second memory be asked about, and what does it answer?

It holds nothing of its own: a passage is what the home's files and sessions say now, so that what was deleted there
is not recalled any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from hermes_cron.domain.clip import one_line

_SHORT = 600


class From(StrEnum):
    """Where a passage stands: in a memory file, in the archive of one, or in what a run said at its end."""

    MEMORY = "memory"
    ARCHIVE = "archive"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """``source`` names the place: ``memories/MEMORY.md:3``, or ``SESSION:SEQ``, the anchor that sessions are read by.

    ``run_id``, ``job``, ``state`` and ``at`` are of a session's run.
    """

    origin: From
    source: str
    text: str
    run_id: str | None = None
    job: str | None = None
    state: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """``score``: the higher, the nearer in meaning. Only the order means something; scales differ by engine."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """The nearest first. ``unread``: passages, the oldest, that the engine has not come to yet; it goes on with them
    when it is asked again."""

    found: tuple[Recalled, ...] = ()
    unread: int = 0


class RecallFailed(Exception):
    """The second memory could not answer; says why, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """One that can stand behind ``memory.provider``. ``lacks`` is what must be installed first, None for nothing."""

    name: str
    about: str
    lacks: str | None = None


def lines(found: Sequence[Recalled], zone: ZoneInfo) -> Iterator[str]:
    """For a reader: the rank, where it stands, what it says."""
    for rank, each in enumerate(found, 1):
        yield f"{rank}. {told(each.passage, zone)}\n   {one_line(each.passage.text, _SHORT)}"


def told(passage: Passage, zone: ZoneInfo) -> str:
    """Where a passage stands, in words; a session's by the anchor that ``session_search`` reads around."""
    if passage.origin is not From.SESSION:
        return passage.source
    when = "" if passage.at is None else f", {passage.at.astimezone(zone):%Y-%m-%d %H:%M}"
    return f"run {passage.run_id} of {one_line(passage.job or '', 80)} ({passage.state}{when}), anchor {passage.source}"
