"""How did a run end, for people and for scripts?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hermes_cron.cli import output, sent, when
from hermes_cron.cli.context import Cli

if TYPE_CHECKING:
    from hermes_cron.store.runs import Start
    from hermes_cron.store.views import Around

_TEXTS = {
    "en": {
        "verdict": "{verdict} {n} of {all} checks",
        "sent": "sent to {targets}",
        "failed": "not sent to {targets}",
        "unknown": "unknown whether {targets} got it",
        "waiting": "not sent yet to {targets}",
        "silent": "silent: it had nothing to say",
        "nobody": "sent to nobody: {why}",
        "said_nothing": "it had nothing to say",
        "only_failures": "only failures are",
        "unchanged": "it is as the last one",
        "acked": "somebody is on it",
        "tokens": "{n} tokens",
        "cost": "{usd} USD",
        "cost_unknown": "cost unknown",
        "again": "again with every step: hermes-cron runs show {id}",
        "kept": "kept",
        "next": "next try",
        "next_none": "none for a run by hand",
        "next_schedule": "none for a run by hand; the schedule tries again {n} times",
        "next_once": "none for a run by hand; the schedule tries again once",
        "look": "look",
        "lost": "retry",
        "unsent": "No scheduler is running; the next one sends it: hermes-cron serve",
        "asks": "{id} waits for your answer, silence means no at {until}: {tool} {arguments}",
        "yes": "yes",
        "no": "no",
        "more": "more",
        "why": "reason",
        "then": "Then a scheduler goes on with it; none is running: hermes-cron serve",
        "error": "error: ",
        "queued": "queued  run {id}  {job}",
        "unserved": "No scheduler is running: it starts with `hermes-cron serve`.",
        "follow": "hermes-cron runs show {id}",
        "not_run": "Nothing was run.",
        "runs_by": "runs by", "tools": "tools", "left_out": "left out", "databases": "databases",
        "blocked": "blocked", "system": "system", "task": "task",
        "bytes": "bytes", "bytes_said": "{all} a call: {parts}",
    },
    "zh": {
        "verdict": "{verdict} {n}/{all} 项核查",
        "sent": "已发到 {targets}",
        "failed": "未能发到 {targets}",
        "unknown": "不知 {targets} 是否收到",
        "waiting": "尚未发到 {targets}",
        "silent": "静默：没有要报告的内容",
        "nobody": "未发送：{why}",
        "said_nothing": "没有要报告的内容",
        "only_failures": "只在失败时发送",
        "unchanged": "与上一份相同",
        "acked": "已有人处理",
        "tokens": "{n} token",
        "cost": "{usd} 美元",
        "cost_unknown": "费用未知",
        "again": "查看每一步：hermes-cron runs show {id}",
        "kept": "保留",
        "next": "重试",
        "next_none": "手动运行不重试",
        "next_schedule": "手动运行不重试；按计划的运行会再试 {n} 次",
        "next_once": "手动运行不重试；按计划的运行会再试 1 次",
        "look": "查看",
        "lost": "重发",
        "unsent": "没有调度器在运行；下一个启动的会发送：hermes-cron serve",
        "asks": "{id} 等待答复，{until} 前不答即为否：{tool} {arguments}",
        "yes": "同意",
        "no": "拒绝",
        "more": "详情",
        "why": "原因",
        "then": "答复后由调度器继续；现在没有调度器：hermes-cron serve",
        "error": "错误：",
        "queued": "已排队  运行 {id}  {job}",
        "unserved": "调度器没有运行：`hermes-cron serve` 启动后才会执行。",
        "follow": "hermes-cron runs show {id}",
        "not_run": "没有执行任何操作。",
        "runs_by": "执行", "tools": "工具", "left_out": "不提供", "databases": "数据库",
        "blocked": "已拦截", "system": "系统提示", "task": "任务",
        "bytes": "字节", "bytes_said": "每次调用 {all}：{parts}",
    },
}  # fmt: skip
_A_PERSON = 6
_LONGEST = 200
"""Characters of evidence and of a call's arguments on one line; `runs show` has all."""


def exit_code(row: Mapping[str, Any], around: Around, *, serving: bool) -> int:
    """0 for a run that ended ok, was not found wrong and whose messages arrived or are tried again by the scheduler
    that lives; 6 when it waits for a person; 1 for every other end."""
    if row["state"] != "ok":
        return _A_PERSON if row["state"] == "waiting_approval" else 1
    nobodys = {"failed", "unknown"} if serving else {"failed", "unknown", "queued"}
    lost = any(each.state in nobodys for each in around.deliveries)
    return 0 if row["verdict"] in (None, "verified") and not lost else 1


