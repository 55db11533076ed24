"""What will a job that was just added do: when, what, with what, and where does the result go?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from hermes_cron.cli import output, when
from hermes_cron.cli.context import Cli
from hermes_cron.home import with_tilde

if TYPE_CHECKING:
    from hermes_cron.cli.cost import Expected
    from hermes_cron.domain.job import Job

_PROBE_S = 1.0
"""How long a database may take to say its version before its line goes without."""

_TEXTS = {
    "en": {
        "added": "Added {name}",
        "would": "Would add {name}",
        "when": "when", "next": "next", "note": "note", "task": "task", "script": "script", "database": "database",
        "runs_by": "runs by", "cost": "cost", "result": "result", "file": "file",
        "zone": "{words}, {zone}",
        "workdays": "{words}, {zone} (Monday to Friday; holidays are not considered)",
        "join": ", ",
        "paused": "nothing until it is resumed (hermes-cron resume {name})",
        "over": "never: no instant is left",
        "read_only": "{name} ({product}, account can only read)",
        "no_database": "no database is set up yet: hermes-cron db add {name}",
        "by_playbook": "playbook {skill}; no model, no tokens",
        "by_script": "script; no model, no tokens",
        "by_action": "hermes-cron itself; of a model, if at all, one call a run (model.auxiliary)",
        "by_model_skill": "{model} with skill {skill}; falls back to {fallback}",
        "by_model": "{model}; falls back to {fallback}",
        "no_fallback": "nothing", "fallback": "{models}",
        "by_nothing_several": "nothing yet: playbook {skill} takes one database a run, the job names several",
        "by_nothing": "nothing yet: no model is set and no playbook fits (hermes-cron model set NAME)",
        "to_nobody": "{folder}/ only; it is sent to nobody",
        "sent": "sent to {targets}{when}, and kept in {folder}/",
        "when_always": "", "when_change": " when it changes", "when_failure": " when it fails",
        "file_kind": "file", "webhook_kind": "webhook", "email_kind": "mail",
        "serving": "The scheduler is running. Try it now: hermes-cron run {name}",
        "not_serving": "No scheduler is running: nothing starts by itself yet.",
        "try": "try it now", "for_good": "for good", "to_chat": "to a chat",
        "dry": "Nothing was written.",
    },
    "zh": {
        "added": "已添加 {name}",
        "would": "将添加 {name}",
        "when": "时间", "next": "接下来", "note": "注意", "task": "任务", "script": "脚本", "database": "数据库",
        "runs_by": "执行", "cost": "费用", "result": "结果", "file": "文件",
        "zone": "{words}（{zone}）",
        "workdays": "{words}（{zone}；周一至周五，未计节假日）",
        "join": "，",
        "paused": "恢复前不会运行（hermes-cron resume {name}）",
        "over": "不会再运行：没有剩余的时刻",
        "read_only": "{name}（{product}，只读账号）",
        "no_database": "尚未配置数据库：hermes-cron db add {name}",
        "by_playbook": "playbook {skill}；不用模型，不花 token",
        "by_script": "脚本；不用模型，不花 token",
        "by_action": "hermes-cron 自身；最多每次调用一次模型（model.auxiliary）",
        "by_model_skill": "{model}，技能 {skill}；{fallback}",
        "by_model": "{model}；{fallback}",
        "no_fallback": "没有备用模型", "fallback": "备用 {models}",
        "by_nothing_several": "暂无：playbook {skill} 一次只巡检一个数据库，任务写了多个",
        "by_nothing": "暂无：没有设置模型，也没有适用的 playbook（hermes-cron model set 模型名）",
        "to_nobody": "只存到 {folder}/，不发送给任何人",
        "sent": "{when}发到 {targets}，并存一份到 {folder}/",
        "when_always": "", "when_change": "有变化时", "when_failure": "失败时",
        "file_kind": "文件", "webhook_kind": "webhook", "email_kind": "邮件",
        "serving": "调度器正在运行。现在试一次：hermes-cron run {name}",
        "not_serving": "调度器没有运行：任务还不会自己启动。",
        "try": "现在试一次", "for_good": "长期运行", "to_chat": "发到群",
        "dry": "没有写入任何内容。",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsBy:
    """Who does the work: ``kind``: script, action, playbook, model, nothing. ``fallbacks`` stand in for the model."""

    kind: str
    skill: str | None = None
    model: str | None = None
    fallbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``cost`` None: no language model is called, so nothing is paid."""

    by: RunsBy
    cost: Expected | None


