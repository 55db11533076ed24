"""Which call comes next, and what is known when none is left?

A generator that yields calls and is sent the tools' texts. It has no state outside itself and reads no clock, so
replaying the texts of a transcript leads to the same next call: that is how a run resumes at its step.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_cron.errors import PlaybookDatabaseUnreachable, PlaybookFailed
from hermes_cron.models.playbook.expressions import ExpressionFailed, expressions, one_line
from hermes_cron.models.playbook.inputs import Inputs
from hermes_cron.models.playbook.judge import Judged, judge
from hermes_cron.models.playbook.needs import COMMANDS_FACT, VERSION_FACT, builtin_facts, unmet
from hermes_cron.models.playbook.program import Fact, Parse, Source, Step
from hermes_cron.models.playbook.replies import Answer, cell_value, read

STEP_TIMEOUT_S = 10
_GIVE_UP_AFTER = (
    2  # calls in a row that fail with the same words, from the first on or while connecting: nobody is there
)
_LOST = "does not answer"  # what the tool says when it cannot connect (any more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """``step`` is the id of a step, or None for facts."""

    step: str | None
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Everything a report is made from. ``facts`` that could not be read are None."""

    judged: tuple[Judged, ...]
    facts: Mapping[str, Any]


Walk = Generator[Call, str, Done]


@dataclass(slots=True)
class _Ground:
    """What is known so far."""

    inputs: Inputs
    facts: dict[str, Any] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)  # a fact without a value: the reason
    saved: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    judged: list[Judged] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # since the last answer
    answered: bool = False

    def names(self) -> dict[str, Any]:
        facts = {name: value for name, value in self.facts.items() if not name.startswith("_")}
        return {
            **facts, **self.saved, "facts": facts, "params": dict(self.inputs.program.params),
            "last": _last(self.inputs), "lang": self.inputs.language,
        }  # fmt: skip


def walk(inputs: Inputs, judged: list[Judged]) -> Walk:
    """``judged`` grows with every step that is done.

    Raises ``PlaybookFailed`` when nothing could be checked, at the latest after the last step.
    """
    ground = _Ground(inputs, judged=judged)
    yield from _facts(ground)
    for step in inputs.program.steps:
        ground.judged.append((yield from _step(ground, step)))
    _refuse_empty(ground)
    facts = {name: value for name, value in ground.facts.items() if name == VERSION_FACT or not name.startswith("_")}
    return Done(judged=tuple(ground.judged), facts=facts)


def _facts(ground: _Ground) -> Generator[Call, str, None]:
    """SQL facts in one statement; one by one only if that fails, so that one missing right does not hide the rest."""
    wanted = [*builtin_facts(ground.inputs), *ground.inputs.program.facts]
    in_sql = [fact for fact in wanted if fact.source is Source.SQL]
    answer = yield from _sql_facts(ground, in_sql)
    if answer is not None and in_sql:
        for fact in in_sql:
            single = yield from _sql_facts(ground, [fact])
            if single is not None:
                ground.facts[fact.name] = None
                ground.why_not[fact.name] = single
    for fact in wanted:
        if fact.source is Source.SHELL:
            yield from _shell_fact(ground, fact)


def _sql_facts(ground: _Ground, facts: list[Fact]) -> Generator[Call, str, str | None]:
    """Returns the error, None when all went well."""
    if not facts:
        return None
    params = ground.inputs.program.params
    values = [expressions().statement(fact.body, params=params, facts={}).strip().rstrip(";") for fact in facts]
    parts = ",\n       ".join(f"({value}) as {fact.name}" for value, fact in zip(values, facts, strict=True))
    answer = yield from _ask(ground, None, "sql_query", _sql(ground, f"select {parts}"), Source.SQL)
    if answer.error is None and len(answer.rows) == 1:
        ground.facts.update(answer.rows[0])
        return None
    return answer.error or f"{len(answer.rows)} rows"


def _shell_fact(ground: _Ground, fact: Fact) -> Generator[Call, str, None]:
    command = expressions().command(fact.body, params=ground.inputs.program.params)
    answer = yield from _ask(ground, None, "terminal", _shell(command), Source.SHELL, Parse(kind="lines"))
    lines = [row["line"] for row in answer.rows]
    if fact.name == COMMANDS_FACT:
        ground.facts[fact.name] = None if answer.error else lines
        return
    ground.facts[fact.name] = cell_value(lines[0]) if lines and answer.error is None else None
    if answer.error is not None:
        ground.why_not[fact.name] = answer.error


