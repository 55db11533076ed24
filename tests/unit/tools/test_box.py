"""Arguments are checked before anything runs, and the answer says how to do better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import reads_as_failure
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.errors import Refused, ToolFailed
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.declaration import Arguments
from tests.agent_rig import context, tool


class Order(Arguments):
    table: str
    count: int = Field(default=1, ge=1, le=5)
    kind: Literal["a", "b"] = "a"


def answer(folder: Path, handler: Any, arguments: dict[str, Any] | str, **more: Any) -> tuple[Effect, str]:
    made = tool("order", handler, **{"arguments": Order, "effect": Effect.EFFECT, **more})
    box = ToolBox({"order": made}, context(folder))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    prepared = box.prepare(ToolCall(id="c", name="order", arguments=text))
    return prepared.effect, box.execute(prepared, lambda _group: None).text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "order: table: Field required"),
        ({"table": "t", "cuont": 2}, "order: unknown argument cuont (did you mean count?)"),
        ({"table": "t", "count": 9}, "order: count: Input should be less than or equal to 5"),
        ({"table": None}, "order: table: Input should be a valid string"),
        ({"table": "t", "kind": "c"}, "order: kind: Input should be 'a' or 'b'"),
    ],
    ids=["missing", "unknown", "too large", "null", "choice"],
)
def test_arguments_that_do_not_fit_are_answered_and_nothing_runs(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    ran: list[object] = []
    effect, text = answer(tmp_path, lambda **given: ran.append(given), arguments)
    error = json.loads(text)["error"]
    assert (error["code"], error["message"]) == ("InvalidArguments", said)
    assert error["hint"] == "arguments: table, count, kind"
    assert effect is Effect.READ, "what is not run has no intent"
    assert ran == []


def test_numbers_written_as_text_are_understood(tmp_path: Path) -> None:
    assert answer(tmp_path, lambda count, **_: f"{count + 1}", {"table": "t", "count": "3"})[1] == "4"


def test_many_problems_are_bounded(tmp_path: Path) -> None:
    _, text = answer(tmp_path, lambda **_: "", {f"x{n}": n for n in range(50)})
    assert "; and 46 more" in json.loads(text)["error"]["message"]


@pytest.mark.parametrize(("error", "code"), [(ToolFailed("no"), "ToolFailed"), (Refused("never"), "Refused")])
def test_tools_no_is_an_answer(tmp_path: Path, error: Exception, code: str) -> None:
    def refuse(**_: object) -> str:
        raise error

    _, text = answer(tmp_path, refuse, {"table": "t"})
    assert json.loads(text)["error"]["code"] == code
    assert reads_as_failure(text)


def test_text_that_a_plugin_does_not_bound_is_bounded(tmp_path: Path) -> None:
    _, text = answer(tmp_path, lambda **_: "x" * 1_000_000, {"table": "t"})
    assert len(text) < 310_000
    assert "700,000 of 1,000,000 bytes cut" in text


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ('{"error": {"code": "X"}}', True), ('{"exit_code": 1, "output": ""}', True),
        ('{"exit_code": 0, "output": "x"}', False), ('{"exit_code": 0}', False), ('{"exit_code": 127}', True),
        ('{"columns": []}', False), ("error: in prose", False), ("", False),
    ],
)  # fmt: skip
def test_stored_failure_is_known_by_its_beginning(text: str, failed: bool) -> None:
    assert reads_as_failure(text) is failed
