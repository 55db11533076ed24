"""``skills stats``: which skills are looked at, used and changed, and how do runs end that use them?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.domain.skill_use import UNKNOWN, SkillRecord
from hermes_cron.errors import HermesCronError, NotFound

if TYPE_CHECKING:
    from hermes_cron.experience.lifecycle import SkillState
    from hermes_cron.experience.skills import Skill, SkillLibrary

HELP_ZH = {
    "Uses, views and changes of skills, and how runs ended that used them.": (
        "技能的使用、查看和改动次数，以及用到它们的运行结果。"
    ),
    "One skill, by job; all skills without it.": "某个技能在各任务中的情况；省略则列出全部技能。",
    "Only runs of this job: its name, or a unique beginning.": "只看这个任务的运行：任务名或其唯一前缀。",
}

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "skill": "SKILL", "job": "JOB", "uses": "USES", "well": "WELL", "badly": "BADLY", "views": "VIEWS",
        "patches": "PATCHED", "rewrites": "REWRITTEN", "used": "LAST USED", "patched": "LAST CHANGED",
        "none": "No skills.", "never": "No run has used {skill} yet.", "no_job": "(no job)",
        "sum": "changes by agents: patches {patches}, rewrites {rewrites}",
        "meaning": "used: a run had its text and acted on after it; well, badly: the ends that say something about it",
        "line": "runs that used it: {uses}, went well: {well} of {judged}; last {used}",
        "changed": "patches: {patches}, rewrites: {rewrites}; last {at}", "views_line": "calls of skill_view: {views}",
    },
    "zh": {
        "skill": "技能", "job": "任务", "uses": "使用", "well": "顺利", "badly": "不顺", "views": "查看",
        "patches": "修补", "rewrites": "重写", "used": "上次使用", "patched": "上次改动",
        "none": "没有技能。", "never": "还没有运行用过 {skill}。", "no_job": "（无任务）",
        "sum": "智能体的改动：修补 {patches} 次，重写 {rewrites} 次",
        "meaning": "使用：运行读到正文并在其后继续执行；顺利/不顺：能说明问题的结局",
        "line": "{uses} 次运行用过，{judged} 次中 {well} 次顺利；上次 {used}",
        "changed": "修补 {patches} 次，重写 {rewrites} 次；上次 {at}", "views_line": "{views} 次",
    },
}  # fmt: skip

_NUMBERS = ("uses", "well", "badly", "views", "patches", "rewrites")


def stats(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One skill, by job; all skills without it.")
    ] = None,
    job: Annotated[
        str | None, typer.Option("--job", help="Only runs of this job: its name, or a unique beginning.")
    ] = None,
) -> None:
    from hermes_cron.store.reader import resolve

    state = cli()
    library = state.app.skills
    if name is not None:
        _one(state, library, name)
        return
    uid = resolve(jobs_known.current(state, removed=True).listed, job).uid if job else None
    known = state.app.skill_reading.records(job_uid=uid)
    lines = _lines(library, known)
    if uid is not None:
        lines = {skill: record for skill, record in lines.items() if record != UNKNOWN}
    sums = {each: sum(getattr(record, each) for record in lines.values()) for each in ("patches", "rewrites")}
    if state.json:
        states = _states(state, library)
        state.emit_json({
            "skills": [{"name": name, "state": states.get(name), **as_json(record)} for name, record in lines.items()],
            **sums,
        })  # fmt: skip
        return
    _table(state, "skill", lines)
    text = _TEXTS[state.lang]
    state.out(text["sum"].format(**sums))
    state.note(text["meaning"])


def _states(state: Cli, library: SkillLibrary) -> Mapping[str, SkillState]:
    """By the name that a line has; of one that is gone there is none."""
    from hermes_cron.cli.skill_state import States
    from hermes_cron.experience.skill_index import name_of

    records, states = known(state), States(state)
    good = [skill for skill in library.all() if skill.fault is None]
    return {name_of(library, skill): states.of(skill, of(library, records, skill)) for skill in good}


def _lines(library: SkillLibrary, known: Mapping[str, SkillRecord]) -> dict[str, SkillRecord]:
    """Every skill that there is, and those that only runs remember; the most used first."""
    from hermes_cron.experience.skill_index import name_of, record_of

    found: dict[str, SkillRecord] = {}
    seen: set[str] = set()
    for skill in library.all():
        if skill.fault is None:
            name = name_of(library, skill)
            found[name] = record_of(known, skill, name)
            seen |= {name, skill.qualified}
    for name in known.keys() - seen:
        bare = name.rpartition("/")[2]  # of one that is gone nobody can tell which of its names is unique
        found[bare] = found.get(bare, UNKNOWN) + known[name]
    return dict(sorted(found.items(), key=lambda item: (-item[1].uses, -item[1].views, item[0])))


def _one(state: Cli, library: SkillLibrary, name: str) -> None:
    from hermes_cron.cli.skill_state import States
    from hermes_cron.experience.skill_index import name_of

    known = state.app.skill_reading.records()
    skill: Skill | None = None
    try:
        skill = library.get(name)
        names = {name_of(library, skill), skill.qualified}
    except NotFound:
        names = {each for each in known if name in (each, each.rpartition("/")[2])}
        if not names:  # else it is gone since, and what runs made of it is still known
            raise
    text = _TEXTS[state.lang]
    jobs = {job or text["no_job"]: record for job, record in state.app.skill_reading.by_job(names).items()}
    total = sum((known[each] for each in sorted(names & known.keys())), start=UNKNOWN)
    if state.json:
        by_job = [{"job": job, **as_json(record)} for job, record in jobs.items()]
        standing = {} if skill is None else States(state).as_json(skill, total)
        named = {"named_by": standing.pop("jobs", None)}
        pinned = None if skill is None else skill.pinned
        state.emit_json({"name": name, "pinned": pinned, **standing, **named, **as_json(total), "jobs": by_job})
    elif total == UNKNOWN:
        state.out(text["never"].format(skill=output.one_line(name)))
    else:
        _table(state, "job", jobs)
        state.out(text["sum"].format(patches=total.patches, rewrites=total.rewrites))


def _table(state: Cli, first: str, lines: Mapping[str, SkillRecord]) -> None:
    text = _TEXTS[state.lang]
    if not lines:
        if first == "skill":
            state.out(text["none"])
        return
    headers = [text[first], *(text[each] for each in _NUMBERS), text["used"], text["patched"]]
    rows = [
        [name, *(f"{getattr(record, each):,}" for each in _NUMBERS), _at(state, record.used_at),
         _at(state, record.patched_at)]
        for name, record in lines.items()
    ]  # fmt: skip
    right = frozenset(range(1, len(_NUMBERS) + 1))
    state.out(output.table(rows, headers, right=right, max_columns=state.columns, give={0}))


def _at(state: Cli, instant: datetime | None) -> str:
    if instant is None:
        return ""
    return when.due(instant, ZoneInfo(state.settings.timezone), state.lang, now=state.clock.now())


def as_json(record: SkillRecord) -> dict[str, Any]:
    """The counts by the names that other tools of this field know."""
    return {
        "use_count": record.uses, "view_count": record.views, "patch_count": record.patches,
        "rewrite_count": record.rewrites, "successes": record.well, "failures": record.badly,
        "judged": record.judged, "success_rate": record.rate, "failing": record.failing,
        "last_used_at": record.used_at, "last_viewed_at": record.viewed_at, "last_patched_at": record.patched_at,
    }  # fmt: skip


def known(state: Cli) -> Mapping[str, SkillRecord]:
    """What runs made of skills, for screens that show it beside other things: a store that cannot be opened is said."""
    if not state.home_path.is_home():
        return {}
    try:
        return state.app.skill_reading.records()
    except HermesCronError as error:
        state.note(error.message)
        return {}


def brief(record: SkillRecord) -> str:
    """For a cell of a table; "" for a skill that no run used."""
    if not record.uses:
        return ""
    return f"{record.uses:,}" if record.rate is None else f"{record.uses:,} ({record.rate:.0%})"


def facts(state: Cli, record: SkillRecord) -> list[tuple[str, str]]:
    """Labels and words for a page about one skill."""
    text = _TEXTS[state.lang]
    found = []
    if record.uses:
        said = text["line"].format(
            uses=record.uses, well=record.well, judged=record.judged, used=_at(state, record.used_at)
        )
        found.append((text["uses"].lower(), said))
    if record.views:
        found.append((text["views"].lower(), text["views_line"].format(views=record.views)))
    if record.patches or record.rewrites:
        said = text["changed"].format(
            patches=record.patches, rewrites=record.rewrites, at=_at(state, record.patched_at)
        )
        found.append((text["patches"].lower(), said))
    return found


def of(library: SkillLibrary, known: Mapping[str, SkillRecord], skill: Skill) -> SkillRecord:
    """The record of one skill, under whichever name runs knew it."""
    from hermes_cron.experience.skill_index import name_of, record_of

    return record_of(known, skill, name_of(library, skill))
