"""``list``: which jobs are there, when do they run next, how did they go?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, sent, when
from hermes_cron.cli.context import Cli, cli

if TYPE_CHECKING:
    from hermes_cron.store.reader import Listed

app = typer.Typer(help="Jobs, when they run next, how they went.", add_completion=False)

HELP_ZH = {
    "Jobs, when they run next, how they went.": "任务、下次运行时间和上次结果。",
    "With each job's description.": "同时显示说明。",
    "Only jobs with this label (repeatable: all of them).": "只列出带此标签的任务（可重复，须全部具备）。",
    "Removed jobs too.": "包括已删除的任务。",
    "Only what the home does for itself: curator, consolidation.": "只列主目录自身的任务：技能整理、记忆整理。",
}

_TEXTS = {
    "en": {
        "headers": ("NAME", "WHEN", "NEXT", "LAST", "RESULT", "CHECKED", "SENT"),
        "description": "DESCRIPTION",
        "held": "held {span}",
        "paused": "paused",
        "removed": "removed",
        "none": 'No jobs.  hermes-cron add "every day 9am: inspect prod db"',
        "none_system": "No jobs of the home itself.  hermes-cron init",
        "need": "{count} need you:  hermes-cron status",
        "need_one": "1 needs you:  hermes-cron status",
        "good": "{broken} (the last good version runs, next {next})",
    },
    "zh": {
        "headers": ("名称", "时间", "下次", "上次", "结果", "核查", "送达"),
        "description": "说明",
        "held": "挂起 {span}",
        "paused": "已暂停",
        "removed": "已删除",
        "none": '没有任务。  hermes-cron add "每天早上9点：巡检 prod 数据库"',
        "none_system": "没有主目录自身的任务。  hermes-cron init",
        "need": "{count} 项需要处理：  hermes-cron status",
        "need_one": "1 项需要处理：  hermes-cron status",
        "good": "{broken}（仍按上一个正确版本运行，下次 {next}）",
    },
}


@app.command("list", help="Jobs, when they run next, how they went.")
def list_jobs(
    long: Annotated[bool, typer.Option("--long", "-l", help="With each job's description.")] = False,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only jobs with this label (repeatable: all of them).")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Removed jobs too.")] = False,
    system: Annotated[
        bool, typer.Option("--system", help="Only what the home does for itself: curator, consolidation.")
    ] = False,
) -> None:
    from hermes_cron.store.reader import asked_elsewhere

    state = cli()
    found = jobs_known.current(state, removed=everything)
    jobs = [job for job in found.listed if set(tag or ()) <= set(job.summary.get("tags", ()))]
    jobs = [job for job in jobs if _belongs(job, system=system, everything=everything)]
    unlisted = () if tag or system else found.unlisted
    now = state.clock.now()
    need = sum(job.needs for job in jobs) + len(unlisted) + (0 if tag or system else asked_elsewhere(state.home.store))
    if state.json:
        state.emit_json({"jobs": [*map(as_json, jobs), *map(_unlisted_json, unlisted)], "need_you": need})
        return
    texts: dict[str, Any] = _TEXTS[state.lang]
    if not jobs and not unlisted:
        state.out(texts["none_system" if system else "none"])
        return
    sound = [job for job in jobs if not job.broken]
    rows = [_row(job, state, texts, now, long) for job in sound]
    colours = [_colour(job) for job in sound] if state.colour else []
    broken = [(job.name, _broken(job, texts, now)) for job in jobs if job.broken] + list(unlisted)
    headers = (*texts["headers"], texts["description"]) if long else texts["headers"]
    state.out(_page(rows, broken, headers, state, colours))
    if need:
        state.out("\n" + texts["need" if need > 1 else "need_one"].format(count=need))


def _belongs(job: Listed, *, system: bool, everything: bool) -> bool:
    """What the home does for itself stands apart, as long as nobody has to look at it."""
    own = job.summary.get("action") is not None
    return own if system else everything or not own or bool(job.needs or job.broken or _went_wrong(job))


def _went_wrong(job: Listed) -> bool:
    return job.held_reason is not None or (job.last is not None and job.last.state not in {"ok", "running", "queued"})


def as_json(job: Listed) -> dict[str, object]:
    """A job for scripts. Instants carry the offset of the job's zone; what is not known yet is null."""
    zone = ZoneInfo(job.summary.get("timezone", "UTC"))
    last = job.last
    return {
        "name": job.name,
        "uid": job.uid,
        "description": job.summary.get("description", ""),
        "schedule": job.summary.get("schedule", []),
        "when": job.summary.get("when", {}).get("en"),
        "timezone": job.summary.get("timezone"),
        "next": _iso(None if job.summary.get("paused") else job.next_due, zone),
        "last": _iso(last.at, zone) if last else None,
        "result": last.state if last else None,
        "reason": last.reason if last else None,
        "run_id": last.run_id if last else None,
        "checked": last.verdict if last else None,
        "sent": dict(last.sent) or None if last else None,
        "tags": job.summary.get("tags", []),
        "action": job.summary.get("action"),
        "paused": job.summary.get("paused"),
        "held": job.held_reason,
        "broken": job.broken,
        "removed_at": job.removed_at,
        "file": f"jobs/{job.file_name}",
    }


