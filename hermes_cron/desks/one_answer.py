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
    """On the run's money, under the caps of now."""
    from hermes_cron.runner.one_answer import Means
    from hermes_cron.store.journal import SqlJournal

    def begin(taken: TakenRun, header: Header, messages: Sequence[Message], kind: str) -> Journal:
        return SqlJournal.begin(
            app.store, app.clock, run_id=taken.id, fence=taken.fence, header=header, messages=messages, kind=kind
        )

    said = app.settings_now.model
    return Means(
        model=app.model,
        name=model,
        parameters=said.parameters,
        open_journal=begin,
        purse=app.purse,
        timeout_s=said.timeout_s,
    )
