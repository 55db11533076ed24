"""What does the store tell a scrape: running totals, and how the jobs stand?"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, case, func, or_, select

from hermes_cron.domain.job import Action
from hermes_cron.domain.run import RunState
from hermes_cron.store.prepared import instant
from hermes_cron.store.tables import CounterRow, JobRow, RunRow, SkillTotalRow

_counters = CounterRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_jobs = JobRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]
_skills = SkillTotalRow.__table__  # type: ignore[attr-defined]

Labels = tuple[tuple[str, str], ...]
Totals = dict[str, dict[Labels, float]]

_STATES = ("active", "paused", "held", "broken")
_MODEL = "hermes_cron_model_tokens_total"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """``totals`` are the counters' rows, ``gauges`` what is so now. ``jobs`` and ``models`` are names, sorted."""

    jobs: tuple[str, ...]
    models: tuple[str, ...]
    totals: Totals
    gauges: Totals


def tell(conn: Connection) -> Told:
    """As one reading transaction sees it."""
    totals: Totals = defaultdict(dict)
    for name, labels, value in conn.execute(select(_counters.c.name, _counters.c.labels, _counters.c.value)):
        totals[name][_labels(labels)] = value
    gauges: Totals = defaultdict(dict)
    names = []
    curated = []
    standing = dict.fromkeys(_STATES, 0.0)
    for row in conn.execute(_standing()):
        names.append(row.name)
        standing[row.state] += 1
        job = (("job_name", row.name),)
        if row.state == "active" and (due := instant(row.next_due)) is not None:
            gauges["hermes_cron_job_next_run_timestamp_seconds"][job] = due.timestamp()
        if (ended := instant(row.last_ok)) is not None:
            gauges["hermes_cron_job_last_success_timestamp_seconds"][job] = ended.timestamp()
            if row.action == Action.CURATE and row.state != "paused":  # that is a person's wish
                curated.append(ended.timestamp())
    if curated:
        gauges["hermes_cron_curator_last_success_timestamp_seconds"] = {(): max(curated)}
    gauges["hermes_cron_jobs"] = {(("state", state),): count for state, count in standing.items()}
    for row in conn.execute(select(_skills.c.skill, func.max(_skills.c.used_at)).group_by(_skills.c.skill)):
        if (used := instant(row[1])) is not None:
            gauges["hermes_cron_skill_last_used_timestamp_seconds"][(("skill", row[0]),)] = used.timestamp()
    models = {dict(labels)["model"] for labels in totals.get(_MODEL, ())}
    return Told(jobs=tuple(sorted(names)), models=tuple(sorted(models)), totals=totals, gauges=gauges)


def _standing() -> Select[Any]:
    """Each declared job, the state it is in, and when its newest good run ended. An action that was only asked what it
    would do is no good run."""
    action = func.json_extract(_jobs.c.spec, "$.action")
    real = or_(action.is_(None), func.coalesce(func.json_extract(_runs.c.arguments, "$.dry_run"), 0) == 0)
    last_ok = (
        select(_runs.c.ended_at)
        .where(_runs.c.job_uid == _jobs.c.uid, _runs.c.state == RunState.OK.value, real)
        .order_by(_runs.c.queued_at.desc())
        .limit(1)
        .scalar_subquery()
    )
    state = case(
        (_jobs.c.broken.is_not(None), "broken"),
        (_jobs.c.held_reason.is_not(None), "held"),
        (func.json_extract(_jobs.c.spec, "$.paused").is_not(None), "paused"),
        else_="active",
    )
    found = (_jobs.c.name, state.label("state"), _jobs.c.next_due, last_ok.label("last_ok"), action.label("action"))
    return select(*found).where(_jobs.c.removed_at.is_(None))


@lru_cache(maxsize=65_536)  # the same few thousand texts at every scrape
def _labels(text: str) -> Labels:
    return tuple(sorted(json.loads(text).items()))