def as_json(row: Mapping[str, Any], text: str | None, around: Around) -> dict[str, object]:
    """The object of ``run --json`` and ``runs show --json``."""
    from hermes_cron.domain.check import load_results

    return {
        "run_id": row["id"],
        "job": row["job_name"],
        "state": row["state"],
        "reason": row["reason"],
        "error": row["error"],
        "verified": row["verdict"],
        "checks": [asdict(result) for result in load_results(row["check_results"])],
        "deliveries": [sent.as_json(each) for each in around.deliveries],
        "approvals": [_asked(question) for question in around.questions],
        "blocked": [{"place": each["place"], "class": each["kind"]} for each in around.security],
        "scheduled_at": row["scheduled_at"],
        "started_at": row["started_at"],
        "ended_at": row["ended_at"],
        "waits_until": None if row["ended_at"] else row["start_after"],
        "attempt": row["attempt"],
        "late": row["late"],
        "silent": row["silent"],
        "model": row["model"],
        "iterations": row["iterations"],
        "tool_calls": row["tool_calls"],
        "tool_errors": row["tool_errors"],
        "tokens": {"input": row["tokens_input"], "output": row["tokens_output"], "cached": row["tokens_cached"]},
        "cost_usd": row["cost_usd"],
        "output_path": row["output_path"],
        "text": None if text is None else text.rstrip("\n"),
    }


def _asked(question: Mapping[str, Any]) -> dict[str, object]:
    return {
        "id": f"a{question['number']}",
        "tool": question["tool"],
        "arguments": question["arguments"],
        "expires_at": question["expires_at"],
    }


def around_of(state: Cli, run_id: str) -> Around:
    """What belongs to the run beside its row, as it is now."""
    from hermes_cron.store import views

    with state.app.store.read() as conn:
        return views.around(conn, [run_id])[run_id]


def show(state: Cli, row: Mapping[str, Any]) -> int:
    """Print the report on stdout and the facts on stderr; the exit code."""
    text, around = state.app.runs.report(row), around_of(state, row["id"])
    serving = state.app.serving()
    code = exit_code(row, around, serving=serving)
    if state.json:
        state.emit_json(as_json(row, text, around))
        return code
    texts = _TEXTS[state.lang]
    if text and text.strip():
        state.out(text.rstrip("\n"))
    if row["state"] == "ok":
        state.note(_summary(row, around, state))
        for line in _doubts(row, around, texts):
            state.note(line)
        if any(each.state == "queued" for each in around.deliveries) and not serving:
            state.note(texts["unsent"])
        state.note(texts["again"].format(id=row["id"]))
    elif row["state"] == "waiting_approval":
        _ask(state, around, texts)
    elif row["ended_at"] is not None:
        _failed(state, row, texts)
    else:  # somebody else goes on with it, and the command said so
        state.note(texts["follow"].format(id=row["id"]))
    return code


def _ask(state: Cli, around: Around, texts: Mapping[str, str]) -> None:
    """The questions that the run stopped at, and how they are answered."""
    zone = ZoneInfo(state.settings.timezone)
    for question in around.questions:
        name = f"a{question['number']}"
        values = {
            "id": name,
            "until": when.whole(question["expires_at"], zone, state.lang),
            "tool": question["tool"],
            "arguments": output.cut(output.one_line(question["arguments"]), _LONGEST),
        }
        state.note(texts["asks"].format(**values))
        commands = [
            (texts["yes"], f"hermes-cron approve {name}"),
            (texts["no"], f'hermes-cron deny {name} "{texts["why"]}"'),
            (texts["more"], f"hermes-cron approvals show {name}"),
        ]
        state.note(output.facts(commands))
    if not state.app.serving():
        state.note(texts["then"])


