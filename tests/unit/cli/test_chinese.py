"""Every line of help exists in Chinese."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator

import click
import pytest

from hermes_cron.cli import options
from hermes_cron.cli.commands import COMMANDS
from hermes_cron.cli.groups import load


def _lines(command: click.Command) -> Iterator[str]:
    options.restore_argument_help(command)
    yield command.help or ""
    for param in command.params:
        if not getattr(param, "hidden", False):
            yield getattr(param, "help", None) or ""
    if isinstance(command, click.Group):
        for child in command.commands.values():
            if not child.hidden:
                yield from _lines(child)


@pytest.mark.parametrize(
    "name", [name for name, e in COMMANDS.items() if importlib.util.find_spec(f"hermes_cron.cli.{e.module}")]
)
def test_every_line_of_help_has_its_chinese(name: str) -> None:
    entry = COMMANDS[name]
    chinese = getattr(importlib.import_module(f"hermes_cron.cli.{entry.module}"), "HELP_ZH", {})
    missing = {
        line for text in _lines(load(name, entry, "en")) if (line := text.strip()) not in {"", entry.en, *chinese}
    }
    assert missing == set()