def plan(state: Cli, job: Job, *, uid: str | None = None) -> Plan:
    """``uid`` is that of a job which has runs behind it."""
    from hermes_cron.cli import cost

    by = runs_by(state, job)
    return Plan(by=by, cost=None if by.model is None else cost.expected(state, job, by.model, uid=uid))


def language(state: Cli, job: Job, phrase: str) -> Literal["en", "zh"]:
    """That of what was typed, unless one was asked for or configured."""
    from hermes_cron.domain.schedule.phrase import language as spoken

    asked = state.lang_option or state.settings.language or spoken(phrase + (job.prompt or ""))
    return "zh" if asked == "zh" else "en"


def show(state: Cli, job: Job, planned: Plan, *, missing: tuple[str, ...], dry_run: bool, phrase: str) -> None:
    """The echo of ``add``, in the language of the phrase unless one was asked for."""
    lang = language(state, job, phrase)
    now = state.clock.now()
    ahead = upcoming(job, now, 3)
    products = {name: state.app.product(name, timeout_s=_PROBE_S) for name in job.databases if name not in missing}
    if state.json:
        state.emit_json(_json(state, job, ahead, planned, products, missing, dry_run=dry_run))
        return
    texts = _TEXTS[lang]
    state.out(texts["would" if dry_run else "added"].format(name=job.name))
    pairs = [
        (texts["when"], said_when(job, lang, phrase)),
        (texts["next"], _next_line(job, ahead, lang)),
        *((texts["note"], note) for note in _notes(job, phrase, lang)),
        (texts["script" if job.script else "task"], output.one_line(job.script or job.prompt or "")),
        *((texts["database"], _database(texts, name, products[name])) for name in job.databases if name not in missing),
        *((texts["database"], texts["no_database"].format(name=name)) for name in missing),
        (texts["runs_by"], by_text(planned.by, lang)),
        *cost_line(planned, lang),
        (texts["result"], result_text(state, job, lang)),
        (texts["file"], with_tilde(state.home.jobs / f"{job.name}.md")),
    ]
    state.out(output.facts(pairs))
    state.out()
    if dry_run:
        state.out(texts["dry"])
    elif state.app.serving():
        state.out(texts["serving"].format(name=job.name))
    else:
        state.out(texts["not_serving"])
        hints = [(texts["try"], f"hermes-cron run {job.name}"), (texts["for_good"], "hermes-cron serve")]
        if not job.deliver.to:
            hints.append((texts["to_chat"], _to_chat(state, job)))
        state.out(output.facts(hints, gap=3))


def cost_line(planned: Plan, lang: str) -> tuple[tuple[str, str], ...]:
    """The line "cost"; none for what calls no model, whose "runs by" says so."""
    from hermes_cron.cli import cost

    return () if planned.cost is None else ((_TEXTS[lang]["cost"], cost.line(planned.cost, lang)),)


def result_text(state: Cli, job: Job, lang: str) -> str:
    """Who gets the report, and where it is kept anyway."""
    texts = _TEXTS[lang]
    folder = state.home.outputs / job.name
    if not job.deliver.to:
        return texts["to_nobody"].format(folder=with_tilde(folder))
    known = state.settings.targets
    named = [
        f"{name}（{texts[f'{known[name].kind}_kind']}）" if lang == "zh" and name in known
        else f"{name} ({texts[f'{known[name].kind}_kind']})" if name in known
        else name
        for name in job.deliver.to
    ]  # fmt: skip
    return texts["sent"].format(
        targets=texts["join"].join(named),
        when=texts[f"when_{job.deliver.when}"],
        folder=folder.relative_to(state.home.root),
    )


def _to_chat(state: Cli, job: Job) -> str:
    """The command that sends the report somewhere: to a target that is there, else one that makes one."""
    target = next(iter(sorted(state.settings.targets)), None)
    return "hermes-cron targets add NAME" if target is None else f"hermes-cron edit {job.name} --deliver {target}"


def upcoming(job: Job, now: datetime, count: int) -> list[datetime]:
    """The next instants at which the job is due, within its life span."""
    from hermes_cron.domain.schedule.trigger import instants

    if job.trigger is None:
        return []
    after = now if job.start is None else max(now, job.start - timedelta(microseconds=1))
    end = job.until or datetime(9999, 1, 1, tzinfo=UTC)
    return list(islice(instants(job.trigger, ZoneInfo(job.timezone), after, end), min(count, job.max_runs or count)))


