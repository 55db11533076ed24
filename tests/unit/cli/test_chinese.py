"""Every line of help exists in Chinese."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from hermes_cron.cli import options, output
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


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [name for name, entry in COMMANDS.items() if entry.noun])
def test_no_sentence_is_cut_off_in_the_list_of_verbs(
    name: str, language: str, run_cli: Callable[..., Any], home: object
) -> None:
    del home
    lines = run_cli(name, "--help", "--lang", language).out.splitlines()
    assert [line for line in lines[1:] if line.endswith(("...", "…"))] == []
    assert all(output.width(line) <= 80 for line in lines[2:] if not line.startswith(("Everywhere", "通用选项")))
