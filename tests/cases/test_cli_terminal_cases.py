"""Faults other schedulers had on terminals: small code pages, and prompts that look like options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home

CASES: dict[str, Any] = {
    case["id"]: case
    for line in (Path(__file__).parent / "data" / "cli-terminal.jsonl").read_text(encoding="utf-8").splitlines()
    for case in [json.loads(line)]
}


@pytest.mark.parametrize("encoding", [CASES["C280"]["input"]["env"]["PYTHONIOENCODING"], "ascii", "cp1252"])
def test_c280_a_small_code_page_replaces_a_symbol(run_cli: Callable[..., Any], home: Home, encoding: str) -> None:
    added = run_cli("add", "every day 9am: look", "--name", "j1", "--description", "🚀 x")
    assert added.rc == 0, added.err
    env = {"PYTHONIOENCODING": encoding}
    listed = run_cli("list", "-l", env=env)
    assert (listed.rc, listed.err) == (CASES["C280"]["expected"]["exit"], "")
    assert "? x" in listed.out
    as_json = run_cli("list", "--json", env=env)
    assert as_json.rc == 0
    assert "🚀 x" in json.dumps(json.loads(as_json.out), ensure_ascii=False), "JSON loses nothing"


@pytest.mark.parametrize("number", range(len(CASES["C281"]["input"]["argv"])))
def test_c281_a_prompt_with_a_dash_is_taken(run_cli: Callable[..., Any], home: Home, number: int) -> None:
    case = CASES["C281"]
    done = run_cli(*case["input"]["argv"][number])
    assert done.rc == case["expected"]["exit"][number], done.err
    (file,) = home.jobs.glob("*.md")
    assert file.read_text(encoding="utf-8").rstrip().endswith("---\n" + case["expected"]["prompt"][number])


def test_text_that_looks_like_an_option_is_shown_its_way(run_cli: Callable[..., Any]) -> None:
    done = run_cli("add", "-x: look at it")
    assert done.rc == 2
    assert "goes after --" in done.err