def _failed(state: Cli, row: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    from hermes_cron.domain.remedy import look

    said = row["error"] or row["reason"] or row["state"]
    message = said if row["state"] == "failed" else f"{row['state']}: {said}"
    databases = json.loads(row["spec"]).get("databases", ())
    facts = [
        (texts["kept"], str(row["output_path"] or "")),
        (texts["next"], _next_try(row, texts)),
        (texts["look"], look(row["reason"], run_id=row["id"], databases=databases, error=row["error"])),
    ]
    shown = output.facts([(label, value) for label, value in facts if value])
    if state.lang == "zh":
        from hermes_cron.cli import problems_zh

        message = problems_zh.message(message)
    state.note(f"{texts['error']}{output.plain(message)}\n{shown}")


def _next_try(row: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    """A run by hand is not repeated; what its schedule would do after this failure. Nothing to say of a prompt."""
    if row["cause"] != "manual" or row["state"] in {"cancelled", "denied", "budget_exhausted", "queued"}:
        return ""
    from hermes_cron.domain.job import load_job
    from hermes_cron.domain.retry import wanted
    from hermes_cron.domain.run import RunState

    job = load_job(row["spec"])
    again = wanted(row["reason"], RunState(row["state"]), job.retries, passing=row["reason"] in _passing())
    if job.trigger is None or not job.retries.attempts or not again:
        return texts["next_none"]
    many = job.retries.attempts > 1
    return texts["next_schedule"].format(n=job.retries.attempts) if many else texts["next_once"]


def _passing() -> frozenset[str]:
    """Reasons of failures that may pass by themselves."""
    from hermes_cron.errors import ModelError

    kinds: list[type[ModelError]] = [ModelError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    return frozenset(kind.reason for kind in kinds if kind.passing)


def _summary(row: Mapping[str, Any], around: Around, state: Cli) -> str:
    """``ok, verified 2 of 2 checks, sent to ops-chat, 0 tokens, 2.9 s``: what is not known is said, not left out."""
    texts, comma = _TEXTS[state.lang], "，" if state.lang == "zh" else ", "
    tokens = row["tokens_input"] + row["tokens_output"]
    facts = [
        "ok",
        texts["silent"] if row["silent"] else "",
        _verdict(row, texts),
        *_messages(row, around, texts),
        texts["tokens"].format(n=f"{tokens:,}"),
        _cost(row, texts) if tokens else "",
        when.length(row["ended_at"] - row["started_at"], state.lang),
    ]
    return comma.join(fact for fact in facts if fact)


def _verdict(row: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    from hermes_cron.domain.check import load_results

    if row["verdict"] is None:
        return ""
    results = load_results(row["check_results"])
    same = sum(result.verdict == row["verdict"] for result in results)
    return texts["verdict"].format(verdict=row["verdict"], n=same, all=len(results))


def _messages(row: Mapping[str, Any], around: Around, texts: Mapping[str, str]) -> Iterator[str]:
    """By what became of them; the reason why nobody was told only where nobody was."""
    by_state: dict[str, list[str]] = {}
    for each in around.deliveries:
        by_state.setdefault("waiting" if each.state in {"queued", "held"} else each.state, []).append(each.target)
    for state in ("sent", "failed", "unknown", "waiting"):
        if state in by_state:
            yield texts[state].format(targets=", ".join(dict.fromkeys(by_state[state])))
    if set(by_state) == {"silent"} and not row["silent"]:
        why = str(around.deliveries[0].reason or "")
        yield texts["nobody"].format(why=texts.get(why, why))


def _cost(row: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    from hermes_cron.domain.money import dollars

    return texts["cost_unknown"] if row["cost_usd"] is None else texts["cost"].format(usd=dollars(row["cost_usd"]))


def _doubts(row: Mapping[str, Any], around: Around, texts: Mapping[str, str]) -> Iterator[str]:
    """Why a run that says ok is not believed, or not heard: a line each."""
    from hermes_cron.domain.check import load_results

    for result in load_results(row["check_results"]):
        if result.verdict != "verified":
            evidence = output.cut(output.one_line(f"{result.says}: {result.detail}"), _LONGEST)
            yield f"  {result.verdict}  {evidence}"
    for each in around.deliveries:
        if each.state in {"failed", "unknown"}:
            why = output.cut(output.one_line(each.error or ""), _LONGEST)
            yield f"  {each.target}  {why}  {texts['lost']}: hermes-cron outbox retry {each.id}"


def queued(state: Cli, run_id: str, job_name: str) -> None:
    """What ``--detach`` says."""
    serving = state.app.serving()
    if state.json:
        state.emit_json({"run_id": run_id, "job": job_name, "state": "queued", "serving": serving})
        return
    texts = _TEXTS[state.lang]
    state.out(texts["queued"].format(id=run_id, job=job_name))
    state.note(texts["follow"].format(id=run_id) if serving else texts["unserved"])


def show_preview(state: Cli, start: Start) -> None:
    """``--dry-run``: the first request, and nothing executed."""
    preview = state.app.runs.preview(start)
    if state.json:
        state.emit_json(preview)
        return
    from hermes_cron.cli.added import by_text, runs_by

    texts = _TEXTS[state.lang]
    rest = ("tools", "left_out", "databases", "blocked")
    pairs = [(texts["runs_by"], by_text(runs_by(state, start.job), state.lang))]
    pairs += [(texts[label], _shown(preview[label])) for label in rest if preview[label]]
    if sizes := preview["bytes"]:
        parts = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        pairs.append((texts["bytes"], texts["bytes_said"].format(all=f"{sum(sizes.values()):,}", parts=parts)))
    state.out(output.facts(pairs))
    for part in ("system", "task"):
        if preview[part]:
            state.out(f"\n--- {texts[part]}\n{preview[part]}")
    state.note("\n" + texts["not_run"])


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {why}" for name, why in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