def said_when(job: Job, lang: str, phrase: str = "") -> str:
    """The schedule in words, its zone, and what "workday" does not know."""
    from hermes_cron.domain.schedule import caution
    from hermes_cron.domain.schedule.words import words

    said = "-"
    if job.trigger is not None:
        said = words(job.trigger, lang="zh" if lang == "zh" else "en", zone=ZoneInfo(job.timezone))
    workdays = caution.HOLIDAYS in warnings_of(job, phrase)
    return _TEXTS[lang]["workdays" if workdays else "zone"].format(words=said, zone=job.timezone)


def warnings_of(job: Job, phrase: str = "") -> list[str]:
    """What may surprise, in short English sentences."""
    from hermes_cron.domain.schedule import caution

    return [] if job.trigger is None else caution.warnings(job.trigger, f"{phrase} {' '.join(job.schedule)}")


def runs_by(state: Cli, job: Job) -> RunsBy:
    """What a run will be driven by, decided as the runner decides it; no model is called."""
    from hermes_cron.errors import ModelNotConfigured, PlaybookOneDatabase

    if job.script is not None:
        return RunsBy(kind="script")
    if job.action is not None:
        return RunsBy(kind="action")
    try:
        state.app.refuse_several_databases(job)
        route = state.app.route(job)
    except PlaybookOneDatabase as error:
        return RunsBy(kind="nothing_several", skill=str(error.details["skill"]))
    except ModelNotConfigured:
        return RunsBy(kind="nothing")
    skill = route.skill.name if route.skill else None
    if route.model is None:
        return RunsBy(kind="playbook", skill=skill)
    kind = "model_skill" if skill else "model"
    return RunsBy(kind=kind, skill=skill, model=route.model, fallbacks=job.fallback_models)


def by_text(by: RunsBy, lang: str) -> str:
    """``playbook inspect-database; no model, no tokens``."""
    texts = _TEXTS[lang]
    fallback = texts["fallback"].format(models=texts["join"].join(by.fallbacks)) if by.fallbacks else None
    return texts[f"by_{by.kind}"].format(skill=by.skill, model=by.model, fallback=fallback or texts["no_fallback"])


def _notes(job: Job, phrase: str, lang: str) -> list[str]:
    """Warnings that the line "when" does not say yet."""
    from hermes_cron.domain.schedule import caution

    language: Literal["en", "zh"] = "zh" if lang == "zh" else "en"
    found = [warning for warning in warnings_of(job, phrase) if warning != caution.HOLIDAYS]
    return [caution.in_language(warning, language) for warning in found]


def _next_line(job: Job, ahead: list[datetime], lang: str) -> str:
    texts = _TEXTS[lang]
    if job.paused:
        return texts["paused"].format(name=job.name)
    zone = ZoneInfo(job.timezone)
    return texts["join"].join(when.whole(instant, zone, lang) for instant in ahead) or texts["over"]


def _database(texts: dict[str, str], name: str, product: str | None) -> str:
    return texts["read_only"].format(name=name, product=product) if product else name


def learning(job: Job) -> dict[str, object]:
    """What its runs read of earlier ones and may keep; None for a script, which has no model that could."""
    from hermes_cron.domain.job import Work

    asks = job.work is Work.PROMPT
    return {"memory": job.memory if asks else None, "learn": job.learn if asks else None}


def _json(
    state: Cli, job: Job, ahead: list[datetime], planned: Plan, products: dict[str, str | None],
    missing: tuple[str, ...], *, dry_run: bool,
) -> dict[str, object]:  # fmt: skip
    from hermes_cron.cli import cost

    zone, by = ZoneInfo(job.timezone), planned.by
    return {
        "name": job.name,
        "added": not dry_run,
        "schedule": list(job.schedule),
        "when": said_when(job, "en"),
        "timezone": job.timezone,
        "warnings": warnings_of(job),
        "next": [instant.astimezone(zone).isoformat() for instant in ahead],
        "prompt": job.prompt,
        "script": job.script,
        "paused": job.paused,
        "databases": [{"name": name, "product": products.get(name)} for name in job.databases],
        "databases_missing": list(missing),
        "runs_by": {"kind": by.kind.partition("_")[0], "skill": by.skill, "model": by.model},
        "fallback_models": list(by.fallbacks),
        "cost": cost.as_json(planned.cost),
        "deliver": list(job.deliver.to),
        **learning(job),
        "outputs": str(state.home.outputs / job.name),
        "file": str(state.home.jobs / f"{job.name}.md"),
        "serving": bool(state.app.serving()),
    }
