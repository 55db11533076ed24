"""How does what was learned get into the home? One way, for memory and skills: through the history, then a row.

A commit says which call made it. Whoever finds the commit without the row, after a ``kill -9`` between the two, puts
the row right; so nothing is learned twice and nothing is learned in silence.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from hermes_cron.desks.lesson import Lesson
from hermes_cron.domain.learning import Author, Doors, Learn, Learned, LearnedState, MemoryMode

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from hermes_cron.domain.run import TakenRun
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.store.learned_notices import When
    from hermes_cron.wiring import App

LOOK_BACK = 500
"""Snapshots among which the one of an interrupted call is looked for: it was the newest when the process died."""


class LearningDesk:
    """What runs, reviews and people teach this home."""

    def __init__(self, app: App) -> None:
        self._app = app

    def doors(self, taken: TakenRun, session_id: str | None = None, actor: str = "run") -> Doors:
        """What a run of a job may learn with, or who saves its memory before a compaction (``flush``)."""
        job = taken.job
        return self.of(
            Author(
                actor=actor,
                run_id=taken.id,
                job_uid=taken.job_uid,
                job_name=job.name,
                session_id=session_id,
                learn=job.learn,
                memory=job.memory,
            )
        )

    def of(self, author: Author) -> Doors:
        """What an author may learn with."""
        desk = self._app.skill_desk
        skills = replace(
            self._app.skill_reading.door(author), write=desk.writer(author), probe=partial(desk.probe, author)
        )
        return Doors(memory=self._app.memory.door(author), skills=skills, recall=self._app.recall.door(author))

    def write(self, author: Author, key: str | None, lesson: Lesson) -> Learned:
        """Change the home, or propose it where the job says so. Raises what the history raises, with nothing changed.

        The same key again is the same lesson: nothing is written twice.
        """
        if key is not None and (done := self.happened(author, key, lesson)) is not None:
            return done
        if author.learn is Learn.PROPOSE and author.actor != "cli":
            return self._propose(author, key, lesson)
        from hermes_cron.changes import as_kept
        from hermes_cron.snapshots.commits import Why

        why = Why(
            actor=author.actor,
            reason=lesson.reason,
            run=author.run_id,
            job=author.job_name,
            by=author.by,
            call=key,
        )
        done_as = self._app.snapshots.change(why, lambda: as_kept(lesson.edits()), scope="paths")
        if done_as.kept:
            from hermes_cron.errors import Conflict

            raise Conflict(
                f"{', '.join(done_as.kept)} was changed by hand within these moments; that version is kept",
                hint="look at it, then try again",
            )
        after = None if done_as.after is None else done_as.after.id
        return self._note(author, key, lesson, before=done_as.before.id, after=after, state=LearnedState.APPLIED)

    def made(self, author: Author, key: str, lesson: Lesson, *, before: str, after: str) -> Learned:
        """The row of one file of a change of several, which is in the history. The same key again is the same row."""
        return self._note(author, key, lesson, before=before, after=after, state=LearnedState.APPLIED)

    def happened(self, author: Author, key: str, lesson: Lesson | None = None) -> Learned | None:
        """What the call with this key did; None when it did nothing. A row that is missing is made."""
        from hermes_cron.store import learned

        with self._app.store.read() as conn:
            known = learned.by_key(conn, key)
        if known is not None:
            return known
        commit = self._commit(key)
        if commit is None:
            return None
        from hermes_cron.desks.learned_again import as_committed

        found = lesson or as_committed(self._app, commit)
        return self._note(author, key, found, before=commit.parent, after=commit.id, state=LearnedState.APPLIED)

    def _commit(self, key: str) -> Commit | None:
        return next((it for it in islice(self._app.snapshots.log(), LOOK_BACK) if it.call == key), None)

    def _propose(self, author: Author, key: str | None, lesson: Lesson) -> Learned:
        from hermes_cron.store import proposals

        row = self._row(author, key, lesson, before=None, after=None, state=LearnedState.PROPOSED)
        when, within = self._notice, self._app.answer_within
        kept = self._app.store.write(
            lambda conn: proposals.propose(conn, row, when=when, answer_within=within, now=row.at)
        )
        self._app.wake()  # a scheduler sends the question now, not with the run's end
        return kept

    @property
    def _notice(self) -> When:
        return self._app.settings_now.learning.notice

    def _note(
        self, author: Author, key: str | None, lesson: Lesson, *, before: str | None, after: str | None,
        state: LearnedState,
    ) -> Learned:  # fmt: skip
        """The row of what was done, and in the same transaction the message about it, or the answer that wanted it."""
        from hermes_cron.store import learned, learned_notices, proposals

        row, when = self._row(author, key, lesson, before=before, after=after, state=state), self._notice

        def work(conn: Connection) -> Learned:
            if author.proposal is not None:
                known = learned.one(conn, author.proposal)
                details = {**known.details, **row.details}
                done = replace(row, number=known.number, approval=known.approval, details=details)
                return proposals.accept(conn, done, by=author.by or author.actor, now=row.at)
            kept = learned.note(conn, row)
            learned_notices.note(conn, kept, when=when)
            return kept

        kept = self._app.store.write(work)
        if when == "now":
            self._app.wake()
        return kept

    def _row(
        self, author: Author, key: str | None, lesson: Lesson, *, before: str | None, after: str | None,
        state: LearnedState,
    ) -> Learned:  # fmt: skip
        from hermes_cron.desks.learned_facts import facts

        lines = tuple(self._app.redact(line) for line in lesson.lines)
        return Learned(
            number=0,
            key=key,
            at=self._app.clock.now(),
            actor=author.actor,
            kind=lesson.kind,
            name=lesson.name,
            change=lesson.change,
            lines=lines,
            reason=self._app.redact(lesson.reason),
            state=state,
            before=before,
            after=after,
            run_id=author.run_id,
            job_uid=author.job_uid,
            job_name=author.job_name,
            session_id=author.session_id,
            review=author.review,
            details={**facts(self._app, lesson.kind, lesson.name, lines, after=after), **lesson.details},
        )


__all__ = ["Author", "LearningDesk", "Lesson", "MemoryMode"]
