"""How is a run looked back at: by a scheduler at leisure, or by the command that just ran it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_cron.domain.command import Flag, Halt
    from hermes_cron.domain.compaction import Row
    from hermes_cron.domain.event import Event
    from hermes_cron.domain.nudge import Nudge
    from hermes_cron.domain.review import Reviewed, TakenReview
    from hermes_cron.domain.transcript import Header, Message
    from hermes_cron.ports import Journal, Purse
    from hermes_cron.runner.review import Reviews
    from hermes_cron.scheduler.reviewing import Refused, Reviewer
    from hermes_cron.settings import Settings
    from hermes_cron.wiring import App

_LOOK_S = 0.1


class ReviewDesk:
    """Looks back at the runs of one home."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._made: tuple[Settings, Reviews] | None = None

    @property
    def nudge(self) -> Nudge:
        """After how much a run is looked back at, as config.toml says now."""
        from hermes_cron.domain.nudge import Nudge

        said = self._app.settings_now.learning
        return Nudge(memory_turns=said.memory_turns, skill_iterations=said.skill_iterations)

    def reviewer(
        self, emit: Callable[[Event], None], *, ended: Callable[[], None] = lambda: None, only: str | None = None
    ) -> Reviewer:
        """What looks back, on threads of its own; ``only`` at this run. Nothing is imported for it before there is one
        to look at."""
        from hermes_cron.scheduler.reviewing import Reviewer, Reviewing

        app = self._app
        return Reviewer(
            Reviewing(
                store=app.store,
                clock=app.clock,
                owners=app.home.owners,
                execute=self._execute,
                emit=emit,
                limits=lambda: app.home_limits,
                ended=ended,
                only=only,
            )
        )

    def waiting(self, run_id: str) -> bool:
        """Whether a look back at this run is due and nobody is at it."""
        from hermes_cron.store import reviews

        with self._app.store.read() as conn:
            return reviews.waiting(conn, only=run_id)

    def here(self, run_id: str, cancel: Flag) -> list[dict[str, Any]]:
        """Look back at a run in this process, until it is done or ``cancel`` is set: then whoever comes next goes on.

        The rows of its looks back as they are then.
        """
        from hermes_cron.scheduler.owners import Owner

        app = self._app
        with Owner(app.home.owners, kind="run", started_at=app.clock.now()) as owner:
            reviewer = self.reviewer(lambda _: None, only=run_id)
            reviewer.start(owner.name)
            try:
                while not reviewer.flush(_LOOK_S) and not cancel.is_set():
                    pass
            finally:
                if not reviewer.stop():
                    owner.outlive()
        return self.of_run(run_id)

    def of_run(self, run_id: str) -> list[dict[str, Any]]:
        """Oldest first."""
        from hermes_cron.store import reviews

        with self._app.store.read() as conn:
            return reviews.of_runs(conn, [run_id]).get(run_id, [])

    # --- how ---------------------------------------------------------------------------------------------------------

    def _execute(self, taken: TakenReview, halt: Halt, refused: Refused) -> Reviewed:
        return self._reviews().execute(taken, halt, refused)

    def _reviews(self) -> Reviews:
        """With the model that config.toml names now."""
        settings, made = self._app.settings_now, self._made
        if made is None or made[0] is not settings:
            self._made = made = settings, self._make(settings)
        return made[1]

    def _make(self, settings: Settings) -> Reviews:
        from hermes_cron.environments.local import run as run_command
        from hermes_cron.runner.review import Parts, Reviews

        app, model = self._app, settings.model
        return Reviews(
            Parts(
                home=app.home,
                clock=app.clock,
                databases=app.databases,
                registry=lambda: app.tools,
                model=lambda: app.model,
                parameters=model.parameters,
                transcript=self._transcript,
                memory=lambda taken: app.memory.block(taken.job.memory).text,
                open_journal=self._open_journal,
                resume_journal=self._resume_journal,
                doors=app.learning.of,
                purse=self._purse,
                run_command=run_command,
                redact=app.redact,
                model_timeout_s=model.timeout_s,
                compaction=app.running.compaction(settings),
                iterations=settings.learning.review_iterations,
            )
        )

    def _transcript(self, taken: TakenReview) -> tuple[Header, Sequence[Row]]:
        from hermes_cron.store import journal

        with self._app.store.read() as conn:
            return journal.header_of(conn, taken.main), journal.transcript_of(conn, taken.main)

    def _open_journal(self, taken: TakenReview, header: Header, messages: Sequence[Message]) -> Journal:
        from hermes_cron.store.journal import SqlJournal

        return SqlJournal.begin(
            self._app.store, self._app.clock, run_id=taken.run_id, fence=taken.fence, header=header, messages=messages,
            kind="review", parent=taken.main, review=taken.number,
        )  # fmt: skip

    def _resume_journal(self, taken: TakenReview) -> Journal:
        from hermes_cron.store.journal import SqlJournal

        if taken.session is None:
            raise ValueError("the review has no session to go on with")
        return SqlJournal.open(
            self._app.store, self._app.clock, run_id=taken.run_id, fence=taken.fence, session_id=taken.session,
            review=taken.number,
        )  # fmt: skip

    def _purse(self, taken: TakenReview) -> Purse | None:
        from hermes_cron.store.spending import Payer

        payer = Payer(run_id=taken.run_id, fence=taken.fence, job_uid=taken.job_uid, review=taken.number)
        return self._app.running.purse_of(payer, taken.job.limits)
