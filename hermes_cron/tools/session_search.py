"""The tool ``session_search``: what was said in earlier runs, found by words; then read around a place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from pydantic import Field

from hermes_cron.domain.session import BEST_OF, SEARCH_TOOL, Found, Hit, Lookup, Said, Source, Wanted, Within
from hermes_cron.errors import InvalidArguments, NotFound, ToolFailed
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool

_ANCHOR = re.compile(r"(?P<session>[0-9a-zA-Z_-]{1,64}):(?P<seq>\d{1,7})")
_WHOLE = 4_000  # bytes of a message that is read, of which others need some too
_SHORT = 200  # of a neighbour of a hit
_BLANKS = re.compile(r"\s+")


class SessionSearch(Arguments):
    query: str | None = Field(
        default=None,
        description='words that must all be there; a OR b; "a phrase"; -without; begin*',
        max_length=2_000,
    )
    anchor: str | None = Field(default=None, description="instead of a query: a hit's anchor, to read around it")
    before: int = Field(default=5, ge=0, le=20, description="with an anchor: messages before it")
    after: int = Field(default=5, ge=0, le=20, description="with an anchor: messages after it")
    job: str | None = Field(default=None, description="only runs of this job")
    source: Source | None = None
    state: str | None = Field(default=None, description="only runs that ended so: ok, failed, ...")
    since: str | None = Field(default=None, description="only runs that began then or later: 2026-11-30, or with time")
    sort: Literal["best", "newest"] = "best"
    limit: int = Field(default=5, ge=1, le=20)


def search(arguments: SessionSearch, context: ToolContext) -> str:
    """Lines of hits with their anchors, or the messages around one."""
    if context.sessions is None:
        raise ToolFailed(_WHY_NOT)
    if (arguments.query is None) == (arguments.anchor is None):
        raise InvalidArguments("give a query to search, or an anchor to read around", hint="one of the two")
    if arguments.anchor is not None:
        text = _read(arguments, arguments.anchor, context.sessions)
    else:
        text = _told(context.sessions.search(_wanted(arguments, context)), context)
    return context.clip(text, context.caps.output_bytes)[0]


def _wanted(arguments: SessionSearch, context: ToolContext) -> Wanted:
    return Wanted(
        words=arguments.query or "",
        jobs=() if arguments.job is None else (arguments.job,),
        sources=() if arguments.source is None else (arguments.source,),
        states=() if arguments.state is None else (arguments.state,),
        since=None if arguments.since is None else _instant(arguments.since, context),
        newest=arguments.sort == "newest",
        limit=arguments.limit,
    )


def _instant(text: str, context: ToolContext) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidArguments(f"since: {text!r} is no date or time", hint="2026-11-30 or 2026-11-30T09:00") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=context.zone)


def _told(found: Found, context: ToolContext) -> str:
    notes = [f"{found.count:,} messages" if found.count is not None else f"more than {BEST_OF:,} messages hit; of the "
             f"newest {BEST_OF:,} these are the best"]  # fmt: skip
    if found.nothing_asked:
        notes = ["the query has no word to look for"]
    if found.left_out:
        notes.append(f"the last {found.left_out} words of the query were not looked for")
    if found.behind:
        notes.append("what was said last may be missing")
    lines = ["; ".join(notes)]
    for hit in found.hits:
        lines += _hit(hit, context)
    return "\n".join(lines)


def _hit(hit: Hit, context: ToolContext) -> Iterable[str]:
    own = ", this run" if hit.within.run_id == context.run_id else ""
    head = f"{hit.rank}. {_who(hit.message)}, {_when(hit.message, context)}, {_where(hit.within)}{own}"
    yield f"{head}, anchor {hit.within.session}:{hit.message.seq}"
    yield from (f"   before, {_who(said)}: {_short(said.text)}" for said in hit.before)
    yield f"   > {hit.snippet}"
    yield from (f"   after, {_who(said)}: {_short(said.text)}" for said in hit.after)


def _read(arguments: SessionSearch, anchor: str, sessions: Lookup) -> str:
    place = _ANCHOR.fullmatch(anchor.strip())
    if place is None:
        raise InvalidArguments(f"anchor: {anchor[:80]!r} is none", hint="as a hit says it: SESSION:NUMBER")
    try:
        within, said = sessions.around(place["session"], int(place["seq"]), arguments.before, arguments.after)
    except NotFound as error:
        raise ToolFailed(f"{error.message}: its run may have been removed") from error
    lines = [_where(within)]
    for each in said:
        cut = "" if len(each.text) <= _WHOLE else f" … ({len(each.text):,} characters in all)"
        lines.append(f"--- {within.session}:{each.seq} {_who(each)}\n{each.text[:_WHOLE]}{cut}")
    return "\n".join(lines)


def _who(said: Said) -> str:
    return f"result of {said.tool}" if said.tool else said.role


def _when(said: Said, context: ToolContext) -> str:
    return "" if said.at is None else f"{said.at.astimezone(context.zone):%Y-%m-%d %H:%M}"


def _where(within: Within) -> str:
    return f"run {within.run_id} of {within.job} ({within.source}, {within.state})"


def _short(text: str) -> str:
    line = _BLANKS.sub(" ", text[: _SHORT * 2]).strip()
    return line if len(line) <= _SHORT else f"{line[:_SHORT]}…"


_WHY_NOT = "there is no store whose sessions could be searched"


def _available(context: ToolContext) -> str | None:
    return _WHY_NOT if context.sessions is None else None


TOOL = Tool(
    name=SEARCH_TOOL,
    toolset="sessions",
    description="Search what was said and done in earlier runs. Answers hits with anchors; read around one by anchor.",
    arguments=SessionSearch,
    handler=search,
    available=_available,
)
