"""What is proposed for the skills beyond the plain rules, who is asked about it, and what does a yes do?

The auxiliary model is asked once, with the health of all skills and the text of a few; what runs used together is
counted. Each proposal is a row of ``learned`` with a question, and carries with it all that a yes needs. What a person
said no to, or took back, is not proposed again for a season.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from hermes_cron.desks.one_answer import side_model
from hermes_cron.domain.clip import one_line
from hermes_cron.domain.learning import Kind, Learned, LearnedState
from hermes_cron.errors import Conflict, HermesCronError
from hermes_cron.experience.curation import NOBODY_ASKED, Home, Intended, Move, Second, dumped, loaded
from hermes_cron.experience.lifecycle import Origin

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from hermes_cron.agent.stop import LoopResult
    from hermes_cron.desks.curator import Planned
    from hermes_cron.desks.curator_changes import Done
    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.experience.lifecycle import SkillFacts
    from hermes_cron.store.approvals import Approval
    from hermes_cron.wiring import App

ACTOR, PHASE = "curator", "curate"
_YES = "/yes"  # after the key of a proposal: the key of the change that carried it out

_NO_FOR = timedelta(days=90)
_SILENCE_FOR = timedelta(days=14)
_LINES, _WIDTH = 300, 500  # of a change, in its row
_WORDS = {Move.MERGE: "merged", Move.PATCH: "patched", Move.ARCHIVE: "archived", Move.CREATE: "created"}
_NO = frozenset({LearnedState.DENIED, LearnedState.UNDONE, LearnedState.REJECTED})


# --- what is proposed -------------------------------------------------------------------------------------------------


def second(app: App, taken: TakenRun, planned: Planned, cancel: Flag) -> Second:
    """What the auxiliary model proposes, and what is composed from what runs used. Nothing is changed by it.

    A model that fails or answers nonsense proposes nothing; why is in ``said``. Raises ``Fenced``.
    """
    composed = compositions(app, planned.home)
    asked = _asked(app, taken, planned, cancel)
    return replace(asked, intended=(*asked.intended, *composed))


def compositions(app: App, home: Home) -> tuple[Intended, ...]:
    """Skills that good runs used together, as workflows that refer to them."""
    from hermes_cron.experience.composition import Together, composed, parts_of
    from hermes_cron.store import skills_together

    if not app.home.store.exists():
        return ()
    with app.store.read() as conn:
        runs = [Together(run=run, skills=tuple(names)) for run, names in skills_together.in_good_runs(conn)]
    workflows = {it.qualified: parts for it in app.skills_now().all() if (parts := parts_of(it.metadata))}
    return composed(home.skills, runs, workflows)


def together(app: App, planned: Planned, more: Second) -> tuple[Intended, ...]:
    """All that is intended: of two ways to one merge the one with a text, no skill in two changes that need a yes, so
    that any of them may be answered first, and nothing that a person did not want."""
    asked = {_sign(it): it for it in (*planned.intended, *more.intended) if it.asks}
    unwanted, alone = _unwanted(app), app.settings_now.curator.policy == "auto"
    by_hand = {it.name for it in planned.home.skills if it.origin is not Origin.LEARNED}
    found = [it for it in planned.intended if not it.asks]
    changed = {it.skill for it in found if it.kind is Move.ARCHIVE}
    needed: set[str] = set()
    for sign, it in asked.items():
        needs = {*it.parts, *([it.into] if it.into is not None else [])}
        if sign in unwanted or it.skill in changed | needed or needs & changed:
            continue
        if alone and it.kind is Move.MERGE and it.into in by_hand:
            why = f"{it.why}, which a person wrote: nothing is merged into it unasked (curator.policy auto)"
            found.append(replace(it, kind=Move.NOTE, asks=False, why=why))
            continue
        found.append(_with_jobs(app, it))
        changed.add(it.skill)
        needed |= needs
    return tuple(found)


def _with_jobs(app: App, it: Intended) -> Intended:
    """A merge says which jobs it writes to. One that cannot be made says it by itself, later."""
    from hermes_cron.desks.curator_changes import previewed

    if it.kind is not Move.MERGE:
        return it
    try:
        jobs = previewed(app, it, app.clock.now()).jobs
    except HermesCronError:
        return it
    return replace(it, evidence={**it.evidence, "jobs": list(jobs)}) if jobs else it


def _sign(it: Intended) -> tuple[str, ...]:
    """What makes two proposals the same one."""
    if it.kind is Move.CREATE:
        return (it.kind.value, *sorted(it.parts))
    operations = tuple(str(each.get(key)) for each in it.details.get("operations", ()) for key in ("old", "new"))
    return it.kind.value, it.skill, it.into or "", *operations


def _unwanted(app: App) -> set[tuple[str, ...]]:
    """What a person said no to or took back, for a season; what nobody answered, for a while."""
    now = app.clock.now()
    return {
        sign
        for row, sign in _rows(app, now - _NO_FOR)
        if row.state in _NO or (row.state is LearnedState.EXPIRED and row.at > now - _SILENCE_FOR)
    }


def _rows(app: App, since: datetime) -> Iterator[tuple[Learned, tuple[str, ...]]]:
    """The curator's own rows, and what makes each the same as another one."""
    from hermes_cron.store import learned

    if not app.home.store.exists():
        return
    with app.store.read() as conn:
        rows = learned.since(conn, since)
    for row in rows:
        if row.actor == ACTOR and "intended" in row.details:
            yield row, _sign(loaded(row.details["intended"]))


