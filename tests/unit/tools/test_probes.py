"""After an interruption: has the patch happened? And what a box makes of a tool's probe."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import PreparedCall, Probe
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.errors import ToolFailed
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Tool
from hermes_cron.tools.registry import discover
from tests.agent_rig import Anything, context, tool

TOOLS = discover().tools


def patch(around: ToolContext, old: str, new: str) -> tuple[ToolBox, PreparedCall]:
    box = ToolBox(TOOLS, around)
    arguments = json.dumps({"path": "a.txt", "old": old, "new": new})
    return box, box.prepare(ToolCall(id="c", name="patch_file", arguments=arguments))


@pytest.mark.parametrize(
    ("before", "old", "new", "not_yet", "done"),
    [
        pytest.param("a = 1\nb = 2\n", "b = 2", "b = 3", False, True, id="exchanged"),
        pytest.param("a = 1\nb = 2\n", "b = 2\n", "", False, True, id="removed"),
        pytest.param("a = 1\nb = 2\n", "b = 2", "b = 2\nc = 3", False, None, id="something added to it"),
        pytest.param("if x:\n    a = 1\n", "a  =  1", "b = 2", False, True, id="blanks differ"),
        pytest.param("if x:\n    a = 1\n", "a =  1", "a =  1\nb = 2", False, None, id="blanks differ, added to"),
        pytest.param("x = 1\ny = 2\n", "y = 2", "x = 1", False, True, id="the new text is there already"),
        pytest.param("a\r\nb\r\n", "b", "b\nc", False, None, id="line ends of Windows"),
        pytest.param("a b c\n", "b", "b b", False, None, id="the old text twice in the new one"),
    ],
)
def test_patch_is_looked_up(
    tmp_path: Path, before: str, old: str, new: str, not_yet: bool | None, done: bool | None
) -> None:
    around = context(tmp_path)
    file = around.workdir / "a.txt"
    file.write_bytes(before.encode())
    box, call = patch(around, old, new)
    assert box.probe(call).happened is not_yet
    assert box.execute(call, lambda _group: None).ok
    assert box.probe(call).happened is done


def test_patch_that_never_fitted_may_be_tried_again(tmp_path: Path) -> None:
    around = context(tmp_path)
    (around.workdir / "a.txt").write_text("nothing like it\n")
    box, call = patch(around, "b = 2", "b = 3")
    assert box.probe(call).happened is False
    assert not box.execute(call, lambda _group: None).ok


def test_file_that_is_gone_cannot_be_told(tmp_path: Path) -> None:
    box, call = patch(context(tmp_path), "b", "c")
    found = box.probe(call)
    assert found.happened is None
    assert "a.txt" in found.text


WORDS = ["a", "b", "a b", " a", "a\n", "b\na", "a\nb\n", "aa"]


@pytest.mark.parametrize("before", ["a\nb\n", "a b a\n", " a\nb\n", "aab\n", "b\na\nb\n", "a  b\na\n"])
def test_probe_never_lets_a_patch_happen_twice(tmp_path: Path, before: str) -> None:
    """What it says "no" about after the patch was made, a second patch refuses."""
    around = context(tmp_path)
    file = around.workdir / "a.txt"
    made = 0
    for old, new in itertools.product(WORDS, ["", *WORDS]):
        file.write_text(before)
        box, call = patch(around, old, new)
        if not box.execute(call, lambda _group: None).ok:
            continue
        after, made = file.read_text(), made + 1
        if box.probe(call).happened is False:
            box.execute(call, lambda _group: None)
            assert file.read_text() == after, (old, new)
    assert made > 10


# --- the box -------------------------------------------------------------------------------------------------------


def verifiable(probe: Any) -> Tool:
    return tool("act", lambda **_: "done", effect=Effect.VERIFIABLE, probe=probe)


def probed(folder: Path, made: Tool, **more: Any) -> Probe:
    box = ToolBox({"act": made}, context(folder, **more))
    return box.probe(box.prepare(ToolCall(id="c", name="act", arguments="{}")))


def test_tool_without_a_probe_cannot_tell(tmp_path: Path) -> None:
    assert probed(tmp_path, tool("act", lambda: "", effect=Effect.EFFECT)).happened is None


@pytest.mark.parametrize("error", [ToolFailed("the server is away"), ZeroDivisionError("the server is away")])
def test_probe_that_fails_cannot_tell(tmp_path: Path, error: Exception) -> None:
    def probe(*_: Any) -> Probe:
        raise error

    found = probed(tmp_path, verifiable(probe))
    assert found.happened is None
    assert "the server is away" in found.text


def test_what_a_probe_saw_is_redacted(tmp_path: Path) -> None:
    made = verifiable(lambda *_: Probe(happened=True, text="row has hunter2"))
    assert probed(tmp_path, made, redact=lambda text: text.replace("hunter2", "***")).text == "row has ***"


def test_arguments_are_shown_redacted(tmp_path: Path) -> None:
    box = ToolBox({}, context(tmp_path, redact=lambda text: text.replace("hunter2", "***")))
    assert box.shown(ToolCall(id="c", name="act", arguments='{"key": "hunter2"}')) == '{"key": "***"}'


@pytest.mark.parametrize(
    ("effect", "probe"), [(Effect.VERIFIABLE, None), (Effect.EFFECT, lambda *_: Probe(happened=True, text=""))]
)
def test_verifiable_tool_has_a_probe_and_no_other_has(effect: Effect, probe: Any) -> None:
    with pytest.raises(ValueError, match="a verifiable tool has a probe"):
        Tool(
            name="act", toolset="test", description="x", arguments=Anything, handler=lambda *_: "", effect=effect,
            probe=probe,
        )  # fmt: skip


def test_call_knows_its_key_and_whether_it_is_gated(tmp_path: Path) -> None:
    keys: list[str] = []
    made = replace(tool("act", str), handler=lambda _arguments, around: keys.append(around.key) or "done")
    box = ToolBox({"act": made, "terminal": TOOLS["terminal"]}, context(tmp_path))
    box.execute(box.prepare(ToolCall(id="c", name="act", arguments="{}")), lambda _group: None, key="session/7")
    assert keys == ["session/7"]
    assert not box.prepare(ToolCall(id="c", name="act", arguments="{}")).gated
    assert box.prepare(ToolCall(id="c", name="terminal", arguments='{"command": "true"}')).gated
