"""How do the words of messages get into the index that sessions are searched by, and out of it again?

Not in the transaction that keeps a step of a run: a step must not wait for it. What is new is taken from the rows
afterwards, in pieces of their own, by a living scheduler now and then and before each search. ``indexed_sessions``
says how far each session is, and is written with its words: who is killed leaves a whole piece or none, and the next
one goes on there. Several may do it at once; the first to write a piece is the one who did it.

SQLite 3.40 can only take out of such an index what it is told word by word: a message goes out of it by the words that
its row gives, in the transaction that removes the row. So they must be the same words as then (``words.RULES``).
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, and_, bindparam, column, delete, insert, or_, select, table, update
from sqlalchemy.exc import DatabaseError, OperationalError

from hermes_cron.domain.session import SEARCH_TOOL, text_of
from hermes_cron.domain.words import RULES, words
from hermes_cron.errors import Conflict, StoreDamaged
from hermes_cron.store.engine import Store
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import MESSAGE_INDEX, IndexedSessionRow, MessageRow, MetaRow, RunRow, SessionRow

_sessions = SessionRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_messages = MessageRow.__table__  # type: ignore[attr-defined]
_indexed = IndexedSessionRow.__table__  # type: ignore[attr-defined]
_meta = MetaRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]

_LOG = logging.getLogger(__name__)
SEQ_BITS = 20
PIECE = 100_000
"""Characters that are put in at once: some 20 ms in which nobody else writes."""
A_SESSION = 2_000
"""What a session costs besides its words, in characters."""
SEARCHED = ("user", "assistant", "tool")
"""Roles whose messages are found."""
REPEATS = "summary"
"""The kind of session in which nothing is found: a summary says again what others said."""

_RULES = f"1/{RULES}"
_KEY = "message_index"
_FIRST = 1  # row 0 is the header
_SESSIONS = 10_000  # looked at by one call
_PAGE = 200
_PACK_S = 30.0
_ADD = "INSERT INTO message_index (rowid, words) VALUES (?, ?)"
_TAKE_OUT = "INSERT INTO message_index (message_index, rowid, words) VALUES ('delete', ?, ?)"
_LOST = """
SELECT count(*) FROM message_index_docsize d
LEFT JOIN indexed_sessions i ON i.number = d.id >> 20
LEFT JOIN messages m ON m.session_id = i.session_id AND m.seq = d.id & 1048575 WHERE m.seq IS NULL
"""
_CHECK = "INSERT INTO message_index (message_index) VALUES ('integrity-check')"
_EMPTY = "INSERT INTO message_index (message_index) VALUES ('delete-all')"
_TABLES = "name = 'message_index' OR name LIKE 'message\\_index\\_%' ESCAPE '\\'"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Rows ``from_seq`` up to, not with, ``to_seq`` of a session, as words; ``whole``: nothing more can come."""

    session_id: str
    from_seq: int
    to_seq: int
    entries: tuple[tuple[int, str], ...]
    whole: bool

    @property
    def size(self) -> int:
        return sum(len(text) for _, text in self.entries)

    @property
    def says(self) -> bool:
        return self.whole or self.to_seq > self.from_seq


def row_of(number: int, seq: int) -> int:
    """Of the index, for a message."""
    return (number << SEQ_BITS) + seq


def bring_up(store: Store, *, now: datetime, enough: Callable[[], bool]) -> bool:
    """Put in what is new; False when it had ``enough`` before all was in. It is asked after each piece."""
    with store.read() as conn:
        ours = _has_our_rules(conn)
        waiting = deque(_unindexed(conn) if ours else ())
    if not ours:
        store.write(empty)
        with store.read() as conn:
            waiting = deque(_unindexed(conn))
    all_seen = len(waiting) < _SESSIONS
    while waiting:
        with store.read() as conn:
            steps = _next(conn, waiting)
        if steps:
            store.write(partial(_put, steps, now))
        if waiting and enough():
            return False
    return all_seen


def _unindexed(conn: Connection) -> list[str]:
    """Sessions that are not whole in the index, oldest first."""
    query = select(_sessions.c.id).where(_sessions.c.indexed_at.is_(None))
    return list(conn.execute(query.order_by(_sessions.c.started_at, _sessions.c.id).limit(_SESSIONS)).scalars())


