"""Is there what a playbook needs: the engine, its version, a role of the account, commands on the host?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hermes_cron.models.playbook.inputs import Inputs
from hermes_cron.models.playbook.program import Fact, Source, Step

VERSION_FACT = "_version"
ROLE_FACT = "_role"
COMMANDS_FACT = "_missing_commands"

ENGINE_NAMES = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}
_VERSION_SQL = {
    "postgresql": "select split_part(current_setting('server_version'), ' ', 1)",
    "sqlite": "select sqlite_version()",
}


def builtin_facts(inputs: Inputs) -> list[Fact]:
    """Read with the playbook's own facts, so that a healthy run pays no call for them."""
    program = inputs.program
    facts = []
    if inputs.database is not None and inputs.engine in _VERSION_SQL:
        facts.append(Fact(name=VERSION_FACT, source=Source.SQL, body=_VERSION_SQL[inputs.engine]))
        if inputs.engine == "postgresql":
            for role in sorted(_roles(inputs)):
                body = f"select pg_has_role(current_user, '{role}', 'usage')"
                facts.append(Fact(name=f"{ROLE_FACT}_{role}", source=Source.SQL, body=body))
    commands = sorted({*program.needs.commands, *(c for step in program.steps for c in step.needs.commands)})
    if commands:
        words = " ".join(command for command in commands if re.fullmatch(r"[\w.+-]+", command))
        look = f'for c in {words}; do command -v "$c" >/dev/null 2>&1 || echo "$c"; done'
        facts.append(Fact(name=COMMANDS_FACT, source=Source.SHELL, body=look))
    return facts


def _roles(inputs: Inputs) -> set[str]:
    needs = (inputs.program.needs, *(step.needs for step in inputs.program.steps))
    return {need.role for need in needs if need.role is not None}


def unmet(inputs: Inputs, step: Step, facts: Mapping[str, Any]) -> str | None:
    """Why this step cannot be trusted here; None when nothing is missing."""
    zh = inputs.language == "zh"
    for needs in (inputs.program.needs, step.needs):
        reasons = (
            _engine(inputs, needs.engine, zh=zh),
            _version(inputs, needs.version, facts.get(VERSION_FACT), zh=zh),
            _role(inputs, needs.role, facts, zh=zh),
        )
        for reason in reasons:
            if reason is not None:
                return reason
    return _command(step, facts.get(COMMANDS_FACT) or (), zh=zh)


def _engine(inputs: Inputs, engine: str | None, *, zh: bool) -> str | None:
    if engine is None or engine == inputs.engine:
        return None
    wanted, here = ENGINE_NAMES.get(engine, engine), ENGINE_NAMES.get(str(inputs.engine), str(inputs.engine))
    return f"需要 {wanted}，这里是 {here}" if zh else f"needs {wanted}, this is {here}"


def _version(inputs: Inputs, wanted: str | None, here: object, *, zh: bool) -> str | None:
    if wanted is None or here is None or _numbers(str(here)) >= _numbers(wanted):
        return None
    name = ENGINE_NAMES.get(str(inputs.engine), "")
    return f"需要 {name} {wanted}，这里是 {here}" if zh else f"needs {name} {wanted}, this is {here}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _role(inputs: Inputs, role: str | None, facts: Mapping[str, Any], *, zh: bool) -> str | None:
    if role is None or inputs.engine != "postgresql" or facts.get(f"{ROLE_FACT}_{role}"):
        return None
    return f"账号没有角色 {role}" if zh else f"the account lacks the role {role}"


def _command(step: Step, missing: object, *, zh: bool) -> str | None:
    """Only a step whose own text uses the command is concerned."""
    names = missing if isinstance(missing, list | tuple) else ()
    for name in names:
        if name in step.needs.commands or re.search(rf"(?<![\w./-]){re.escape(str(name))}(?![\w-])", step.body):
            return f"缺少命令 {name}" if zh else f"no command {name} here"
    return None
