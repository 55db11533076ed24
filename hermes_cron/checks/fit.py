"""How is a text compared with an expression or schema that may never come to an end? In a process that is ended."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hermes_cron.checks import child
from hermes_cron.checks.bench import Bench, NotCheckable
from hermes_cron.domain.command import Command

LIMIT_S = 5.0


def misfit(bench: Bench, text: str, **rule: Any) -> str | None:
    """Why ``text`` does not fit ``matches=EXPRESSION`` or ``schema=MAPPING``, None when it does."""
    result = bench.run_command(
        Command(
            command=(sys.executable, "-I", str(Path(child.__file__))),
            cwd=Path("/"),
            env={},
            timeout_s=bench.seconds(LIMIT_S),
            stdin=json.dumps({"text": text, "seconds": LIMIT_S + 2, **rule}).encode(),
        ),
        cancel=bench.cancel,
    )
    if result.timed_out:
        raise NotCheckable(f"the comparison did not end within {LIMIT_S:g} s: simplify the expression")
    if not result.ok:
        last = next(iter(reversed(result.stderr.splitlines())), "")
        raise NotCheckable(f"the comparison did not run (exit code {result.exit_code}): {last}")
    said: str | None = json.loads(result.stdout)["misfit"]
    return said


def quoted(expression: str) -> str:
    """As it is shown in a sentence."""
    return f'"{expression}"'
