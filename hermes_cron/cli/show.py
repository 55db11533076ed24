"""``show``: everything that is known about one job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import change, output, sent, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import JobFileError

if TYPE_CHECKING:
    from hermes_cron.cli.added import RunsBy
    from hermes_cron.cli.change import Opened
    from hermes_cron.domain.job import Job
    from hermes_cron.store.reader import LastRun

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
        "sends": "sends", "checks": "checks", "again": "again", "holds": "is held", "pings": "pings",
        "fallback": "else by", "incident": "incident",
        "reads": "reads", "keeps": "learns",
        "reads_own": "its last report", "reads_owns": "its last {n} reports", "reads_newest": "the newest of {jobs}",
        "reads_all": "all of {jobs}", "reads_since": ", {span} at most", "reads_chars": ", up to {n} characters",
        "memory_read-write": "memory", "memory_read-only": "memory is only read", "memory_off": "no memory",
        "learn_auto": "skills", "learn_propose": "skills after a yes", "learn_absorb": "existing skills only",
        "learn_off": "no skills",
        "lost": "not sent", "lost_said": "{target}: {error} ({state}; hermes-cron outbox retry {id})",
        "always": "every report", "change": "reports that differ from the last", "failure": "failures only",
        "sends_to": "{what} to {targets}", "sends_title": ", titled {title}",
        "again_none": "not tried again", "again_said": "{n} more after {backoff}, doubling{on}",
        "again_on": ", on {on}",
        "holds_after": "after {n} failures in a row", "holds_never": "never for its failures",
        "on_failure": "on failure: the agent is asked again, {n} at most",
        "on_failure_told": "on failure: told to {targets}",
        "incident_said": "{id} {kind}, {n} failures since {since}; quiet: hermes-cron incidents ack {id}",
        "incident_acked": "{id} {kind}, {n} failures since {since}, taken by {by}",
        "tokens": ", {n} tokens", "usd": ", {usd} USD a run", "usd_day": ", {usd} USD a day",
        "url": "a URL",
        "held_since": "{reason}, since {since}; again: hermes-cron resume {name}",
        "paused_how": "{reason}; again: hermes-cron resume {name}",
        "last_run": "{at} {state}  {run}", "arrived": "sent: {sent}", "never": "never",
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
        "sends": "发送", "checks": "核查", "again": "重试", "holds": "挂起", "pings": "心跳",
        "fallback": "备用", "incident": "故障",
        "reads": "读取", "keeps": "学习",
        "reads_own": "自己的上一份报告", "reads_owns": "自己的最近 {n} 份报告", "reads_newest": "{jobs} 的最新报告",
        "reads_all": "{jobs} 的全部报告", "reads_since": "，最早 {span}前", "reads_chars": "，最多 {n} 个字符",
        "memory_read-write": "记忆", "memory_read-only": "记忆只读", "memory_off": "不用记忆",
        "learn_auto": "技能", "learn_propose": "技能（先问人）", "learn_absorb": "仅修补已有技能",
        "learn_off": "不学技能",
        "lost": "未送达", "lost_said": "{target}：{error}（{state}；hermes-cron outbox retry {id}）",
        "always": "每份报告", "change": "与上一份不同的报告", "failure": "仅失败",
        "sends_to": "{what}，发到 {targets}", "sends_title": "，标题 {title}",
        "again_none": "不重试", "again_said": "最多再试 {n} 次，首次等 {backoff}，逐次加倍{on}",
        "again_on": "，仅限 {on}",
        "holds_after": "连续失败 {n} 次后", "holds_never": "不因失败挂起",
        "on_failure": "未过时：让 agent 再试，最多 {n} 次",
        "on_failure_told": "未过时：通知 {targets}",
        "incident_said": "{id} {kind}，自 {since} 起失败 {n} 次；不再提醒：hermes-cron incidents ack {id}",
        "incident_acked": "{id} {kind}，自 {since} 起失败 {n} 次，由 {by} 接手",
        "tokens": "，{n} token", "usd": "，每次 {usd} 美元", "usd_day": "，每天 {usd} 美元",
        "url": "一个网址",
        "held_since": "{reason}，自 {since}；恢复：hermes-cron resume {name}",
        "paused_how": "{reason}；恢复：hermes-cron resume {name}",
        "last_run": "{at} {state}  {run}", "arrived": "送达：{sent}", "never": "从未运行",
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
    if parsed is not None:
        parsed = _as_it_counts(state, file, parsed)
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


def _as_it_counts(state: Cli, file: Opened, job: Job) -> Job:
    """An interval counts from when its schedule was first read, which the file does not say."""
    from dataclasses import replace

    from hermes_cron.cli.next import spec

    known = spec(state, file.listed)
    same = known is not None and (known.schedule, known.timezone) == (job.schedule, job.timezone)
    return replace(job, trigger=known.trigger) if known is not None and same else job


def _places(faults: list[dict[str, object]]) -> str:
    return "\n".join(f"{fault['file']}:{fault['line']} {fault['message']}" for fault in faults)


def _job_facts(state: Cli, file: Opened, job: Job, labels: dict[str, str]) -> list[tuple[str, str]]:
    """Label and value; what a job does not say is left out, but for what governs every run."""
    from hermes_cron.cli.added import by_text, runs_by, said_when

    listed, zone, by = file.listed, ZoneInfo(job.timezone), runs_by(state, job)
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
        "runs_by": by_text(by, state.lang),
        "fallback": ", ".join(job.fallback_models),
        "tools": ", ".join(job.tools or ()),
        "workdir": job.workdir or "",
        "reads": _reads(job, labels, state.lang),
        "keeps": _keeps(job, by, labels, state.lang),
        "vars": _pairs(job.vars),
        "env": _pairs(job.env),
        "life": _life(job, zone),
        "jitter": when.length(job.jitter, state.lang) if job.jitter else "",
        "missed": labels["catch_up"].format(
            catch_up=job.catch_up, grace=when.length(job.grace, state.lang) if job.grace else labels["grace_auto"]
        ),
        "overlap": str(job.overlap),
        "limits": _limits(job, labels),
        "again": _again(job, labels, state.lang),
        "holds": labels["holds_after"].format(n=job.pause_after) if job.pause_after else labels["holds_never"],
        "checks": _checks(job, labels),
        "sends": _sends(job, labels),
        "pings": _pings(job, labels),
        "keep": labels["keep_said"].format(runs=job.keep.runs, days=job.keep.days),
        "tags": ", ".join(job.tags),
    }
    return [(labels[key], text) for key, text in texts.items() if text]


def _limits(job: Job, labels: dict[str, str]) -> str:
    from hermes_cron.domain.money import dollars

    limits = job.limits
    text = labels["limits_said"].format(minutes=limits.minutes, iterations=limits.iterations)
    text += labels["tokens"].format(n=f"{limits.tokens:,}") if limits.tokens else ""
    text += labels["usd"].format(usd=dollars(limits.cost_usd)) if limits.cost_usd else ""
    return text + (labels["usd_day"].format(usd=dollars(limits.cost_usd_per_day)) if limits.cost_usd_per_day else "")


def _again(job: Job, labels: dict[str, str], lang: str) -> str:
    retries = job.retries
    if not retries.attempts:
        return labels["again_none"]
    on = labels["again_on"].format(on=", ".join(retries.on)) if retries.on else ""
    return labels["again_said"].format(n=retries.attempts, backoff=when.length(retries.backoff, lang), on=on)


def _checks(job: Job, labels: dict[str, str]) -> str:
    """A line each, in the words in which a run's evidence names them."""
    from hermes_cron.checks.words import says

    lines = [says(check) for check in job.checks]
    wanted = job.on_check_failure
    if wanted.attempts:
        lines.append(labels["on_failure"].format(n=wanted.attempts))
    if wanted.notify:
        lines.append(labels["on_failure_told"].format(targets=", ".join(wanted.notify)))
    return "\n".join(lines)


