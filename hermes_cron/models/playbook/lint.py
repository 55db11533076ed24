"""Do a playbook's expressions parse, and do they name only what will be there?

SQL may name params and facts, shell text params only: with any other name the playbook is refused as a whole, so rows
and texts of other systems cannot reach a statement (docs/formats/playbook.md).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_cron.models.playbook.expressions import expressions
from hermes_cron.models.playbook.program import Program, Source, Step, Text

if TYPE_CHECKING:
    from jinja2 import nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """``step`` is an index, ``fact`` a name, ``key`` the key whose line is to be shown."""

    message: str
    key: str
    step: int | None = None
    fact: str | None = None
    hint: str | None = None


def faults(program: Program) -> Iterator[Fault]:
    """In file order; callers stop at the first."""
    names = frozenset(fact.name for fact in program.facts)
    for fact in program.facts:
        for message in _template(fact.body, program, allowed=frozenset({"params"})):
            yield Fault(message=message, key=fact.source, fact=fact.name)
    for index, step in enumerate(program.steps):
        allowed = names | {"params", "facts"} if step.source is Source.SQL else frozenset({"params"})
        for key, text, names_allowed in _parts(step, allowed):
            for message in _template(text, program, allowed=names_allowed):
                yield Fault(message=message, key=key, step=index)
    if program.report != "default":
        for message in _template(program.report, program):
            yield Fault(message=message, key="report")


def _parts(step: Step, allowed: frozenset[str]) -> Iterator[tuple[str, str, frozenset[str] | None]]:
    """Everything of a step that is rendered or evaluated, and the names it may use (None: any)."""
    for body in (step.body, *_strings(step.arguments)):
        yield step.source, body, allowed
    for key, text in _lines(step):
        yield key, text, None
    for key, text in _expressions(step):
        yield key, "{{ (" + text + ") }}", None


def _lines(step: Step) -> Iterator[tuple[str, str]]:
    texts: dict[str, Text | None] = {
        "title": step.title, "finding": step.finding, "fine": step.fine, "because": step.because,
        "evidence": step.evidence, "advice": step.advice,
    }  # fmt: skip
    for key, text in texts.items():
        if text is not None:
            yield key, text.en
            yield key, text.zh


def _expressions(step: Step) -> Iterator[tuple[str, str]]:
    if step.when is not None:
        yield "when", step.when
    yield from step.levels.items()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _template(text: str, program: Program, *, allowed: frozenset[str] | None = None) -> Iterator[str]:
    from jinja2 import TemplateError, meta, nodes

    environment = expressions().text
    try:
        tree = environment.parse(text)
        environment.compile(text)
    except TemplateError as error:
        yield f"{error.message} in {text.strip()[:60]!r}"
        return
    for node in tree.find_all(nodes.Getattr):
        if isinstance(node.node, nodes.Name) and node.node.name == "params" and node.attr not in program.params:
            near = difflib.get_close_matches(node.attr, program.params, n=1)
            yield f"no param {node.attr!r}" + (f', did you mean "{near[0]}"?' if near else "")
    if allowed is None:
        return
    for name in sorted(meta.find_undeclared_variables(tree) - allowed):
        yield f"{{{{ {name} }}}} may not stand in a statement: only {', '.join(sorted(allowed))} may"


def measured(expression: str) -> tuple[str, bool] | None:
    """``pct >= 80`` measures ``pct`` and more is worse (True); ``days <= 7`` measures ``days``, less is worse.

    None when the expression does not begin with a comparison of something computed from the row.
    """
    from jinja2 import nodes

    tree = expressions().text.parse("{{ (" + expression + ") }}")
    compare = next(tree.find_all(nodes.Compare), None)
    if compare is None or compare.ops[0].op not in ("gt", "gteq", "lt", "lteq"):
        return None
    name = _only_name(compare.expr)
    return (name, compare.ops[0].op in ("gt", "gteq")) if name else None


def _only_name(node: nodes.Node) -> str | None:
    from jinja2 import nodes

    return node.name if isinstance(node, nodes.Name) else None
