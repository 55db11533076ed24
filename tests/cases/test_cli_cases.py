"""Faults other schedulers had in their commands: exit codes, escapes, a one-shot that forgot itself."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home

CASES: dict[str, Any] = {
    case["id"]: case
    for line in (Path(__file__).parent / "data" / "cli.jsonl").read_text(encoding="utf-8").splitlines()
    for case in [json.loads(line)]
}
C277 = list(zip(CASES["C277"]["input"]["commands"], CASES["C277"]["expected"]["exit"], strict=True))
MORE_OF_C277 = [("show nope", 3), ("resume nope", 3), ("remove nope -y", 3), ("history nope", 3), ("next nope", 3),
                ("explain blursday", 2), ("check nope", 3), ("run nope --json", 3), ("nope", 2)]  # fmt: skip


@pytest.mark.parametrize(("command", "code"), [*C277, *MORE_OF_C277])
def test_c277_a_command_that_fails_says_so_with_its_code(run_cli: Callable[..., Any], command: str, code: int) -> None:
    done = run_cli(*shlex.split(command))
    assert (done.rc, done.out) == (code, "")
    assert "Traceback" not in done.err
    if "--json" in command:
        assert json.loads(done.err)["error"]["message"]
    else:
        assert done.err.startswith("error: ")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_c279_chinese_is_shown_and_stored_as_itself(run_cli: Callable[..., Any], home: Home, encoding: str) -> None:
    case = CASES["C279"]
    prompt = case["expected"]["table"]
    added = run_cli("add", case["input"]["job"])
    assert added.rc == 0, added.err
    assert prompt in run_cli("list").out
    listed = run_cli("list", "--json", env={"PYTHONIOENCODING": encoding})
    (job,) = json.loads(listed.out)["jobs"]
    assert (job["name"], job["description"]) == (prompt, prompt)
    assert "\\u" not in (home.jobs / f"{prompt}.md").read_text(encoding="utf-8")


def test_c284_a_one_shot_run_by_hand_reports_its_own_end(run_cli: Callable[..., Any]) -> None:
    case = CASES["C284"]
    assert run_cli("add", "in 2h", "--script", "echo done", "--name", "j1").rc == 0
    done = run_cli("run", "j1", "--json")
    assert done.rc == case["expected"]["exit"], done.err
    assert json.loads(done.out)["state"] == case["expected"]["prints"]
