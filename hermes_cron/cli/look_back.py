"""A look back at a run in the process of the command: what a scheduler does at leisure where one lives.

It begins when the run's result is printed, says so on stderr, and changes neither the result nor the exit code.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli

_TEXTS = {
    "en": {
        "begin": "looking back at the run for what is worth keeping; Ctrl-C leaves that to the next scheduler",
        "some": "learned {n}: hermes-cron runs show {id}", "thing": "1 thing", "things": "{n} things",
        "nothing": "learned nothing",
        "ended": "the look back ended: {state}{why}",
        "left": "a scheduler goes on with it; none is running: hermes-cron serve",
    },
    "zh": {
        "begin": "正在回顾本次运行，留下值得记住的；按 Ctrl-C 则留给下一个调度器",
        "some": "学到 {n}：hermes-cron runs show {id}", "thing": "1 项", "things": "{n} 项",
        "nothing": "没有学到新内容",
        "ended": "回顾结束：{state}{why}",
        "left": "由调度器继续；现在没有调度器：hermes-cron serve",
    },
}  # fmt: skip
_LINE = 300


def here(state: Cli, run_id: str) -> None:
    """Look back at the run if that is due and no scheduler lives that will."""
    if state.app.serving() or not state.app.reviews.waiting(run_id):
        return
    texts = _TEXTS[state.lang]
    state.note(texts["begin"])
    rows, _ = carried_out(state, run_id)
    for row in rows:
        state.note(_told(row, texts))


def carried_out(state: Cli, run_id: str) -> tuple[Sequence[Mapping[str, Any]], bool]:
    """The rows of the run's looks back after those that were due, and whether Ctrl-C left one to the next scheduler:
    after its present step, or asked twice at once. What is told of what was learned is sent."""
    cancel = threading.Event()

    def stop(_number: int, _frame: object) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt  # asked twice: leave at once
        cancel.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        rows = state.app.reviews.here(run_id, cancel)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    state.app.messages.send_now(run_id)
    return rows, cancel.is_set()


def _told(row: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    if row["ended_at"] is None:
        return texts["left"]
    if row["state"] != "ok":
        why = output.cut(output.one_line(str(row["error"] or row["reason"] or "")), _LINE)
        return texts["ended"].format(state=row["state"], why=f", {why}" if why else "")
    if not row["changes"]:
        return texts["nothing"]
    many = texts["thing" if row["changes"] == 1 else "things"].format(n=row["changes"])
    return texts["some"].format(n=many, id=row["run_id"])
