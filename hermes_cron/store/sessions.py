"""Which messages of all sessions say what somebody looks for, and what is said around them?"""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import ColumnElement, Connection, column, func, literal_column, or_, select, table, text

from hermes_cron.domain.session import BEST_OF, Found, Hit, Said, Source, Wanted, Within, snippet, text_of
from hermes_cron.domain.session_query import Query, expression, parse
from hermes_cron.errors import NameAmbiguous, NotFound
from hermes_cron.store.message_index import SEARCHED, SEQ_BITS
from hermes_cron.store.tables import IndexedSessionRow, MessageRow, RunRow, SessionRow

_sessions = SessionRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_messages = MessageRow.__table__  # type: ignore[attr-defined]
_indexed = IndexedSessionRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]

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

    def _hit(self, rank: int, row: int, score: float | None, query: Query, around: int) -> Hit | None:
        """None for one whose message is gone, which only a damaged index names."""
        number, seq = row >> SEQ_BITS, row & ((1 << SEQ_BITS) - 1)
        session = self._conn.execute(select(_indexed.c.session_id).where(_indexed.c.number == number)).scalar()
        if session is None or not (found := self._said(session, _messages.c.seq == seq)):
            return None
        (message,) = found
        return Hit(
            rank=rank,
            score=score,
            within=self.within(session),
            message=message,
            snippet=snippet(message.text, query.phrases),
            before=self.before(session, seq, around),
            after=self.after(session, seq, around),
        )

    def within(self, session_id: str) -> Within:
        """Raises ``NotFound``."""
        row = self._conn.execute(
            select(_sessions.c.id, _sessions.c.kind, _sessions.c.run_id, _runs.c.job_name, _runs.c.cause, _runs.c.state)
            .select_from(_sessions.join(_runs))
            .where(_sessions.c.id == session_id)
        ).first()
        if row is None:
            raise NotFound(f'no session "{session_id}"', hint="hermes-cron sessions search WORDS")
        return Within(
            session=row.id,
            kind=row.kind,
            run_id=row.run_id,
            job=row.job_name,
            source=Source.of(row.cause),
            state=row.state,
        )

    def before(self, session_id: str, seq: int, count: int) -> tuple[Said, ...]:
        """The last ``count`` messages before one, in order."""
        return tuple(reversed(self._said(session_id, _messages.c.seq < seq, count=count, backwards=True)))

    def after(self, session_id: str, seq: int, count: int) -> tuple[Said, ...]:
        """The first ``count`` messages behind one, in order."""
        return tuple(self._said(session_id, _messages.c.seq > seq, count=count))

    def around(self, session_id: str, seq: int, *, back: int, on: int) -> tuple[Said, ...]:
        """A message with ``back`` before it and ``on`` behind it."""
        own = self._said(session_id, _messages.c.seq == seq)
        return (*self.before(session_id, seq, back), *own, *self.after(session_id, seq, on))

    def _said(
        self, session_id: str, where: ColumnElement[bool], *, count: int = 1, backwards: bool = False
    ) -> list[Said]:
        order = _messages.c.seq.desc() if backwards else _messages.c.seq
        rows = self._conn.execute(
            select(_messages.c.seq, _messages.c.role, _messages.c.tool, _messages.c.at, _messages.c.body)
            .where(
                _messages.c.session_id == session_id,
                where,
                _messages.c.role.in_(SEARCHED),
                _messages.c.body.is_not(None),
            )
            .order_by(order)
            .limit(count)
        )
        return [
            Said(seq=row.seq, role=row.role, tool=row.tool, at=row.at, text=self._redact(text_of(json.loads(row.body))))
            for row in rows
        ]


def _only(wanted: Wanted) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.jobs:
        conditions.append(or_(_runs.c.job_uid.in_(wanted.jobs), _runs.c.job_name.in_(wanted.jobs)))
    if wanted.sources:
        conditions.append(_runs.c.cause.in_([cause for source in wanted.sources for cause in source.causes]))
    if wanted.states:
        conditions.append(_runs.c.state.in_(wanted.states))
    if wanted.since is not None:
        conditions.append(_sessions.c.started_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(_sessions.c.started_at < wanted.until)
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
