"""Which options say what a job file should hold, and which keys do they change?

``add`` and ``edit`` share them, so one spelling serves both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.errors import Usage

if TYPE_CHECKING:
    from hermes_cron.jobs.save import Plain

HELP_ZH = {
    "The time zone, an IANA name.": "时区（IANA 名称）。",
    "A skill to use (repeatable).": "使用的技能（可重复）。",
    "A database it may read (repeatable).": "可读取的数据库（可重复）。",
    "A target that gets the report (repeatable).": "接收报告的目标（可重复）。",
    "The model, as its provider spells it.": "模型名（按服务商的写法）。",
    "Shell text or a path: the job itself, no model.": "脚本或路径：任务本身，不用模型。",
    "One line that says what it is for.": "一行说明。",
    "A label (repeatable).": "标签（可重复）。",
    "Still running when due again: skip, queue, cancel-running, allow.": (
        "到点时仍在运行：skip、queue、cancel-running、allow。"
    ),
    "Missed instants of 24 h: latest, all, none.": "24 小时内错过的时刻：latest、all、none。",
    "How late still counts as on time: 5m, 2h.": "迟到多久仍算准时：5m、2h。",
    "A random delay up to: 30s, 5m.": "随机延迟上限：30s、5m。",
    "Nothing is due before: 2026-12-01T09:00.": "此刻之前不触发：2026-12-01T09:00。",
    "Nothing is due after: 2026-12-31T09:00.": "此刻之后不触发：2026-12-31T09:00。",
    "Stop after this many runs.": "运行这么多次后停止。",
    "The folder it works in.": "工作目录。",
    "A tool or set it may use (repeatable).": "可用的工具或工具集（可重复）。",
    "A plain variable, NAME=VALUE (repeatable).": "普通环境变量 NAME=VALUE（可重复）。",
    "A default for --set, NAME=VALUE (repeatable).": "--set 的默认值 NAME=VALUE（可重复）。",
    "Time limit of the script: 20s, 5m.": "脚本时限：20s、5m。",
    "Minutes a run may take.": "一次运行最多几分钟。",
    "Model calls a run may make.": "一次运行最多几次模型调用。",
    "A skill's playbook drives the run: auto, only, never.": "由技能的 playbook 执行：auto、only、never。",
    "How braces in the prompt are read: plain, jinja.": "提示词中花括号的读法：plain、jinja。",
}

Tz = Annotated[str | None, typer.Option("--tz", help="The time zone, an IANA name.")]
Skill = Annotated[list[str] | None, typer.Option("--skill", help="A skill to use (repeatable).")]
Db = Annotated[list[str] | None, typer.Option("--db", help="A database it may read (repeatable).")]
Deliver = Annotated[list[str] | None, typer.Option("--deliver", help="A target that gets the report (repeatable).")]
Model = Annotated[str | None, typer.Option("--model", help="The model, as its provider spells it.")]
Script = Annotated[str | None, typer.Option("--script", help="Shell text or a path: the job itself, no model.")]
Description = Annotated[str | None, typer.Option("--description", help="One line that says what it is for.")]
Tag = Annotated[list[str] | None, typer.Option("--tag", help="A label (repeatable).")]
Overlap = Annotated[
    str | None, typer.Option("--overlap", help="Still running when due again: skip, queue, cancel-running, allow.")
]
CatchUp = Annotated[str | None, typer.Option("--catch-up", help="Missed instants of 24 h: latest, all, none.")]
Grace = Annotated[str | None, typer.Option("--grace", help="How late still counts as on time: 5m, 2h.")]
Jitter = Annotated[str | None, typer.Option("--jitter", help="A random delay up to: 30s, 5m.")]
Start = Annotated[str | None, typer.Option("--start", help="Nothing is due before: 2026-12-01T09:00.")]
Until = Annotated[str | None, typer.Option("--until", help="Nothing is due after: 2026-12-31T09:00.")]
MaxRuns = Annotated[int | None, typer.Option("--max-runs", help="Stop after this many runs.")]
Workdir = Annotated[str | None, typer.Option("--workdir", help="The folder it works in.")]
Tool = Annotated[list[str] | None, typer.Option("--tool", help="A tool or set it may use (repeatable).")]
Env = Annotated[list[str] | None, typer.Option("--env", help="A plain variable, NAME=VALUE (repeatable).")]
Var = Annotated[list[str] | None, typer.Option("--var", help="A default for --set, NAME=VALUE (repeatable).")]
Timeout = Annotated[str | None, typer.Option("--timeout", help="Time limit of the script: 20s, 5m.")]
Minutes = Annotated[float | None, typer.Option("--minutes", help="Minutes a run may take.")]
Iterations = Annotated[int | None, typer.Option("--iterations", help="Model calls a run may make.")]
Playbook = Annotated[
    str | None, typer.Option("--playbook", help="A skill's playbook drives the run: auto, only, never.")
]
Template = Annotated[str | None, typer.Option("--template", help="How braces in the prompt are read: plain, jinja.")]

_KEYS = {
    "tz": "timezone", "skill": "skills", "db": "databases", "tag": "tags", "tool": "tools", "var": "vars",
    "deliver": "deliver",
}  # fmt: skip
_SAME = (
    "model", "script", "description", "overlap", "catch_up", "grace", "jitter", "start", "until", "max_runs",
    "workdir", "timeout", "playbook", "template",
)  # fmt: skip


def changes(options: Mapping[str, object], limits: Mapping[str, Plain] | None = None) -> dict[str, Plain]:
    """The keys that the given options set, from a command's parameters by name; others are left out.

    An empty value (``--model ""``) stands for None: the key goes away. ``limits`` are the file's own, kept where only
    one of them changes.
    """
    said: dict[str, Plain] = {}
    for option in (*_SAME, "tz"):
        value = options.get(option)
        if value is not None:
            said[_KEYS.get(option, option)] = _plain(value)
    for option in ("skill", "db", "tag", "tool", "deliver"):
        values = options.get(option)
        if isinstance(values, list) and values:
            said[_KEYS[option]] = [word for value in values for word in _words(str(value))] or None
    for option in ("env", "var"):
        values = options.get(option)
        if isinstance(values, list) and values:
            said[_KEYS.get(option, option)] = dict(_pairs(option, values)) or None
    most = {name: options.get(name) for name in ("minutes", "iterations") if options.get(name) is not None}
    if most:
        said["limits"] = {**(limits or {}), **{name: _number(value) for name, value in most.items()}}
    return said


def _plain(value: object) -> Plain:
    if isinstance(value, str):
        return value.strip() or None
    return value if isinstance(value, int | float) else None


def _number(value: object) -> Plain:
    """``--minutes 30`` is written 30, not 30.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else _plain(value)


def _words(value: str) -> list[str]:
    return [word for word in value.replace(",", " ").split() if word]


def _pairs(option: str, values: Iterable[object]) -> Iterable[tuple[str, str]]:
    for value in map(str, values):
        if not value:
            continue
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise Usage(f'--{option} "{value}" is not NAME=VALUE', hint=f"--{option} NAME=VALUE")
        yield name, text
