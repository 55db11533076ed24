"""``completion show SHELL``: the script that teaches a shell our words."""

from __future__ import annotations

from enum import StrEnum

import typer

from hermes_cron.cli.context import cli

app = typer.Typer(help="Shell completion scripts.", add_completion=False)

HELP_ZH = {
    "Shell completion scripts.": "命令行补全脚本。",
    "Print a shell's completion script.": "输出某个 shell 的补全脚本。",
    "The shell.": "shell 名称。",
}

_INSTALL = {
    "bash": 'eval "$(hermes-cron completion show bash)"   in ~/.bashrc',
    "zsh": 'eval "$(hermes-cron completion show zsh)"   in ~/.zshrc',
    "fish": "hermes-cron completion show fish > ~/.config/fish/completions/hermes-cron.fish",
}


class Shell(StrEnum):
    """What click can complete in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command("show", help="Print a shell's completion script.")
def show(shell: Shell = typer.Argument(..., help="The shell.")) -> None:
    from click.shell_completion import get_completion_class

    from hermes_cron.cli.groups import Root
    from hermes_cron.settings import COMPLETION_VARIABLE

    state = cli()
    kind = get_completion_class(shell.value)
    if kind is None:
        raise LookupError(shell)
    script = kind(Root("en"), {}, "hermes-cron", COMPLETION_VARIABLE).source()
    if state.json:
        state.emit_json({"shell": shell.value, "script": script, "install": _INSTALL[shell.value]})
        return
    state.out(script)
    state.note(f"# {_INSTALL[shell.value]}")
