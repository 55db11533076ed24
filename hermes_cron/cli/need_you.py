"""How does one thing that needs a person look, and what is typed next?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.cli import output, when
from hermes_cron.cli.context import Cli

if TYPE_CHECKING:
    from hermes_cron.store.overview import Need

_KINDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "approval": "{ref} approval",
        "run": "{state}",
        "checks": "{state}",
        "incident": "{ref} incident",
        "delivery": "not sent",
        "unknown": "unknown",
        "held": "held",
        "broken": "broken file",
        "missed": "missed",
        "lost": "jobs lost",
        "history": "history",
        "memory": "memory",
        "security": "blocked text",
    },
    "zh": {
        "approval": "{ref} 待批准",
        "run": "{state}",
        "checks": "{state}",
        "incident": "{ref} 故障",
        "delivery": "未送达",
        "unknown": "送达不明",
        "held": "挂起",
        "broken": "文件有误",
        "missed": "错过",
        "lost": "任务丢失",
        "history": "历史",
        "memory": "记忆",
        "security": "已拦截",
    },
}
_ABOUT: Mapping[str, Mapping[str, str]] = {
    "en": {
        "approval": "{job}: {text}, {left} left",
        "overdue": "{job}: {text}, silence becomes a no now",
        "delivery": "{job} to {target}: {text}",
        "missed": "{job}: due {at}, and it has no other time",
        "broken": "{text}",
        "lost": "{text} jobs present in the snapshot of {at} are missing",
        "history": "{text}",
        "memory": "{text}; runs go on without it",
        "security": "{text}",
        "other": "{job}: {text}",
    },
    "zh": {
        "approval": "{job}：{text}，剩 {left}",
        "overdue": "{job}：{text}，现在起按否处理",
        "delivery": "{job} 到 {target}：{text}",
        "missed": "{job}：应于 {at}，此后再无时刻",
        "broken": "{text}",
        "lost": "{at} 的快照中有 {text} 个任务现已不在",
        "history": "{text}",
        "memory": "{text}；运行不带它继续",
        "security": "{text}",
        "other": "{job}：{text}",
    },
}
_COMMANDS: Mapping[str, str] = {
    "approval": "hermes-cron approve {ref}",
    "run": "hermes-cron runs show {run}",
    "checks": "hermes-cron runs show {run}",
    "incident": "hermes-cron incidents ack {ref}",
    "delivery": "hermes-cron outbox retry {ref}",
    "held": "hermes-cron resume {job}",
    "broken": "hermes-cron edit {job}",
    "missed": "hermes-cron run {job}",
    "lost": "{ref}",
    "history": "hermes-cron doctor",
    "memory": "ls -ld {ref}",
    "security": "{ref}",
}
_LONGEST = 300
"""Of what stands between the job and the command. On a terminal it gives way to the command (``output.table``)."""


def row(need: Need, state: Cli, zone: ZoneInfo) -> tuple[str, str, str]:
    """The kind, what it is about, the command."""
    kinds, about = _KINDS[state.lang], _ABOUT[state.lang]
    text = output.one_line(need.text)
    now = state.clock.now()
    left = timedelta(0) if need.at is None else need.at - now
    said = {
        "job": need.job,
        "text": output.cut(text, _LONGEST) or str(need.state or ""),
        "ref": need.ref,
        "target": need.target,
        "state": need.state,
        "left": when.length(left, state.lang),
        "at": "" if need.at is None else when.whole(need.at, zone, state.lang),
    }
    lost = need.kind == "delivery" and need.state == "unknown"
    kind = kinds["unknown" if lost else need.kind].format(**said)
    form = "overdue" if _overdue(need, now) else need.kind if need.kind in about else "other"
    return kind, about[form].format(**said), command(need, now)


def command(need: Need, now: datetime) -> str:
    """What to type next. Too late for an answer, what is left is a scheduler that says so to the run."""
    if _overdue(need, now):
        return "hermes-cron serve"
    return _COMMANDS[need.kind].format(job=need.job, run=need.run_id, ref=need.ref)


def _overdue(need: Need, now: datetime) -> bool:
    return need.kind == "approval" and need.at is not None and need.at <= now