def _next(conn: Connection, waiting: deque[str]) -> list[_Step]:
    """A piece. Sessions that are through are taken from ``waiting``; one may need several pieces."""
    steps: list[_Step] = []
    left = PIECE
    while waiting and left > 0:
        step, through = _step(conn, waiting[0], left)
        if step is not None and step.says:
            steps.append(step)
            left -= step.size + A_SESSION
        if through:
            waiting.popleft()
    return steps


def _step(conn: Connection, session_id: str, left: int) -> tuple[_Step | None, bool]:
    """What of a session comes next, up to about ``left`` characters, and whether that is all there is now."""
    found = _STATE.first(conn, {"session": session_id})
    if found is None:  # gone meanwhile
        return None, True
    next_seq, closed, kind = found
    begin = seq = next_seq or _FIRST
    entries: list[tuple[int, str]] = []
    through = True
    for row in _rows(conn, session_id, begin):
        if row[-1] is None and not closed:  # a result is awaited, and what comes after it waits with it
            break
        through = left > 0
        if not through:
            break
        at, *message = row
        if (
            at >> SEQ_BITS == 0 and kind != REPEATS and (line := _line(*message))
        ):  # a longer session's end has no number
            entries.append((at, line))
            left -= len(line)
        seq = at + 1
    whole = through and bool(closed)
    return _Step(session_id=session_id, from_seq=begin, to_seq=seq, entries=tuple(entries), whole=whole), through


_CLOSED = or_(
    _sessions.c.ended_at.is_not(None),
    and_(_runs.c.ended_at.is_not(None), _sessions.c.kind != "review", _sessions.c.started_at <= _runs.c.ended_at),
)
"""Whether nothing more can come into a session: it ended, or its run did. One that was begun after that goes on, and so
does a review's."""


_STATE = Prepared(
    select(_indexed.c.next_seq, _CLOSED, _sessions.c.kind)
    .select_from(_sessions.join(_runs).outerjoin(_indexed, _indexed.c.session_id == _sessions.c.id))
    .where(_sessions.c.id == bindparam("session"))
)
_ROWS = Prepared(
    select(_messages.c.seq, _messages.c.role, _messages.c.tool, _messages.c.body)
    .where(_messages.c.session_id == bindparam("session"), _messages.c.seq >= bindparam("from_seq"))
    .order_by(_messages.c.seq)
    .limit(_PAGE)
)
_KNOWN = Prepared(
    select(_indexed.c.number, _indexed.c.next_seq)
    .select_from(_sessions.outerjoin(_indexed, _indexed.c.session_id == _sessions.c.id))
    .where(_sessions.c.id == bindparam("session"), _sessions.c.indexed_at.is_(None))
)
_BEGIN = Prepared(insert(_indexed), ("session_id", "next_seq"))
_REACHED = Prepared(
    update(_indexed).where(_indexed.c.session_id == bindparam("session")).values(next_seq=bindparam("new_seq"))
)
_WHOLE = Prepared(
    update(_sessions).where(_sessions.c.id == bindparam("session")).values(indexed_at=bindparam("new_at"))
)


def _rows(conn: Connection, session_id: str, seq: int) -> Iterator[Sequence[Any]]:
    """From ``seq`` on (seq, role, tool, body), some at a time: one message may be large."""
    while True:
        page = _ROWS.all(conn, {"session": session_id, "from_seq": seq})
        yield from page
        if len(page) < _PAGE:
            return
        seq = page[-1][0] + 1


def _line(role: str, tool: str | None, body: bytes | None) -> str:
    """A message's words for the index; empty for what is not searched. What it gives is fixed by ``_RULES``."""
    if body is None or role not in SEARCHED or tool == SEARCH_TOOL:
        return ""
    return " ".join(words(text_of(json.loads(body))))


def _put(steps: Sequence[_Step], now: datetime, conn: Connection) -> None:
    for step in steps:
        key = {"session": step.session_id}
        known = _KNOWN.first(conn, key)
        if known is None or (known[1] or _FIRST) != step.from_seq:
            continue  # another one was first, or it is gone
        if known[0] is None:
            _BEGIN.run(conn, {"session_id": step.session_id, "next_seq": step.to_seq})
            known = _KNOWN.first(conn, key)
            assert known is not None  # noqa: S101  # written just now
        for seq, line in step.entries:
            conn.exec_driver_sql(_ADD, (row_of(known[0], seq), line))
        _REACHED.run(conn, {**key, "new_seq": step.to_seq})
        if step.whole:
            _WHOLE.run(conn, {**key, "new_at": now})


