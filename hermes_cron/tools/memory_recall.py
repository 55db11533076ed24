"""The tool ``memory_recall``: what the memory, its archive and earlier runs say that is near a question in meaning."""

from __future__ import annotations

from pydantic import Field

from hermes_cron.domain.recall import RecallFailed, lines
from hermes_cron.errors import ToolFailed
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool

_WITHIN_S = 20.0


class MemoryRecall(Arguments):
    query: str = Field(description="what you want to know, as a question or a sentence", min_length=1, max_length=2_000)
    limit: int = Field(default=5, ge=1, le=20)


def recall(arguments: MemoryRecall, context: ToolContext) -> str:
    """The nearest first, each with its place."""
    if context.doors.recall is None:
        raise ToolFailed(_WHY_NOT)
    try:
        found = context.doors.recall(arguments.query, arguments.limit, context.seconds(_WITHIN_S), context.cancel)
    except RecallFailed as error:
        raise ToolFailed(f"the second memory gave no answer: {error}", hint="session_search finds by words") from error
    notes = [f"the {len(found.found)} nearest in meaning; they may be beside the point"]
    if found.unread:
        notes.append(f"{found.unread:,} older texts are not read yet: ask again for them")
    text = "\n".join(["; ".join(notes), *lines(found.found, context.zone)])
    return context.clip(text, context.caps.output_bytes)[0]


_WHY_NOT = "there is no second memory (memory.provider), or this job may not read the first"


def _available(context: ToolContext) -> str | None:
    return _WHY_NOT if context.doors.recall is None else None


TOOL = Tool(
    name="memory_recall",
    toolset="recall",
    description="Find what memory, archived notes and earlier runs say that is near in meaning, in whatever words. "
    "session_search finds exact words.",
    arguments=MemoryRecall,
    handler=recall,
    available=_available,
)
