"""Which commands are there, in which module does each live, and what is its line of help?

A static table, so that ``--help`` imports no command. The order is the order of the help page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class Entry:
    """``noun``: a group of verbs, even if it has only one today. ``module`` is below ``hermes_cron.cli``."""

    module: str
    en: str
    zh: str
    noun: bool = False

    def line(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


PURPOSES: dict[str, tuple[str, tuple[str, ...]]] = {
    "jobs": (
        "任务",
        (
            "add", "list", "show", "edit", "run", "pause", "resume", "remove", "next", "history", "explain",
            "check",
        ),
    ),
    "runs": ("运行", ("runs", "sessions", "approvals", "approve", "deny", "incidents", "skills", "memory", "curator")),
    "history": ("历史", ("snapshots", "undo", "log", "blame", "diff")),
    "data": ("数据", ("db", "secrets", "targets", "outbox")),
    "state": ("状态", ("backup", "upgrade")),
    "operation": (
        "运维",
        (
            "init", "serve", "service", "status", "doctor", "usage", "metrics", "dashboards",
            "logs", "model", "tools", "config", "scan", "dev",
            "completion",
        ),
    ),
}  # fmt: skip
"""Purpose -> its Chinese name and its commands."""

FIRST = ("init", "add", "run")
"""The first three commands of a new user."""

COMMANDS: dict[str, Entry] = {
    "add": Entry("add", 'Add a job: add "every day 9am: inspect prod db"', '添加任务：add "每天早上9点：巡检 prod"'),
    "list": Entry("list", "Jobs, when they run next, how they went", "任务、下次运行时间和上次结果"),
    "show": Entry("show", "One job with everything known about it", "一个任务的全部信息"),
    "edit": Entry("edit", "Change a job, by options or in an editor", "修改任务（用选项或编辑器）"),
    "run": Entry("run", "Run a job now, or a prompt once", "立即运行任务，或运行一次提示词"),
    "pause": Entry("pause", "Stop starting a job", "暂停任务"),
    "resume": Entry("resume", "Start a paused or held job again", "恢复暂停或被挂起的任务"),
    "remove": Entry("remove", "Remove a job; its history stays", "删除任务，保留历史"),
    "next": Entry("next", "The next instants of jobs", "任务接下来的运行时间"),
    "history": Entry("history", "Every due instant and what became of it", "每个应运行时刻及其结果"),
    "explain": Entry("explain", "What a schedule means, with its next times", "解释一个时间表并列出接下来的时间"),
    "check": Entry("check", "Validate job files", "校验任务文件"),
    "runs": Entry("runs", "List, show, trace, steer and cancel runs", "列出、查看、追踪、引导和取消运行", noun=True),
    "sessions": Entry(
        "sessions", "What was said in runs: search, show, export", "运行中说过的话：搜索、查看、导出", noun=True
    ),
    "approvals": Entry("approvals", "Questions of runs that wait for a person", "等待人回答的运行", noun=True),
    "approve": Entry("approve", "Yes: the run does it, or it is learned", "同意：运行执行它，或学习它"),
    "deny": Entry("deny", "No: the run goes on without it, or nothing is learned", "拒绝：运行跳过它，或不学习"),
    "incidents": Entry("incidents", "Failures that are not solved yet", "尚未解决的故障", noun=True),
    "skills": Entry(
        "skills",
        "List, show, lint and test skills; their versions",
        "列出、查看、校验和测试技能；查看其版本",
        noun=True,
    ),
    "memory": Entry("memory", "Facts that later runs know", "以后的运行会知道的事实", noun=True),
    "curator": Entry(
        "curator", "Skills kept healthy: stale, archived, merged", "保持技能健康：闲置、归档、合并", noun=True
    ),
    "snapshots": Entry(
        "snapshots", "States of jobs, skills, memory and settings", "任务、技能、记忆与设置的各个状态", noun=True
    ),
    "undo": Entry("undo", "Take back a change, or all that a run changed", "撤销一次改动，或某次运行的全部改动"),
    "log": Entry("log", "Versions of files, jobs, skills and the memory", "文件、任务、技能和记忆的各个版本"),
    "blame": Entry("blame", "Each line of a file: who, when, which run, why", "文件的每一行：谁、何时、哪次运行、为何"),
    "diff": Entry("diff", "The home as it is now against its snapshots", "主目录现状与快照的差异"),
    "db": Entry("db", "Databases that jobs may read", "任务可读取的数据库", noun=True),
    "targets": Entry("targets", "Where reports may be sent", "报告可以发送到的目标", noun=True),
    "outbox": Entry("outbox", "Messages: sent, waiting, failed", "消息：已发、待发、失败", noun=True),
    "secrets": Entry("secrets", "Encrypted values that jobs use by name", "加密保存、按名引用的密钥", noun=True),
    "backup": Entry("backup", "The whole home in one file", "整个主目录存为一个文件", noun=True),
    "upgrade": Entry("upgrade", "Bring the home to this version", "升级主目录到此版本"),
    "init": Entry("init", "Make a home", "建立主目录"),
    "serve": Entry("serve", "The scheduler: start jobs when they are due", "调度器：到点启动任务"),
    "service": Entry("service", "The scheduler as a service of systemd", "把调度器作为 systemd 服务", noun=True),
    "status": Entry("status", "Is all well, and what needs a person", "是否一切正常，什么需要人处理"),
    "doctor": Entry("doctor", "Is the home sound, and what mends it", "主目录是否完好，如何修复"),
    "usage": Entry("usage", "What runs used: tokens and money", "各次运行的用量与费用"),
    "metrics": Entry("metrics", "What a Prometheus scrapes, printed", "打印 Prometheus 抓取到的指标"),
    "dashboards": Entry(
        "dashboards", "Grafana dashboards and Prometheus rules", "Grafana 仪表盘与 Prometheus 规则", noun=True
    ),
    "logs": Entry("logs", "The scheduler's log lines", "调度器日志"),
    "model": Entry("model", "Show, list, set and test the model", "查看、列出、设置和测试模型", noun=True),
    "tools": Entry("tools", "Tools that runs may be given", "可供运行使用的工具", noun=True),
    "config": Entry("config", "Check, get and set settings", "检查、读取和修改设置", noun=True),
    "scan": Entry("scan", "Would a text be let in where an agent reads it?", "一段文字能否进入智能体会读到的地方？"),
    "dev": Entry("dev", "For developers: a stub model server", "开发用：模型替身服务", noun=True),
    "completion": Entry("completion", "Shell completion scripts", "命令行补全脚本", noun=True),
}

VERB_ALIASES: dict[str, str] = {
    "create": "add",
    "ls": "list",
    "rm": "remove",
    "delete": "remove",
    "enable": "resume",
    "disable": "pause",
}
"""Other tools' words for ours, at the root and inside nouns. A real command of that name comes first."""

NOUN_ALIASES: dict[str, str] = {
    "incident": "incidents",
    "skill": "skills",
    "memories": "memory",
    "session": "sessions",
    "snapshot": "snapshots",
    "secret": "secrets",
    "tool": "tools",
    "target": "targets",
    "databases": "db",
}
"""Singular words for nouns in the plural, and the other way."""


def canonical(name: str) -> str:
    """The command an alias stands for; any other word as it is."""
    if name in COMMANDS:
        return name
    return NOUN_ALIASES.get(name) or VERB_ALIASES.get(name) or name
