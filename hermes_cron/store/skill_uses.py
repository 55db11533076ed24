"""Which skills did runs look at, which did they use, and what became of those runs?

A *view* is a call of ``skill_view``. A *use* is a run that had the skill's text, because the job named it, the prompt
asked for it or the run viewed it, and that took a step of its work after it. Uses are counted once a run, at its end
and in that transaction, so a run that goes on later is not counted twice. Rows go with their run; totals stay.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, RowMapping, bindparam, cast, delete, func, or_, select
from sqlalchemy.dialects.sqlite import insert

from hermes_cron.domain.ending import Ending
from hermes_cron.domain.job import Work
from hermes_cron.domain.learning import Kind, Learned, LearnedState
from hermes_cron.domain.skill_use import LATELY, NOT_ACTING, UNKNOWN, SkillRecord, given_in, went_well
from hermes_cron.store import counters
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import JobRow, LearnedRow, MessageRow, SessionRow, SkillTotalRow, SkillUseRow

_uses = SkillUseRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_totals = SkillTotalRow.__table__  # type: ignore[attr-defined]
_jobs = JobRow.__table__  # type: ignore[attr-defined]
_learned = LearnedRow.__table__  # type: ignore[attr-defined]
_messages = MessageRow.__table__  # type: ignore[attr-defined]
_sessions = SessionRow.__table__  # type: ignore[attr-defined]

VIEW, USE = "view", "use"
PATCHED, REWRITTEN = "patched", "rewritten"
_STOOD = (LearnedState.APPLIED, LearnedState.UNDONE, LearnedState.REJECTED)

_VIEWS = Prepared(select(_uses.c.skill, _uses.c.key).where(_uses.c.run_id == bindparam("b_run"), _uses.c.kind == VIEW))
_LAST_STEPS = Prepared(
    select(_messages.c.session_id, func.max(_messages.c.seq))
    .join(_sessions, _sessions.c.id == _messages.c.session_id)
    .where(
        _sessions.c.run_id == bindparam("b_run"),
        _sessions.c.kind == "main",
        _messages.c.role == "tool",
        _messages.c.body.is_not(None),
        *(_messages.c.tool != name for name in NOT_ACTING),
    )
    .group_by(_messages.c.session_id)
)

_HEADERS = Prepared(
    select(_messages.c.body)
    .join(_sessions, _sessions.c.id == _messages.c.session_id)
    .where(_sessions.c.run_id == bindparam("b_run"), _sessions.c.kind == "main", _messages.c.seq == 0)
)

_SUMS = (
    *(func.sum(_totals.c[name]).label(name) for name in ("views", "uses", "well", "badly")),
    *(func.max(_totals.c[name]).label(name) for name in ("viewed_at", "used_at")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUse:
    """What one run had to do with a skill. ``outcome``, ``verdict`` and ``well`` are of a use."""

    run_id: str
    skill: str
    kind: str
    at: datetime
    job_uid: str | None
    outcome: str | None
    verdict: str | None
    well: bool | None


def note_view(conn: Connection, skill: str, *, run_id: str, job_uid: str | None, key: str, now: datetime) -> None:
    """Count a view. The same key again is the same view: a read is asked again after a crash."""
    row = {"skill": skill, "kind": VIEW, "run_id": run_id, "job_uid": job_uid, "key": key, "at": now}
    if conn.execute(insert(_uses).values(row).on_conflict_do_nothing()).rowcount:
        _add(conn, skill, job_uid, {"views": 1, "viewed_at": now})
        counters.raise_by(conn, [(counters.SKILL_VIEWS, {"skill": skill}, 1)])


def note_end(conn: Connection, ending: Ending) -> None:
    """Count what the run used. For one that had no skill this is one look at an index."""
    if ending.job.work is not Work.PROMPT:
        return
    views, given = _VIEWS.all(conn, {"b_run": ending.run_id}), _given(conn, ending)
    if not views and not given:
        return
    last = {str(session): int(seq) for session, seq in _LAST_STEPS.all(conn, {"b_run": ending.run_id})}
    if not last:
        return
    used = dict.fromkeys(given)
    used |= dict.fromkeys(skill for skill, key in views if _acted_after(str(key), last))
    outcome, verdict, well = ending.outcome.state, ending.outcome.verdict, went_well(ending)
    facts = {"outcome": outcome, "verdict": verdict, "well": well}
    row = {"kind": USE, "run_id": ending.run_id, "job_uid": ending.job_uid, "key": "", "at": ending.ended_at, **facts}
    raises: list[counters.Raise] = []
    for skill in used:
        if not conn.execute(insert(_uses).values({**row, "skill": skill}).on_conflict_do_nothing()).rowcount:
            continue
        _add(conn, skill, ending.job_uid, {
            "uses": 1, "well": int(well is True), "badly": int(well is False), "used_at": ending.ended_at,
        })  # fmt: skip
        raises.append((counters.SKILL_USES, {"skill": skill}, 1))
        raises.append((counters.SKILL_OUTCOMES, {"skill": skill, "outcome": outcome}, 1))
    counters.raise_by(conn, raises)


def _given(conn: Connection, ending: Ending) -> Sequence[str]:
    """Skills in the run's prompt. An end that no loop came to, of a run that died or waited, does not say them."""
    if ending.outcome.skills or ending.outcome.iterations:
        return ending.outcome.skills
    headers = [body for (body,) in _HEADERS.all(conn, {"b_run": ending.run_id})]
    return [skill for body in headers for skill in given_in(_system(body))]