# --- the model --------------------------------------------------------------------------------------------------------


def _asked(app: App, taken: TakenRun, planned: Planned, cancel: Flag) -> Second:
    from hermes_cron.experience import curator_brief

    if app.settings_now.curator.policy == "off" or cancel.is_set():
        return NOBODY_ASKED
    name = side_model(app)
    if name is None:
        return Second(said=("no model was asked: none is configured",))
    home = _usable(app, planned.home)
    shown = curator_brief.candidates(home)
    if not shown:
        return Second(said=("no model was asked: there is no skill to look at",))
    try:
        result = _ask(app, taken, cancel, name, curator_brief.message(home, shown))
    except HermesCronError as error:
        return Second(said=(_of_no_use(name, f"{error.code}: {error.message}"),))
    return _believed(app, home, shown, result, name)


def _usable(app: App, home: Home) -> Home:
    """Without the texts that the scanner keeps from every agent."""
    library = app.skills_now()
    blocked = {skill.qualified for skill in library.all() if library.blocked(skill) is not None}
    return replace(home, skills=tuple(replace(it, text="") if it.name in blocked else it for it in home.skills))


def _ask(app: App, taken: TakenRun, cancel: Flag, name: str, message: str) -> LoopResult:
    from hermes_cron.desks.one_answer import means
    from hermes_cron.experience.curator_brief import ORDER
    from hermes_cron.runner.one_answer import Question, answered

    question = Question(system=ORDER, text=app.redact(message), phase=PHASE)
    return answered(taken, cancel, question, means(app, name))


def _believed(app: App, home: Home, shown: Sequence[SkillFacts], result: LoopResult, name: str) -> Second:
    from hermes_cron.domain.run import RunState
    from hermes_cron.experience import curator_brief

    paid = Second(
        model=result.model or name,
        iterations=result.iterations,
        tokens_input=result.usage.input,
        tokens_output=result.usage.output,
        tokens_cached=result.usage.cached,
    )
    if result.stop.state is not RunState.OK:
        why = app.redact(result.error or result.reason or result.stop.state.value)
        return replace(paid, said=(_of_no_use(name, why),))
    alone = app.settings_now.curator.policy == "auto"
    try:
        wanted = curator_brief.understood(result.text)
        judged = curator_brief.judged(home, wanted, shown, model=name, alone=alone)
    except curator_brief.NotUnderstood as error:
        return replace(paid, said=(_of_no_use(name, f"its answer was not used: {error}"),))
    intended, said = _with_good_texts(app, judged.intended)
    said += curator_brief.refusals(judged.refused)
    said += [] if wanted else [f"{one_line(name, 100)} was asked about {len(shown)} skills and proposes nothing"]
    return replace(paid, intended=intended, said=tuple(map(app.redact, said)))


def _with_good_texts(app: App, intended: Sequence[Intended]) -> tuple[tuple[Intended, ...], list[str]]:
    """Merges whose text loses something or breaks a rule are made without it: then both texts are kept."""
    from hermes_cron.desks.curator_changes import previewed

    found, said, now = [], [], app.clock.now()
    for it in intended:
        if it.kind is Move.MERGE and "body" in it.details:
            try:
                previewed(app, it, now)
            except HermesCronError as error:
                it = replace(it, details={})  # noqa: PLW2901  # what is left of it
                said.append(one_line(f"merge {it.skill} into {it.into}: its text was not taken: {error.message}", 400))
        found.append(it)
    return tuple(found), said


def _of_no_use(name: str, why: str) -> str:
    return one_line(f"{name} proposes nothing, and nothing was changed on its word: {why}", 400)


# --- asking -----------------------------------------------------------------------------------------------------------