def _reads(job: Job, labels: dict[str, str], lang: str) -> str:
    """Which earlier reports a run is given."""
    wanted = job.context
    if not wanted.wanted:
        return ""
    own = labels["reads_own"] if wanted.own == 1 else labels["reads_owns"].format(n=wanted.own) if wanted.own else ""
    others = labels["reads_newest" if wanted.since is None else "reads_all"].format(jobs=", ".join(wanted.jobs))
    said = _join([own, others if wanted.jobs else ""], lang)
    said += labels["reads_since"].format(span=when.length(wanted.since, lang)) if wanted.since else ""
    return said + labels["reads_chars"].format(n=f"{wanted.max_chars:,}")


def _keeps(job: Job, by: RunsBy, labels: dict[str, str], lang: str) -> str:
    """What its runs may keep; nothing where no model runs, which alone could."""
    if by.model is None:
        return ""
    return _join([labels[f"memory_{job.memory}"], labels[f"learn_{job.learn}"]], lang)


def _join(parts: list[str], lang: str) -> str:
    return ("，" if lang == "zh" else ", ").join(part for part in parts if part)


def _sends(job: Job, labels: dict[str, str]) -> str:
    if not job.deliver.to:
        return ""
    title = labels["sends_title"].format(title=job.deliver.title) if job.deliver.title else ""
    return labels["sends_to"].format(what=labels[job.deliver.when], targets=", ".join(job.deliver.to)) + title


