"""What does the second memory know, and what may be recalled?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from hermes_cron.domain.compaction import How
from hermes_cron.domain.recall import From, Passage
from hermes_cron.domain.session import text_of
from hermes_cron.store.engine import Store
from hermes_cron.store.tables import MessageRow, RecallVectorRow, RunRow, SessionRow

_vectors = RecallVectorRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]
_messages = MessageRow.__table__  # type: ignore[attr-defined]

_COLUMNS = (
    _sessions.c.id, _messages.c.seq, _messages.c.body,
    _runs.c.id.label("run_id"), _runs.c.job_name, _runs.c.state, _runs.c.ended_at,
)  # fmt: skip
_MAIN = _runs.join(_sessions, (_sessions.c.run_id == _runs.c.id) & (_sessions.c.kind == "main"))
_LAST = (
    select(func.max(_messages.c.seq))
    .where(_messages.c.session_id == _sessions.c.id, _messages.c.role == "assistant", _messages.c.body.is_not(None))
    .correlate(_sessions)
    .scalar_subquery()
)
_SAID = (
    select(*_COLUMNS)
    .select_from(_MAIN.join(_messages, (_messages.c.session_id == _sessions.c.id) & (_messages.c.seq == _LAST)))
    .where(_runs.c.ended_at.is_not(None))
    .order_by(_runs.c.ended_at.desc())
    .limit(bindparam("many"))
)
_NEWEST = (
    select(_runs.c.id)
    .where(_runs.c.ended_at.is_not(None))
    .order_by(_runs.c.ended_at.desc())
    .limit(bindparam("compacted"))
)
_SUMMED_UP = (
    select(*_COLUMNS)
    .select_from(_MAIN.join(_messages, _messages.c.session_id == _sessions.c.id))
    .where(_runs.c.id.in_(_NEWEST), _messages.c.role == "compaction", _messages.c.tool.in_([How.SUMMARY, How.DIGEST]))
)
_COMPACTED = 200
"""The newest runs whose compactions are looked for: that reads every message of theirs."""


def sessions(conn: Connection, redact: Callable[[str], str], *, many: int, most: int) -> Iterator[Passage]:
    """What the newest ended runs said last, and the summaries that long ones were compacted into; the newest first.

    ``most`` characters of each, redacted by what the vault holds now.
    """
    rows = [*conn.execute(_SAID, {"many": many}), *conn.execute(_SUMMED_UP, {"compacted": min(many, _COMPACTED)})]
    for row in sorted(rows, key=lambda row: (row.ended_at, row.seq), reverse=True):
        text = redact(text_of(json.loads(row.body)))[:most].strip()
        if text:
            yield Passage(
                origin=From.SESSION, source=f"{row.id}:{row.seq}", text=text,
                run_id=row.run_id, job=row.job_name, state=row.state, at=row.ended_at,
            )  # fmt: skip


def vectors(store: Store, engine: str) -> dict[str, bytes]:
    """All of an engine, by digest."""
    with store.read() as conn:
        rows = conn.execute(select(_vectors.c.digest, _vectors.c.vector).where(_vectors.c.engine == engine)).all()
    return {row.digest: row.vector for row in rows}


def keep(store: Store, engine: str, fresh: Mapping[str, bytes], wanted: frozenset[str]) -> None:
    """Add what is new; forget what nobody wants any more, and what another engine left."""
    store.write(lambda conn: _keep(conn, engine, fresh, wanted))


def _keep(conn: Connection, engine: str, fresh: Mapping[str, bytes], wanted: frozenset[str]) -> None:
    conn.execute(delete(_vectors).where(_vectors.c.engine != engine))
    known = set(conn.execute(select(_vectors.c.digest)).scalars())
    gone = [{"gone": digest} for digest in known - wanted]
    if gone:
        conn.execute(delete(_vectors).where(_vectors.c.digest == bindparam("gone")), gone)
    rows = [{"engine": engine, "digest": digest, "vector": fresh[digest]} for digest in fresh.keys() - known]
    if rows:
        conn.execute(insert(_vectors), rows)
