"""What does the curator do in a night? It plans, has the state before kept, changes all at once, and reports.

The plan is a value (``experience.curation``). What it changes by itself is one change of the home with the run in its
name, so ``undo curator`` takes all of it back; what needs a person's yes becomes a question. A run whose process died
is gone on with: a change that was made is found by its key and is not made twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from hermes_cron.errors import Conflict, HermesCronError
from hermes_cron.experience.curation import Home, Intended, Move, ordered, plan

if TYPE_CHECKING:
    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.file_edit import Edits
    from hermes_cron.domain.job import Job
    from hermes_cron.domain.run import Outcome, TakenRun
    from hermes_cron.experience.lifecycle import Mark
    from hermes_cron.experience.skills import Skill
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.held import Changed
    from hermes_cron.wiring import App

ACTOR = "curator"
JOB = "nightly-curator"
"""The shipped job's name, and that of a run in a home without one."""

_TRIES = 3
_LOOK_BACK = 500  # snapshots; that of a run that is gone on with was the newest when its process died


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """``before`` and ``after`` are snapshots; ``after`` None: nothing was different."""

    before: str
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is known, and what follows from it."""

    home: Home
    intended: tuple[Intended, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """A skill that is stale, and the first instant at which a night may archive it."""

    skill: str
    mark: Mark
    archived_from: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the skills stand. ``nights_left`` scheduled runs will change nothing."""

    states: Mapping[str, int]
    stale: tuple[Stale, ...]
    proposals: int
    nights_left: int


