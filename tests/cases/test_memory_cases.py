"""The real faults of memory.jsonl: what was lost, torn apart or counted wrongly elsewhere stays whole here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain.entries import texts
from hermes_cron.errors import Conflict, MemoryDelimiterInContent
from hermes_cron.experience.memory import Action, Operation, Target
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.testing import FixedClock
from hermes_cron.wiring import App
from tests.conftest import clean_env
from tests.snapshots_rig import NOON

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "memory.jsonl").read_text("utf-8").splitlines())
}


@pytest.fixture
def app(home: Home) -> Iterator[App]:
    made = App(home, Settings.load(home), FixedClock(NOON))
    yield made
    made.close()


def add(app: App, text: str, target: Target = Target.MEMORY) -> None:
    app.memory.carry_out(target, [Operation(action=Action.ADD, content=text)])


def replace(app: App, part: str, text: str) -> None:
    app.memory.carry_out(Target.MEMORY, [Operation(action=Action.REPLACE, part=part, content=text)])


def entries(home: Home, target: Target = Target.MEMORY) -> list[str]:
    return list(texts((home.root / target.path).read_bytes()))


def test_c121_an_entry_that_would_read_back_as_two_is_refused(app: App, home: Home) -> None:
    add(app, "a fact")
    before = (home.memories / "MEMORY.md").read_bytes()
    with pytest.raises(MemoryDelimiterInContent):
        add(app, CASES["C121"]["input"]["add"])
    with pytest.raises(MemoryDelimiterInContent):
        replace(app, "a fact", "one\r\n  § \r\ntwo")
    assert (home.memories / "MEMORY.md").read_bytes() == before


def test_c122_the_sign_inside_a_line_is_text(app: App, home: Home) -> None:
    add(app, CASES["C122"]["input"]["add"])
    assert entries(home) == [CASES["C122"]["input"]["add"]]


def test_c123_replace_touches_one_entry(app: App, home: Home) -> None:
    given = CASES["C123"]["input"]
    before = [f"entry {number:02}: {'x' * 63}" for number in range(given["entries"])]
    (home.memories / "MEMORY.md").write_text("\n§\n".join(before), encoding="utf-8")
    assert given["chars"] < len("\n§\n".join(before)) < 2200 - 10
    replace(app, "entry 07", "entry 07: a longer text" + "y" * 57)
    after = entries(home)
    assert len(after) == CASES["C123"]["expected"]["entries"]
    assert after[7] == "entry 07: a longer text" + "y" * 57
    assert after[:7] + after[8:] == before[:7] + before[8:]


def test_c125_characters_are_counted_not_bytes(app: App, home: Home) -> None:
    (home.memories / "USER.md").write_text("安" * 458, encoding="utf-8")
    add(app, "平" * 100, Target.USER)
    assert app.memory.kept(Target.USER).memory.characters == 561
    assert entries(home, Target.USER) == ["安" * 458, "平" * 100]


def test_c127_a_replace_keeps_what_another_session_wrote_meanwhile(app: App, home: Home) -> None:
    path = home.memories / "MEMORY.md"
    add(app, "A's entry, the old one")
    assert app.memory.kept(Target.MEMORY).memory.entries == ("A's entry, the old one",)
    path.write_text(path.read_text("utf-8") + "§\nB 1\n§\nB 2\n§\nB 3\n", encoding="utf-8")
    replace(app, "A's entry", "A's entry, the new one")
    assert entries(home) == ["A's entry, the new one", "B 1", "B 2", "B 3"]


def test_c127_a_target_that_is_gone_when_it_is_to_be_written_is_a_conflict(
    app: App, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(app, "A's entry")
    ask = app.change

    def meanwhile(*given: Any, **named: Any) -> str | None:
        (home.memories / "MEMORY.md").write_text("B's entry\n", encoding="utf-8")
        return ask(*given, **named)

    monkeypatch.setattr(app, "change", meanwhile)
    with pytest.raises(Conflict, match="changed meanwhile"):
        replace(app, "A's entry", "new")
    assert entries(home) == ["B's entry"]


def test_c128_two_processes_that_add_at_the_same_time_lose_nothing(home: Home) -> None:
    home.config.write_text('timezone = "UTC"\n[memory]\nmemory_chars = 5000\n', encoding="utf-8")
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.memory_writer", str(home.root), name, "50"],
            env=clean_env(), cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True,
        )
        for name in ("n", "m")
    ]  # fmt: skip
    said = [json.loads(writer.communicate(timeout=120)[0]) for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [len(each["added"]) for each in said] == [50, 50]
    assert sorted(entries(home)) == sorted([*said[0]["added"], *said[1]["added"]])
