"""How does a word on the command line become a command, with the module imported only then?"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from hermes_cron.cli import options, output
from hermes_cron.cli.commands import COMMANDS, FIRST, NOUN_ALIASES, PURPOSES, VERB_ALIASES, Entry, canonical
from hermes_cron.errors import Usage

if TYPE_CHECKING:
    from hermes_cron.cli.commands import Language

_TEXTS = {
    "en": {
        "usage": "Usage: hermes-cron [OPTIONS] COMMAND ...",
        "what": "Agent jobs that may be left alone.",
        "first": "First: ",
        "options": "options, with every command",
        "more": "hermes-cron COMMAND --help tells more; hermes-cron --help has a line for each.",
    },
    "zh": {
        "usage": "用法：hermes-cron [选项] 命令 ...",
        "what": "可以放心让它自己跑的智能体任务。",
        "first": "从这里开始：",
        "options": "每个命令都有的选项",
        "more": "hermes-cron 命令 --help 看细节；hermes-cron --help 每个命令一行说明。",
    },
}


class Root(click.Group):
    """The table of commands as a click group. Nothing is imported before a command is invoked."""

    def __init__(self, language: Language) -> None:
        super().__init__("hermes-cron", invoke_without_command=True, callback=self._bare, add_help_option=False)
        self.language: Language = language
        options.inject(self, language=language, chinese={})
        self.params.append(_version_option())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = canonical(cmd_name)
        return load(name, COMMANDS[name], self.language) if name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word, *rest = args
        command = self.get_command(ctx, word)
        if command is None:
            raise _unknown(word, [*COMMANDS, *NOUN_ALIASES, *VERB_ALIASES], "hermes-cron")
        return command.name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Names come from the table: completing the first word must not import every command."""
        item = click.shell_completion.CompletionItem
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [item(n, help=e.line(self.language)) for n, e in COMMANDS.items() if n.startswith(incomplete)]

    def get_help(self, ctx: click.Context) -> str:
        """Every command with its line, by purpose."""
        text = _TEXTS[self.language]
        blocks = [f"{text['usage']}\n\n{text['what']}", _first(self.language)]
        for purpose, (chinese, names) in PURPOSES.items():
            lines = output.facts([(name, COMMANDS[name].line(self.language)) for name in names])
            blocks.append(f"{chinese if self.language == 'zh' else purpose}\n{lines}")
        common = [(f"{name} {value}".strip(), line) for name, value, line in options.HELP[self.language]]
        blocks.append(f"{text['options']}\n{output.facts(common)}")
        return "\n\n".join(blocks)

    def short_help_page(self) -> str:
        """What ``hermes-cron`` alone prints: names only, by purpose, and where to begin."""
        text = _TEXTS[self.language]
        names = [(chinese if self.language == "zh" else purpose, " ".join(names))
                 for purpose, (chinese, names) in PURPOSES.items()]  # fmt: skip
        return "\n\n".join(
            [f"{text['usage']}\n{text['what']}", _first(self.language), output.facts(names), text["more"]]
        )

    def _bare(self) -> None:
        if click.get_current_context().invoked_subcommand is None:
            click.echo(self.short_help_page())


class Noun(click.Group):
    """A group of verbs that knows other tools' words for them and names the nearest verb to a wrong one."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click's, with every verb's sentence whole: what does not fit goes on in the next line."""
        verbs = [(name, command.help or "") for name, command in self.commands.items() if not command.hidden]
        if verbs:
            with formatter.section("Commands"):  # the heading is put into Chinese with the others (``options``)
                formatter.write_dl([(name, text.split("\n\n")[0]) for name, text in sorted(verbs)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = self.commands.get(cmd_name)
        if found is None and (name := self._alias(cmd_name)):
            found = self.commands[name]
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word, *rest = args
        command = self.get_command(ctx, word)
        if command is None:
            raise _unknown(word, list(self.commands), ctx.command_path)
        return command.name, command, rest

    def _alias(self, word: str) -> str | None:
        """Also the other way: ``add`` where the noun's own verb is ``create``."""
        both = {**{ours: theirs for theirs, ours in VERB_ALIASES.items()}, **VERB_ALIASES}
        name = both.get(word)
        return name if name in self.commands else None


def load(name: str, entry: Entry, language: Language) -> click.Command:
    """Import a command's module and make its click command, with the common options in it.

    The module has ``app = typer.Typer(...)``, and ``HELP_ZH`` (English help line -> Chinese) if it wants to.
    """
    from typer.main import get_group

    module = importlib.import_module(f"hermes_cron.cli.{entry.module}")
    group = get_group(module.app)
    chinese: Mapping[str, str] = getattr(module, "HELP_ZH", {})
    command = _noun(name, group) if entry.noun else _verb(name, group.commands)
    command.help = command.help or entry.en
    options.inject(command, language=language, chinese={**chinese, entry.en: entry.zh})
    return command


def _noun(name: str, group: click.Group) -> Noun:
    return Noun(
        name, commands=group.commands, params=group.params, callback=group.callback, help=group.help,
        no_args_is_help=False, invoke_without_command=False, subcommand_metavar="VERB ...", add_help_option=False,
    )  # fmt: skip


def _verb(name: str, commands: Mapping[str, click.Command]) -> click.Command:
    """A module with one command, or several of which one has the verb's name."""
    if name in commands:
        command = commands[name]
    elif len(commands) == 1:
        (command,) = commands.values()
    else:
        raise LookupError(f"the module of {name!r} has commands {sorted(commands)}, none of that name")
    command.name = name
    return command


def _version_option() -> click.Option:
    def show(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            from hermes_cron import __version__

            click.echo(f"hermes-cron {__version__}")
            ctx.exit()

    return click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=show, hidden=True)


def _first(language: Language) -> str:
    return _TEXTS[language]["first"] + "  ".join(f"hermes-cron {name}" for name in FIRST)


def _unknown(word: str, known: list[str], path: str) -> Usage:
    import difflib

    near = [canonical(name) for name in difflib.get_close_matches(word, known, n=3, cutoff=0.6)]
    if any(mark in word for mark in (": ", "：", " ")):
        hint = f'{path} add "{word}"' if path == "hermes-cron" else f"{path} --help"
    elif near:
        hint = " or ".join(f"{path} {name}" for name in dict.fromkeys(near))
    else:
        hint = f"{path} --help"
    return Usage(f'no command "{output.one_line(word)}"', hint=hint)
