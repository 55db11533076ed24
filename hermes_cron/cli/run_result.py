"""How did a run end, for people and for scripts?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_cron.cli import output, when
from hermes_cron.cli.context import Cli
from hermes_cron.errors import RunFailed

if TYPE_CHECKING:
    from hermes_cron.store.runs import Start

_TEXTS = {
    "en": {
        "tokens": "{n} tokens",
        "again": "again with every step: hermes-cron runs show {id}",
        "kept": "kept",
        "look": "look",
        "silent": "silent: it had nothing to say",
        "queued": "queued  run {id}  {job}",
        "unserved": "No scheduler is running: it starts with `hermes-cron serve`.",
        "follow": "hermes-cron runs show {id}",
        "not_run": "Nothing was run.",
    },
    "zh": {
        "tokens": "{n} token",
        "again": "查看每一步：hermes-cron runs show {id}",
        "kept": "保留",
        "look": "查看",
        "silent": "静默：没有要报告的内容",
        "queued": "已排队  运行 {id}  {job}",
        "unserved": "调度器没有运行：`hermes-cron serve` 启动后才会执行。",
        "follow": "hermes-cron runs show {id}",
        "not_run": "没有执行任何操作。",
    },
}
_A_PERSON = 6


def exit_code(row: Mapping[str, Any]) -> int:
    """0 for a run that ended ok and was not found wrong, 6 when it waits for a person, 1 for every other end."""
    if row["state"] == "ok":
        return 0 if row["verdict"] in (None, "verified") else 1
    return _A_PERSON if row["state"] == "waiting_approval" else 1


def as_json(row: Mapping[str, Any], text: str | None) -> dict[str, object]:
    """The object of ``run --json`` and ``runs show --json``."""
    return {
        "run_id": row["id"],
        "job": row["job_name"],
        "state": row["state"],
        "reason": row["reason"],
        "error": row["error"],
        "verified": row["verdict"],
        "deliveries": [],
        "scheduled_at": row["scheduled_at"],
        "started_at": row["started_at"],
        "ended_at": row["ended_at"],
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


def show(state: Cli, row: Mapping[str, Any]) -> int:
    """Print the report on stdout and the facts on stderr; the exit code."""
    text = state.app.runs.report(row)
    if state.json:
        state.emit_json(as_json(row, text))
        return exit_code(row)
    texts = _TEXTS[state.lang]
    if text and text.strip():
        state.out(text.rstrip("\n"))
    if row["state"] == "ok":
        state.note(_summary(row, state))
        state.note(texts["again"].format(id=row["id"]))
        return exit_code(row)
    said = row["error"] or row["reason"] or row["state"]
    error = RunFailed(f"{row['state']}: {said}" if row["state"] != "failed" else said)
    kept = [(texts["kept"], str(row["output_path"]))] if row["output_path"] else []
    look = [(texts["look"], _where_to_look(row) or texts["follow"].format(id=row["id"]))]
    word = "错误" if state.lang == "zh" else "error"
    state.note(f"{word}: {output.plain(error.message)}\n{output.facts([*kept, *look])}")
    return exit_code(row)


def _where_to_look(row: Mapping[str, Any]) -> str | None:
    """A database that does not answer is looked at by itself."""
    databases = json.loads(row["spec"])["databases"] if row["reason"] == "database_unreachable" else ()
    return f"hermes-cron db test {databases[0]}" if databases else None


def _summary(row: Mapping[str, Any], state: Cli) -> str:
    texts = _TEXTS[state.lang]
    took = row["ended_at"] - row["started_at"]
    tokens = row["tokens_input"] + row["tokens_output"]
    facts = ["ok", texts["tokens"].format(n=f"{tokens:,}"), when.length(took)]
    if row["silent"]:
        facts.insert(1, texts["silent"])
    return ", ".join(facts)


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
    labels = ("runs_by", "tools", "left_out", "databases")
    state.out(output.facts([(label.replace("_", " "), _shown(preview[label])) for label in labels if preview[label]]))
    for part in ("system", "task"):
        if preview[part]:
            state.out(f"\n--- {part}\n{preview[part]}")
    state.note(_TEXTS[state.lang]["not_run"])


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {why}" for name, why in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
