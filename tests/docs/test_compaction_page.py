"""What docs/compaction.md says of numbers, names and an engine of one's own is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.agent.compaction_side import FLUSH, FLUSH_CALLS, SUMMARY
from hermes_cron.domain.compaction import Bench, How, wrong
from hermes_cron.models.windows import SAFE
from hermes_cron.settings import CompactionSettings
from tests.compaction_rig import as_rows, steps, task, work

PAGE = (Path(__file__).parents[2] / "docs" / "compaction.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "said",
    [
        f"`compaction.at_percent` ({CompactionSettings().at_percent})",
        f"`compaction.hard_percent` ({CompactionSettings().hard_percent})",
        f"`compaction.keep_head` ({CompactionSettings().keep_head})",
        f"`compaction.keep_tail` ({CompactionSettings().keep_tail})",
        f"else {SAFE:,}",
        f"at most {['no', 'one', 'two', 'three'][FLUSH_CALLS]} calls",
        f"`{FLUSH}` and `{SUMMARY}`",
        "(" + ", ".join(f"`{how.value}`" for how in How) + ")",
    ],
)
def test_the_page_names_the_numbers_of_the_code(said: str) -> None:
    assert said in " ".join(PAGE.split())


def test_the_engine_of_the_page_is_one() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(source, names)
    engine = names["OldestStep"](Bench())
    rows = as_rows([task(), *steps(20)])
    assert engine.due(work(rows, window=200).load)
    made = engine.compact(work(rows))
    assert len(made) == 1
    assert wrong(rows, made) is None
