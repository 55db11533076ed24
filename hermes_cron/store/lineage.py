"""Through which segments did a session go? Each compaction begins one; nothing of the ones before it is gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from sqlalchemy import Connection, select, text

from hermes_cron.domain.compaction import How, Row, sent
from hermes_cron.domain.tokens import message_tokens
from hermes_cron.store.journal import transcript_of
from hermes_cron.store.tables import MessageRow, SessionRow

_messages = MessageRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_sessions = SessionRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """One row of a compaction: it stands for the rows ``first`` to ``last``."""

    seq: int
    first: int
    last: int
    how: How
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A session that worked for a compaction."""

    session: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """What was sent between two compactions. ``made`` is the one that began it, empty for the first segment.

    ``first`` and ``last`` are the rows that were added in it, None where none was. ``messages`` and ``tokens`` (about)
    are those of its last request, without the system prompt and the tools.
    """

    number: int
    made: tuple[Stand, ...]
    at: datetime | None
    beside: tuple[Beside, ...]
    first: int | None
    last: int | None
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """A session's segments, oldest first. ``parent`` and ``up_to``: it worked for a compaction of that session, of its
    rows up to that one."""

    session: str
    parent: str | None
    up_to: int | None
    segments: tuple[Segment, ...]


def lineage(conn: Connection, session_id: str) -> Lineage:
    """Of a session that is there."""
    parent, up_to = conn.execute(
        select(_sessions.c.parent_id, _sessions.c.parent_seq).where(_sessions.c.id == session_id)
    ).one()
    rows = transcript_of(conn, session_id)
    pieces = [list(piece) for _, piece in groupby(rows, key=lambda each: each.covers is not None)]
    if pieces and pieces[0][0].covers is None:
        pieces.insert(0, [])  # nothing stands before the first segment
    segments = [
        _segment(conn, session_id, at, pieces[at - 1], pieces[at] if at < len(pieces) else [], rows)
        for at in range(1, max(2, len(pieces) + 1), 2)
        if pieces
    ]
    return Lineage(session=session_id, parent=parent, up_to=up_to, segments=tuple(segments))


def _segment(
    conn: Connection, session_id: str, at: int, made: Sequence[Row], added: Sequence[Row], rows: Sequence[Row]
) -> Segment:
    end = max(row.seq for row in (*made, *added))
    shown = [each.message for each in sent(row for row in rows if row.seq <= end)]
    stands = tuple(_stand(row) for row in made)
    return Segment(
        number=at // 2 + 1,
        made=stands,
        at=_when(conn, session_id, made[0].seq) if made else None,
        beside=_beside(conn, session_id, {stand.last for stand in stands}),
        first=added[0].seq if added else None,
        last=added[-1].seq if added else None,
        messages=len(shown),
        tokens=sum(map(message_tokens, shown)),
    )


def _stand(row: Row) -> Stand:
    assert row.covers is not None  # noqa: S101  # a row of a compaction
    assert row.how is not None  # noqa: S101
    return Stand(seq=row.seq, first=row.covers[0], last=row.covers[1], how=row.how, ok=bool(row.ok))


def _when(conn: Connection, session_id: str, seq: int) -> datetime | None:
    query = select(_messages.c.at).where(_messages.c.session_id == session_id, _messages.c.seq == seq)
    found: datetime | None = conn.execute(query).scalar_one()
    return found


def _beside(conn: Connection, session_id: str, up_to: Collection[int]) -> tuple[Beside, ...]:
    if not up_to:
        return ()
    query = (
        select(_sessions.c.id, _sessions.c.kind)
        .where(_sessions.c.parent_id == session_id, _sessions.c.parent_seq.in_(up_to))
        .order_by(_sessions.c.started_at, text("rowid"))
    )
    return tuple(Beside(session=row.id, kind=row.kind) for row in conn.execute(query))
