"""What is said in sessions, what does somebody look for in them, and what is found?"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.run import Cause
from hermes_cron.domain.session_query import Phrase
from hermes_cron.domain.transcript import Message, calls_of
from hermes_cron.domain.words import places

SEARCH_TOOL = "session_search"
"""Its calls and results repeat what other messages say: they are not searched."""

BEST_OF = 2000
"""Of more hits than so many, the best are looked for among the newest so many."""


class Source(StrEnum):
    """Where a run came from."""

    SCHEDULE = "schedule"
    CLI = "cli"

    @property
    def causes(self) -> tuple[str, ...]:
        """Of ``runs.cause``."""
        return tuple(cause.value for cause in Cause if Source.of(cause) is self)

    @staticmethod
    def of(cause: str) -> Source:
        return Source.SCHEDULE if cause == Cause.SCHEDULE else Source.CLI


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """``jobs`` are uids, or names as they were when a run began.

    ``since`` (from there on) and ``until`` (before it) are about when a session began. ``newest``: in that order, not
    the best first. ``around``: how many messages before and after a hit are told.
    """

    words: str
    jobs: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    states: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    newest: bool = False
    limit: int = 10
    around: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a session. ``text`` is all of its words, redacted when it was said."""

    seq: int
    role: str
    tool: str | None
    at: datetime | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Of which session and run a message is."""

    session: str
    kind: str
    run_id: str
    job: str
    source: Source
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """``rank`` counts from 1 in the order of the answer; of two scores the higher one fits better (bm25; None
    where the order is another).

    ``snippet`` is one line around what was looked for.
    """

    rank: int
    score: float | None
    within: Within
    message: Said
    snippet: str
    before: tuple[Said, ...]
    after: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``count`` messages hit; None: more than ``BEST_OF``, and ``hits`` are of the newest so many.

    ``left_out``: words of the query beyond what is looked for. ``behind``: messages of now are not all in the index.
    """

    hits: tuple[Hit, ...] = ()
    count: int | None = 0
    nothing_asked: bool = False
    left_out: int = 0
    behind: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """What a run may look up. ``around``: a session, the seq of a message, how many before it and behind it."""

    search: Callable[[Wanted], Found]
    around: Callable[[str, int, int, int], tuple[Within, tuple[Said, ...]]]


def text_of(message: Message) -> str:
    """What a message says: its text, and for each call the tool and the values it is given."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [text for part in content or () if (text := _part(part))]
    for call in calls_of(message):
        if call.name != SEARCH_TOOL:
            parts += [call.name, *_values(call.arguments)]
    return "\n".join(part for part in parts if part)


def _part(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def _values(arguments: str) -> Iterator[str]:
    try:
        yield from _leaves(json.loads(arguments or "{}"))
    except (ValueError, RecursionError):  # as the model wrote it
        yield arguments


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


_LOOKED_AT = 200_000  # characters of one message, for its snippet


def snippet(text: str, phrases: Sequence[Phrase], *, width: int = 160) -> str:
    """At most ``width`` characters and the signs of what was cut, in one line, with a phrase in it if there is one."""
    shown = unicodedata.normalize("NFKC", text[:_LOOKED_AT])
    begin, end = _first(shown, phrases)
    begin = max(0, min(begin - max(0, width - (end - begin)) // 3, len(shown) - width))
    cut = shown[begin : begin + width]
    line = one_line(cut, width)
    return ("…" if begin else "") + line + ("…" if begin + width < len(shown) or len(text) > _LOOKED_AT else "")


def _first(text: str, phrases: Sequence[Phrase]) -> tuple[int, int]:
    """Where the first phrase stands that does; the beginning when none is found."""
    finals = {phrase.words[-1] for phrase in phrases if not phrase.begins}
    beginnings = tuple(phrase.words[-1] for phrase in phrases if phrase.begins)
    seen: list[tuple[str, int, int]] = []
    for place in places(text):
        seen.append(place)
        if place[0] not in finals and not place[0].startswith(beginnings):
            continue
        for phrase in phrases:
            if _ends_with(seen, phrase):
                return seen[-len(phrase.words)][1], place[2]
    return 0, 0


def _ends_with(last: Sequence[tuple[str, int, int]], phrase: Phrase) -> bool:
    count = len(phrase.words)
    if len(last) < count:
        return False
    *found, final = (word for word, _, _ in last[-count:])
    *wanted, ending = phrase.words
    return found == wanted and (final.startswith(ending) if phrase.begins else final == ending)
