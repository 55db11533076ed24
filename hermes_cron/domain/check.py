"""What is an outcome check, and what did one say?

A job declares checks; hermes-cron judges them after the run, by code, and never asks the agent. What each kind may
say is in ``KEYS``, judged by ``domain.check_form`` and described in docs/formats/checks.md:

sql     ``database``, ``query``; then one or more of ``equals`` (text, number, true, false or null), ``at_least``,
        ``at_most`` (numbers): the first column of the first row; ``rows``: a whole number, or a mapping of
        ``at_least`` and ``at_most``: how many rows came
http    ``url``; ``status`` (a number or a list of them, 200), ``matches`` (in the first MB), ``redirects`` (false)
shell   ``command``; ``exit`` (a number, 0), ``matches`` (in its output), ``inputs`` (paths of files that it reads and
        that the agent must leave alone)
file    ``path``; ``exists`` (true or false), ``changed`` (true or false, against the state before the run), ``hash``
        (``sha256:`` and 64 hexadecimal digits); without any of them: it exists
report  ``matches``, ``schema`` (a mapping, or the path of a JSON file); one of them or both

``timeout`` of sql, http and shell is a duration in the job file and a number of seconds here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from hermes_cron.domain.command import OnSpawn

ONCE_MORE = "hermes-cron itself looked at what this run did, and not all of it holds."
"""How a message begins that tells an agent which checks failed: nobody's word but ours."""


class Verdict(StrEnum):
    """What outcome checks said; a run without checks has none."""

    VERIFIED = "verified"
    CHECK_FAILED = "check_failed"
    NOT_CHECKABLE = "not_checkable"


class CheckKind(StrEnum):
    """What a check looks at."""

    SQL = "sql"
    HTTP = "http"
    SHELL = "shell"
    FILE = "file"
    REPORT = "report"


KEYS: Mapping[CheckKind, frozenset[str]] = {
    CheckKind.SQL: frozenset({"database", "query", "equals", "at_least", "at_most", "rows", "timeout"}),
    CheckKind.HTTP: frozenset({"url", "status", "matches", "redirects", "timeout"}),
    CheckKind.SHELL: frozenset({"command", "exit", "matches", "inputs", "timeout"}),
    CheckKind.FILE: frozenset({"path", "exists", "changed", "hash"}),
    CheckKind.REPORT: frozenset({"matches", "schema"}),
}
"""The keys that each kind may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One entry of ``checks:``. ``params`` are its keys as written, of the forms that ``jobs.keys`` accepts (JSON)."""

    kind: CheckKind
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check said. ``says`` names the check in one line, ``detail`` is the evidence in one line."""

    kind: CheckKind
    says: str
    verdict: Verdict
    detail: str
    elapsed_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What checks are judged by.

    ``folder`` is where relative paths begin and commands run, ``env`` the whole environment of commands. ``pinned`` is
    what ``ports.Checks.pin`` gave before the agent began. ``seconds`` is what the run's time limit leaves for all.
    ``on_spawn`` keeps the process group of a check's command, so that it can be ended should its owner die.
    """

    checks: tuple[Check, ...]
    folder: Path
    env: Mapping[str, str]
    report: str
    pinned: str | None
    seconds: float
    on_spawn: OnSpawn | None = None


def verdict_of(results: Iterable[CheckResult]) -> Verdict | None:
    """One failed check fails the run; one that could not run proves nothing; without checks there is no verdict."""
    said = {result.verdict for result in results}
    for worst in (Verdict.CHECK_FAILED, Verdict.NOT_CHECKABLE, Verdict.VERIFIED):
        if worst in said:
            return worst
    return None


def dump_results(results: Sequence[CheckResult]) -> str | None:
    """As ``runs.check_results`` keeps them; None for a run without checks."""
    return json.dumps([asdict(result) for result in results], ensure_ascii=False) if results else None


def load_results(text: str | None) -> tuple[CheckResult, ...]:
    """What ``dump_results`` wrote."""
    return tuple(
        CheckResult(**{**row, "kind": CheckKind(row["kind"]), "verdict": Verdict(row["verdict"])})
        for row in json.loads(text or "[]")
    )
