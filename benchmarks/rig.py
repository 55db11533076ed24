"""What benchmarks share: a home with many jobs, processes timed as a whole, side by side."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hermes_cron.home import Home

PYTHON = sys.executable
HERMES = str(Path(sys.executable).with_name("hermes-cron"))
"""The console script: what a person starts."""


def environment(home: Home | None = None) -> dict[str, str]:
    """Byte code on, nobody's keys."""
    keep = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ}
    return {**keep, "TZ": "UTC", **({"HERMES_CRON_HOME": str(home.root)} if home else {})}


@contextmanager
def fresh_home(config: str = "") -> Iterator[Home]:
    """A home in a temporary folder on the disk that holds temporary files."""
    with tempfile.TemporaryDirectory(prefix="hermes-cron-bench-") as folder:
        home = Home(Path(folder) / "home")
        for made in (home.root, home.jobs, home.skills, home.memories, home.run, home.owners):
            made.mkdir()
        home.config.write_text(f'timezone = "UTC"\n{config}', encoding="utf-8")
        yield home


def write_jobs(home: Home, count: int, text: Callable[[int], str], *, prefix: str = "job") -> None:
    """``count`` job files."""
    for number in range(count):
        (home.jobs / f"{prefix}-{number:05}.md").write_text(text(number), encoding="utf-8")


def far_future(number: int) -> str:
    """A job that is not due while a benchmark runs."""
    return f'---\nschedule: "{number % 60} {number % 24} 1 1 *"\ntimezone: UTC\nscript: "true"\n---\n'


def cli(home: Home, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """The command line, to its end."""
    return subprocess.run([HERMES, *argv], env=environment(home), capture_output=True, text=True, check=check)


def seconds(argv: Sequence[str], env: Mapping[str, str]) -> float:
    """Wall time of one process."""
    began = time.perf_counter()
    subprocess.run(argv, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def side_by_side(
    commands: Mapping[str, Sequence[str]], env: Mapping[str, str], *, rounds: int = 15
) -> dict[str, list[float]]:
    """Each command once a round, in turn, so that a busy moment hits all of them; the first round is thrown away."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    for round_ in range(rounds + 1):
        for name, argv in commands.items():
            took = seconds(argv, env)
            if round_:
                found[name].append(took)
    return found


def ratios(values: Sequence[float], floor: Sequence[float]) -> list[float]:
    """Round by round."""
    return [value / base for value, base in zip(values, floor, strict=True)]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)