def _system(body: bytes) -> str:
    """Empty for a row that cannot be read: a run ends all the same."""
    try:
        return str(json.loads(body)["system"])
    except (ValueError, KeyError, TypeError):
        return ""


def _acted_after(key: str, last: Mapping[str, int]) -> bool:
    """Whether the session of this call took a step behind it."""
    session, _, seq = key.rpartition("/")
    return seq.isdigit() and last.get(session, -1) > int(seq)


def note_change(conn: Connection, learned: Learned) -> None:
    """The counter of a change that was made to a skill. Call it in the transaction of the change's row."""
    changed = learned.kind is Kind.SKILL and learned.change in (PATCHED, REWRITTEN)
    if changed and learned.state is LearnedState.APPLIED:
        count_patch(conn, learned.name, "applied")


def note_back(conn: Connection, numbers: Sequence[int]) -> None:
    """The counter of changes that are taken back. Call it before their rows say so."""
    query = select(_learned.c.name).where(
        _learned.c.number.in_(numbers),
        _learned.c.kind == Kind.SKILL.value,
        _learned.c.state == LearnedState.APPLIED.value,
        _learned.c.change.in_((PATCHED, REWRITTEN)),
    )
    for name in conn.execute(query).scalars():
        count_patch(conn, name, "reverted")


def count_patch(conn: Connection, skill: str, outcome: str) -> None:
    """``outcome``: ``applied``, ``refused`` or ``reverted``. The label is the name without its category, as of uses."""
    labels = {"skill": skill.rpartition("/")[2], "outcome": outcome}
    counters.raise_by(conn, [(counters.SKILL_PATCHES, labels, 1)])


def _add(conn: Connection, skill: str, job_uid: str | None, more: Mapping[str, Any]) -> None:
    start = {"views": 0, "uses": 0, "well": 0, "badly": 0}
    new = insert(_totals).values({"skill": skill, "job_uid": job_uid or "", **start, **more})
    raised = {
        name: _totals.c[name] + new.excluded[name] if name in start else new.excluded[name] for name in more
    }  # fmt: skip
    conn.execute(new.on_conflict_do_update(index_elements=["skill", "job_uid"], set_=raised))


