"""``doctor``: is the home sound, and which command mends what is not? Exit 0, 6 (warnings), 1 (something fails)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import ConfigError, SecretInPlainSight

if TYPE_CHECKING:
    from hermes_cron.doctor.finding import Finding, Patient

app = typer.Typer(help="Is the home sound, and what mends it?", add_completion=False)

HELP_ZH = {"Is the home sound, and what mends it?": "主目录是否完好，问题如何修复？"}

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "home": "home {home}, {mode}, {size}",
        "home_open": "others may look into {home} ({mode})",
        "no_folder": "{path} is not there",
        "not_writable": "{path} cannot be written: {why}",
        "writable": "the home can be written",
        "disk": "disk: {free} free ({percent} %)",
        "disk_low": "disk: only {free} free ({percent} %)",
        "settings": "config.toml is valid, zone {zone}",
        "recall": "the second memory ({provider}) answers nothing: its engine is not installed",
        "no_secrets": "no secrets are kept",
        "private": "vault and key are for their owner alone",
        "secret_open": "others can read {path} ({mode})",
        "vault": "secrets: {count}, every value can be opened",
        "secret_missing": '{key} names the secret "{name}", which is not kept',
        "schema": "store: whole, schema {found}",
        "no_store": "store: none yet, the first command makes it",
        "store_damaged": "state.db is damaged: {why}. A backup has the runs; without it they are lost, jobs are not",
        "store_unread": "state.db cannot be read: {why}; what is in it is as it was",
        "schema_newer": "state.db has schema {found}, this hermes-cron knows up to {newest}",
        "schema_older": "state.db has schema {found}, this hermes-cron has {newest}",
        "upgrade_unfinished": "an upgrade from schema {found} to {newest} did not end",
        "owners": "schedulers: {count}, no run without an owner",
        "owners_none": "no run without an owner",
        "orphans": "{count} runs of dead processes wait for a scheduler",
        "orphans_one": "1 run of a dead process waits for a scheduler",
        "lives": "scheduler {pid} goes round, {ago} s ago",
        "hangs": "scheduler {pid} has not gone round for {span}: it hangs; its runs go on elsewhere",
        "timer": "a timer makes a pass a minute",
        "passes": "a pass was made within ten minutes",
        "nobody_serves": "no scheduler runs: nothing starts by itself",
        "nothing_to_serve": "no job starts by itself",
        "no_service": "not a service of this host",
        "service": "service of the {manager}: {active}, written by this version",
        "service_stale": "{unit} is not what this version writes",
        "service_down": "the service of the {manager} is {active}",
        "service_not_at_start": "the service of the {manager} does not begin with the host",
        "service_ends": "{manager} service ends at log-out",
        "metrics": "metrics on {address}: {count} series",
        "metrics_off": "metrics are off",
        "metrics_free": "metrics: {address} is free",
        "metrics_silent": "the metrics on {address} are not told: {why}",
        "metrics_not_served": "the scheduler tells no metrics: {address} is taken, or not of this host",
        "metrics_taken": "metrics could not be told on {address}: {why}",
        "clock": "clock in step, zone {zone}",
        "clock_jumped": "clock in step, zone {zone}; it moved {count} times within a day, as after sleep",
        "clock_set_back": "the clock was set back by {by} at {at}: instants may have come twice to other programs",
        "zones": "zone rules {version} ({place})",
        "zones_unknown": "zone rules of unknown version ({place})",
        "zones_old": "zone rules are of {version} ({place}): some zone has changed its clocks since",
        "clock_behind": "the clock is {behind} behind what was written last ({latest}): nothing is due until then",
        "jobs": "job files: {count}, all can be read",
        "more_broken": "{count} more job files are broken",
        "due": "nothing is overdue, every job that was due has run",
        "overdue": "{job} was due at {at} and has not begun",
        "more_overdue": "{count} more jobs are overdue",
        "never_ran": "{job} has never run: {count} instants missed since {at}",
        "more_never_ran": "{count} more jobs have never run",
        "lost": "{count} jobs present in the snapshot {id} are missing",
        "lost_one": "the job file {name} of the snapshot {id} is missing",
        "no_history": "there is no snapshot yet",
        "history": "history verified: {count} snapshots",
        "history_one": "history verified: 1 snapshot",
        "history_large": "history: the newest snapshot {id} is whole (hermes-cron snapshots verify reads all)",
        "history_fault": "history: {what}",
        "history_holes": "history: {count} files of the newest snapshot {id} are not in it",
        "more_faults": "history: {count} more faults",
        "left_out": "in no snapshot: {path}: {why}",
        "more_left_out": "in no snapshot: {count} more",
        "all_kept": "snapshots hold all that is theirs",
        "delivery_failed": "not sent: {job} to {target}: {why}",
        "delivery_unknown": "nobody knows whether it arrived: {job} to {target}: {why}",
        "more_deliveries": "{count} more messages did not arrive",
        "deliveries": "no message is lost",
        "no_model": "no model: playbooks only",
        "model": "model {name} at {host} answers ({seconds} s; nothing was paid for)",
        "model_unknown": "{host} has no model {name} in its list",
        "model_key": "{host} does not take the key: {why}",
        "model_silent": "the model's server {host} does not answer: {why}",
        "no_databases": "no databases",
        "database": "the database answers, its account can only read",
        "databases": "{count} databases answer, their accounts can only read",
        "database_allowed": "{name}: account {account} {power}; you allowed it",
        "database_writes": "{name}: account {account} {power}, it could write",
        "database_fault": "{name}: {why}",
        "error": "{error}",
        "well": "nothing needs you",
        "one": "1 of {all} needs you",
        "many": "{count} of {all} need you",
    },
    "zh": {
        "home": "主目录 {home}，{mode}，{size}",
        "home_open": "其他用户可以查看 {home}（{mode}）",
        "no_folder": "缺少 {path}",
        "not_writable": "{path} 无法写入：{why}",
        "writable": "主目录可写",
        "disk": "磁盘：剩余 {free}（{percent}%）",
        "disk_low": "磁盘：仅剩 {free}（{percent}%）",
        "settings": "config.toml 有效，时区 {zone}",
        "recall": "第二记忆（{provider}）不会作答：引擎未安装",
        "no_secrets": "没有保存密钥",
        "private": "密钥库与其钥匙仅所有者可读",
        "secret_open": "其他用户可读 {path}（{mode}）",
        "vault": "密钥 {count} 个，均可打开",
        "secret_missing": "{key} 引用的密钥“{name}”未保存",
        "schema": "数据库完好，schema {found}",
        "no_store": "还没有数据库，首个命令会建立",
        "store_damaged": "state.db 已损坏：{why}。备份中有运行记录；没有备份则记录丢失，任务不丢",
        "store_unread": "state.db 无法读取：{why}；其中内容未变",
        "schema_newer": "state.db 为 schema {found}，当前版本只认到 {newest}",
        "schema_older": "state.db 为 schema {found}，当前版本为 {newest}",
        "upgrade_unfinished": "从 schema {found} 到 {newest} 的升级没有完成",
        "owners": "调度器 {count} 个，没有无主的运行",
        "owners_none": "没有无主的运行",
        "orphans": "{count} 次运行的进程已死，等待调度器接手",
        "orphans_one": "1 次运行的进程已死，等待调度器接手",
        "lives": "调度器 {pid} 运转正常，{ago} 秒前",
        "hangs": "调度器 {pid} 已有 {span} 没有转动：卡住了；它的运行会由别处接手",
        "timer": "由定时器每分钟执行一遍",
        "passes": "十分钟内执行过一遍",
        "nobody_serves": "没有调度器在运行：任务不会自动启动",
        "nothing_to_serve": "没有会自动启动的任务",
        "no_service": "未作为本机服务安装",
        "service": "{manager} 服务：{active}，由此版本生成",
        "service_stale": "{unit} 与此版本生成的不同",
        "service_down": "{manager} 服务当前为 {active}",
        "service_not_at_start": "{manager} 服务不随主机启动",
        "service_ends": "{manager} 服务会在注销时停止",
        "metrics": "指标在 {address}：{count} 条序列",
        "metrics_off": "指标已关闭",
        "metrics_free": "指标：{address} 可用",
        "metrics_silent": "{address} 上的指标没有应答：{why}",
        "metrics_not_served": "调度器没有提供指标：{address} 已被占用，或不属于本机",
        "metrics_taken": "{address} 上无法提供指标：{why}",
        "clock": "时钟正常，时区 {zone}",
        "clock_jumped": "时钟正常，时区 {zone}；一天内跳动 {count} 次，例如休眠之后",
        "clock_set_back": "时钟于 {at} 被拨回 {by}：对其他程序来说有的时刻可能来了两次",
        "zones": "时区规则 {version}（{place}）",
        "zones_unknown": "时区规则版本未知（{place}）",
        "zones_old": "时区规则还是 {version}（{place}）：此后已有时区改过时间",
        "clock_behind": "时钟比最后的记录（{latest}）慢 {behind}：追上之前不会有任务到点",
        "jobs": "任务文件 {count} 个，均可读取",
        "more_broken": "另有 {count} 个任务文件有误",
        "due": "没有逾期的任务，到过点的都运行过",
        "overdue": "{job} 应于 {at} 运行，至今没有开始",
        "more_overdue": "另有 {count} 个任务逾期",
        "never_ran": "{job} 从未运行过：自 {at} 起错过 {count} 次",
        "more_never_ran": "另有 {count} 个任务从未运行过",
        "lost": "快照 {id} 中有 {count} 个任务现已不在",
        "lost_one": "快照 {id} 中的任务文件 {name} 现已不在",
        "no_history": "还没有快照",
        "history": "历史已核实：{count} 个快照",
        "history_one": "历史已核实：1 个快照",
        "history_large": "历史：最新快照 {id} 完好（hermes-cron snapshots verify 读取全部）",
        "history_fault": "历史：{what}",
        "history_holes": "历史：最新快照 {id} 缺少 {count} 个文件",
        "more_faults": "历史：另有 {count} 处问题",
        "left_out": "不在快照中：{path}：{why}",
        "more_left_out": "不在快照中：另有 {count} 项",
        "all_kept": "应保存的都在快照中",
        "delivery_failed": "未送达：{job} 到 {target}：{why}",
        "delivery_unknown": "是否送达不明：{job} 到 {target}：{why}",
        "more_deliveries": "另有 {count} 条消息未送达",
        "deliveries": "没有丢失的消息",
        "no_model": "没有模型：只用 playbook",
        "model": "模型 {name}（{host}）有应答（{seconds} 秒，没有花钱）",
        "model_unknown": "{host} 的列表中没有模型 {name}",
        "model_key": "{host} 不接受密钥：{why}",
        "model_silent": "模型服务 {host} 没有应答：{why}",
        "no_databases": "没有数据库",
        "database": "数据库有应答，账号只能读",
        "databases": "{count} 个数据库有应答，账号都只能读",
        "database_allowed": "{name}：账号 {account} {power}；已允许",
        "database_writes": "{name}：账号 {account} {power}，可以写入",
        "database_fault": "{name}：{why}",
        "error": "{error}",
        "well": "没有需要处理的事",
        "one": "{all} 项中有 1 项需要处理",
        "many": "{all} 项中有 {count} 项需要处理",
    },
}

_EXIT = {"ok": 0, "WARN": 6, "FAIL": 1}
_COLOURS = {"WARN": "yellow", "FAIL": "red"}
_LONGEST = 70
"""Of a fact that has its command beside it; a longer one has it below."""


@app.command("doctor", help="Is the home sound, and what mends it?")
def doctor() -> int:
    from hermes_cron.doctor.examine import examine

    state = cli()
    found = list(examine(_patient(state)))
    wrong = [finding for _, finding in found if finding.level != "ok"]
    worst = "FAIL" if any(finding.level == "FAIL" for finding in wrong) else "WARN" if wrong else "ok"
    if state.json:
        state.emit_json({
            "state": worst,
            "findings": [
                {"check": check, "level": finding.level, "fact": _fact(state, finding, "en"),
                 "command": finding.command}
                for check, finding in found
            ],
        })  # fmt: skip
        return _EXIT[worst]
    for line in _lines(state, [finding for _, finding in found]):
        state.out(line)
    texts = _TEXTS[state.lang]
    form = "well" if not wrong else "one" if len(wrong) == 1 else "many"
    state.out(texts[form].format(count=len(wrong), all=len(found)))
    return _EXIT[worst]


def _patient(state: Cli) -> Patient:
    """A home whose settings cannot be read is looked at with the defaults."""
    from hermes_cron.doctor.finding import Patient
    from hermes_cron.settings import Settings
    from hermes_cron.wiring import App

    home = state.home
    try:
        settings = state.settings
    except (ConfigError, SecretInPlainSight):
        plain = App(home=home, settings=Settings(), clock=state.clock, language=state.lang)
        click.get_current_context().call_on_close(plain.close)
        return Patient(home=home, env=state.environment, clock=state.clock, settings=None, app=plain)
    return Patient(home=home, env=state.environment, clock=state.clock, settings=settings, app=state.app)


def _lines(state: Cli, findings: Sequence[Finding]) -> list[str]:
    facts = [_fact(state, finding, state.lang) for finding in findings]
    beside = max(
        (output.width(fact) for fact, finding in zip(facts, findings, strict=True)
         if finding.command and output.width(fact) <= _LONGEST),
        default=0,
    )  # fmt: skip
    lines = []
    for fact, finding in zip(facts, findings, strict=True):
        level = output.pad(str(finding.level), 4)
        if state.colour and finding.level in _COLOURS:
            level = output.paint(level, _COLOURS[finding.level])
        if not finding.command:
            lines.append(f"{level}  {fact}")
        elif _fits(state, fact, finding.command, beside):
            lines.append(f"{level}  {output.pad(fact, beside)}  {output.one_line(finding.command)}")
        else:
            lines += [f"{level}  {fact}", f"      {output.one_line(finding.command)}"]
    return lines


def _fits(state: Cli, fact: str, command: str, beside: int) -> bool:
    """A command is never cut: it is to be copied."""
    whole = 8 + beside + output.width(command)
    return output.width(fact) <= beside and (state.columns is None or whole <= state.columns)


def _fact(state: Cli, finding: Finding, lang: str) -> str:
    """Errors and answers of others are data: one line, without values of the vault where it can be opened."""
    return output.one_line(_TEXTS[lang][finding.fact].format(**finding.said))