def _unlisted_json(file: tuple[str, str]) -> dict[str, object]:
    return {"name": file[0], "uid": None, "broken": file[1]}


def _iso(instant: datetime | None, zone: ZoneInfo) -> str | None:
    return instant.astimezone(zone).isoformat() if instant else None


def _row(job: Listed, state: Cli, texts: dict[str, Any], now: datetime, long: bool) -> list[str]:
    zone = ZoneInfo(job.summary.get("timezone", "UTC"))
    stopped = _stopped(job, state, texts, now)
    row = [
        job.name,
        stopped or job.summary.get("when", {}).get(state.lang, ""),
        when.brief(job.next_due, zone, now=now) if job.next_due and not stopped else "",
        when.brief(job.last.at, zone, now=now) if job.last else "",
        job.last.state if job.last else "",
        (job.last.verdict or "") if job.last else "",
        sent.brief(job.last.sent, state.lang) if job.last else "",
    ]
    return [*row, job.summary.get("description", "")] if long else row


def _stopped(job: Listed, state: Cli, texts: dict[str, Any], now: datetime) -> str:
    """Why nothing starts, in the place of when it would."""
    if job.removed_at:
        return str(texts["removed"])
    if job.held_reason:
        return str(texts["held"].format(span=when.length(now - job.held_at, state.lang) if job.held_at else "")).strip()
    return str(texts["paused"]) if job.summary.get("paused") else ""


def _broken(job: Listed, texts: dict[str, Any], now: datetime) -> str:
    zone = ZoneInfo(job.summary.get("timezone", "UTC"))
    if job.next_due is None:
        return job.broken or ""
    return str(texts["good"].format(broken=job.broken, next=when.brief(job.next_due, zone, now=now)))


def _colour(job: Listed) -> str | None:
    last = job.last
    return sent.colour(last.state, last.verdict, last.sent) if last else None


def _page(
    rows: Sequence[Sequence[str]],
    broken: Sequence[tuple[str, str]],
    headers: Sequence[str],
    state: Cli,
    colours: Sequence[str | None],
) -> str:
    """Broken files last, over all columns: the place and the fault matter more than what is not known."""
    names = [str(row[0]) for row in rows] + [name for name, _ in broken] + [headers[0]]
    columns = max(map(output.width, names))
    # The first header carries the width of names that stand in no row: the table itself measures rows only.
    padded = [output.pad(headers[0], columns), *headers[1:]]
    lines = sent.painted(output.table(rows, padded, max_columns=state.columns, give={0, 1, 7}), colours)
    for name, fault in sorted(broken):
        line = f"{output.pad(output.one_line(name), columns)}  BROKEN {output.one_line(fault)}"
        lines.append(output.cut(line, state.columns) if state.columns else line)
    return "\n".join(lines)
