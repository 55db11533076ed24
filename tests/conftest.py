"""What every test may use: a fresh home and the command line as a person starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes_cron.home import Home


@dataclass(frozen=True)
class Ran:
    rc: int
    out: str
    err: str


RunCli = Callable[..., Ran]

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "SYSTEMROOT")


def clean_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment without keys, homes and languages of whoever runs the tests."""
    env = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
    fixed = {"LANG": "C.UTF-8", "NO_COLOR": "1", "TZ": "UTC", "HERMES_CRON_METRICS_LISTEN": "off"}
    return {**env, **fixed, **(extra or {})}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    for folder in (made.root, made.jobs, made.skills, made.memories, made.run, made.owners):
        folder.mkdir(parents=True, exist_ok=True)
    made.config.write_text('timezone = "UTC"\n', encoding="utf-8")
    return made


@pytest.fixture
def run_cli(home: Home) -> RunCli:
    def run(
        *argv: str,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        at: Home | None = None,
        timeout: float = 60,
    ) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "hermes_cron", *argv],
            env=clean_env({"HERMES_CRON_HOME": str((at or home).root), **(env or {})}),
            input=stdin, capture_output=True, text=True, encoding="utf-8", timeout=timeout, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