def _step(ground: _Ground, step: Step) -> Generator[Call, str, Judged]:
    title = step.title.in_(ground.inputs.language)
    because = unmet(ground.inputs, step, ground.facts)
    if because is not None:
        return Judged(step=step.id, title=title, not_checked=because, failed=True)
    try:
        skipped = _skipped(ground, step)
        if skipped is not None:
            return Judged(step=step.id, title=title, not_checked=skipped)
        tool, arguments = _call(ground, step)
    except ExpressionFailed as error:
        return Judged(step=step.id, title=title, not_checked=_explained(ground, error), failed=True)
    answer = yield from _ask(ground, step.id, tool, arguments, step.source, step.parse)
    ground.saved[step.save] = list(answer.rows)
    return judge(step, answer, ground.names(), ground.inputs.language)


def _explained(ground: _Ground, error: ExpressionFailed) -> str:
    """A fact that could not be read explains better than the comparison that missed it."""
    for name, why in ground.why_not.items():
        if name in error.message:
            return one_line(f"{name}: {why}")
    return error.message


def _skipped(ground: _Ground, step: Step) -> str | None:
    """Why ``when`` says no, None when it says yes."""
    if step.when is None or expressions().holds(step.when, ground.names()):
        return None
    if step.because is not None:
        return expressions().line(step.because.in_(ground.inputs.language), ground.names())
    return one_line(f"{step.when}: {_values(step.when, ground.names())}")


def _values(expression: str, names: Mapping[str, Any]) -> str:
    """``stats_days = 0, params.stats_min_days = 7``."""
    from jinja2 import nodes

    tree = expressions().text.parse("{{ (" + expression + ") }}")
    said = []
    for node in tree.find_all((nodes.Name, nodes.Getattr)):
        if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
            said.append(f"{node.node.name}.{node.attr}")
        elif isinstance(node, nodes.Name) and node.name not in ("params", "facts", "last"):
            said.append(node.name)
    return ", ".join(f"{name} = {expressions().line('{{ ' + name + ' }}', names)}" for name in dict.fromkeys(said))


def _call(ground: _Ground, step: Step) -> tuple[str, dict[str, Any]]:
    params = ground.inputs.program.params
    if step.source is Source.SQL:
        facts = {name: value for name, value in ground.facts.items() if not name.startswith("_")}
        return "sql_query", _sql(ground, expressions().statement(step.body, params=params, facts=facts))
    text = expressions().command(step.body, params=params)
    if step.source is Source.SHELL:
        return "terminal", _shell(text)
    if step.source is Source.HTTP:
        return "http_get", {"url": text}
    return text, _rendered(step.arguments, params)


def _rendered(value: Any, params: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return expressions().command(value, params=params)
    if isinstance(value, dict):
        return {key: _rendered(item, params) for key, item in value.items()}
    return [_rendered(item, params) for item in value] if isinstance(value, list) else value


def _sql(ground: _Ground, sql: str) -> dict[str, Any]:
    return {"database": ground.inputs.database, "sql": sql.strip()}


def _shell(command: str) -> dict[str, Any]:
    return {"command": command.strip(), "timeout": STEP_TIMEOUT_S}


def _ask(
    ground: _Ground, step: str | None, tool: str, arguments: dict[str, Any], source: Source, parse: Parse | None = None
) -> Generator[Call, str, Answer]:
    text = yield Call(step=step, tool=tool, arguments=arguments)
    answer = read(text, source, parse)
    if answer.error is None:
        ground.answered = True
        ground.failures.clear()
    else:
        ground.failures.append(answer.error)
        _give_up(ground, source)
    return answer


def _give_up(ground: _Ground, source: Source) -> None:
    """A database that does not answer is not asked ten more times, each until its time-out."""
    failures = ground.failures[-_GIVE_UP_AFTER:] if ground.answered else ground.failures
    if source is not Source.SQL or len(failures) < _GIVE_UP_AFTER or len(set(failures)) > 1:
        return
    if not ground.answered or _LOST in failures[0]:
        raise PlaybookDatabaseUnreachable(
            failures[0],
            hint=f"hermes-cron db test {ground.inputs.database}",
            details={"database": ground.inputs.database},
        )


def _refuse_empty(ground: _Ground) -> None:
    judged = ground.judged
    if any(one.checked for one in judged) or not any(one.failed for one in judged):
        return
    first = next(one for one in judged if one.failed)
    raise PlaybookFailed(
        f"nothing could be checked: {first.step}: {first.not_checked}",
        details={"not_checked": {one.step: one.not_checked for one in judged}},
    )


def _last(inputs: Inputs) -> dict[str, Any] | None:
    """The last run's facts by name, and ``days_ago``."""
    if inputs.last is None:
        return None
    facts = inputs.last.result.get("facts")
    days = round((inputs.now - inputs.last.at).total_seconds() / 86400, 2)
    return {**(facts if isinstance(facts, dict) else {}), "days_ago": days}
