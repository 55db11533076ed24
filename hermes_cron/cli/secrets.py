"""``secrets set list remove``: values that are shown to nobody, not even to who set them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import Conflict, NotFound, SecretInPlainSight, Usage
from hermes_cron.settings import variable

if TYPE_CHECKING:
    from datetime import datetime

app = typer.Typer(help="Encrypted values, used by name: secret:NAME.", add_completion=False)

HELP_ZH = {
    "Encrypted values, used by name: secret:NAME.": "加密保存的值，按名引用：secret:NAME。",
    "Set or replace a secret; the value is asked for and not shown.": "设置或替换密钥；输入时不显示。",
    "Names, when each was set and where it is used; never values.": "名称、设置时间和使用处；从不显示值。",
    "Forget a secret.": "删除密钥。",
    "The secret's name.": "密钥名称。",
    "Read the value from standard input.": "从标准输入读取值。",
    "env:VARIABLE or file:PATH to read the value from.": "从 env:变量 或 file:路径 读取值。",
}

_TEXTS = {
    "en": {
        "ask": "Value of {name} (not shown)",
        "set": "{name} saved, encrypted in vault.json; use it as secret:{name}",
        "none": "No secrets.  hermes-cron secrets set NAME",
        "sure": "{name} is used in {places}. Remove it?",
        "removed": "{name} removed",
        "still": "still named in {places}",
    },
    "zh": {
        "ask": "{name} 的值（不显示）",
        "set": "{name} 已加密保存到 vault.json；引用方式：secret:{name}",
        "none": "没有密钥。  hermes-cron secrets set 名称",
        "sure": "{places} 正在使用 {name}。确定删除？",
        "removed": "{name} 已删除",
        "still": "仍被引用：{places}",
    },
}

_HEADERS = {"en": ("NAME", "SET", "USED IN"), "zh": ("名称", "设置时间", "使用处")}

_WAYS = """hermes-cron secrets set {name}   (asks)
... | hermes-cron secrets set {name} --stdin
hermes-cron secrets set {name} --from env:VARIABLE
hermes-cron secrets set {name} --from file:PATH"""


@app.command(
    "set",
    help="Set or replace a secret; the value is asked for and not shown.",
    context_settings={"allow_extra_args": True},  # a value that someone typed is refused in words, below
)
def set_secret(
    name: str = typer.Argument(..., help="The secret's name."),
    stdin: bool = typer.Option(False, "--stdin", help="Read the value from standard input."),
    source: str = typer.Option(None, "--from", help="env:VARIABLE or file:PATH to read the value from."),
) -> None:
    state = cli()
    if click.get_current_context().args:
        raise SecretInPlainSight(
            "a secret on the command line would stay in the shell's history and the process list; nothing was saved",
            details={"ways": _WAYS.format(name=output.one_line(name))},
        )
    if stdin and source:
        raise Usage("--stdin and --from exclude each other", hint=f"hermes-cron secrets set {name} --stdin")
    vault = state.app.vault
    text = _read(state, name, stdin=stdin, source=source)
    vault.set(name, text)
    if state.json:
        state.emit_json({"name": name, "reference": f"secret:{name}"})
    else:
        state.out(_TEXTS[state.lang]["set"].format(name=name))


@app.command("list", help="Names, when each was set and where it is used; never values.")
def list_secrets() -> None:
    state = cli()
    infos = state.app.vault.infos()
    used = uses(state)
    if state.json:
        rows_json = [
            {"name": info.name, "set_at": info.set_at.isoformat(), "used_in": used.get(info.name, [])} for info in infos
        ]
        state.emit_json({"secrets": rows_json})
        return
    if not infos:
        state.out(_TEXTS[state.lang]["none"])
        return
    zone = state.settings.timezone
    rows = [(info.name, _when(info.set_at, zone), ", ".join(used.get(info.name, []))) for info in infos]
    state.out(output.table(rows, _HEADERS[state.lang], max_columns=state.columns))


@app.command("remove", help="Forget a secret.")
def remove(name: str = typer.Argument(..., help="The secret's name.")) -> None:
    state = cli()
    vault = state.app.vault
    places = uses(state).get(name, [])
    texts = _TEXTS[state.lang]
    if name not in vault.names():
        raise NotFound(f'no secret "{output.one_line(name)}"', hint="hermes-cron secrets list")
    if places and not state.yes:
        shown = ", ".join(places)
        if not state.is_terminal:
            raise Conflict(
                f'secret "{name}" is in use; it was kept', hint=f"hermes-cron secrets remove {name} -y",
                details={"used_in": places},
            )  # fmt: skip
        if not state.confirm(texts["sure"].format(name=name, places=shown)):
            raise typer.Exit(1)
    vault.remove(name)
    if state.json:
        state.emit_json({"name": name, "removed": True, "used_in": places})
        return
    state.out(texts["removed"].format(name=name))
    if places:
        state.note(texts["still"].format(places=", ".join(places)))


def uses(state: Cli) -> dict[str, list[str]]:
    """Secret -> files of the home that name it, as ``secret:NAME``. Plain text search: a broken file counts too."""
    home = state.home
    found: dict[str, list[str]] = {}
    for path in [home.config, *sorted(home.jobs.glob("*.md"))]:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        place = str(path.relative_to(home.root))
        for name in sorted(set(re.findall(r"(?<![\w-])secret:([A-Za-z0-9](?:[\w.-]*[\w-])?)", text))):
            found.setdefault(name, []).append(place)
    return found


def _read(state: Cli, name: str, *, stdin: bool, source: str | None) -> str:
    if source:
        return _from(name, source)
    if stdin:
        return _without_newline(sys.stdin.buffer.read(), "standard input")
    question = _TEXTS[state.lang]["ask"].format(name=name)
    return state.ask(question, hidden=True, flag="--stdin, --from env:VARIABLE or --from file:PATH")


def _from(name: str, source: str) -> str:
    kind, _, place = source.partition(":")
    if kind == "env" and place:
        value = variable(place)
        if value is None:
            raise NotFound(f"the variable {place} is not set", hint=f"hermes-cron secrets set {name} --stdin")
        return value
    if kind == "file" and place:
        try:
            return _without_newline(Path(place).expanduser().read_bytes(), place)
        except OSError as error:
            raise NotFound(f"cannot read {place}: {error.strerror}", hint=f"ls -l {place}") from error
    raise Usage("--from is env:VARIABLE or file:PATH", hint=f"hermes-cron secrets set {name} --from env:VARIABLE")


def _without_newline(data: bytes, place: str) -> str:
    """The last line end is the editor's or echo's, not the secret's."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Usage(f"{place} is not UTF-8 text", hint="encode it, for instance as base64") from error
    return text.removesuffix("\n").removesuffix("\r")


def _when(instant: datetime, zone: str) -> str:
    from zoneinfo import ZoneInfo

    return f"{instant.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"
