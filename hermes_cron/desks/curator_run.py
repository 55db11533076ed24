"""What does one run of the curator do, from its plan to its report, also one that is gone on with after a crash?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.desks import curator_report
from hermes_cron.desks.curator_report import Entry, Record
from hermes_cron.domain.run import Cause, Outcome, RunState
from hermes_cron.experience.curation import NOBODY_ASKED, Intended, Move, Second
from hermes_cron.experience.lifecycle import Origin, SkillFacts, SkillState

if TYPE_CHECKING:
    from hermes_cron.desks.curator import Planned
    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.wiring import App


def run(app: App, taken: TakenRun, cancel: Flag) -> Outcome:
    """Plan, keep the plan, change all at once, ask for the rest, report. Raises what stops it, with nothing changed.

    A run that is gone on with does what it had planned when its change is made already; else it plans anew.
    """
    desk, key = app.curator, f"{taken.id}/1"
    begun = curator_report.read(app.home, taken.job.name, taken.id)
    made, second = desk.done(key), NOBODY_ASKED
    if begun is None or (made is None and begun.state == "planned"):
        begun, second = _planned(app, taken, cancel)
        if cancel.is_set():
            return Outcome(state=RunState.CANCELLED, reason="cancelled", error="stopped before anything was changed")
        curator_report.keep(app.home, begun)
    if begun.state == "planned":
        begun = _carried_out(app, taken, begun, key)
    zone, lang = ZoneInfo(taken.job.timezone), _language(app, taken)
    return Outcome(
        state=RunState.OK,
        text=curator_report.text(begun, zone, lang),
        silent=not begun.moved,
        iterations=second.iterations,
        model=second.model,
        tokens_input=second.tokens_input,
        tokens_output=second.tokens_output,
        tokens_cached=second.tokens_cached,
        cost_usd=second.cost_usd,
    )


def _planned(app: App, taken: TakenRun, cancel: Flag) -> tuple[Record, Second]:
    from hermes_cron.desks import curator_second

    dry, now = _dry(app, taken), taken.arguments.get("now")
    if dry is None:
        app.keep_hand_edits()  # what a person did since the last snapshot is activity, at this moment
    planned = app.curator.plan(None if now is None else datetime.fromisoformat(str(now)))
    second = curator_second.second(app, taken, planned, cancel)
    intended = curator_second.together(app, planned, second)
    record = recorded(app, planned, intended, run=taken.id, job=taken.job.name, dry=dry)
    return replace(record, said=second.said, model=second.model), second


def _dry(app: App, taken: TakenRun) -> str | None:
    """Asked for as such, or which of the first nights this is; None after them, and for a run that a person started."""
    from hermes_cron.store import curator

    if taken.arguments.get("dry_run"):
        return "asked"
    if taken.cause is not Cause.SCHEDULE:
        return None
    nights = app.settings_now.curator.dry_nights
    night = app.store.write(lambda conn: curator.note_night(conn, taken.id))
    return f"{night}/{nights}" if night <= nights else None


def recorded(
    app: App, planned: Planned, intended: Sequence[Intended], *, run: str, job: str, dry: str | None
) -> Record:
    """What is to become of each intended change, before anything is done."""
    moves = [it for it in intended if not it.asks and it.kind is not Move.NOTE]
    asked = [it for it in intended if it.asks]
    good, wrong = app.curator.fitting(moves, asked)
    said = app.settings_now.curator
    at_once = said.most if said.policy == "auto" else 0
    answer = {"off": "noted"}.get(said.policy, "proposed")
    entries = [
        *(Entry(it=it, state="done") for it in moves),
        *(Entry(it=it, state="done") for it in good[:at_once]),
        *(Entry(it=it, state=answer) for it in good[at_once:]),
        *(Entry(it=it, state="refused", said=f"{error.code}: {error.message}") for it, error in wrong),
        *(Entry(it=it, state="noted") for it in intended if it.kind is Move.NOTE),
    ]
    if dry is not None:
        entries = [replace(it, state="would") if it.state in {"done", "proposed"} else it for it in entries]
    return Record(
        run=run,
        job=job,
        at=planned.home.now,
        dry=dry,
        entries=tuple(entries),
        states=states(planned.home.skills, archived(app), entries),
        exempt=_exempt(planned.home.skills),
    )


def _carried_out(app: App, taken: TakenRun, record: Record, key: str) -> Record:
    from hermes_cron.desks import curator_second

    before = after = None
    if record.done:
        reason = f"curator: {_counted(record)}"
        applied = app.curator.apply(record.done, key=key, reason=reason, run=taken.id, job=_job(taken))
        before, after = applied.before, applied.after
        curator_second.noted(app, taken, record.done, before=applied.before, after=applied.after)
    asked = curator_second.proposed(app, taken, record.asked) if record.asked else []
    answers = iter(asked)
    entries = tuple(
        replace(each, approval=next(answers, None)) if each.state == "proposed" else each for each in record.entries
    )
    done = curator_report.settled(record, before=before, after=after, entries=entries)
    curator_report.keep(app.home, done)
    _count(app, done)
    return done


def _counted(record: Record) -> str:
    counts = record.counts()
    return ", ".join(f"{counts[move.value]} {move.value}" for move in Move if counts.get(move.value)) or "nothing"


def _count(app: App, record: Record) -> None:
    """Once a run: a process that dies before it is not made up for, one that dies after it counts nothing twice."""
    from hermes_cron.store import counters

    outcomes = {"done": "applied", "proposed": "proposed", "refused": "refused"}
    found = Counter((each.it.kind.value, outcomes[each.state]) for each in record.entries if each.state in outcomes)
    raises = [
        (counters.CURATOR, {"action": action, "outcome": outcome}, count)
        for (action, outcome), count in sorted(found.items())
        if action != Move.NOTE.value
    ]
    if raises:
        app.store.write(lambda conn: counters.raise_by(conn, raises))


def _job(taken: TakenRun) -> str | None:
    return taken.job.name if taken.job_uid is not None else None


def _language(app: App, taken: TakenRun) -> str:
    from hermes_cron.domain.notice import language_of

    return "zh" if language_of(taken.job) == "zh" else app.language


# --- counting skills --------------------------------------------------------------------------------------------------


def archived(app: App) -> int:
    """How many skills lie in the archive."""
    from hermes_cron.experience.skills import ARCHIVE, SKILL_FILE

    return sum(1 for _ in (app.home.skills / ARCHIVE).glob(f"**/{SKILL_FILE}"))


def states(skills: Iterable[SkillFacts], put_away: int, entries: Iterable[Entry] = ()) -> Mapping[str, int]:
    """How many skills of the home are in which state once the entries are done."""
    now = {it.name: SkillState.ACTIVE if it.mark is None else SkillState.STALE for it in skills}
    into = {Move.ACTIVE: SkillState.ACTIVE, Move.STALE: SkillState.STALE, Move.ARCHIVE: SkillState.ARCHIVED,
            Move.MERGE: SkillState.ARCHIVED}  # fmt: skip
    for each in entries:
        if each.state == "done" and each.it.kind in into and each.it.skill in now:
            now[each.it.skill] = into[each.it.kind]
    counts = Counter(now.values())
    return {state.value: counts[state] + (put_away if state is SkillState.ARCHIVED else 0) for state in SkillState}


def _exempt(skills: Iterable[SkillFacts]) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for skill in skills:
        if skill.pinned:
            counts["pinned"] += 1
        elif skill.jobs:
            counts["jobs"] += 1
        elif skill.fault is not None:
            counts["broken"] += 1
        elif skill.origin is not Origin.LEARNED:
            counts[skill.origin.value] += 1
    return dict(sorted(counts.items()))
