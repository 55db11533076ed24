"""Which options does every command have, before and after the verb, and how do they get there?

They are injected into the click command that typer made, write into the ``Cli`` of the context and are never passed
to the command's function. A command that declares one of them itself keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click

from hermes_cron.cli.context import Cli

if TYPE_CHECKING:
    from hermes_cron.cli.commands import Language

HELP: dict[str, tuple[tuple[str, str, str], ...]] = {
    "en": (
        ("--home", "DIR", "The home (default $HERMES_CRON_HOME, then ~/.hermes-cron)"),
        ("--json", "", "One JSON object on stdout; errors as JSON on stderr"),
        ("-y, --yes", "", "Say yes to every question"),
        ("--no-input", "", "Never ask; fail and name the option instead"),
        ("-q, --quiet", "", "Only the result and errors"),
        ("--lang", "en|zh", "Language of what is printed"),
        ("--no-color", "", "No colours (as NO_COLOR)"),
        ("--version", "", "Print the version"),
        ("-h, --help", "", "Print help"),
    ),
    "zh": (
        ("--home", "DIR", "主目录（默认 $HERMES_CRON_HOME，其次 ~/.hermes-cron）"),
        ("--json", "", "标准输出为一个 JSON 对象，错误以 JSON 写到标准错误"),
        ("-y, --yes", "", "所有问题都回答“是”"),
        ("--no-input", "", "从不提问；缺少信息时报错并指出选项"),
        ("-q, --quiet", "", "只输出结果和错误"),
        ("--lang", "en|zh", "输出语言"),
        ("--no-color", "", "不用颜色（同 NO_COLOR）"),
        ("--version", "", "显示版本"),
        ("-h, --help", "", "显示帮助"),
    ),
}
"""For help pages: option, its value, its line."""

_HEADINGS = {"Options:": "选项：", "Arguments:": "参数：", "Commands:": "命令："}
_WORDS = {"[OPTIONS]": "[选项]", "[required]": "[必填]", "[default: ": "[默认：", "VERB ...": "动词 ..."}


def inject(command: click.Command, *, language: Language, chinese: Mapping[str, str]) -> None:
    """Add the common options and help to a command and, for a group, to everything below it.

    ``chinese`` maps a module's English help lines to Chinese ones (its ``HELP_ZH``); lines it has not stay English.
    """
    if hasattr(command, "rich_markup_mode"):
        command.rich_markup_mode = None  # rich would be imported for a page of plain text
    taken = {name for param in command.params for name in param.opts}
    command.params.extend(option for option in _options() if not taken & set(option.opts))
    command.add_help_option = False
    command.params.append(_help_option(language, chinese))
    if language == "zh":
        _translate(command, chinese)
    if isinstance(command, click.Group):
        for child in command.commands.values():
            inject(child, language=language, chinese=chinese)


def restore_argument_help(command: click.Command) -> None:
    """Give arguments their line of help back: click 8.5 has a ``help`` of its own and clears the one typer set."""
    arguments = [param for param in command.params if isinstance(param, click.Argument) and not param.help]
    if not arguments or command.callback is None:
        return
    from typer.utils import get_params_from_function

    declared = get_params_from_function(command.callback)
    for argument in arguments:
        info = declared.get(argument.name or "")
        argument.help = getattr(info.default, "help", None) if info else None


def help_page(ctx: click.Context, language: Language) -> str:
    """A command's help with one line for the options that every command has."""
    blocks = ctx.command.get_help(ctx).split("\n\n")
    # click 8.5 and typer 0.24 both list arguments; typer's list has the defaults
    page = "\n\n".join(block for block in blocks if not block.startswith("Positional arguments:"))
    if language == "zh":
        lines = page.split("\n")
        page = "\n".join(_HEADINGS.get(line, line) for line in lines)
        page = page.replace("Usage: ", "用法：", 1)
        for english, chinese in _WORDS.items():
            page = page.replace(english, chinese)
    if ctx.parent is None:
        return page.rstrip()  # the root's page has them in full
    common = "  ".join(f"{name} {value}".strip() for name, value, _ in HELP["en"] if name != "--version")
    return f"{page.rstrip()}\n\n{'通用选项' if language == 'zh' else 'Everywhere'}: {common}"


def _options() -> list[click.Option]:
    def flag(field: str) -> Callable[[click.Context, click.Parameter, bool], None]:
        def seen(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
            if value:
                setattr(ctx.find_object(Cli), field, True)

        return seen

    def text(field: str) -> Callable[[click.Context, click.Parameter, str | None], None]:
        def seen(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
            if value is not None:
                setattr(ctx.find_object(Cli), field, value)

        return seen

    def switch(*names: str, field: str) -> click.Option:
        return click.Option(
            [*names, f"common_{field}"], is_flag=True, expose_value=False, callback=flag(field), hidden=True
        )

    return [
        click.Option(["--home", "common_home"], expose_value=False, callback=text("home_option"), hidden=True),
        switch("--json", field="json"),
        switch("-y", "--yes", field="yes"),
        switch("--no-input", field="no_input"),
        switch("-q", "--quiet", field="quiet"),
        click.Option(
            ["--lang", "common_lang"], type=click.Choice(["en", "zh"]), expose_value=False,
            callback=text("lang_option"), hidden=True,
        ),
        switch("--no-color", field="no_color"),
    ]  # fmt: skip


def _help_option(language: Language, chinese: Mapping[str, str]) -> click.Option:
    def show(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            restore_argument_help(ctx.command)
            if language == "zh":
                _translate(ctx.command, chinese)
            click.echo(help_page(ctx, language))
            ctx.exit()

    return click.Option(
        ["-h", "--help", "common_help"], is_flag=True, is_eager=True, expose_value=False, callback=show, hidden=True
    )


def _translate(command: click.Command, chinese: Mapping[str, str]) -> None:
    def said(text: str | None) -> str | None:
        return chinese.get(text.strip(), text) if text else text

    command.help = said(command.help)
    command.short_help = said(command.short_help)
    command.epilog = said(command.epilog)
    for param in command.params:
        if hasattr(param, "help"):
            param.help = said(param.help)
