"""``runs``: list them, show one, trace its steps, cancel it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, run_result, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import Usage

app = typer.Typer(help="List, show, trace and cancel runs.", add_completion=False, no_args_is_help=True)

HELP_ZH = {
    "List, show, trace and cancel runs.": "列出、查看、追踪和取消运行。",
    "Runs, newest first.": "运行列表，最新的在前。",
    "One run: when, how it ended, its steps and its report.": "一次运行：时间、结果、步骤和报告。",
    "Every model and tool call with arguments, sizes and times.": "每次模型与工具调用的参数、大小和时间。",
    "Stop a run after its current step.": "在当前步骤之后停止运行。",
    "Only this job's.": "只看此任务。",
    "Only those in this state (repeatable).": "只看此状态（可重复）。",
    "At most so many.": "最多显示多少条。",
    "The run's id, or its beginning.": "运行 id 或其开头。",
    "Why; kept in the run's row.": "原因。",
}

_SHORT = 48

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or its beginning.")]

_TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "headers": ("RUN", "JOB", "DUE", "START", "TOOK", "RESULT", "CHECKED", "TOKENS", "WHY"),
        "none": "No runs yet.",
        "steps": ("SEQ", "STEP", "TOOK", "RESULT", "SIZE", "ARGUMENTS"),
        "model": "model",
        "calls": "{n} calls",
        "text": "text",
        "pending": "no result",
        "failed": "failed",
        "job": "job", "due": "due", "started": "started", "took": "took", "result": "result",
        "by": "by", "usage": "usage", "output": "output", "error": "error", "learned": "learned",
        "by_hand": "by hand", "late": "late",
        "used": "{iterations} model calls, {calls} tool calls ({errors} failed), {tokens} tokens, {cost}",
        "cost": "{usd:.4f} USD", "cost_unknown": "cost unknown",
        "nothing": "nothing",
        "stopping": "run {id} is asked to stop; it ends after its current step",
        "cancelled": "run {id} is cancelled; it had not begun",
    },
    "zh": {
        "headers": ("运行", "任务", "应于", "开始", "用时", "结果", "核查", "TOKEN", "原因"),
        "none": "还没有运行。",
        "steps": ("序号", "步骤", "用时", "结果", "大小", "参数"),
        "model": "模型",
        "calls": "{n} 个调用",
        "text": "文本",
        "pending": "无结果",
        "failed": "失败",
        "job": "任务", "due": "应于", "started": "开始", "took": "用时", "result": "结果",
        "by": "执行", "usage": "用量", "output": "输出", "error": "错误", "learned": "学到",
        "by_hand": "手动", "late": "迟到",
        "used": "模型调用 {iterations} 次，工具调用 {calls} 次（失败 {errors} 次），{tokens} token，{cost}",
        "cost": "{usd:.4f} 美元", "cost_unknown": "费用未知",
        "nothing": "无",
        "stopping": "已要求运行 {id} 停止；当前步骤结束后停止",
        "cancelled": "运行 {id} 已取消；尚未开始",
    },
}  # fmt: skip


@app.command("list", help="Runs, newest first.")
def list_runs(
    job: Annotated[str | None, typer.Option("--job", help="Only this job's.")] = None,
    wanted: Annotated[list[str] | None, typer.Option("--state", help="Only those in this state (repeatable).")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 20,
) -> None:
    from hermes_cron.domain.run import RunState

    state = cli()
    for word in wanted or ():
        if word not in {known.value for known in RunState}:
            raise Usage(f'no run state "{word}"', hint="one of: " + " ".join(known.value for known in RunState))
    uid = None if job is None else jobs_known.one(state, job).uid
    rows = state.app.runs.rows(job_uid=uid, states=wanted or (), limit=limit)
    if state.json:
        state.emit_json({"runs": [run_result.as_json(row, None) for row in rows]})
        return
    texts = _TEXTS[state.lang]
    if not rows:
        state.out(texts["none"])
        return
    now, zone = state.clock.now(), ZoneInfo(state.settings.timezone)
    lines = [_line(row, state, zone, now) for row in rows]
    state.out(output.table(lines, texts["headers"], right=frozenset({7}), max_columns=state.columns))


def _line(row: Mapping[str, Any], state: Cli, zone: ZoneInfo, now: Any) -> list[str]:
    due, started, ended = row["scheduled_at"], row["started_at"], row["ended_at"]
    return [
        row["id"],
        row["job_name"],
        when.due(due, zone, state.lang, now=now) if due else "-",
        when.due(started, zone, state.lang, now=now) if started else "-",
        when.length(ended - started) if started and ended else "-",
        row["state"],
        row["verdict"] or "-",
        f"{row['tokens_input'] + row['tokens_output']:,}",
        row["reason"] or "",
    ]


@app.command("show", help="One run: when, how it ended, its steps and its report.")
def show(run: RunId) -> None:
    state = cli()
    row = state.app.runs.row(run)
    text = state.app.runs.report(row)
    if state.json:
        state.emit_json(run_result.as_json(row, text) | {"steps": state.app.runs.steps(row["id"])})
        return
    state.out(f"run {row['id']}")
    state.out(output.facts(_facts(row, state)))
    steps = state.app.runs.steps(row["id"])
    if steps:
        state.out("\n" + _steps(steps, state, arguments=_SHORT))
    if text and text.strip():
        state.out("\n" + text.rstrip("\n"))


def _facts(row: Mapping[str, Any], state: Cli) -> list[tuple[str, str]]:
    texts = _TEXTS[state.lang]
    zone = ZoneInfo(state.app.runs.zone_of(row))
    due, started, ended = row["scheduled_at"], row["started_at"], row["ended_at"]
    cost = texts["cost_unknown"] if row["cost_usd"] is None else texts["cost"].format(usd=row["cost_usd"])
    tokens = f"{row['tokens_input'] + row['tokens_output']:,}"
    used = texts["used"].format(
        iterations=row["iterations"], calls=row["tool_calls"], errors=row["tool_errors"], tokens=tokens, cost=cost
    )
    pairs = [
        (texts["job"], row["job_name"]),
        (texts["due"], f"{when.whole(due, zone, state.lang)} ({zone.key})" if due else texts["by_hand"]),
        (texts["started"], when.whole(started, zone, state.lang) if started else "-"),
        (texts["took"], when.length(ended - started) if started and ended else "-"),
        (texts["result"], row["state"] + (f" ({row['reason']})" if row["reason"] else "")),
        (texts["by"], row["model"] or "-"),
        (texts["usage"], used),
        (texts["output"], row["output_path"] or "-"),
        (texts["learned"], texts["nothing"]),
    ]
    if row["late"]:
        pairs[2] = (pairs[2][0], f"{pairs[2][1]} ({texts['late']})")
    if row["error"]:
        pairs.append((texts["error"], row["error"]))
    return pairs


@app.command("trace", help="Every model and tool call with arguments, sizes and times.")
def trace(run: RunId) -> None:
    state = cli()
    row = state.app.runs.row(run)
    steps = state.app.runs.steps(row["id"])
    if state.json:
        tools = [step for step in steps if step["step"] == "tool"]
        calls, results = len(tools), sum(step["result_bytes"] is not None for step in tools)
        state.emit_json(
            {"run_id": row["id"], "state": row["state"], "calls": calls, "results": results, "steps": steps}
        )
        return
    state.out(_steps(steps, state))


def _steps(steps: list[dict[str, Any]], state: Cli, *, arguments: int | None = None) -> str:
    """``arguments``: their columns at most; `trace` shows them whole."""
    texts = _TEXTS[state.lang]
    lines = [_step(step, texts) for step in steps]
    if arguments is not None:
        lines = [[*line[:-1], output.cut(output.one_line(line[-1]), arguments)] for line in lines]
    return output.table(lines, texts["steps"], right=frozenset({0, 2, 4}), max_columns=state.columns)


def _step(step: Mapping[str, Any], texts: Mapping[str, Any]) -> list[str]:
    took = "" if step["ms"] is None else f"{step['ms'] / 1000:.1f} s"
    if step["step"] == "model":
        said = texts["calls"].format(n=step["calls"]) if step["calls"] else texts["text"]
        return [str(step["seq"]), texts["model"], took, said, f"{step['text_bytes']:,}", ""]
    if step["result_bytes"] is None:
        return [str(step["seq"]), step["tool"], took, texts["pending"], "", step["arguments"]]
    result = "ok" if step["ok"] else texts["failed"]
    return [str(step["seq"]), step["tool"], took, result, f"{step['result_bytes']:,}", step["arguments"]]


@app.command("cancel", help="Stop a run after its current step.")
def cancel(run: RunId) -> None:
    state = cli()
    row = state.app.runs.row(run)
    was = state.app.runs.cancel(row["id"], by="cli")
    state.app.wake()
    if state.json:
        state.emit_json({"run_id": row["id"], "was": was})
        return
    texts = _TEXTS[state.lang]
    state.out(texts["cancelled" if was == "queued" else "stopping"].format(id=row["id"]))