def proposed(app: App, taken: TakenRun, intended: Sequence[Intended]) -> list[str | None]:
    """Ask about each; what commands call the question, in order. One that waits for an answer already is not asked
    about twice; the same run again asks nothing twice. None for one that cannot be done any more."""
    waiting = {
        sign: row.approval for row, sign in _rows(app, app.clock.now() - _NO_FOR) if row.state is LearnedState.PROPOSED
    }
    found: list[str | None] = []
    for place, it in enumerate(intended, start=1):
        number = waiting.get(_sign(it)) or _propose(app, taken, it, f"{taken.id}/ask/{place}")
        found.append(None if number is None else f"a{number}")
    app.wake()  # a scheduler sends the questions
    return found


def _propose(app: App, taken: TakenRun, it: Intended, key: str) -> int | None:
    from hermes_cron.desks.curator_changes import previewed
    from hermes_cron.store.proposals import propose

    now, when, within = app.clock.now(), app.settings_now.learning.notice, app.answer_within
    try:
        done = previewed(app, it, now)
    except HermesCronError:
        return None
    row = _row(app, taken, it, key, done)
    kept = app.store.write(lambda conn: propose(conn, row, when=when, answer_within=within, now=now))
    return kept.approval


def _row(app: App, taken: TakenRun, it: Intended, key: str, done: Done) -> Learned:
    details: dict[str, Any] = {
        "intended": dumped(it),
        "because": app.redact(it.why),
        "called": done.name.rpartition("/")[2],
        **({"source": it.skill.rpartition("/")[2]} if it.kind is Move.MERGE else {}),
        **({"said": [app.redact(line) for line in done.said]} if done.said else {}),
    }
    return Learned(
        number=0, key=key, at=app.clock.now(), actor=ACTOR, kind=Kind.SKILL, name=done.name, change=_WORDS[it.kind],
        lines=tuple(_shown(app, done.lines)), reason=app.redact(it.why), state=LearnedState.PROPOSED,
        run_id=taken.id, job_uid=taken.job_uid, job_name=taken.job.name, details=details,
    )  # fmt: skip


def _shown(app: App, lines: Sequence[str]) -> Iterator[str]:
    """A skill may bring two hundred files along; a question is read by a person."""
    yield from (one_line(app.redact(line), _WIDTH) for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"… and {len(lines) - _LINES:,} more lines"


def noted(app: App, taken: TakenRun, intended: Sequence[Intended], *, before: str, after: str | None) -> None:
    """A row for each change that was made without a question, so that it is shown, counted and taken back as any
    other. The same run again notes nothing twice."""
    from hermes_cron.desks.curator_changes import Done
    from hermes_cron.store import learned

    at_once = [it for it in intended if it.kind in _WORDS and it.asks]
    for place, it in enumerate(at_once, start=1):
        name = it.into if it.kind is Move.MERGE and it.into is not None else it.skill
        row = _row(app, taken, it, f"{taken.id}/done/{place}", Done(name=name))
        row = replace(row, state=LearnedState.APPLIED, before=before, after=after, told_at=row.at)
        app.store.write(partial(learned.note, learned=row))


# --- a yes ------------------------------------------------------------------------------------------------------------


def carry_out(app: App, asked: Approval, change: Learned, *, by: str) -> None:
    """What was proposed is done, in the person's name. Raises ``Conflict`` for what cannot be done any more."""
    from hermes_cron.desks.curator_changes import previewed
    from hermes_cron.store import counters
    from hermes_cron.store.proposals import accept

    it, key = loaded(change.details["intended"]), f"{change.key}{_YES}"
    lines: Mapping[str, Any] = {}
    try:
        if app.curator.done(key) is None:  # else a yes before this one died between the change and its row
            lines = {"lines": tuple(_shown(app, previewed(app, it, app.clock.now()).lines))}
        reason = f"{it.kind.value} {it.skill}{f' into {it.into}' if it.into else ''}: {it.why}"
        made = app.curator.apply([it], key=key, reason=reason, run=change.run_id, job=change.job_name, by=by)
    except HermesCronError as error:
        raise Conflict(
            f"{asked.id} cannot be done any more: {one_line(error.message, 300)}",
            hint=f"hermes-cron approvals show {asked.id}   or hermes-cron deny {asked.id}",
            details={"code": error.code},
        ) from error
    now = app.clock.now()
    row = replace(change, before=made.before, after=made.after, **lines)

    def work(conn: Connection) -> None:
        accept(conn, row, by=by, now=now)
        counters.raise_by(conn, [(counters.CURATOR, {"action": it.kind.value, "outcome": "applied"}, 1)])

    app.store.write(work)
