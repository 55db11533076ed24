"""``runs``: list them, show one, trace its steps, tell it something, say what was wrong with it, cancel it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, run_facts, run_feedback, run_learned, run_result, sent, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.run_states import known_states

if TYPE_CHECKING:
    from hermes_cron.store.taught import Taught
    from hermes_cron.store.views import Around

app = typer.Typer(help="List, show, trace, steer and cancel runs.", add_completion=False, no_args_is_help=True)
app.command("feedback", help=run_feedback.HELP)(run_feedback.feedback)

HELP_ZH = {
    "List, show, trace, steer and cancel runs.": "列出、查看、追踪、引导和取消运行。",
    **run_feedback.HELP_ZH,
    "Runs, newest first.": "运行列表，最新的在前。",
    "One run: when, how it ended, its steps and its report.": "一次运行：时间、结果、步骤和报告。",
    "Every model and tool call with arguments, sizes and times.": "每次模型与工具调用的参数、大小和时间。",
    "Stop a run after its current step.": "在当前步骤之后停止运行。",
    "Tell a run something; its next request carries it.": "给运行一句指示，随下一个请求送出。",
    "What to tell it.": "要说的话。",
    "Only this job's.": "只看此任务。",
    "Only those in this state (repeatable).": "只看此状态（可重复）。",
    "At most so many.": "最多显示多少条。",
    "The run's id, or its beginning.": "运行 id 或其开头。",
    "Why; kept in the run's row.": "原因。",
}

_SHORT = 48

_BESIDE = frozenset({"flush", "summary", "review"})
"""Phases whose steps are no steps of the run itself: they make room for it, or look back at it."""

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or its beginning.")]

_TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "headers": ("RUN", "JOB", "DUE", "START", "TOOK", "RESULT", "CHECKED", "SENT", "TOKENS", "WHY"),
        "none": "No runs yet.",
        "steps": ("SEQ", "STEP", "TOOK", "RESULT", "SIZE", "ARGUMENTS"),
        "beside": "{kind}: {step}",
        "model": "model",
        "calls": "{n} calls", "call": "1 call", "run": "run {id}", "seconds": "{s:.1f} s", "told": "told",
        "text": "text",
        "pending": "no result",
        "compacted": "compacted", "covered": "rows {first}-{last}",
        "trim": "trimmed", "summary": "summary", "digest": "digest", "no_summary": "digest, no summary",
        "failed": "failed",
        "stopping": "run {id} is asked to stop; it ends after its current step",
        "cancelled": "run {id} is cancelled; it had not begun",
        "withdrawn": "run {id} is cancelled; it goes on no more",
        "steered": "run {id} is told so with its next request",
    },
    "zh": {
        "headers": ("运行", "任务", "应于", "开始", "用时", "结果", "核查", "送达", "TOKEN", "原因"),
        "none": "还没有运行。",
        "steps": ("序号", "步骤", "用时", "结果", "大小", "参数"),
        "beside": "{kind}：{step}",
        "model": "模型",
        "calls": "{n} 个调用", "call": "1 个调用", "run": "运行 {id}", "seconds": "{s:.1f} 秒", "told": "指示",
        "text": "文本",
        "pending": "无结果",
        "compacted": "压缩", "covered": "第 {first}-{last} 行",
        "trim": "截短", "summary": "摘要", "digest": "整理", "no_summary": "整理（无摘要）",
        "failed": "失败",
        "stopping": "已要求运行 {id} 停止；当前步骤结束后停止",
        "cancelled": "运行 {id} 已取消；尚未开始",
        "withdrawn": "运行 {id} 已取消；不再继续",
        "steered": "运行 {id} 将随下一个请求收到",
    },
}  # fmt: skip


@app.command("list", help="Runs, newest first.")
def list_runs(
    job: Annotated[str | None, typer.Option("--job", help="Only this job's.")] = None,
    wanted: Annotated[list[str] | None, typer.Option("--state", help="Only those in this state (repeatable).")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 20,
) -> None:
    from hermes_cron.store import views

    state = cli()
    states = known_states(wanted or ())
    uid = None if job is None else jobs_known.one(state, job).uid
    rows = state.app.runs.rows(job_uid=uid, states=states, limit=limit)
    with state.app.store.read() as conn:
        around = views.around(conn, [row["id"] for row in rows])
    if state.json:
        state.emit_json({"runs": [run_result.as_json(row, None, around[row["id"]]) for row in rows]})
        return
    texts = _TEXTS[state.lang]
    if not rows:
        state.out(texts["none"])
        return
    now, zone = state.clock.now(), ZoneInfo(state.settings.timezone)
    lines = [_line(row, around[row["id"]], state, zone, now) for row in rows]
    state.out(
        output.table(
            lines, texts["headers"], right=frozenset({8}), max_columns=state.columns, give={1, 7, 9}, spare=(8, 2, 4)
        )
    )


def _line(row: Mapping[str, Any], around: Around, state: Cli, zone: ZoneInfo, now: datetime) -> list[str]:
    due, started, ended = row["scheduled_at"], row["started_at"], row["ended_at"]
    return [
        row["id"],
        row["job_name"],
        when.due(due, zone, state.lang, now=now) if due else "-",
        when.due(started, zone, state.lang, now=now) if started else "-",
        when.length(ended - started, state.lang) if started and ended else "-",
        row["state"] + run_facts.until(row, zone, state.lang, now=now),
        row["verdict"] or "-",
        sent.whom(around.deliveries, state.lang),
        f"{row['tokens_input'] + row['tokens_output']:,}",
        row["reason"] or "",
    ]


@app.command("show", help="One run: when, how it ended, its steps and its report.")
def show(run: RunId) -> None:
    state = cli()
    row = state.app.runs.row(run)
    text, around = state.app.runs.report(row), run_result.around_of(state, row["id"])
    taught = state.app.runs.taught(row["id"])
    if state.json:
        state.emit_json(_whole(row, text, around, taught) | {"steps": state.app.runs.steps(row["id"])})
        return
    state.out(_TEXTS[state.lang]["run"].format(id=row["id"]))
    state.out(output.facts(run_facts.facts(row, around, taught, state)))
    steps = state.app.runs.steps(row["id"])
    if steps:
        state.out("\n" + _steps(steps, state, arguments=_SHORT))
    if text and text.strip():
        state.out("\n" + text.rstrip("\n"))


def _whole(row: Mapping[str, Any], text: str | None, around: Around, taught: Taught) -> dict[str, object]:
    """What scripts get: the object of ``run --json``, and what only this screen shows."""
    return {
        **run_result.as_json(row, text, around),
        **run_learned.as_json(taught),
        "attempts": [
            {key: attempt[key] for key in ("number", "started_at", "ended_at", "state", "reason")}
            for attempt in around.attempts
        ],
        "approvals": [
            {"id": f"a{question['number']}"}
            | {
                key: question[key]
                for key in (
                    "tool",
                    "arguments",
                    "asked_at",
                    "expires_at",
                    "decision",
                    "decided_at",
                    "decided_by",
                    "reason",
                )
            }
            for question in around.approvals
        ],
        "waits": row["waits"],
        "takeovers": row["takeovers"],
        "steer": json.loads(row["steer"] or "[]"),
        "cancel_requested_at": row["cancel_requested_at"],
        "cancel_by": row["cancel_by"],
    }


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
    lines = [_step(step, state.lang) for step in steps]
    if arguments is not None:
        lines = [[*line[:-1], output.cut(output.one_line(line[-1]), arguments)] for line in lines]
    return output.table(lines, texts["steps"], right=frozenset({0, 2, 4}), max_columns=state.columns)


def _step(step: Mapping[str, Any], lang: str) -> list[str]:
    texts = _TEXTS[lang]
    took = "" if step["ms"] is None else texts["seconds"].format(s=step["ms"] / 1000)
    if step["step"] == "told":
        return [str(step["seq"]), texts["told"], took, "", f"{step['text_bytes']:,}", step["text"]]
    if step["step"] == "compaction":
        made = texts[step["how"]] if step["ok"] else texts["no_summary"]
        covered = texts["covered"].format(first=step["covers"][0], last=step["covers"][1])
        return [str(step["seq"]), texts["compacted"], took, made, f"{step['text_bytes']:,}", covered]
    name = texts["model"] if step["step"] == "model" else step["tool"]
    if step["phase"] in _BESIDE:
        name = texts["beside"].format(kind=run_learned.kind_of(step["phase"], lang), step=name)
    if step["step"] == "model":
        many = step["calls"] > 1
        said = texts["calls" if many else "call"].format(n=step["calls"]) if step["calls"] else texts["text"]
        return [str(step["seq"]), name, took, said, f"{step['text_bytes']:,}", ""]
    if step["result_bytes"] is None:
        return [str(step["seq"]), name, took, texts["pending"], "", step["arguments"]]
    result = "ok" if step["ok"] else texts["failed"]
    return [str(step["seq"]), name, took, result, f"{step['result_bytes']:,}", step["arguments"]]


@app.command("cancel", help="Stop a run after its current step.")
def cancel(run: RunId) -> None:
    from hermes_cron.cli.who import person

    state = cli()
    row = state.app.runs.row(run)
    was = state.app.runs.cancel(row["id"], by=person())
    state.app.wake()
    if state.json:
        state.emit_json({"run_id": row["id"], "was": was})
        return
    texts = _TEXTS[state.lang]
    begun = row["started_at"] is not None
    said = "stopping" if was == "running" else "withdrawn" if begun else "cancelled"
    state.out(texts[said].format(id=row["id"]))


@app.command("steer", help="Tell a run something; its next request carries it.")
def steer(run: RunId, text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to tell it.")]) -> None:
    from hermes_cron.cli.who import person

    state = cli()
    row = state.app.runs.row(run)
    state.app.runs.steer(row["id"], " ".join(text), by=person())
    if state.json:
        state.emit_json({"run_id": row["id"], "told": " ".join(text)})
        return
    state.out(_TEXTS[state.lang]["steered"].format(id=row["id"]))