def forget(conn: Connection, session_ids: Sequence[str]) -> None:
    """Take these sessions' words out; for the transaction that removes their rows, before it does.

    A damaged index stands in nobody's way: without their rows its words lead nowhere, until it is made anew.
    """
    try:
        with damage_told(), conn.begin_nested():
            _take_out(conn, session_ids)
    except StoreDamaged as error:
        _LOG.warning("%s; mend it with: %s", error.message, error.hint)
    conn.execute(delete(_indexed).where(_indexed.c.session_id.in_(session_ids)))


def _take_out(conn: Connection, session_ids: Sequence[str]) -> None:
    if not _has_our_rules(conn):
        empty(conn)  # its words cannot be told any more
    shadow = table("message_index_docsize", column("id"))
    rows = conn.execute(
        select(shadow.c.id, _messages.c.role, _messages.c.tool, _messages.c.body)
        .select_from(_indexed)
        .join(_messages, and_(_messages.c.session_id == _indexed.c.session_id, _messages.c.seq < _indexed.c.next_seq))
        .join(shadow, shadow.c.id == _indexed.c.number * (1 << SEQ_BITS) + _messages.c.seq)
        .where(_indexed.c.session_id.in_(session_ids))
    ).all()
    for row in rows:
        conn.exec_driver_sql(_TAKE_OUT, (row.id, _line(row.role, row.tool, row.body)))


def _has_our_rules(conn: Connection) -> bool:
    return conn.execute(select(_meta.c.value).where(_meta.c.key == _KEY)).scalar() == _RULES


def empty(conn: Connection) -> None:
    """Nothing is in the index from now on, and everything is to be put in, by the rules of this version."""
    conn.exec_driver_sql(_EMPTY)
    _begin_anew(conn)


def _begin_anew(conn: Connection) -> None:
    conn.execute(delete(_indexed))
    conn.execute(update(_sessions).where(_sessions.c.indexed_at.is_not(None)).values(indexed_at=None))
    conn.execute(delete(_meta).where(_meta.c.key == _KEY))
    conn.execute(insert(_meta).values(key=_KEY, value=_RULES))


@contextmanager
def damage_told() -> Iterator[None]:
    """What SQLite says of a damaged index becomes ``StoreDamaged`` with the remedy."""
    try:
        yield
    except StoreDamaged as error:
        raise _damaged(error.message) from error
    except DatabaseError as error:
        if isinstance(error, OperationalError):
            raise
        raise _damaged(str(error.orig)) from error


def _damaged(said: str) -> StoreDamaged:
    return StoreDamaged(f"the index of what sessions say is damaged: {said}", hint="hermes-cron sessions reindex")


def fault(store: Store) -> str | None:
    """What is wrong with the index as it is in the file; None when it is sound. Reads all of it."""
    try:
        with damage_told():
            store.write(lambda conn: conn.exec_driver_sql(_CHECK))
            with store.read() as conn:
                lost = conn.exec_driver_sql(_LOST).scalar_one()
    except StoreDamaged as error:
        return error.message
    return f"{lost} of its messages are not there" if lost else None


def rebuild(store: Store) -> None:
    """An empty index in place of what is there; ``bring_up`` then puts everything in from the messages.

    Raises ``Conflict`` when others write without a pause: the index is empty then, which does no harm.
    """
    try:
        with damage_told():
            store.write(empty)
    except StoreDamaged:
        store.write(_put_in_place)
    try:
        with closing(sqlite3.connect(store.path, timeout=_PACK_S, isolation_level=None)) as conn:
            conn.execute("VACUUM")  # pages of an index that could not be dropped belong to nothing now
    except sqlite3.OperationalError as error:
        raise Conflict(
            f"the index is emptied, but the store could not be packed: {error}",
            hint="hermes-cron sessions reindex --force",
        ) from error


def _put_in_place(conn: Connection) -> None:
    """Where a page of the file is damaged the old tables cannot even be dropped: their names are taken away."""
    conn.exec_driver_sql("PRAGMA writable_schema=ON")
    try:
        conn.exec_driver_sql(f"DELETE FROM sqlite_master WHERE {_TABLES}")  # noqa: S608  # names of ours
    finally:
        conn.exec_driver_sql("PRAGMA writable_schema=RESET")
    conn.exec_driver_sql(MESSAGE_INDEX)
    _begin_anew(conn)
