"""Write what is made from the code: the pages of commands, settings, exit codes, events, metrics, and dashboards/.

``python docs/generate.py`` writes them; ``--check`` writes nothing and ends with 1 when one is out of date.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import click

from hermes_cron import config_keys, errors
from hermes_cron.cli import options
from hermes_cron.cli.commands import COMMANDS, NOUN_ALIASES, PURPOSES, VERB_ALIASES
from hermes_cron.cli.groups import load
from hermes_cron.domain import event
from hermes_cron.errors import HermesCronError
from hermes_cron.observe import dashboards, metrics, rules

DOCS = Path(__file__).parent
DASHBOARDS = DOCS.parent / "dashboards"
NOTE = "<!-- Made by docs/generate.py; do not edit. -->"

_TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def pages() -> dict[str, str]:
    """File name -> content."""
    return {
        "commands.md": commands_page(),
        "settings.md": settings_page(),
        "exit-codes.md": exit_codes_page(),
        "events.md": events_page(),
        "metrics.md": metrics_page(),
    }


def commands_page() -> str:
    """Every command with its arguments and options, by purpose."""
    lines = [NOTE, "", "# Commands", "", "Every command has these options, before or after the verb:", ""]
    lines += _table(("option", "meaning"), [(f"`{f'{name} {value}'.strip()}`", line)
                                            for name, value, line in options.HELP["en"]])  # fmt: skip
    aliases = ", ".join(f"`{alias}` for `{name}`" for alias, name in {**VERB_ALIASES, **NOUN_ALIASES}.items())
    lines += ["", f"Other tools' words work too: {aliases}.", ""]
    lines += ["Exit codes: [exit-codes.md](exit-codes.md)."]
    for purpose, (_, names) in PURPOSES.items():
        lines += ["", f"## {purpose}"]
        for name in names:
            if find_spec(f"hermes_cron.cli.{COMMANDS[name].module}") is None:
                continue  # the table is ahead of the code; a test of the command line says so
            command = load(name, COMMANDS[name], "en")
            lines += _command(command, f"hermes-cron {name}", level=3)
    return "\n".join(lines) + "\n"


def metrics_page() -> str:
    """One row a metric."""
    lines = [
        NOTE, "", "# Metrics", "",
        "A scheduler answers `GET /metrics` at `metrics.listen` (127.0.0.1:9464 unless config.toml says otherwise),",
        "`hermes-cron metrics` prints the same. Totals are rows of the store: commands that live for a moment count,",
        "a restart loses nothing, retention never makes one fall. Every series of a declared job or skill is there",
        f"from the beginning, at 0, and gone when it is removed. At most {metrics.MOST[metrics.Of.JOB]} jobs and",
        f"{metrics.MOST[metrics.Of.SKILL]} skills have series of their own; the rest counts as `{metrics.OTHER}`.", "",
    ]  # fmt: skip
    rows = []
    for metric in metrics.METRICS:
        labels = "; ".join(
            f"`{name}`" + ("" if isinstance(values, metrics.Of) else f" = {', '.join(values)}")
            for name, values in metric.labels.items()
        )
        buckets = f" Buckets: {' '.join(f'{bound:g}' for bound in metric.buckets)}." if metric.buckets else ""
        rows.append((f"`{metric.name}`", metric.type.value, labels, metric.says + buckets))
    return "\n".join([*lines, *_table(("metric", "type", "labels", "meaning"), rows)]) + "\n"


def settings_page() -> str:
    """One row a key."""
    *some, last = (f"`{setting.name}`" for setting in config_keys.SETTINGS if setting.at_start)
    at_start = f"{', '.join(some)} and {last}"
    lines = [
        NOTE, "", "# Settings", "",
        "`config.toml` in the home; a variable of the environment goes before the file. An unknown key, a wrong type",
        "or a value out of range is an error with its line (exit 78). `*` is a name of your own; a name with a dot in",
        'it is quoted: `[prices."gpt-5.2"]`. `hermes-cron config get` shows what is in force and where it comes from,',
        "`hermes-cron config set KEY VALUE` changes it and keeps comments. A running scheduler takes what changed for",
        f"its next run, but for {at_start}: those at its next start.", "",
    ]  # fmt: skip
    rows = []
    for setting in config_keys.SETTINGS:
        default = "" if setting.default is None else f"`{str(setting.default).lower()}`"
        env = f" Variable: `{setting.env}`." if setting.env else ""
        rows.append((f"`{setting.name}`", _range(setting), default, setting.says + env))
    lines += _table(("key", "type", "default", "meaning"), rows)
    lines += [
        "", "Variables without a key: `HERMES_CRON_HOME` (the home), `HERMES_CRON_KEY_FILE` and",
        "`CREDENTIALS_DIRECTORY` (where the vault's key lies), `NO_COLOR`, `LC_ALL`, `LC_MESSAGES`, `LANG`,",
        "`TZ`, `VISUAL` and `EDITOR`; for tests `HERMES_CRON_TESTING=1` and `HERMES_CRON_CLOCK_FILE`.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def events_page() -> str:
    """Every event with its facts."""
    lines = [
        NOTE, "", "# Events", "",
        "`logs/serve.log` has one JSON object a line: `at` (UTC), `level`, `event`, then the facts below. A line of a",
        "library has the event `Log` with `logger` and `message`. `hermes-cron logs` shows them, `logs --json` as",
        "data. The file is turned over at 5 MB; four older ones are kept.", "",
    ]  # fmt: skip
    rows = []
    for kind in get_args(event.Event):
        facts = [field.name for field in dataclasses.fields(kind) if field.name != "level"]
        level = next(field.default for field in dataclasses.fields(kind) if field.name == "level")
        text = " ".join((inspect.getdoc(kind) or "").split()).replace("``", "`")
        rows.append((f"`{kind.__name__}`", str(level), text, ", ".join(f"`{name}`" for name in facts)))
    lines += _table(("event", "level", "when", "facts"), rows)
    return "\n".join(lines) + "\n"


def exit_codes_page() -> str:
    """Exit codes, then every error a script can meet."""
    codes = {
        0: "it worked", 1: "it ran and failed, a check failed, or something was not delivered",
        2: "not understood: the command line, a phrase, a file", 3: "not found, or several fit",
        4: "refused by a guard", 5: "conflict: hand edits kept, already running, the name is taken, locked",
        6: "a person is needed", 78: "configuration", 130: "Ctrl-C",
    }  # fmt: skip
    lines = [NOTE, "", "# Exit codes", ""]
    lines += _table(("code", "meaning"), [(str(code), meaning) for code, meaning in codes.items()])
    lines += ["", "With `--json` an error is one object on stderr:", ""]
    lines += ['    {"error": {"code": "...", "message": "...", "hint": "...", ...}}', ""]
    lines += ["A traceback instead of `error: ...` is a bug of hermes-cron; please report it.", "", "## Errors", ""]
    rows = [(f"`{kind.code}`", str(kind.exit_code), _first_line(kind)) for kind in _errors()]
    lines += _table(("code in JSON", "exit", "when"), rows)
    return "\n".join(lines) + "\n"


def _command(command: click.Command, path: str, *, level: int) -> Iterator[str]:
    ctx = click.Context(command, info_name=path)
    options.restore_argument_help(command)
    if isinstance(command, click.Group):
        yield from ("", f"{'#' * level} {path}", "", _sentence(command))
        for verb, child in sorted(command.commands.items()):
            if not child.hidden:
                yield from _command(child, f"{path} {verb}", level=level + 1)
        return
    pieces = [piece for param in command.params for piece in param.get_usage_pieces(ctx) if not _hidden(param)]
    yield from ("", f"{'#' * level} {path}", "", _sentence(command), "")
    yield f"    {' '.join([path, '[OPTIONS]', *filter(None, pieces)])}"
    rows = [(f"`{record[0]}`", record[1]) for param in command.params if (record := param.get_help_record(ctx))]
    if rows:
        yield ""
        yield from _table(("argument or option", "meaning"), rows)


def _hidden(param: click.Parameter) -> bool:
    return bool(getattr(param, "hidden", False))


def _sentence(command: click.Command) -> str:
    text = " ".join((command.help or "").split())
    return text if text.endswith(".") else f"{text}."


def _errors() -> list[type[HermesCronError]]:
    found = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, HermesCronError)]
    return sorted((kind for kind in found if kind is not HermesCronError), key=lambda kind: (kind.exit_code, kind.code))


def _first_line(kind: type[HermesCronError]) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")


def _range(setting: config_keys.Setting) -> str:
    if setting.choices:
        return " or ".join(f"`{choice}`" for choice in setting.choices)
    low, high = setting.low, setting.high
    if low is not None and high is not None:
        return f"{_TYPES[setting.type]}, {low:.15g} to {high:.15g}"
    return _TYPES[setting.type] + (f", at least {low:.15g}" if low is not None else "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(' --- ' for _ in head)}|"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def main(argv: list[str]) -> int:
    made = {DOCS / name: text for name, text in pages().items()}
    made |= {DASHBOARDS / name: text for name, text in {**dashboards.files(), **rules.files()}.items()}
    stale = [path.relative_to(DOCS.parent) for path, text in made.items() if _read(path) != text]
    if "--check" in argv:
        for path in stale:
            print(f"{path} is out of date: make docs", file=sys.stderr)  # noqa: T201
        return 1 if stale else 0
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
