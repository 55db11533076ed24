"""Without the driver, PostgreSQL says how to get it; SQLite works all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.modules["psycopg"] = None
from hermes_cron.databases.connect import connect
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import ExtraMissing
try:
    connect(DatabaseConfig(name="prod", engine="postgresql", url="postgresql://db/x"), password=None)
except ExtraMissing as error:
    print(error.exit_code, error.message, error.hint, sep="|")
"""


def test_missing_driver_names_both_install_lines() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=30)
    code, message, hint = done.stdout.strip().split("|")
    assert code == "78"
    assert "psycopg" in message
    driver = "'psycopg[binary]>=3.3,<4'"
    assert f"{sys.executable} -m pip install {driver}" in hint
    assert f"uv pip install --python {sys.executable} {driver}" in hint
    assert driver.strip("'") in (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")


def test_importing_the_package_loads_no_driver_and_no_parser() -> None:
    program = (
        "import sys, hermes_cron.databases.connect, hermes_cron.databases.guard, hermes_cron.databases.registry;"
        "print(*{'psycopg', 'sqlglot', 'sqlite3'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == []
