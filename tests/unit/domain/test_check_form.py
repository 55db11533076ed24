"""What an entry of ``checks:`` may say; and the results as the store keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_cron.domain.check import CheckKind, CheckResult, Verdict, dump_results, load_results, verdict_of
from hermes_cron.domain.check_form import fault
from hermes_cron.domain.run import Outcome, RunState

SQL = {"database": "shop", "query": "select 1"}
HASH = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    "kind, params",
    [
        ("sql", {**SQL, "equals": 1}),
        ("sql", {**SQL, "equals": None}),
        ("sql", {**SQL, "equals": True}),
        ("sql", {**SQL, "at_least": 1, "at_most": 2.5, "timeout": 5.0}),
        ("sql", {**SQL, "rows": 0}),
        ("sql", {**SQL, "rows": {"at_least": 1}}),
        ("http", {"url": "https://example.org/health?deep=1"}),
        ("http", {"url": "http://10.0.0.7:8080", "status": [200, 204], "matches": "ok", "redirects": True}),
        ("shell", {"command": "true"}),
        ("shell", {"command": "grep -q done log", "exit": 1, "matches": "x", "inputs": ["log"], "timeout": 1}),
        ("file", {"path": "out.csv"}),
        ("file", {"path": "/tmp/x", "exists": False}),
        ("file", {"path": "x", "changed": True, "hash": HASH}),
        ("report", {"matches": "## 结论"}),
        ("report", {"schema": "schemas/report.json"}),
        ("report", {"schema": {"type": "object"}}),
    ],
)
def test_good_checks(kind: str, params: dict[str, Any]) -> None:
    assert fault(CheckKind(kind), params) is None


@pytest.mark.parametrize(
    "kind, params, key, said",
    [
        ("sql", {"query": "select 1", "equals": 1}, None, 'a sql check needs "database"'),
        ("sql", SQL, None, "a sql check needs one of equals, at_least, at_most, rows"),
        ("sql", {**SQL, "equals": [1]}, "equals", "expected a single value"),
        ("sql", {**SQL, "at_least": "1"}, "at_least", "expected a number"),
        ("sql", {**SQL, "at_least": True}, "at_least", "expected a number"),
        ("sql", {**SQL, "at_least": float("nan")}, "at_least", "expected a number"),
        ("sql", {**SQL, "at_most": float("inf")}, "at_most", "expected a number"),
        ("sql", {**SQL, "equals": float("-inf")}, "equals", "expected a single value"),
        ("sql", {**SQL, "at_least": 10**5000}, "at_least", "expected a number"),
        ("sql", {**SQL, "at_least": 5, "at_most": 1}, "at_least", "at_least 5 is above at_most 1: nothing is both"),
        ("sql", {**SQL, "rows": {"at_least": 5, "at_most": 1}}, "rows", "nothing is both"),
        ("sql", {**SQL, "rows": -1}, "rows", "expected a whole number"),
        ("sql", {**SQL, "rows": {"least": 1}}, "rows", "expected a whole number"),
        ("sql", {**SQL, "rows": {}}, "rows", "expected a whole number"),
        ("sql", {**SQL, "equals": 1, "timeout": 4000}, "timeout", "expected a duration of at most 1h"),
        ("http", {"url": "ftp://x"}, "url", "expected a URL"),
        ("http", {"url": "http://me:secret@x/"}, "url", "holds no password"),
        ("http", {"url": "http://[::1"}, "url", "expected a URL"),
        ("http", {"url": "http://x:99999/"}, "url", "expected a URL"),
        ("http", {"url": "http://:80/"}, "url", "expected a URL"),
        ("http", {"url": "http://x", "status": 99}, "status", "expected an HTTP status"),
        ("http", {"url": "http://x", "status": []}, "status", "expected an HTTP status"),
        ("http", {"url": "http://x", "redirects": "yes"}, "redirects", "expected true or false"),
        ("http", {"url": "http://x", "matches": "("}, "matches", "not a regular expression"),
        ("shell", {}, None, 'a shell check needs "command"'),
        ("shell", {"command": " "}, "command", "expected text"),
        ("shell", {"command": "x", "exit": 256}, "exit", "0 to 255"),
        ("shell", {"command": "x", "inputs": "y"}, "inputs", "expected a list of paths"),
        ("file", {"path": "~/x"}, "path", "~ is not expanded"),
        ("file", {"path": "x", "hash": "md5:1"}, "hash", 'expected "sha256:"'),
        ("file", {"path": "x", "exists": False, "hash": HASH}, "hash", "a file that is to be gone has no hash"),
        ("report", {}, None, "a report check needs one of matches, schema"),
        ("report", {"schema": 1}, "schema", "expected a JSON Schema"),
        ("report", {"schema": {"anyOf": []}}, "schema", '"anyOf" is not understood'),
    ],
)
def test_faults_name_the_key(kind: str, params: dict[str, Any], key: str | None, said: str) -> None:
    found = fault(CheckKind(kind), params)
    assert found is not None
    assert found.key == key
    assert said in found.message


def result(verdict: Verdict) -> CheckResult:
    return CheckResult(kind=CheckKind.FILE, says="file 结果.csv", verdict=verdict, detail="it exists", elapsed_ms=3)


def test_results_read_back_as_they_were_written() -> None:
    results = (result(Verdict.VERIFIED), result(Verdict.CHECK_FAILED))
    assert load_results(dump_results(results)) == results
    assert dump_results(()) is None
    assert load_results(None) == ()


def test_one_bad_check_outweighs_all_good_ones() -> None:
    good, bad, unknown = map(result, (Verdict.VERIFIED, Verdict.CHECK_FAILED, Verdict.NOT_CHECKABLE))
    assert verdict_of(()) is None
    assert verdict_of((good, good)) is Verdict.VERIFIED
    assert verdict_of((good, unknown)) is Verdict.NOT_CHECKABLE
    assert verdict_of((unknown, bad, good)) is Verdict.CHECK_FAILED


def test_a_script_without_output_is_verified_by_its_checks() -> None:
    assert Outcome(state=RunState.OK, silent=True, checks=(result(Verdict.VERIFIED),)).verdict is Verdict.VERIFIED


def test_a_silent_model_is_never_verified_and_may_fail_its_check() -> None:
    def silent(verdict: Verdict) -> Verdict | None:
        return Outcome(state=RunState.OK, silent=True, iterations=1, checks=(result(verdict),)).verdict

    assert silent(Verdict.VERIFIED) is None
    assert silent(Verdict.CHECK_FAILED) is Verdict.CHECK_FAILED
    assert silent(Verdict.NOT_CHECKABLE) is Verdict.NOT_CHECKABLE