_MARK = Prepared(
    select(
        select(func.min(_uses.c.number)).scalar_subquery(),
        select(func.max(_uses.c.number)).scalar_subquery(),
        select(func.max(_learned.c.number)).scalar_subquery(),
        select(func.count())
        .select_from(_learned)
        .where(or_(*(_learned.c.state == state.value for state in _STOOD)))
        .scalar_subquery(),
    )
)


def mark(conn: Connection) -> tuple[object, ...]:
    """Another one says that ``records`` may say something else."""
    return tuple(_MARK.first(conn, {}) or ())


def records(conn: Connection, *, job_uid: str | None = None) -> dict[str, SkillRecord]:
    """By the name under which each skill was used, changes under its qualified name; ``job_uid``: in its runs alone."""
    found: dict[str, SkillRecord] = defaultdict(lambda: UNKNOWN)
    query = select(_totals.c.skill, *_SUMS).group_by(_totals.c.skill)
    for row in conn.execute(query if job_uid is None else query.where(_totals.c.job_uid == job_uid)).mappings():
        found[row["skill"]] += _record(row)
    for skill, (well, badly) in _lately(conn, job_uid).items():
        found[skill] += replace(UNKNOWN, lately_well=well, lately_badly=badly)
    changes = (
        select(_learned.c.name, _learned.c.change, func.count().label("times"), func.max(_learned.c.at).label("at"))
        .where(
            _learned.c.kind == Kind.SKILL.value,
            _learned.c.state.in_(_STOOD),
            _learned.c.change.in_((PATCHED, REWRITTEN)),
        )
        .group_by(_learned.c.name, _learned.c.change)
    )
    if job_uid is not None:
        changes = changes.where(_learned.c.job_uid == job_uid)
    for row in conn.execute(changes).mappings():
        number = "patches" if row["change"] == PATCHED else "rewrites"
        found[row["name"]] += replace(UNKNOWN, **{number: row["times"], "patched_at": row["at"]})
    return dict(found)


def _lately(conn: Connection, job_uid: str | None) -> Mapping[str, tuple[int, int]]:
    """Of the newest judged uses of each skill: how many went well, how many badly."""
    place = func.row_number().over(partition_by=_uses.c.skill, order_by=_uses.c.number.desc())
    judged = select(_uses.c.skill, _uses.c.well, place.label("place")).where(
        _uses.c.kind == USE, _uses.c.well.is_not(None)
    )
    newest = (judged if job_uid is None else judged.where(_uses.c.job_uid == job_uid)).subquery()
    query = (
        select(newest.c.skill, func.sum(cast(newest.c.well, Integer)), func.count())
        .where(newest.c.place <= LATELY)
        .group_by(newest.c.skill)
    )
    return {skill: (int(well), count - int(well)) for skill, well, count in conn.execute(query)}


def by_job(conn: Connection, names: Collection[str]) -> dict[str | None, SkillRecord]:
    """What became of a skill, by the job that had it as it is called now; None for runs of no job."""
    query = (
        select(_jobs.c.name.label("job"), *_SUMS)
        .select_from(_totals)
        .join(_jobs, _jobs.c.uid == _totals.c.job_uid, isouter=True)
        .where(_totals.c.skill.in_(names))
        .group_by(_jobs.c.name)
        .order_by(_jobs.c.name)
    )
    return {row["job"]: _record(row) for row in conn.execute(query).mappings()}


def _record(row: RowMapping) -> SkillRecord:
    return SkillRecord(**{column.name: row[column.name] for column in _SUMS})


def of_run(conn: Connection, run_id: str) -> list[RunUse]:
    """In the order in which they were noted."""
    rows = conn.execute(select(_uses).where(_uses.c.run_id == run_id).order_by(_uses.c.number))
    names = tuple(RunUse.__dataclass_fields__)
    return [RunUse(**{name: row[name] for name in names}) for row in rows.mappings()]


def forget(conn: Connection, run_ids: Sequence[str]) -> None:
    """The rows of runs that are removed; what they add up to stays."""
    conn.execute(delete(_uses).where(_uses.c.run_id.in_(run_ids)))
