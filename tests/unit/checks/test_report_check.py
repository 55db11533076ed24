"""The report: an expression, a schema; a pattern without end is ended; a schema changed since is judged as it was."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.checks import child
from tests.checks_rig import BAD, GOOD, UNKNOWN, Bench, made

SCHEMA = {"type": "object", "required": ["orders"], "properties": {"orders": {"type": "integer", "minimum": 1}}}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work")


def test_an_expression_is_looked_for_line_by_line(bench: Bench) -> None:
    bench.report = "# prod\nChecked 8 of 8.\n\n## 结论\n正常"
    assert bench.ask("report", matches=r"Checked \d+ of \d+|已检查 \d+/\d+") == (GOOD, "found")
    assert bench.ask("report", matches="^## 结论$")[0] is GOOD
    assert bench.ask("report", matches="## 建议") == (BAD, 'the report has no "## 建议"')


def test_a_pattern_without_end_is_ended_and_proves_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_cron.checks.fit.LIMIT_S", 0.5)
    bench.report = "a" * 60 + "!"
    began = time.monotonic()
    verdict, detail = bench.ask("report", matches="^(a+)+$")
    assert (verdict, "did not end within 0.5 s" in detail) == (UNKNOWN, True)
    schema = {"type": "object", "properties": {"x": {"pattern": "^(a+)+$"}}}
    bench.report = json.dumps({"x": "a" * 60 + "!"})
    assert bench.ask("report", schema=schema)[0] is UNKNOWN
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "report, verdict, said",
    [
        ('{"orders": 3}', GOOD, "the report fits the schema"),
        ('\n {"orders": 3} \n', GOOD, "the report fits the schema"),
        ('Three.\n\n```json\n{"orders": 3}\n```\n', GOOD, "the report fits the schema"),
        ('```json\n{"orders": 0}\n```\nthen\n```json\n{"orders": 2}\n```', GOOD, "the report fits the schema"),
        ('```json\n{"orders": 2}\n```\nthen\n```json\n{"orders": 0}\n```', BAD, "$.orders is 0, below 1"),
        ("done", BAD, "the report holds no JSON"),
        ('```\n{"orders": 3}\n```', BAD, "the report holds no JSON"),
        ('{"orders": NaN}', BAD, "the report holds no JSON: NaN is no JSON number"),
        ('{"orders": "3"}', BAD, "$.orders is string, not integer"),
        ("[" * 100_000, BAD, "the report holds no JSON"),
    ],
)
def test_json_in_the_report_fits_a_schema(bench: Bench, report: str, verdict: object, said: str) -> None:
    bench.report = report
    found, detail = bench.ask("report", schema=SCHEMA)
    assert found is verdict
    assert detail.startswith(said)


def test_a_schema_file_is_judged_as_it_was_before_the_run(bench: Bench) -> None:
    path = bench.folder / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    check = made("report", schema="schema.json")
    bench.pin(check)
    bench.report = "{}"
    assert bench.judge(check)[0].detail == "$ has no orders"
    path.write_text("{}")
    (result,) = bench.judge(check)
    assert result.verdict is BAD
    assert result.detail == ("$ has no orders; judged by schema.json as it was before the run, which was changed since")
    path.unlink()
    bench.report = '{"orders": 1}'
    (result,) = bench.judge(check)
    assert (result.verdict, "changed since" in result.detail) == (GOOD, True)


@pytest.mark.parametrize(
    "text, said",
    [(None, "no such file"), ("{", "is not JSON"), ('{"allOf": []}', '"allOf" is not understood'), ("[]", "a mapping")],
)
def test_a_schema_that_cannot_be_judged_by_proves_nothing(bench: Bench, text: str | None, said: str) -> None:
    if text is not None:
        (bench.folder / "schema.json").write_text(text)
    bench.report = "{}"
    verdict, detail = bench.ask("report", schema="schema.json")
    assert verdict is UNKNOWN
    assert said in detail


def test_both_must_hold(bench: Bench) -> None:
    bench.report = '{"orders": 0}'
    assert bench.ask("report", matches="orders", schema=SCHEMA)[0] is BAD
    assert bench.ask("report", matches="stock", schema={})[0] is BAD


def test_a_check_that_crashes_proves_nothing_and_the_others_are_judged(bench: Bench, caplog: Any) -> None:
    bench.report = "x"
    with caplog.at_level(logging.CRITICAL):
        broken, good = bench.judge(made("report", matches=1), made("report", matches="x"))
    assert (broken.verdict, good.verdict) == (UNKNOWN, GOOD)


def test_details_are_one_bounded_line(bench: Bench) -> None:
    bench.report = "x"
    (result,) = bench.judge(made("report", matches="a\x1b[2J\n" + "b" * 1000))
    assert result.detail.isprintable()
    assert len(result.detail) <= 300
    assert len(result.says) <= 300


def test_a_comparison_whose_owner_died_ends_by_itself() -> None:
    task = json.dumps({"text": "a" * 60 + "!", "matches": "(a+)+$", "seconds": 0.3}).encode()
    ended = subprocess.run((sys.executable, "-I", child.__file__), check=False, input=task, timeout=60)
    assert ended.returncode == -signal.SIGALRM


def test_numbers_that_are_none(bench: Bench) -> None:
    schema = {"type": "number", "minimum": 5}
    for text in ("1e999", "-1e999", "NaN", "Infinity"):
        bench.report = text
        assert bench.ask("report", schema=schema)[0] is BAD


def test_a_block_with_line_ends_of_windows(bench: Bench) -> None:
    bench.report = 'Loaded.\r\n```json\r\n{"orders": 3}\r\n```\r\n'
    assert bench.ask("report", schema={"required": ["orders"]})[0] is GOOD
    assert bench.ask("report", matches="^Loaded\\.$")[0] is GOOD
