"""Commands are bounded and told without durations; time is the clock's, in the job's zone."""

from __future__ import annotations

import json
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from hermes_cron.clock import SystemClock
from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.testing import FixedClock
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.context import Caps, ToolContext
from hermes_cron.tools.registry import discover
from tests.agent_rig import context

TOOLS = discover().tools


def ask(around: ToolContext, name: str, **arguments: Any) -> ToolOutput:
    box = ToolBox(TOOLS, around)
    prepared = box.prepare(ToolCall(id="c", name=name, arguments=json.dumps(arguments)))
    return prepared.refusal or box.execute(prepared, lambda _group: None)


def test_command_answers_exit_code_and_output(tmp_path: Path) -> None:
    output = ask(context(tmp_path), "terminal", command="pwd; echo warn >&2; exit 4")
    assert json.loads(output.text) == {"exit_code": 4, "output": f"{tmp_path}/work\n", "stderr": "warn\n"}
    assert (output.ok, output.exit_code) == (False, 4)


def test_a_command_that_would_end_its_own_service_is_not_run(tmp_path: Path) -> None:
    output = ask(context(tmp_path), "terminal", command="touch began; systemctl --user restart hermes-cron")
    assert not output.ok
    assert "would end the service" in output.text
    assert not (tmp_path / "work" / "began").exists()


def test_equal_results_read_equal(tmp_path: Path) -> None:
    around = context(tmp_path)
    assert ask(around, "terminal", command="echo x") == ask(around, "terminal", command="echo x")


def test_time_limit_is_told_with_what_came_before(tmp_path: Path) -> None:
    output = ask(context(tmp_path), "terminal", command="echo started; sleep 30", timeout=0.3)
    told = json.loads(output.text)
    assert told["output"] == "started\n"
    assert told["note"] == "ended after its limit of 0.3 s, with everything it had started"
    assert not output.ok


def test_command_gets_no_more_time_than_the_run_has(tmp_path: Path) -> None:
    began = time.monotonic()
    output = ask(context(tmp_path, deadline=time.monotonic() + 0.4), "terminal", command="sleep 30", timeout=60)
    assert not output.ok
    assert time.monotonic() - began < 5


def test_nothing_starts_after_the_deadline(tmp_path: Path) -> None:
    around = context(tmp_path, deadline=time.monotonic() - 1)
    output = ask(around, "terminal", command="touch made")
    assert "the run's time limit passed" in output.text
    assert not (around.workdir / "made").exists()


def test_cancelled_run_does_not_cut_a_command(tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    around = context(tmp_path, cancel=cancel)
    assert ask(around, "terminal", command="echo half; sleep 0.1; echo whole > f; echo done").ok
    assert (around.workdir / "f").read_text() == "whole\n"


def test_long_output_says_what_was_cut(tmp_path: Path) -> None:
    around = context(tmp_path, caps=Caps(output_bytes=2000))
    told = json.loads(ask(around, "terminal", command="echo first; yes | head -c 50000; echo last").text)
    assert told["note"] == "output: 49,011 of 50,011 bytes cut: the first 500 and the last 500 are shown"
    assert told["output"].startswith("first\n")
    assert told["output"].endswith("last\n")


def test_environment_is_the_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-commands")
    assert "sk-not" not in ask(context(tmp_path), "terminal", command="env").text


def test_folder_must_be_inside(tmp_path: Path) -> None:
    assert "Refused" in ask(context(tmp_path), "terminal", command="pwd", folder="..").text
    assert "no such folder" in ask(context(tmp_path), "terminal", command="pwd", folder="none").text


def test_what_is_secret_never_reaches_the_answer(tmp_path: Path) -> None:
    around = context(tmp_path, redact=lambda text: text.replace("hunter2", "[secret]"))
    assert json.loads(ask(around, "terminal", command="echo hunter2").text)["output"] == "[secret]\n"
    assert "hunter2" not in ask(around, "read_file", path="hunter2").text, "errors too"


def test_secret_at_the_edge_of_a_cut_is_not_half_shown(tmp_path: Path) -> None:
    """Every place where a cut could fall, in outputs that are cut once and twice."""
    around = context(tmp_path, caps=Caps(output_bytes=40), redact=lambda text: text.replace("hunter2", "[secret]"))
    for filler in (*range(1, 12), 2_000):
        command = f"head -c {filler} /dev/zero | tr '\\0' x; echo hunter2; yes y | head -c 3000; echo hunter2"
        shown = ask(around, "terminal", command=command).text
        assert "hunter" not in shown
        assert "unter2" not in shown


@pytest.mark.parametrize(
    ("instant", "zone", "expected"),
    [
        ("2026-11-30 16:30:00", None, ("2026-12-01T00:30:00+08:00", "Asia/Shanghai", "Tuesday")),
        ("2026-11-30 16:30:00", "UTC", ("2026-11-30T16:30:00+00:00", "UTC", "Monday")),
        ("2026-03-29 00:59:59", "Europe/Berlin", ("2026-03-29T01:59:59+01:00", "Europe/Berlin", "Sunday")),
        ("2026-03-29 01:00:00", "Europe/Berlin", ("2026-03-29T03:00:00+02:00", "Europe/Berlin", "Sunday")),
        ("2024-02-29 12:00:00", "Asia/Kathmandu", ("2024-02-29T17:45:00+05:45", "Asia/Kathmandu", "Thursday")),
    ],
    ids=["job's zone", "utc", "before the gap", "after the gap", "quarter hour"],
)
def test_now_is_the_clocks_time_in_the_zone(
    tmp_path: Path, instant: str, zone: str | None, expected: tuple[str, str, str]
) -> None:
    """Frozen host time behind the real clock: the tool and ``SystemClock`` together."""
    around = context(tmp_path, clock=SystemClock(), deadline=float("inf"))
    with freeze_time(instant):
        output = ask(around, "now", **({"timezone": zone} if zone else {}))
    told = json.loads(output.text)
    assert (told["local"], told["timezone"], told["weekday"]) == expected
    assert told["utc"] == instant.replace(" ", "T") + "Z"


@pytest.mark.parametrize(("utc", "offset"), [("00:30", "+02:00"), ("01:30", "+01:00")], ids=["first", "second"])
def test_repeated_hour_is_told_by_its_offset(tmp_path: Path, utc: str, offset: str) -> None:
    """A fixed clock: freezegun's datetime loses the fold."""
    clock = FixedClock(datetime.fromisoformat(f"2026-10-25T{utc}:00+00:00"))
    told = json.loads(ask(context(tmp_path, clock=clock), "now", timezone="Europe/Berlin").text)
    assert told["local"] == f"2026-10-25T02:30:00{offset}"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "Europe", "", "/etc/localtime"])
def test_zone_that_is_none_is_explained(tmp_path: Path, zone: str) -> None:
    output = ask(context(tmp_path), "now", timezone=zone)
    if zone:
        assert f"no time zone '{zone}'" in json.loads(output.text)["error"]["message"]
    else:
        assert output.ok, "blank: the job's zone"