def _pings(job: Job, labels: dict[str, str]) -> str:
    """The address itself is as good as a key to whoever has it."""
    return "" if job.ping is None else job.ping if job.ping.startswith("secret:") else labels["url"]


def _first(job: Job) -> str:
    return next((line.strip() for line in (job.prompt or job.script or "").splitlines() if line.strip()), "")


def _place_facts(state: Cli, file: Opened, labels: dict[str, str]) -> list[tuple[str, str]]:
    from hermes_cron.home import with_tilde

    listed = file.listed
    zone = ZoneInfo(listed.summary.get("timezone", "UTC"))
    return [
        (labels["last"], _last(listed.last, zone, state, labels)),
        *((labels["lost"], text) for text in _lost(state, listed.last, labels)),
        *((labels["incident"], text) for text in _incidents(state, listed.uid, zone, labels)),
        (labels["result"], f"{with_tilde(state.home.outputs / listed.name)}/"),
        (labels["file"], with_tilde(state.home.jobs / listed.file_name)),
        (labels["id"], listed.uid),
    ]


def _last(last: LastRun | None, zone: ZoneInfo, state: Cli, labels: dict[str, str]) -> str:
    """How it ended, whether that was proved, whether it arrived."""
    if last is None:
        return labels["never"]
    reason = f" ({last.reason})" if last.reason else ""
    arrived = sent.brief(last.sent, state.lang)
    facts = [f"{last.state}{reason}", last.verdict or "", labels["arrived"].format(sent=arrived) if arrived else ""]
    return labels["last_run"].format(
        at=when.whole(last.at, zone, state.lang),
        state=_join(facts, state.lang),
        run=last.run_id,
    )


def _lost(state: Cli, last: LastRun | None, labels: dict[str, str]) -> Iterator[str]:
    """Messages of the last run that did not arrive, or of which nobody knows, with what the target said."""
    from hermes_cron.store import outbox

    if last is None or not any(last.sent.get(word) for word in ("failed", "unknown")):
        return
    with state.app.store.read() as conn:
        found = outbox.of_runs(conn, [last.run_id]).get(last.run_id, [])
    for each in found:
        if each.state in ("failed", "unknown"):
            error = output.one_line(each.error or each.reason or "-")
            yield labels["lost_said"].format(target=each.target, error=error, state=each.state, id=each.id)


def _incidents(state: Cli, uid: str, zone: ZoneInfo, labels: dict[str, str]) -> Iterator[str]:
    """Failures of the job that are not solved."""
    from hermes_cron.store import incident_desk

    with state.app.store.read() as conn:
        open_ones = incident_desk.listed(conn, limit=1000, job_uid=uid)
    for each in open_ones:
        since = when.whole(each.opened_at, zone, state.lang)
        said = "incident_said" if each.acked_at is None else "incident_acked"
        yield labels[said].format(id=each.id, kind=each.kind, n=each.failures, since=since, by=each.acked_by)


def _next(next_due: datetime | None, zone: ZoneInfo, lang: str, *, blocked: bool) -> str:
    return "-" if next_due is None or blocked else when.whole(next_due, zone, lang)


def _held(file: Opened, zone: ZoneInfo, labels: dict[str, str], lang: str) -> str:
    listed = file.listed
    if not listed.held_reason:
        return ""
    since = when.whole(listed.held_at, zone, lang) if listed.held_at else "-"
    return labels["held_since"].format(reason=listed.held_reason, since=since, name=listed.name)


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
