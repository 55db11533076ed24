"""Checks against real parts: a SQLite file, a server on loopback, real commands and files."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_cron.checks.judge import OutcomeChecks
from hermes_cron.databases.registry import DatabaseRegistry
from hermes_cron.domain.check import Check, CheckKind, CheckResult, Trial, Verdict
from hermes_cron.domain.command import Flag
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.environments import local

GOOD, BAD, UNKNOWN = Verdict.VERIFIED, Verdict.CHECK_FAILED, Verdict.NOT_CHECKABLE


@dataclass
class Bench:
    """``folder`` is where relative paths begin. ``shop`` is a SQLite database of three orders."""

    folder: Path
    report: str = ""
    seconds: float = 60.0
    pinned: str | None = None
    env: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        shop = self.folder / "shop.db"
        with sqlite3.connect(shop) as conn:
            conn.executescript(
                "create table orders (id integer, total numeric, state text);"
                "insert into orders values (1, 9.5, 'paid'), (2, 0.25, 'paid'), (3, 20, null);"
            )
        conn.close()
        configs = {"shop": DatabaseConfig(name="shop", engine="sqlite", url=f"sqlite:///{shop}")}
        registry = DatabaseRegistry(configs=configs, resolve=lambda ref: ref, root=self.folder)
        self.checks = OutcomeChecks(databases=registry, run_command=local.run)

    def pin(self, *checks: Check) -> None:
        self.pinned = self.checks.pin(checks, self.folder, self.env)

    def judge(self, *checks: Check, cancel: Flag | None = None) -> tuple[CheckResult, ...]:
        trial = Trial(
            checks=checks,
            folder=self.folder,
            env=self.env,
            report=self.report,
            pinned=self.pinned,
            seconds=self.seconds,
        )
        return self.checks.judge(trial, cancel or threading.Event())

    def ask(self, kind: str, cancel: Flag | None = None, **params: Any) -> tuple[Verdict, str]:
        """What one check says; what it compares with is as it was at the last ``pin``, else as it is."""
        check = made(kind, **params)
        held = self.pinned
        if held is None:
            self.pin(check)
        (result,) = self.judge(check, cancel=cancel)
        self.pinned = held
        return result.verdict, result.detail


def made(kind: str, **params: Any) -> Check:
    return Check(kind=CheckKind(kind), params=params)
