"""What the page of consolidation says is what the code does."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from hermes_cron.desks import consolidation_report as report
from hermes_cron.desks.consolidation import ACTOR, JOB
from hermes_cron.desks.consolidation_report import Facts, Said
from hermes_cron.experience.consolidation import carried_out, plan
from hermes_cron.experience.consolidation_guard import Fault, Refusal, Rewrite, judged
from hermes_cron.experience.memory import Target
from hermes_cron.experience.validity import ended

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "consolidation.md").read_text(encoding="utf-8")


def test_the_report_has_the_keys_that_the_page_names() -> None:
    done = carried_out(Target.MEMORY, ("a fact", "a fact"), plan(("a fact", "a fact"), date(2026, 12, 1)), 2200)
    facts = Facts(run="r1", job=JOB, at="2026-12-01", dry=False, said=Said(state="none"))
    made = report.record(facts, [done], "done")
    for key in ("counts", "files", "refused", "before", "after", "look", "proposed", "model"):
        assert key in made
        assert f"`{key}`" in PAGE
    assert all(f"`{key}`" in PAGE for key in made["counts"])
    assert all(f"`{key}`" in PAGE for key in made["files"]["MEMORY.md"]["steps"][0] if key != "kind")
    assert f"`{ACTOR}`" in PAGE


@pytest.mark.parametrize(
    "mark", ["until {}", "valid through {}", "expires on {}", "only on {}", "有效期至{}", "到{}为止"]
)
def test_the_words_of_an_end_are_such(mark: str) -> None:
    assert mark.partition("{")[0].strip() in PAGE
    end = ended(f"The pass is good {mark.format('2026-11-01')}", date(2026, 12, 1))
    assert end is not None
    assert end.whole


def test_the_example_of_values_that_are_mixed_up_is_one() -> None:
    assert "`primary db1, replica db2` the other way round" in PAGE
    wrong = Rewrite(sources=("primary db1, replica db2",), text="primary db2, replica db1")
    refusal = judged(wrong, Target.MEMORY, date(2026, 12, 1))
    assert isinstance(refusal, Refusal)
    assert refusal.fault is Fault.MIXED_UP
