"""What does a playbook say, once understood? Plain values; reading the file is ``load``'s question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Scalar = str | int | float | bool | None


class Severity(StrEnum):
    """In the order in which they are tried and printed."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Expect(StrEnum):
    """How many rows a step must give to be judged at all."""

    ONE_ROW = "one_row"
    ROWS = "rows"
    SOME = "some"


class Source(StrEnum):
    """Which tool a step asks."""

    SQL = "sql"
    SHELL = "shell"
    HTTP = "http"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A line in two languages; a text without languages is both."""

    en: str
    zh: str

    def in_(self, language: str) -> str:
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What must be there. ``version`` is a minimum. A missing command concerns the steps that use it."""

    engine: str | None = None
    version: str | None = None
    role: str | None = None
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parse:
    """How a text becomes rows. ``kind`` is ``lines``, ``json`` or ``columns``; ``*name`` takes the rest of a line."""

    kind: str = "lines"
    columns: tuple[str, ...] = ()
    skip: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One value, read once before the steps."""

    name: str
    source: Source
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One question to the system. ``body`` is SQL, shell text, a URL, or a tool's name (with ``arguments``).

    ``levels`` are tried in the order of ``Severity``; ``finding`` names one finding, ``title`` the check.
    ``key`` are the columns that name a row from run to run. ``unit`` is what ``was 12 %`` is counted in.
    ``error_is_row``: an error that holds one of these texts is what the step looks for; its row is ``{error}``.
    """

    id: str
    title: Text
    source: Source
    body: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    parse: Parse | None = None
    when: str | None = None
    because: Text | None = None
    expect: Expect = Expect.ROWS
    levels: Mapping[Severity, str] = field(default_factory=dict)
    evidence: Text
    advice: Text | None = None
    finding: Text
    fine: Text | None = None
    save: str
    key: tuple[str, ...] = ()
    unit: Text | None = None
    needs: Needs = Needs()
    error_is_row: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """``report`` is ``default`` or the text of a template. ``data`` is the file as plain JSON values."""

    params: Mapping[str, Scalar]
    needs: Needs
    facts: tuple[Fact, ...]
    steps: tuple[Step, ...]
    report: str
    data: Mapping[str, Any]

    def tools(self) -> tuple[str, ...]:
        """The tools that its steps and facts call, by name: a run needs these and no other."""
        known = {Source.SQL: "sql_query", Source.SHELL: "terminal", Source.HTTP: "http_get"}
        names = {known.get(step.source, step.body) for step in self.steps}
        names |= {known[fact.source] for fact in self.facts}
        if self.needs.commands or any(step.needs.commands for step in self.steps):
            names.add("terminal")
        return tuple(sorted(names))
