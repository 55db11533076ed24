"""``next``: at which instants will jobs be due?"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.explain import instant_of, zone_named

if TYPE_CHECKING:
    from hermes_cron.domain.job import Job
    from hermes_cron.store.reader import Listed

app = typer.Typer(help="The next instants of jobs.", add_completion=False)

HELP_ZH = {
    "The next instants of jobs.": "任务接下来的运行时间。",
    "The job (default: all): its name, or a unique beginning.": "任务名或其唯一前缀（默认全部）。",
    "How many instants.": "列出多少个时刻。",
    "As if it were this instant: 2026-12-01T09:00.": "假设现在是此刻：2026-12-01T09:00。",
}

_TEXTS = {
    "en": {"none": "No instant is left.", "paused": "{name} is paused: {reason}", "held": "{name} is held: {reason}"},
    "zh": {"none": "没有剩余的时刻。", "paused": "{name} 已暂停：{reason}", "held": "{name} 被挂起：{reason}"},
}


@app.command("next", help="The next instants of jobs.")
def next_instants(
    job: Annotated[str | None, typer.Argument(help="The job (default: all): its name, or a unique beginning.")] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=1000, help="How many instants.")] = 5,
    now: Annotated[str | None, typer.Option("--now", help="As if it were this instant: 2026-12-01T09:00.")] = None,
) -> None:
    state = cli()
    listed = [jobs_known.one(state, job)] if job else jobs_known.current(state).listed
    moment = instant_of(now, zone_named(state, None)) if now else state.clock.now()
    due = [(instant, each) for each in listed for instant in _due(state, each, moment, count)]
    due.sort(key=lambda pair: (pair[0], pair[1].name))
    due = due[:count]
    if state.json:
        state.emit_json({"next": [_as_json(instant, each) for instant, each in due]})
        return
    texts = _TEXTS[state.lang]
    for each in listed:
        reason = each.summary.get("paused") or each.held_reason
        if reason and (job or not due):
            kind = "paused" if each.summary.get("paused") else "held"
            state.note(texts[kind].format(name=each.name, reason=reason))
    if not due:
        state.out(texts["none"])
        return
    zones = {each.uid: ZoneInfo(each.summary["timezone"]) for _, each in due}
    rows = [[when.whole(at, zones[each.uid], state.lang), each.summary["timezone"], each.name] for at, each in due]
    state.out(output.table([row[:2] for row in rows] if job else rows, max_columns=state.columns))


def _due(state: Cli, listed: Listed, now: datetime, count: int) -> list[datetime]:
    """Nothing for a job that is paused, held or was never understood."""
    from hermes_cron.cli.added import upcoming

    if listed.summary.get("paused") or listed.held_reason:
        return []
    job = spec(state, listed)
    return [] if job is None else upcoming(job, now, count)


def spec(state: Cli, listed: Listed) -> Job | None:
    """The job as the store last understood it, anchors included."""
    from sqlalchemy import select

    from hermes_cron.domain.job import load_job
    from hermes_cron.store.tables import JobRow

    table = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
    with state.app.store.read() as conn:
        text = conn.execute(select(table.c.spec).where(table.c.uid == listed.uid)).scalar()
    return None if text is None else load_job(text)


def _as_json(instant: datetime, listed: Listed) -> dict[str, object]:
    zone = listed.summary["timezone"]
    return {"job": listed.name, "at": instant.astimezone(ZoneInfo(zone)).isoformat(), "timezone": zone}
