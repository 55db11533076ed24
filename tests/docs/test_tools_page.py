"""The page about tools shows a tool that works, and names those that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hermes_cron.domain.transcript import ToolCall
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.registry import discover
from tests.agent_rig import context

PAGE = (Path(__file__).parents[2] / "docs/formats/tools.md").read_text(encoding="utf-8")


def test_example_is_found_and_runs(tmp_path: Path) -> None:
    example, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (sets,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "disk_free.py").write_text(example, encoding="utf-8")
    (tmp_path / "sets.toml").write_text(sets, encoding="utf-8")
    registry = discover(tmp_path)
    assert registry.broken == ()
    assert "night" in registry.sets
    box = ToolBox(registry.tools, context(tmp_path))
    for path, ok in ((str(tmp_path), True), ("/no/such/path", False)):
        prepared = box.prepare(ToolCall(id="c", name="disk_free", arguments=json.dumps({"path": path})))
        output = box.execute(prepared, lambda _group: None)
        assert output.ok is ok
        assert "bytes are free" in output.text or not ok


def test_every_tool_and_set_has_its_place_on_the_page() -> None:
    registry = discover()
    answers = PAGE.partition("## Answers")[2]
    assert [name for name in registry.tools if f"`{name}`" not in answers] == []
    assert [name for name in registry.sets if f"`{name}`" not in PAGE] == []
