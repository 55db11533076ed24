"""``show``: everything that is known about one job."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import change, output, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import JobFileError

if TYPE_CHECKING:
    from hermes_cron.cli.change import Opened
    from hermes_cron.domain.job import Job

app = typer.Typer(help="One job with everything known about it.", add_completion=False)

HELP_ZH = {
    "One job with everything known about it.": "一个任务的全部信息。",
    "The job: its name, or a unique beginning.": "任务名或其唯一前缀。",
}

_LABELS = {
    "en": {
        "what": "what", "when": "when", "next": "next", "paused": "paused", "held": "held", "broken": "BROKEN",
        "task": "task", "script": "script", "databases": "databases", "skills": "skills", "runs_by": "runs by",
        "missed": "missed", "overlap": "overlap", "limits": "limits", "tags": "tags", "vars": "vars", "env": "env",
        "workdir": "works in", "tools": "tools", "life": "life span", "jitter": "jitter", "keep": "keeps",
        "last": "last run", "result": "result", "file": "file", "id": "id",
        "held_since": "{reason}, since {since}; again: hermes-cron resume {name}",
        "paused_how": "{reason}; again: hermes-cron resume {name}",
        "last_run": "{at} {state}{reason}  {run}", "never": "never",
        "limits_said": "{minutes:g} min, {iterations} model calls", "keep_said": "{runs} runs, {days} days",
        "old": "The last good version is in force until the file is right: hermes-cron edit {name}",
        "catch_up": "{catch_up} (grace {grace})", "grace_auto": "half the period, 2 min to 2 h",
    },
    "zh": {
        "what": "说明", "when": "时间", "next": "接下来", "paused": "已暂停", "held": "被挂起", "broken": "BROKEN",
        "task": "任务", "script": "脚本", "databases": "数据库", "skills": "技能", "runs_by": "执行",
        "missed": "错过时", "overlap": "重叠时", "limits": "限制", "tags": "标签", "vars": "变量", "env": "环境变量",
        "workdir": "工作目录", "tools": "工具", "life": "有效期", "jitter": "随机延迟", "keep": "保留",
        "last": "上次运行", "result": "结果", "file": "文件", "id": "编号",
        "held_since": "{reason}，自 {since}；恢复：hermes-cron resume {name}",
        "paused_how": "{reason}；恢复：hermes-cron resume {name}",
        "last_run": "{at} {state}{reason}  {run}", "never": "从未运行",
        "limits_said": "{minutes:g} 分钟，{iterations} 次模型调用", "keep_said": "{runs} 次运行，{days} 天",
        "old": "文件修正之前，仍按上一个正确版本运行：hermes-cron edit {name}",
        "catch_up": "{catch_up}（宽限 {grace}）", "grace_auto": "半个周期，2 分钟到 2 小时",
    },
}  # fmt: skip


@app.command("show", help="One job with everything known about it.")
def show(job: Annotated[str, typer.Argument(help="The job: its name, or a unique beginning.")]) -> None:
    state = cli()
    file = change.opened(state, job)
    faults: list[dict[str, object]] = []
    parsed: Job | None = None
    try:
        parsed = change.judged(state, file, file.data, strict=False)
    except JobFileError as error:
        found = error.details["faults"]
        faults = found if isinstance(found, list) else []
    if state.json:
        state.emit_json(_json(state, file, parsed, faults))
        return
    labels = _LABELS[state.lang]
    state.out(file.listed.name)
    if faults:
        state.out(output.facts([(labels["broken"], _places(faults)), *_place_facts(state, file, labels)]))
        if file.listed.next_due is not None:
            state.out("\n" + labels["old"].format(name=file.listed.name))
    elif parsed is not None:
        state.out(output.facts([*_job_facts(state, file, parsed, labels), *_place_facts(state, file, labels)]))


def _places(faults: list[dict[str, object]]) -> str:
    return "\n".join(f"{fault['file']}:{fault['line']} {fault['message']}" for fault in faults)


def _job_facts(state: Cli, file: Opened, job: Job, labels: dict[str, str]) -> list[tuple[str, str]]:
    """Label and value; what a job does not say is left out, but for what governs every run."""
    from hermes_cron.cli.added import said_when

    listed, zone = file.listed, ZoneInfo(job.timezone)
    texts = {
        "what": job.description if job.description != _first(job) else "",
        "when": said_when(job, state.lang),
        "next": _next(listed.next_due, zone, state.lang, blocked=bool(job.paused or listed.held_reason)),
        "paused": labels["paused_how"].format(reason=job.paused, name=job.name) if job.paused else "",
        "held": _held(file, zone, labels, state.lang),
        "task": job.prompt or "",
        "script": job.script or "",
        "databases": ", ".join(job.databases),
        "skills": ", ".join(job.skills),
        "runs_by": _by(state, job),
        "tools": ", ".join(job.tools or ()),
        "workdir": job.workdir or "",
        "vars": _pairs(job.vars),
        "env": _pairs(job.env),
        "life": _life(job, zone),
        "jitter": when.length(job.jitter) if job.jitter else "",
        "missed": labels["catch_up"].format(
            catch_up=job.catch_up, grace=when.length(job.grace) if job.grace else labels["grace_auto"]
        ),
        "overlap": str(job.overlap),
        "limits": labels["limits_said"].format(minutes=job.limits.minutes, iterations=job.limits.iterations),
        "keep": labels["keep_said"].format(runs=job.keep.runs, days=job.keep.days),
        "tags": ", ".join(job.tags),
    }
    return [(labels[key], text) for key, text in texts.items() if text]


def _first(job: Job) -> str:
    return next((line.strip() for line in (job.prompt or job.script or "").splitlines() if line.strip()), "")


def _place_facts(state: Cli, file: Opened, labels: dict[str, str]) -> list[tuple[str, str]]:
    from hermes_cron.cli.added import home_path

    listed = file.listed
    zone = ZoneInfo(listed.summary.get("timezone", "UTC"))
    last = labels["never"]
    if listed.last is not None:
        reason = f" ({listed.last.reason})" if listed.last.reason else ""
        at = when.whole(listed.last.at, zone, state.lang)
        last = labels["last_run"].format(at=at, state=listed.last.state, reason=reason, run=listed.last.run_id)
    return [
        (labels["last"], last),
        (labels["result"], f"{home_path(state.home.outputs / listed.name)}/"),
        (labels["file"], home_path(state.home.jobs / listed.file_name)),
        (labels["id"], listed.uid),
    ]


def _next(next_due: datetime | None, zone: ZoneInfo, lang: str, *, blocked: bool) -> str:
    return "-" if next_due is None or blocked else when.whole(next_due, zone, lang)


def _held(file: Opened, zone: ZoneInfo, labels: dict[str, str], lang: str) -> str:
    listed = file.listed
    if not listed.held_reason:
        return ""
    since = when.whole(listed.held_at, zone, lang) if listed.held_at else "-"
    return labels["held_since"].format(reason=listed.held_reason, since=since, name=listed.name)


def _by(state: Cli, job: Job) -> str:
    from hermes_cron.cli.added import by_text, runs_by

    return by_text(runs_by(state, job), state.lang)


def _pairs(values: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _life(job: Job, zone: ZoneInfo) -> str:
    ends = [f"{instant.astimezone(zone):%Y-%m-%d %H:%M}" if instant else "" for instant in (job.start, job.until)]
    span = " .. ".join(ends) if any(ends) else ""
    runs = f"max {job.max_runs}" if job.max_runs else ""
    return ", ".join(part for part in (span, runs) if part)


def _json(state: Cli, file: Opened, job: Job | None, faults: list[dict[str, object]]) -> dict[str, object]:
    from hermes_cron.cli.added import runs_by
    from hermes_cron.cli.list import as_json
    from hermes_cron.domain.job import dump_job

    by = runs_by(state, job) if job else None
    return {
        **as_json(file.listed),
        "faults": faults,
        "job": json.loads(dump_job(job)) if job else None,
        "runs_by": {"kind": by.kind.partition("_")[0], "skill": by.skill, "model": by.model} if by else None,
        "outputs": str(state.home.outputs / file.listed.name),
        "path": str(state.home.jobs / file.listed.file_name),
    }
