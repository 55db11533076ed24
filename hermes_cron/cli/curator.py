"""``curator run report status``: keep the skills healthy now, and what came of it last time."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import NotFound, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_cron.domain.job import Scalar
    from hermes_cron.store.reader import Listed
    from hermes_cron.store.runs import Start

app = typer.Typer(
    help="Skills kept healthy: what falls out of use, what is there twice.", add_completion=False, no_args_is_help=True
)

HELP_ZH = {
    "Skills kept healthy: what falls out of use, what is there twice.": "保持技能健康：闲置的、重复的。",
    "Curate now: plan, snapshot, change, report.": "立即整理：计划、快照、改动、报告。",
    "Say what would be done; change nothing.": "只说明会做什么，不改动。",
    "As if it were then (with --dry-run): 2027-03-01, or with a time.": (
        "假设在那一刻（与 --dry-run 同用）：2027-03-01，可带时间。"
    ),
    "What the last run did, or the one that is named.": "上次（或指定）运行做了什么。",
    "A run of the curator (default: the last that ended).": "一次整理运行（默认：最近结束的一次）。",
    "Skills by state, what is stale, when the curator runs next.": "各状态的技能、闲置的技能、下次整理时间。",
}

_TEXTS = {
    "en": {
        "never": "the curator has not run yet",
        "labels": {"job": "job", "next": "next", "last": "last", "skills": "skills", "stale": "stale",
                   "asked": "asked", "nights": "nights", "policy": "policy"},
        "no_job": "no job runs it; hermes-cron init brings jobs/nightly-curator.md",
        "paused": "{job}, paused", "due": "{at} ({zone})", "not_due": "never: it is paused, held or has no schedule",
        "last": "{run}, {at}: {state}", "none": "none yet",
        "skills": "{active} active, {stale} stale, {archived} archived",
        "stale": "{name}: since {day}, {why}; archived from {then} on if nothing uses it",
        "why": {"unused": "not used", "failing": "its runs go badly"},
        "asked": "{n} proposals wait: hermes-cron approvals list",
        "asked_1": "1 proposal waits: hermes-cron approvals list",
        "nights": "the next {n} scheduled runs only say what they would do",
        "nights_1": "the next scheduled run only says what it would do",
        "more": "and {n} more",
    },
    "zh": {
        "never": "尚未运行过整理",
        "labels": {"job": "任务", "next": "下次", "last": "上次", "skills": "技能", "stale": "闲置",
                   "asked": "待答", "nights": "试运行", "policy": "策略"},
        "no_job": "没有任务运行它；hermes-cron init 会写入 jobs/nightly-curator.md",
        "paused": "{job}，已暂停", "due": "{at}（{zone}）", "not_due": "不会：已暂停、挂起或没有时间表",
        "last": "{run}，{at}：{state}", "none": "还没有",
        "skills": "{active} 个使用中，{stale} 个闲置，{archived} 个已归档",
        "stale": "{name}：自 {day} 起，{why}；若无人使用，{then} 起归档",
        "why": {"unused": "未使用", "failing": "运行效果不好"},
        "asked": "{n} 项提议待答：hermes-cron approvals list", "asked_1": "1 项提议待答：hermes-cron approvals list",
        "nights": "接下来 {n} 次按计划的运行只说明会做什么", "nights_1": "下一次按计划的运行只说明会做什么",
        "more": "另有 {n} 项",
    },
}  # fmt: skip

_SHOWN = 20


@app.command("run", help="Curate now: plan, snapshot, change, report.")
def run(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")] = False,
    now: Annotated[
        str | None,
        typer.Option(
            "--now", metavar="INSTANT", help="As if it were then (with --dry-run): 2027-03-01, or with a time."
        ),
    ] = None,
) -> None:
    from hermes_cron.cli.run import foreground

    state = cli()
    if now is not None and not dry_run:
        raise Usage("--now belongs to --dry-run: nothing is changed at another instant than now")
    raise typer.Exit(foreground(state, _start(state, dry_run=dry_run, now=_instant(state, now))))


def _instant(state: Cli, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Usage(f'--now: "{output.one_line(text)}" is no instant', hint="--now 2027-03-01T03:00") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=ZoneInfo(state.settings.timezone))


def _start(state: Cli, *, dry_run: bool, now: datetime | None) -> Start:
    from hermes_cron.store.runs import Start

    asked: dict[str, Scalar] = {
        **({"dry_run": True} if dry_run else {}),
        **({"now": now.isoformat()} if now is not None else {}),
    }
    listed = _job(state)
    if listed is None:
        return Start(job=state.app.curator.job(), job_uid=None, actor="cli", arguments=asked)
    return Start(job=state.app.runs.job(listed.uid), job_uid=listed.uid, actor="cli", arguments=asked)


def _job(state: Cli) -> Listed | None:
    """The job that curates; of several the one that is called as ours is. A broken file is no job to run."""
    from hermes_cron.desks.curator import JOB

    found = [it for it in jobs_known.current(state).listed if it.summary.get("action") == "curate" and not it.broken]
    return min(found, key=lambda it: (it.name != JOB, it.name), default=None)


# --- report -----------------------------------------------------------------------------------------------------------


@app.command("report", help="What the last run did, or the one that is named.")
def report(
    word: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run of the curator (default: the last that ended).")
    ] = None,
) -> None:
    from hermes_cron.desks import curator_report

    state = cli()
    row = state.app.curator.last() if word is None else state.app.runs.row(word)
    if row is None:
        raise NotFound(str(_TEXTS[state.lang]["never"]), hint="hermes-cron curator run --dry-run")
    record = curator_report.read(state.home, row["job_name"], row["id"])
    if word is not None and record is None and json.loads(row["spec"]).get("action") != "curate":
        raise Usage(f"run {row['id']} is none of the curator", hint=f"hermes-cron runs show {row['id']}")
    if state.json:
        facts = {"run": row["id"], "result": row["state"], "error": row["error"]}
        state.emit_json({**facts, **({} if record is None else curator_report.as_json(record))})
        return
    state.out((state.app.runs.report(row) or row["error"] or row["state"]).rstrip("\n"))


# --- status -----------------------------------------------------------------------------------------------------------


@app.command("status", help="Skills by state, what is stale, when the curator runs next.")
def status() -> None:
    state = cli()
    job, standing, last = _job(state), state.app.curator.standing(), state.app.curator.last()
    if state.json:
        state.emit_json({
            "job": None if job is None else job.name,
            "paused": None if job is None else job.summary.get("paused"),
            "next": None if job is None or job.next_due is None else job.next_due.isoformat(),
            "last": None if last is None else {
                "run": last["id"], "state": last["state"], "at": last["ended_at"].isoformat(),
            },
            "skills": dict(standing.states),
            "stale": [
                {"skill": it.skill, "since": it.mark.since.isoformat(), "cause": it.mark.cause.value,
                 "archived_from": it.archived_from.isoformat()} for it in standing.stale
            ],
            "proposals": standing.proposals,
            "dry_nights_left": standing.nights_left,
            "policy": state.settings.curator.policy,
        })  # fmt: skip
        return
    state.out(output.facts(_facts(state, job, standing, last)))


def _facts(state: Cli, job: Listed | None, standing: Any, last: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    texts: dict[str, Any] = _TEXTS[state.lang]
    labels, zone, now = texts["labels"], ZoneInfo(state.settings.timezone), state.clock.now()
    rows = [(labels["job"], texts["no_job"] if job is None else _name(job, texts))]
    if job is not None:
        due = texts["not_due"]
        if job.next_due is not None and not job.summary.get("paused") and not job.held_reason:
            own = ZoneInfo(job.summary.get("timezone", "UTC"))
            due = texts["due"].format(at=when.due(job.next_due, own, state.lang, now=now), zone=own.key)
        rows.append((labels["next"], due))
    said = texts["none"]
    if last is not None:
        at = when.due(last["ended_at"], zone, state.lang, now=now)
        said = texts["last"].format(run=last["id"], at=at, state=last["state"])
    rows += [(labels["last"], said), (labels["skills"], texts["skills"].format(**standing.states))]
    for it in standing.stale[:_SHOWN]:
        days = {name: it_at.astimezone(zone) for name, it_at in (("day", it.mark.since), ("then", it.archived_from))}
        line = texts["stale"].format(
            name=it.skill, why=texts["why"][it.mark.cause.value], **{k: f"{v:%Y-%m-%d}" for k, v in days.items()}
        )
        rows.append((labels["stale"], output.one_line(line)))
    if len(standing.stale) > _SHOWN:
        rows.append(("...", texts["more"].format(n=len(standing.stale) - _SHOWN)))
    for label, count in (("asked", standing.proposals), ("nights", standing.nights_left)):
        if count:
            rows.append((labels[label], texts[label if count > 1 else f"{label}_1"].format(n=count)))
    return [*rows, (labels["policy"], state.settings.curator.policy)]


def _name(job: Listed, texts: dict[str, Any]) -> str:
    return str(texts["paused"].format(job=job.name)) if job.summary.get("paused") else job.name
