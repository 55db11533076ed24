"""What the page of the memory says is what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hermes_cron.desks.memory import understood
from hermes_cron.domain.entries import texts
from hermes_cron.errors import MemoryFull
from hermes_cron.experience.memory import MOST_OPERATIONS, Action, Memory, Operation, Target, planned
from hermes_cron.experience.memory_lint import Fault, remarks
from hermes_cron.settings import MemorySettings

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "memory.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_limits_are_the_defaults() -> None:
    assert f"| `MEMORY.md` | {MemorySettings().memory_chars:,} | `memory.memory_chars` |" in PAGE
    assert f"| `USER.md` | {MemorySettings().user_chars:,} | `memory.user_chars` |" in PAGE
    assert f"up to {MOST_OPERATIONS} of them" in PAGE


def test_the_example_file_is_two_entries() -> None:
    assert texts(block("text").encode()) == (
        "The prod database is PostgreSQL 16 behind pgbouncer",
        "Deploys are frozen from Friday 15:00 to Monday 08:00.\nThe freeze calendar is in the wiki.",
    )


def test_the_example_refusal_is_the_real_one() -> None:
    _, refusal = map(json.loads, block("json").splitlines())
    full = Memory(target=Target.MEMORY, entries=("x" * 2150,), limit=2200)
    with pytest.raises(MemoryFull) as caught:
        planned(full, understood([{"action": "add", "content": "z" * 100}])[1])
    assert refusal["error"] == caught.value.message
    assert refusal["usage"] == caught.value.details["usage"]


def test_the_examples_of_steps_and_orders_are_such() -> None:
    for steps in ("1. build 2. push", "第一步…第二步"):
        assert f"`{steps}`" in PAGE or f", `{steps}`" in PAGE
        assert remarks(steps, Target.MEMORY)[0].refused
    (order,) = remarks("Always answer briefly", Target.MEMORY)
    assert order.fault is Fault.ORDER
    assert f"`{order.suggestion}`" in PAGE


def test_the_sign_inside_a_line_is_text() -> None:
    done = planned(Memory(target=Target.USER, limit=100), [Operation(action=Action.ADD, content="see § 5 BGB")])
    assert done.after.entries == ("see § 5 BGB",)
