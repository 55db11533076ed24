"""A command starts fast, because nothing is imported before it is needed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hermes_cron.cli.commands import COMMANDS
from hermes_cron.home import Home

HEAVY = (
    "rich", "pydantic", "sqlalchemy", "sqlmodel", "apscheduler", "openai", "httpx2", "ruamel", "jinja2", "sqlglot",
    "cryptography", "psycopg", "watchdog", "tomlkit", "rapidfuzz", "prometheus_client", "asyncio",
)  # fmt: skip


def _env(home: Home | None = None) -> dict[str, str]:
    """Byte code as an installed program has it; some machines switch it off for everything."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**env, "LANG": "C.UTF-8", **({"HERMES_CRON_HOME": str(home.root)} if home else {})}


def _loaded(code: str, home: Home | None = None) -> object:
    script = f"import sys, json\n{code}\nprint(json.dumps(seen), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], env=_env(home), capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    "argv", [[], ["--help"], ["--version"], ["list"], ["list", "--json"], ["config", "get"],
     ["config", "check"], ["secrets", "list"], ["db", "list"], ["model", "show"], ["explain", "every day 9am"],
     ["completion", "--help"]],
    ids=" ".join,
)  # fmt: skip
def test_hot_commands_import_nothing_heavy(home: Home, argv: list[str]) -> None:
    if "list" in argv:  # the first look at a home makes its store; every later one only reads
        _loaded(f"from hermes_cron.cli.main import run\nassert run({argv!r}) == 0\nseen = []", home)
    code = (
        f"from hermes_cron.cli.main import run\nassert run({argv!r}) == 0\n"
        f"seen = sorted(set({HEAVY!r}) & set(sys.modules))"
    )
    assert _loaded(code, home) == []


def test_no_commands_module_imports_anything_heavy() -> None:
    modules = sorted(
        {e.module for e in COMMANDS.values() if importlib.util.find_spec(f"hermes_cron.cli.{e.module}") is not None}
    )
    code = (
        f"import importlib\nseen = {{}}\nheavy = set({HEAVY!r})\nfor name in {modules!r}:\n"
        "    importlib.import_module(f'hermes_cron.cli.{name}')\n"
        "    new = sorted(heavy & set(sys.modules))\n    heavy -= set(new)\n    seen.update({name: new} if new else {})"
    )
    assert _loaded(code) == {}


def test_help_imports_no_command() -> None:
    code = (
        "from hermes_cron.cli.main import run\nassert run(['--help']) == 0\n"
        f"names = {sorted({entry.module for entry in COMMANDS.values()})!r}\n"
        "seen = [n for n in ('typer', *(f'hermes_cron.cli.{name}' for name in names)) if n in sys.modules]"
    )
    assert _loaded(code) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists(name: str) -> None:
    assert importlib.util.find_spec(f"hermes_cron.cli.{COMMANDS[name].module}") is not None


def _best(argv: list[str], tries: int = 7) -> float:
    took = []
    for _ in range(tries):
        begun = time.perf_counter()
        subprocess.run(argv, env=_env(), capture_output=True, check=True, cwd=Path(__file__).parents[3])
        took.append(time.perf_counter() - begun)
    return min(took)


def test_help_costs_at_most_15_starts_of_the_interpreter() -> None:
    """The best of seven: a busy machine slows both, and only the best is the program's own."""
    empty = _best([sys.executable, "-c", "pass"])
    assert _best([sys.executable, "-m", "hermes_cron", "--help"]) <= 15 * empty
