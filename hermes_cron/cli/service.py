"""``service render install uninstall status``: the scheduler as a service of the host or of this user."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import ConfigError, Usage

if TYPE_CHECKING:
    from hermes_cron.service.host import Standing, Step
    from hermes_cron.service.units import Plan

app = typer.Typer(help="The scheduler as a service of systemd.", add_completion=False, no_args_is_help=True)

HELP_ZH = {
    "The scheduler as a service of systemd.": "把调度器作为 systemd 服务。",
    "Print the units.": "打印单元文件。",
    "Write the units, enable and start them.": "写入单元文件，启用并启动。",
    "Stop the service and remove its units; the home stays.": "停止服务并删除单元文件；主目录保留。",
    "Is it installed, enabled, running?": "是否已安装、启用、运行？",
    "For this user (default but for root).": "为当前用户（root 以外的默认值）。",
    "For the host, under an account of its own (default for root).": "为整台主机，使用专用账号（root 的默认值）。",
    "A pass a minute instead of a process that stays.": "每分钟执行一遍，而不是常驻进程。",
    "Seconds that running jobs get when it is stopped.": "停止时给运行中任务的秒数。",
    "A file with the vault's master key, which systemd hands over.": "保险库主密钥文件，由 systemd 传入。",
    "Print what would be done.": "只打印将要做的事。",
}

_TEXTS = {
    "en": {
        "would": "would do", "ask": "Do this?", "installed": "installed {unit}; hermes-cron status says how it goes",
        "gone": "removed; the home {home} is as it was",
        "linger": "It ends when you log out, unless: loginctl enable-linger",
        "account": "Jobs are changed in its name: sudo -u hermes-cron hermes-cron --home {home} add ...",
        "none": "not installed; hermes-cron service install",
        "stale": "not what this version writes; hermes-cron service install",
        "as_written": "as this version writes it",
        "manager": "manager", "unit": "unit", "enabled": "at start", "active": "now",
    },
    "zh": {
        "would": "将执行", "ask": "执行？", "installed": "已安装 {unit}；用 hermes-cron status 查看状态",
        "gone": "已移除；主目录 {home} 未变",
        "linger": "注销后服务会停止，除非执行：loginctl enable-linger",
        "account": "以它的名义修改任务：sudo -u hermes-cron hermes-cron --home {home} add ...",
        "none": "未安装；hermes-cron service install",
        "stale": "与此版本生成的不同；hermes-cron service install",
        "as_written": "与此版本生成的一致",
        "manager": "管理器", "unit": "单元", "enabled": "开机", "active": "当前",
    },
}  # fmt: skip

_UserOption = Annotated[bool, typer.Option("--user", help="For this user (default but for root).")]
_SystemOption = Annotated[
    bool, typer.Option("--system", help="For the host, under an account of its own (default for root).")
]
_TimerOption = Annotated[bool, typer.Option("--timer", help="A pass a minute instead of a process that stays.")]
_DrainOption = Annotated[int, typer.Option(min=0, max=3600, help="Seconds that running jobs get when it is stopped.")]
_KeyOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A file with the vault's master key, which systemd hands over."),
]
_DRAIN_S = 90


@app.command("render", help="Print the units.")
def render(
    *, user: _UserOption = False, system: _SystemOption = False, timer: _TimerOption = False,
    drain: _DrainOption = _DRAIN_S, key: _KeyOption = None,
) -> None:  # fmt: skip
    from hermes_cron.service import units

    state = cli()
    made = units.render(_plan(state, _manager(user=user, system=system), timer=timer, drain=drain, key=key))
    if state.json:
        state.emit_json({"units": made})
        return
    state.out("\n".join(f"# {name}\n{text}" for name, text in made.items()).rstrip("\n"))


@app.command("install", help="Write the units, enable and start them.")
def install(
    *, user: _UserOption = False, system: _SystemOption = False, timer: _TimerOption = False,
    drain: _DrainOption = _DRAIN_S, key: _KeyOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done.")] = False,
) -> None:  # fmt: skip
    from hermes_cron.service import host, units

    state, texts = cli(), _TEXTS[cli().lang]
    plan = _plan(state, _manager(user=user, system=system), timer=timer, drain=drain, key=key)
    _refuse_no_home(plan)
    _refuse_unseen(plan)
    steps = host.installing(plan)
    if dry_run:
        if state.json:
            state.emit_json({"installed": False, "units": units.render(plan), "steps": [str(step) for step in steps]})
            return
        state.out("\n".join(f"# {plan.folder / name}\n{text}" for name, text in units.render(plan).items()).rstrip())
        state.out("\n".join([f"\n{texts['would']}", *(f"  {step}" for step in steps)]))
        return
    _carry_out(state, plan, steps)
    if state.json:
        state.emit_json({"installed": True, "units": sorted(units.render(plan)), "folder": str(plan.folder)})
        return
    state.out(texts["installed"].format(unit=plan.folder / plan.starts))
    state.note(texts["linger" if plan.manager is units.Manager.USER else "account"].format(home=plan.home))


@app.command("uninstall", help="Stop the service and remove its units; the home stays.")
def uninstall(*, user: _UserOption = False, system: _SystemOption = False) -> None:
    from hermes_cron.service import host

    state, texts = cli(), _TEXTS[cli().lang]
    plan = _plan(state, _manager(user=user, system=system))
    steps = host.uninstalling(plan.manager, plan.folder)
    _carry_out(state, plan, steps)
    if state.json:
        state.emit_json({"installed": False, "home": str(plan.home)})
        return
    state.out(texts["gone"].format(home=plan.home))


@app.command("status", help="Is it installed, enabled, running?")
def status() -> None:
    from hermes_cron.service import host

    state, texts = cli(), _TEXTS[cli().lang]
    found = list(host.standings([_as_installed(state, manager) for manager in ("user", "system")]))
    if state.json:
        state.emit_json({"services": [_as_json(each) for each in found]})
    elif not found:
        state.out(texts["none"])
    for each in found if not state.json else ():
        unit = f"{each.unit} ({texts['as_written' if each.current else 'stale']})"
        lines = [(texts["manager"], each.manager.value), (texts["unit"], unit), (texts["enabled"], each.enabled)]
        state.out(output.facts([*lines, (texts["active"], each.active)]))
    raise typer.Exit(0 if any(each.active == "active" for each in found) else 1)


def _carry_out(state: Cli, plan: Plan, steps: Sequence[Step]) -> None:
    """Once a person has seen the steps and said yes."""
    from hermes_cron.service import host

    host.refuse_wrong_user(plan.manager)
    state.note("\n".join(f"  {step}" for step in steps))
    if not state.confirm(_TEXTS[state.lang]["ask"]):
        raise typer.Exit(1)
    host.carry_out(steps)


def _as_json(each: Standing) -> dict[str, object]:
    return {
        "manager": each.manager.value, "unit": str(each.unit), "enabled": each.enabled, "active": each.active,
        "current": each.current,
    }  # fmt: skip


def _manager(*, user: bool, system: bool) -> Literal["user", "system"]:
    if user and system:
        raise Usage("--user and --system are two services", hint="name one")
    if user or system:
        return "user" if user else "system"
    return "system" if os.geteuid() == 0 else "user"


def _plan(
    state: Cli, manager: Literal["user", "system"], *, timer: bool = False, drain: int = _DRAIN_S,
    key: Path | None = None,
) -> Plan:  # fmt: skip
    from hermes_cron.service import host, units

    named = state.home_option or state.environment.home
    home = state.home_path.root if named or manager == "user" else units.STATE
    return units.Plan(
        manager=units.Manager(manager),
        program=host.program(),
        home=home.absolute(),
        timer=timer,
        drain_s=drain,
        key=None if key is None else key.absolute(),
    )


def _as_installed(state: Cli, manager: Literal["user", "system"]) -> Plan:
    """With the options that its own unit says it was written with: other differences count."""
    from hermes_cron.service import units

    plan = _plan(state, manager)
    try:
        text = (plan.folder / f"{units.NAME}.service").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return plan
    return units.as_written(plan, text)


def _refuse_no_home(plan: Plan) -> None:
    from hermes_cron.home import Home

    if not Home(plan.home).is_home():
        raise ConfigError(f"no home at {plan.home}", hint=f"hermes-cron --home {plan.home} init")


def _refuse_unseen(plan: Plan) -> None:
    """Before the home is given to another account: the service would end at once, or find another home."""
    from hermes_cron.service import units

    path = units.unseen(plan)
    if path is not None:
        raise Usage(
            f"the system's service does not see {path}: its unit hides the folders of people and /tmp",
            hint="hermes-cron service install --user, or the program and the home elsewhere, such as /opt and /var/lib",
        )
