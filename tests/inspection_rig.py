"""How do tests run a shipped playbook against a real database, through the real loop and tools?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_cron.databases.registry import DatabaseRegistry
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.home import Home
from hermes_cron.models.playbook.inputs import Inputs, Last
from hermes_cron.models.playbook.load import load, override
from hermes_cron.rehearsal import rehearse
from hermes_cron.testing import FixedClock

SKILL = Path(__file__).parent.parent / "skills" / "databases" / "inspect-database"
NOW = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
YESTERDAY = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Inspected:
    text: str
    result: dict[str, Any]

    def found(self, *, step: str | None = None) -> set[str]:
        return {f["key"] for f in self.result["findings"] if step in (None, f["step"])}

    @property
    def not_checked(self) -> dict[str, str]:
        return {entry["step"]: entry["because"] for entry in self.result["not_checked"]}


def inspect(
    config: DatabaseConfig,
    *,
    password: str | None = None,
    language: str = "en",
    params: Mapping[str, Any] | None = None,
    last: Mapping[str, Any] | None = None,
) -> Inspected:
    program = override(load(SKILL / f"playbook.{config.engine}.yaml"), params or {})
    named = replace(config, password_ref="secret:db") if password is not None else config
    databases = DatabaseRegistry(configs={config.name: named}, resolve=lambda _: password or "", root=Path("/"))
    inputs = Inputs(
        skill="inspect-database",
        program=program,
        language=language,
        database=config.name,
        engine=config.engine,
        zone="Asia/Shanghai",
        now=NOW,
        last=None if last is None else Last(at=YESTERDAY, result=last),
    )
    done = rehearse(
        inputs, databases=databases, home=Home(Path("/nonexistent")), clock=FixedClock(NOW), emit=lambda *_: None
    )
    return Inspected(done.text, json.loads(done.state_json or "null"))
