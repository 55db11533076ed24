"""What a script job's text means, and how its end is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_cron.domain.command import CommandResult
from hermes_cron.domain.run import RunState
from hermes_cron.runner.script import command_of, outcome_of


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo hi", "echo hi"),
        ("bin/plain.sh", ("/bin/sh", "HOME/bin/plain.sh")),
        ("bin/run.py", ("HOME/bin/run.py",)),
        ("bin/none.sh", "bin/none.sh"),
        ("../outside.sh", "../outside.sh"),
        ("bin/run.py --now", "bin/run.py --now"),
        ("echo a\necho b\n", "echo a\necho b\n"),
    ],
)
def test_a_path_inside_the_home_is_a_program_and_all_else_is_shell_text(
    tmp_path: Path, script: str, expected: object
) -> None:
    root = tmp_path / "home"
    (root / "bin").mkdir(parents=True)
    (root / "bin/plain.sh").write_text("echo plain")
    (root / "bin/run.py").write_text("#!/usr/bin/env python3\n")
    (root / "bin/run.py").chmod(0o755)
    (tmp_path / "outside.sh").write_text("echo outside")
    shown = command_of(script, root)
    if isinstance(shown, tuple):
        shown = tuple(part.replace(str(root.resolve()), "HOME") for part in shown)
    assert shown == expected


def result(**changes: object) -> CommandResult:
    given: dict[str, object] = {
        "exit_code": 0, "stdout": "", "stderr": "", "truncated": None, "timed_out": False, "cancelled": False,
        "elapsed_ms": 1,
    }  # fmt: skip
    return CommandResult(**{**given, **changes})  # type: ignore[arg-type]


def test_a_failure_shows_the_end_of_stderr() -> None:
    told = "\n".join(f"line {number}" for number in range(100))
    outcome = outcome_of(result(exit_code=2, stdout="half", stderr=told), timeout_s=60)
    assert (outcome.state, outcome.reason, outcome.error) == (RunState.FAILED, "exit_code", "exit code 2: line 99")
    assert outcome.text.splitlines()[:2] == ["half", "stderr, its end:"]
    assert len(outcome.text.splitlines()) == 22


def test_output_is_the_report_and_no_output_is_silence() -> None:
    assert outcome_of(result(stdout="report\n"), timeout_s=60).text == "report\n"
    assert outcome_of(result(stdout=" \n"), timeout_s=60).silent
    assert not outcome_of(result(stdout="x"), timeout_s=60).silent


def test_a_cancel_goes_before_a_time_out() -> None:
    assert outcome_of(result(cancelled=True, exit_code=143), timeout_s=60).state is RunState.CANCELLED
    timed_out = outcome_of(result(timed_out=True, exit_code=143), timeout_s=60)
    assert (timed_out.state, timed_out.error) == (RunState.TIMEOUT, "no end within 60 s")
