"""The screens of docs/learning.md are those that are printed; its settings and values are those of the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from hermes_cron.cli import approvals, run_feedback, run_learned
from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.domain.nudge import Nudge
from hermes_cron.settings import LearningSettings
from hermes_cron.store.learned_notices import When
from hermes_cron.store.taught import Taught
from tests.unit.domain.test_notice_learned import PITFALL, change

PAGE = (Path(__file__).parents[2] / "docs" / "learning.md").read_text("utf-8")
SESSIONS: list[dict[str, Any]] = [
    {"id": "3f2a9c01aa", "kind": "main"},
    {"id": "77b0e2d4bb", "kind": "review"},
]
REVIEW: dict[str, Any] = {
    "iterations": 3, "tokens_input": 9000, "tokens_output": 120, "cost_usd": 0.01, "state": "ok", "ended_at": 1,
}  # fmt: skip


def test_the_lines_of_runs_show_are_those_that_are_printed() -> None:
    taught = Taught(changes=[change(actor="review", after="c81f2a9")], reviews=[REVIEW], sessions=SESSIONS)
    told = run_learned.learned(taught, "en").replace(" (counters 0 days old)", "")
    assert f"  learned   {told}\n" in PAGE
    assert f"  went to   {run_learned.routed(taught, 'en')}\n" in PAGE
    assert f"{run_learned.cost(taught, 'en')}\n" in PAGE
    assert f"`learned  {run_learned.learned(Taught(), 'en')}`" in PAGE


def test_the_answers_are_those_of_the_commands() -> None:
    assert run_feedback._TEXTS["en"]["kept"].format(id="r7k2m") in PAGE
    for verb in ("approve", "deny"):
        assert f"hermes-cron {approvals._TEXTS['en'][f'{verb}_learned'].format(id='a92')}" in PAGE
    assert f"  lines   {PITFALL}\n" in PAGE


def test_every_value_and_default_is_on_the_page() -> None:
    assert [value for value in (*Learn, *MemoryMode) if f"`{value}`" not in PAGE] == []
    assert [value for value in get_args(When) if f'"{value}"' not in PAGE] == []
    defaults, nudge = LearningSettings(), Nudge()
    assert f"`learning.memory_turns` ({nudge.memory_turns})" in PAGE
    assert f"`learning.skill_iterations` ({nudge.skill_iterations})" in PAGE
    assert f"`learning.review_iterations` model calls ({defaults.review_iterations})" in PAGE
