"""Which messages of all sessions say what somebody looks for, and what is said around them?"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, column, func, literal_column, or_, select, table, text

from hermes_cron.domain.session import BEST_OF, Found, Hit, Said, Source, Wanted, Within, snippet, text_of
from hermes_cron.domain.session_query import Query, expression, parse
from hermes_cron.errors import NameAmbiguous, NotFound
from hermes_cron.store.message_index import SEARCHED, SEQ_BITS
from hermes_cron.store.prepared import Prepared, instant
from hermes_cron.store.tables import IndexedSessionRow, MessageRow, RunRow, SessionRow

_sessions = SessionRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_messages = MessageRow.__table__  # type: ignore[attr-defined]
_indexed = IndexedSessionRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]

_MESSAGE = (_messages.c.seq, _messages.c.role, _messages.c.tool, _messages.c.at, _messages.c.body)
_WITHIN = (_sessions.c.id, _sessions.c.kind, _sessions.c.run_id, _runs.c.job_name, _runs.c.cause, _runs.c.state)
_SAID = select(*_MESSAGE).where(
    _messages.c.session_id == bindparam("session"),
    or_(*(_messages.c.role == role for role in SEARCHED)),
    _messages.c.body.is_not(None),
)
_BEFORE = Prepared(
    _SAID.where(_messages.c.seq < bindparam("at_seq")).order_by(_messages.c.seq.desc()).limit(bindparam("many"))
)
_AFTER = Prepared(_SAID.where(_messages.c.seq > bindparam("at_seq")).order_by(_messages.c.seq).limit(bindparam("many")))
_FOUND = Prepared(
    select(*_MESSAGE, *_WITHIN)
    .select_from(_indexed.join(_sessions).join(_runs).join(_messages, _messages.c.session_id == _sessions.c.id))
    .where(
        _indexed.c.number == bindparam("number"), _messages.c.seq == bindparam("at_seq"), _messages.c.body.is_not(None)
    )
)
_index = table("message_index", column("rowid"))
_SAYS = text("message_index MATCH :words")
_SCORE = (-func.bm25(literal_column("message_index"))).label("score")


class Sessions:
    """Sessions as one reading transaction sees them. Every text is redacted by what the vault holds now, too."""

    def __init__(self, conn: Connection, redact: Callable[[str], str]) -> None:
        self._conn = conn
        self._redact = redact

    def search(self, wanted: Wanted) -> Found:
        """Of the messages in the index. No words raise anything.

        More than ``BEST_OF`` hits are not weighed: that would take time with all that was ever said. The newest are.
        """
        query = parse(wanted.words)
        if not query.groups:
            return Found(nothing_asked=True, left_out=query.left_out)
        given = {"words": expression(query)}
        hit = select(_index.c.rowid).where(_SAYS, *_only(wanted))
        ids = list(self._conn.execute(hit.order_by(_index.c.rowid.desc()).limit(BEST_OF + 1), given).scalars())
        capped = len(ids) > BEST_OF
        if wanted.newest or not ids:
            chosen: list[tuple[int, float | None]] = [(row, None) for row in ids[: wanted.limit]]
        else:
            among = hit.add_columns(_SCORE).where(_index.c.rowid >= ids[:BEST_OF][-1])
            best = among.order_by(_SCORE.desc(), _index.c.rowid.desc()).limit(wanted.limit)
            chosen = [(row.rowid, row.score) for row in self._conn.execute(best, given)]
        said = [self._hit(rank, row, score, query, wanted.around) for rank, (row, score) in enumerate(chosen, 1)]
        return Found(
            hits=tuple(found for found in said if found), count=None if capped else len(ids), left_out=query.left_out
        )

    def _hit(self, rank: int, row: int, score: float | None, query: Query, count: int) -> Hit | None:
        """None for one whose message is gone, which only a damaged index names."""
        place = {"number": row >> SEQ_BITS, "at_seq": row & ((1 << SEQ_BITS) - 1)}
        found = _FOUND.first(self._conn, place)
        if found is None:
            return None
        within, message = _within(found[5:]), self._message(found[:5])
        return Hit(
            rank=rank,
            score=score,
            within=within,
            message=message,
            snippet=snippet(message.text, query.phrases),
            before=self.before(within.session, message.seq, count),
            after=self.after(within.session, message.seq, count),
        )

    def within(self, session_id: str) -> Within:
        """Raises ``NotFound``."""
        row = self._conn.execute(
            select(*_WITHIN).select_from(_sessions.join(_runs)).where(_sessions.c.id == session_id)
        ).first()
        if row is None:
            raise NotFound(f'no session "{session_id}"', hint="hermes-cron sessions search WORDS")
        return _within(row)

    def before(self, session_id: str, seq: int, count: int) -> tuple[Said, ...]:
        """The last ``count`` messages before one, in order."""
        rows = _BEFORE.all(self._conn, {"session": session_id, "at_seq": seq, "many": count}) if count else ()
        return tuple(self._message(row) for row in reversed(rows))

    def after(self, session_id: str, seq: int, count: int) -> tuple[Said, ...]:
        """The first ``count`` messages behind one, in order; -1: all."""
        rows = _AFTER.all(self._conn, {"session": session_id, "at_seq": seq, "many": count}) if count else ()
        return tuple(self._message(row) for row in rows)

    def around(self, session_id: str, seq: int, *, back: int, on: int) -> tuple[Said, ...]:
        """A message with ``back`` before it and ``on`` behind it."""
        return (*self.before(session_id, seq + 1, back + 1), *self.after(session_id, seq, on))

    def _message(self, row: Sequence[Any]) -> Said:
        seq, role, tool, at, body = row
        return Said(seq=seq, role=role, tool=tool, at=instant(at), text=self._redact(text_of(json.loads(body))))


def _within(row: Sequence[Any]) -> Within:
    session, kind, run_id, job, cause, state = row
    return Within(session=session, kind=kind, run_id=run_id, job=job, source=Source.of(cause), state=state)


def _only(wanted: Wanted) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.jobs:
        conditions.append(or_(_runs.c.job_uid.in_(wanted.jobs), _runs.c.job_name.in_(wanted.jobs)))
    if wanted.sources:
        conditions.append(_runs.c.cause.in_([cause for source in wanted.sources for cause in source.causes]))
    if wanted.states:
        conditions.append(_runs.c.state.in_(wanted.states))
    if wanted.since is not None:
        conditions.append(_sessions.c.started_at >= wanted.since.astimezone(UTC))
    if wanted.until is not None:
        conditions.append(_sessions.c.started_at < wanted.until.astimezone(UTC))
    if not conditions:
        return []
    numbers = select(_indexed.c.number).select_from(_indexed.join(_sessions).join(_runs)).where(*conditions)
    return [_index.c.rowid.op(">>")(SEQ_BITS).in_(numbers)]


def named(conn: Connection, word: str) -> str | None:
    """The session whose id is ``word`` or begins so; None when there is none. Raises ``NameAmbiguous``."""
    like = select(_sessions.c.id).where(_sessions.c.id.startswith(word, autoescape=True)).limit(6)
    found = list(conn.execute(like).scalars()) if len(word) >= 4 else []
    if len(found) > 1 and word not in found:
        raise NameAmbiguous(f'several sessions begin with "{word}": {", ".join(found)}', hint="write more of the id")
    return (word if word in found else found[0]) if found else None
