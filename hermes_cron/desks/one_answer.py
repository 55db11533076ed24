"""With what is a model asked one thing for a run that no agent drives?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_cron.domain.run import TakenRun
    from hermes_cron.domain.transcript import Header, Message
    from hermes_cron.ports import Journal
    from hermes_cron.runner.one_answer import Means
    from hermes_cron.wiring import App


def side_model(app: App) -> str | None:
    """Which model does side work; None where there is none at all."""
    said = app.settings_now.model
    return said.auxiliary or said.name


def means(app: App, model: str) -> Means:
    """On the run's money, under the caps of now. A run that is gone on with and would ask the same again goes on with
    what it asked: an answer that came is not paid for twice."""
    from hermes_cron.runner.one_answer import Means
    from hermes_cron.store.journal import SqlJournal

    def begin(taken: TakenRun, header: Header, messages: Sequence[Message], kind: str) -> Journal:
        asked = _asked(app, taken, header, messages, kind)
        if asked is not None:
            return SqlJournal.open(app.store, app.clock, run_id=taken.id, fence=taken.fence, session_id=asked)
        return SqlJournal.begin(
            app.store, app.clock, run_id=taken.id, fence=taken.fence, header=header, messages=messages, kind=kind
        )

    said = app.settings_now.model
    return Means(
        model=app.model,
        name=model,
        parameters=said.parameters,
        open_journal=begin,
        purse=app.running.purse,
        timeout_s=said.timeout_s,
    )


def _asked(app: App, taken: TakenRun, header: Header, messages: Sequence[Message], kind: str) -> str | None:
    """The open session of the run that asks just this."""
    from sqlalchemy import select

    from hermes_cron.store import journal
    from hermes_cron.store.tables import SessionRow

    query = select(SessionRow.id).where(  # type: ignore[call-overload]  # SQLModel's columns
        SessionRow.run_id == taken.id,
        SessionRow.kind == kind,
        SessionRow.ended_at.is_(None),  # type: ignore[union-attr]
    )
    with app.store.read() as conn:
        for session in conn.execute(query).scalars():
            known = journal.header_of(conn, session)
            said = [row.message for row in journal.transcript_of(conn, session)[: len(messages)]]
            if (known.system, known.model, said) == (header.system, header.model, list(messages)):
                return str(session)
    return None
