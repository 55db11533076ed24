"""What is an outcome check, and what did one say?

A job declares checks; hermes-cron judges them after the run, by code, and never asks the agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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


def verdict_of(results: Iterable[CheckResult]) -> Verdict | None:
    """One failed check fails the run; one that could not run proves nothing; without checks there is no verdict."""
    said = {result.verdict for result in results}
    for worst in (Verdict.CHECK_FAILED, Verdict.NOT_CHECKABLE, Verdict.VERIFIED):
        if worst in said:
            return worst
    return None