class CuratorDesk:
    """Skills kept healthy."""

    def __init__(self, app: App) -> None:
        self._app = app

    # --- looking ----------------------------------------------------------------------------------------------------

    def job(self) -> Job:
        """What ``curator run`` runs in a home whose jobs do not curate."""
        from hermes_cron.domain.job import LIMITS, Action, Job

        limits = replace(self._app.home_limits, inherited=LIMITS)
        return Job(name=JOB, timezone=self._app.settings.timezone, action=Action.CURATE, limits=limits)

    def about(self, skill: Skill) -> dict[str, Any]:
        """Who made a skill of the home (``origin``), and the ``jobs`` that name it or ask for it."""
        from hermes_cron.desks.curator_facts import about

        return about(self._app, skill)

    def last(self) -> Mapping[str, Any] | None:
        """The newest run that ended; None before the first."""
        from hermes_cron.store import curator, views

        if not self._app.home.store.exists():
            return None
        with self._app.store.read() as conn:
            run_id = curator.last_run(conn)
            return None if run_id is None else views.run(conn, run_id)

    def standing(self) -> Standing:
        """As far as it is known without the history: at once."""
        from hermes_cron.desks.curator_run import archived
        from hermes_cron.experience import lifecycle
        from hermes_cron.experience.skill_index import name_of, record_of
        from hermes_cron.store import curator

        library, records = self._app.read_skills(), self._app.skill_reading.records()
        marks, said = lifecycle.stale(self._app.home.skills), self._app.settings_now.curator
        counts, stale = Counter({lifecycle.SkillState.ARCHIVED.value: archived(self._app)}), []
        for skill in library.all():
            record = record_of(records, skill, name_of(library, skill))
            state = lifecycle.shown(marks.get(skill.qualified), record)
            counts[state.value] += 1
            if state is lifecycle.SkillState.STALE:
                mark = marks[skill.qualified]
                wait = timedelta(days=max(said.archive_days - said.stale_days, 0))
                stale.append(Stale(skill=skill.qualified, mark=mark, archived_from=mark.since + wait))
        with self._app.store.read() as conn:
            nights, proposals = len(curator.nights(conn)), curator.open_proposals(conn)
        return Standing(
            states={state.value: counts[state.value] for state in lifecycle.SkillState},
            stale=tuple(sorted(stale, key=lambda it: (it.mark.since, it.skill))),
            proposals=proposals,
            nights_left=max(said.dry_nights - nights, 0),
        )

    # --- planning ---------------------------------------------------------------------------------------------------

    def plan(self, now: datetime | None = None) -> Planned:
        """Phase 1 at an instant. Reads files, store and history; changes nothing."""
        from hermes_cron.desks.curator_facts import gathered

        home = gathered(self._app, now or self._app.clock.now())
        return Planned(home=home, intended=plan(home))

    def fitting(
        self, moves: Sequence[Intended], asked: Sequence[Intended]
    ) -> tuple[tuple[Intended, ...], tuple[tuple[Intended, HermesCronError], ...]]:
        """Which of ``asked`` can be carried out after ``moves`` and those before them, and why the others cannot.

        Tried on the files as they lie there; nothing is changed.
        """
        from hermes_cron.desks.curator_changes import carry_of
        from hermes_cron.desks.curator_files import HomeFiles

        now, home, carry = self._app.clock.now(), HomeFiles(self._app.home.root), carry_of(self._app)
        for it in moves:
            carry[it.kind](home, it, now)
        good: list[Intended] = []
        wrong: list[tuple[Intended, HermesCronError]] = []
        for it in asked:
            tried = home.copy()
            try:
                carry[it.kind](tried, it, now)
            except HermesCronError as error:
                wrong.append((it, error))
            else:
                home = tried
                good.append(it)
        return tuple(good), tuple(wrong)

    # --- doing ------------------------------------------------------------------------------------------------------

    def apply(
        self, intended: Sequence[Intended], *, key: str, reason: str, run: str | None = None, job: str | None = None,
        by: str | None = None,
    ) -> Applied:  # fmt: skip
        """All of them in one change of the home, in their order, or none. The same ``key`` again changes nothing more.

        Raises what a carrier and the history raise, with nothing changed.
        """
        from hermes_cron.changes import as_kept
        from hermes_cron.snapshots.commits import Why

        done = self.done(key)
        if done is not None:
            return Applied(before=done.parent or done.id, after=done.id)
        moves, now = ordered(it for it in intended if it.kind is not Move.NOTE), self._app.clock.now()
        why = Why(actor=ACTOR, reason=self._app.redact(reason), run=run, job=job, by=by, call=key)
        changed = self._tried(lambda: self._app.snapshots.change(why, lambda: as_kept(self._edits(moves, now))))
        self._app.skills_now()
        if any(it.kind is Move.MERGE for it in moves):  # jobs may name other skills now
            self._app.sync_jobs(actor=ACTOR)
        return changed

    def _edits(self, moves: Sequence[Intended], now: datetime) -> Edits:
        """Asked for with the history's lock held: what other writers did meanwhile is what is changed."""
        from hermes_cron.desks.curator_changes import carry_of
        from hermes_cron.desks.curator_files import HomeFiles

        home, carry = HomeFiles(self._app.home.root), carry_of(self._app)
        for it in moves:
            carry[it.kind](home, it, now)
        return home.edits

    @staticmethod
    def _tried(change: Callable[[], Changed]) -> Applied:
        """An editor that saves within these moments keeps what it saved: then all is planned once more."""
        tries = _TRIES
        while True:
            try:
                made = change()
            except Conflict:
                tries -= 1
                if not tries:
                    raise
                continue
            if made.kept:
                raise Conflict(
                    f"{', '.join(made.kept)} was changed by hand within these moments; that version is kept",
                    hint="hermes-cron curator run",
                )
            return Applied(before=made.before.id, after=None if made.after is None else made.after.id)

    def done(self, key: str) -> Commit | None:
        """The change with that key; None when it was not made."""
        return next((it for it in islice(self._app.snapshots.log(), _LOOK_BACK) if it.call == key), None)

    def run(self, taken: TakenRun, cancel: Flag) -> Outcome:
        """One run of the job ``action: curate``."""
        from hermes_cron.desks.curator_run import run

        return run(self._app, taken, cancel)
