"""How does a long transcript fit a model's window, and what of it is sent then?

Nothing is taken away: a compaction is a row that stands for others (design decision 4). What is sent is a pure
function of a session's rows, so that whoever goes on with it, after a kill at whatever point, sends the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hermes_cron.domain.transcript import Message


class How(StrEnum):
    """What a compaction row holds: a result without its middle, a model's summary, or a digest made without one."""

    TRIM = "trim"
    SUMMARY = "summary"
    DIGEST = "digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A message of a session as it is kept.

    ``tool`` and ``ok`` are of a result; ``effect``: that of its call, None for a read. ``covers``: of a compaction,
    the first and the last row that it stands for, ``how`` it was made, and ``ok`` whether as it was meant to be.
    """

    seq: int
    message: Message
    tool: str | None = None
    ok: bool | None = None
    effect: str | None = None
    covers: tuple[int, int] | None = None
    how: How | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A row to keep: ``message`` stands for the rows ``first`` to ``last``. ``ok`` False: a digest in the place of a
    summary that could not be made."""

    first: int
    last: int
    message: Message
    how: How
    ok: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A message that is sent, and the rows that it is or stands for."""

    first: int
    last: int
    row: Row

    @property
    def message(self) -> Message:
        return self.row.message

    @property
    def stands(self) -> bool:
        """For other rows, whole ones: a summary or a digest."""
        return self.row.how in (How.SUMMARY, How.DIGEST)


def sent(rows: Iterable[Row]) -> list[Placed]:
    """What is sent of a session, in order. ``rows`` are in order of ``seq``; of two compactions the later one holds."""
    placed: dict[int, Placed] = {}
    for row in rows:
        if row.covers is None:
            placed[row.seq] = Placed(first=row.seq, last=row.seq, row=row)
            continue
        first, last = row.covers
        for seq in range(first, last + 1):
            placed.pop(seq, None)
        placed[first] = Placed(first=first, last=last, row=row)
    return [placed[seq] for seq in sorted(placed)]


def with_rows(rows: Sequence[Row], made: Iterable[Compacted]) -> list[Row]:
    """The rows as they are once ``made`` is kept behind them."""
    behind = max((row.seq for row in rows), default=0) + 1
    return [*rows, *(as_row(each, behind + at) for at, each in enumerate(made))]


def as_row(made: Compacted, seq: int) -> Row:
    """A compaction as a row of its session."""
    return Row(seq=seq, message=made.message, ok=made.ok, covers=(made.first, made.last), how=made.how)


def said(rows: Iterable[Row]) -> list[Message]:
    """All that was said, whatever stands for it now."""
    return [row.message for row in rows if row.covers is None]


def unpaired(messages: Iterable[Message]) -> str | None:
    """Why a server would refuse these messages: a call without its result behind it, a result without its call."""
    open_calls: Counter[str] = Counter()
    for message in messages:
        if message["role"] == "tool":
            identity = message["tool_call_id"]
            if not open_calls[identity]:
                return f"a result without its call: {identity}"
            open_calls[identity] -= 1
            continue
        if missing := +open_calls:
            return f"a call without its result: {', '.join(missing)}"
        open_calls = Counter(call["id"] for call in message.get("tool_calls") or ())
    missing = +open_calls
    return f"a call without its result: {', '.join(missing)}" if missing else None


def wrong(rows: Sequence[Row], made: Sequence[Compacted]) -> str | None:
    """Why these compactions must not be kept: a range that is cut in two, a task that would go, a broken request."""
    before = sent(rows)
    firsts, lasts = {each.first for each in before}, {each.last for each in before}
    for each in made:
        if each.first not in firsts or each.last not in lasts or each.first > each.last:
            return f"rows {each.first} to {each.last} do not begin and end with messages that are sent"
    task = next((each for each in before if each.message["role"] == "user"), None)
    after = sent(with_rows(rows, made))
    if task is not None and task.message not in [each.message for each in after]:
        return "the task itself would be gone"
    return unpaired(each.message for each in after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How full the window is: tokens of the next request, and those from which a transcript is compacted (``soft``)
    and which no request may pass (``hard``)."""

    tokens: int
    window: int
    soft: int
    hard: int

    @property
    def over_soft(self) -> bool:
        return self.tokens > self.soft

    @property
    def over_hard(self) -> bool:
        return self.tokens > self.hard


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How many messages stay as they are: the first ``head`` after the system message, the last ``tail``."""

    head: int = 3
    tail: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One compaction to be done. ``scale`` times an estimate is what the provider counts.

    ``forced``: the server has refused the request, so whatever can go must go. ``searchable``: the run has the tool
    that reads rows which are not sent any more.
    """

    session_id: str
    rows: Sequence[Row]
    load: Load
    scale: float = 1.0
    forced: bool = False
    searchable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a model answered that was asked beside the run. ``text`` None: nothing usable, and ``why``.

    ``stopped``: the run itself stops, so nothing is to be done instead.
    """

    text: str | None = None
    why: str = ""
    stopped: bool = False


Ask = Callable[[int, str, str], Said]
"""The last row that a compaction is to cover, the system prompt and the message of a call beside the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What an engine of one session works with.

    ``summarise`` asks the auxiliary model, None where the engine shall ask none; ``flush`` gives it one bounded turn
    with the memory tool alone, None where the run may not write memory. ``room``: tokens that both can read at once.
    """

    ends: Ends = Ends()
    summarise: Ask | None = None
    flush: Ask | None = None
    room: int = 16_000
