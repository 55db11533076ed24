"""``usage``: how many tokens, and for how much, by run, job, skill, model, phase or day?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.domain.money import dollars
from hermes_cron.errors import Usage

if TYPE_CHECKING:
    from hermes_cron.store.usage import By, Line, Report, Used

app = typer.Typer(help="What runs used: tokens and money.", add_completion=False)

HELP_ZH = {
    "What runs used: tokens and money.": "各次运行的用量：token 与费用。",
    "A line for each: run, job, skill, model, phase, day.": "分组方式：run、job、skill、model、phase、day。",
    "How many days, today included.": "最近多少天（含今天）。",
    "Only this job: its name, or a unique beginning.": "只看这个任务：任务名或其唯一前缀。",
    "How many lines.": "列出多少行。",
}

_WORDS = ("run", "job", "skill", "model", "phase", "day")

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "run": "RUN", "job": "JOB", "skill": "SKILL", "model": "MODEL", "phase": "PHASE", "day": "DAY",
        "began": "BEGAN", "calls": "CALLS", "in": "IN", "cached": "CACHED", "out": "OUT", "cost": "COST USD",
        "unknown": "unknown", "at_least": "at least {sum}",
        "none": "No model was called since {since}.",
        "more": "lines left out: {count} (--limit {all})",
        "one_call": "1 call", "n_calls": "{count} calls",
        "sum": "since {since}: {calls}, {tokens} tokens ({input} in, {output} out), {cost}",
        "sum_cost": "{sum} USD", "sum_unknown": "cost unknown",
        "skills": "A run's tokens count under each skill it was given, so the lines may add up to more.",
        "estimated": "estimated, because the provider counted nothing: {calls}",
        "unpriced": 'without a price: {calls}; add [prices."MODEL"] with input and output to config.toml',
        "lost": "reserved by runs that died or got no answer: up to {tokens} tokens, {cost}, for {calls}; "
                "caps count them as spent",
    },
    "zh": {
        "run": "运行", "job": "任务", "skill": "技能", "model": "模型", "phase": "阶段", "day": "日期",
        "began": "开始", "calls": "调用", "in": "输入", "cached": "缓存", "out": "输出", "cost": "费用（美元）",
        "unknown": "未知", "at_least": "至少 {sum}",
        "none": "自 {since} 起没有调用过模型。",
        "more": "未列出 {count} 行（--limit {all}）",
        "one_call": "1 次调用", "n_calls": "{count} 次调用",
        "sum": "自 {since} 起：{calls}，{tokens} token（输入 {input}，输出 {output}），{cost}",
        "sum_cost": "{sum} 美元", "sum_unknown": "费用未知",
        "skills": "一次运行的 token 计入它用到的每个技能，所以各行之和可能大于总数。",
        "estimated": "估算（服务商没有计数）：{calls}",
        "unpriced": '没有价格：{calls}；在 config.toml 中写 [prices."模型名"]（input 和 output）',
        "lost": "中断或无应答的运行所预留：{calls}，最多 {tokens} token，{cost}；限额按已花费计",
    },
}  # fmt: skip


@app.command("usage", help="What runs used: tokens and money.")
def usage(
    by: Annotated[str, typer.Option("--by", help="A line for each: run, job, skill, model, phase, day.")] = "job",
    days: Annotated[int, typer.Option("--days", min=1, max=3660, help="How many days, today included.")] = 30,
    job: Annotated[str | None, typer.Option("--job", help="Only this job: its name, or a unique beginning.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="How many lines.")] = 100,
) -> None:
    from hermes_cron.domain.money import day_began
    from hermes_cron.store import usage as rows
    from hermes_cron.store.reader import resolve

    state = cli()
    if by not in _WORDS:
        raise Usage(f'--by "{by}" is none of {", ".join(_WORDS)}', hint="hermes-cron usage --by job")
    zone, now = ZoneInfo(state.settings.timezone), state.clock.now()
    since = day_began(now.astimezone(zone) - timedelta(days=days - 1), zone)
    uid = resolve(jobs_known.current(state, removed=True).listed, job).uid if job else None
    with state.app.store.read() as conn:
        found = rows.report(
            conn, rows.By(by), since=since, until=now + timedelta(microseconds=1), zone=zone, job_uid=uid
        )
    if state.json:
        state.emit_json(_json(found, rows.By(by), since.astimezone(zone), limit))
    else:
        _show(state, found, rows.By(by), since.astimezone(zone), limit)


def _show(state: Cli, found: Report, by: By, since: datetime, limit: int) -> None:
    texts = _TEXTS[state.lang]
    day = when.whole(since, ZoneInfo(state.settings.timezone), state.lang)
    if not found.total.calls and not found.lost_calls:
        state.out(texts["none"].format(since=day))
        return
    headers = [texts[by.value], *((texts["job"], texts["began"]) if by == "run" else ())]
    headers += [texts[name] for name in ("calls", "in", "cached", "out", "cost")]
    rows = [_cells(state, line, by, texts) for line in found.lines[:limit]]
    if rows:
        right = frozenset(range(len(headers) - 5, len(headers)))
        state.out(
            output.table(rows, headers, right=right, max_columns=state.columns, give={0, 1} if by == "run" else {0})
        )
    if len(found.lines) > limit:
        state.out(texts["more"].format(count=len(found.lines) - limit, all=len(found.lines)))
    state.out(_sum(found.total, texts, day))
    for note in _notes(found, by, texts):
        state.out(note)


def _cells(state: Cli, line: Line, by: By, texts: Mapping[str, str]) -> list[str]:
    cells = [line.name or ""]
    if by == "run":
        zone = ZoneInfo(state.settings.timezone)
        cells += [line.job or "", when.due(line.at, zone, state.lang, now=state.clock.now()) if line.at else ""]
    used = line.used
    return [*cells, f"{used.calls:,}", f"{used.input:,}", f"{used.cached:,}", f"{used.output:,}", _cost(used, texts)]


def _cost(used: Used, texts: Mapping[str, str]) -> str:
    if not used.unpriced:
        return dollars(used.cost_usd)
    if used.unpriced == used.calls:
        return texts["unknown"]
    return texts["at_least"].format(sum=dollars(used.cost_usd))


def _sum(total: Used, texts: Mapping[str, str], day: str) -> str:
    cost = texts["sum_unknown"]
    if total.unpriced < total.calls or not total.calls:
        cost = texts["sum_cost"].format(sum=_cost(total, texts))
    return texts["sum"].format(
        since=day, calls=_calls(total.calls, texts), tokens=f"{total.input + total.output:,}", input=f"{total.input:,}",
        output=f"{total.output:,}", cost=cost,
    )  # fmt: skip


def _calls(count: int, texts: Mapping[str, str]) -> str:
    return texts["one_call"] if count == 1 else texts["n_calls"].format(count=f"{count:,}")


def _notes(found: Report, by: By, texts: Mapping[str, str]) -> list[str]:
    notes = [texts["skills"]] if by == "skill" else []
    if found.total.estimated:
        notes.append(texts["estimated"].format(calls=_calls(found.total.estimated, texts)))
    if found.total.unpriced:
        notes.append(texts["unpriced"].format(calls=_calls(found.total.unpriced, texts)))
    if found.lost_calls:
        cost = texts["sum_unknown"]
        if not found.lost.unpriced:
            cost = texts["sum_cost"].format(sum=dollars(found.lost.cost_usd))
        notes.append(
            texts["lost"].format(tokens=f"{found.lost.tokens:,}", cost=cost, calls=_calls(found.lost_calls, texts))
        )
    return notes


def _json(found: Report, by: By, since: datetime, limit: int) -> dict[str, object]:
    def line(each: Line) -> dict[str, object]:
        more = {"job": each.job, "began": each.at.isoformat() if each.at else None} if by == "run" else {}
        name = "run_id" if by == "run" else by.value  # as every other command calls it
        return {name: each.name, **more, **_used_json(each.used)}

    return {
        "by": by.value,
        "since": since.isoformat(),
        "lines": [line(each) for each in found.lines[:limit]],
        "lines_left_out": max(0, len(found.lines) - limit),
        "total": _used_json(found.total),
        "lost": {
            "calls": found.lost_calls,
            "tokens": found.lost.tokens,
            "cost_usd": None if found.lost.unpriced else found.lost.cost_usd,
        },
    }


def _used_json(used: Used) -> dict[str, object]:
    """``cost_usd`` is null as soon as one call is unpriced; ``cost_usd_known`` is the sum of the others."""
    return {
        "calls": used.calls,
        "tokens": {"input": used.input, "output": used.output, "cached": used.cached},
        "cost_usd": None if used.unpriced else used.cost_usd,
        "cost_usd_known": used.cost_usd,
        "unpriced_calls": used.unpriced,
        "estimated_calls": used.estimated,
    }
