"""Does a playbook file say something we understand, and if not, in which line?

The same reader takes the file and the plain data stored in a run's header; only the file has lines.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from hermes_cron.errors import PlaybookInvalid
from hermes_cron.files import inside
from hermes_cron.models.playbook import lint
from hermes_cron.models.playbook.program import (
    Expect,
    Fact,
    Needs,
    Parse,
    Program,
    Scalar,
    Severity,
    Source,
    Step,
    Text,
)

FORMAT = 1
_ID = re.compile(r"[a-z][a-z0-9_]{0,47}")
_COLUMN = re.compile(r"\*?[A-Za-z_][A-Za-z0-9_]*")
_TOP = ("playbook", "needs", "params", "facts", "steps", "report")
_STEP = (
    "id", "title", "finding", "fine", "sql", "shell", "http", "tool", "with", "parse", "when", "because", "expect",
    "critical", "warning", "info", "evidence", "advice", "save", "key", "unit", "needs", "error_is_row",
)  # fmt: skip
RESERVED = frozenset({"params", "facts", "last", "lang"})


@dataclass(frozen=True, slots=True)
class _At:
    """A mapping of the file with its place, so that every fault has a line."""

    where: str
    node: Mapping[str, Any]
    what: str

    def line(self, key: str | None = None) -> int | None:
        marks = getattr(self.node, "lc", None)
        if marks is None:
            return None
        if key is None or key not in self.node:
            return int(marks.line) + 1
        return int(marks.key(key)[0]) + 1

    def fail(self, message: str, *, key: str | None = None, hint: str | None = None) -> NoReturn:
        line = self.line(key)
        place = self.where if line is None else f"{self.where}:{line}"
        raise PlaybookInvalid(f"{place}: {message}", hint=hint or "Format: docs/formats/playbook.md")

    def only(self, known: Sequence[str]) -> None:
        """Unknown keys are faults with the nearest known word."""
        for key in self.node:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                said = f', did you mean "{near[0]}"?' if near else f" (known: {', '.join(known)})"
                self.fail(f'unknown key "{key}" in {self.what}{said}', key=key)

    def text(self, key: str) -> str | None:
        value = self.node.get(key)
        if value is not None and not (isinstance(value, str) and value.strip()):
            self.fail(f'"{key}" is not a text', key=key)
        return None if value is None else str(value)

    def expression(self, key: str) -> str | None:
        """``true`` without quotes means the expression "true"."""
        value = self.node.get(key)
        return str(value).lower() if isinstance(value, bool) else self.text(key)

    def mapping(self, key: str) -> _At:
        value = self.node.get(key)
        if not isinstance(value, Mapping):
            self.fail(f'"{key}" is not a mapping', key=key)
        return _At(self.where, value, key)

    def words(self, key: str) -> tuple[str, ...]:
        value = self.node.get(key)
        items = [value] if isinstance(value, str) else value
        if items is None:
            return ()
        if not isinstance(items, Sequence) or not all(isinstance(item, str) for item in items):
            self.fail(f'"{key}" is not a list of words', key=key)
        return tuple(str(item) for item in items)

    def both(self, key: str) -> Text | None:
        """A line, or one line a language."""
        value = self.node.get(key)
        if value is None:
            return None
        said = {"en": value, "zh": value} if isinstance(value, str) else value
        if not isinstance(said, Mapping) or set(said) != {"en", "zh"} or not _texts(said):
            self.fail(f'"{key}" is neither a text nor {{en: ..., zh: ...}}', key=key)
        return Text(en=str(said["en"]), zh=str(said["zh"]))


def _texts(values: Mapping[str, object]) -> bool:
    return all(isinstance(value, str) for value in values.values())


def load(path: Path, *, shown: str | None = None) -> Program:
    """Read and check a file. Raises ``PlaybookInvalid`` whose message begins with file:line."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    where = shown or str(path)
    if not path.is_file():  # a pipe would be waited for
        raise PlaybookInvalid(f"{where}:1: no plain file")
    try:
        document = YAML(typ="rt").load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise PlaybookInvalid(f"{where}:1: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PlaybookInvalid(f"{where}:1: not UTF-8", hint="save as UTF-8") from error
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or str(error).split("\n", maxsplit=1)[0]
        raise PlaybookInvalid(f"{where}:{line}: {problem}", hint='YAML: quote the text with "..."') from error
    if not isinstance(document, Mapping):
        raise PlaybookInvalid(f"{where}:1: not a playbook", hint="it begins with playbook: 1")
    program = read(document, where=where)
    if not program.report.endswith(".j2"):
        return program
    line = _At(where, document, "the playbook").line("report")
    text = _template(path.parent, program.report, where=f"{where}:{line}")
    return read({**program.data, "report": text}, where=f"{where}:{line}")


def _template(folder: Path, name: str, *, where: str) -> str:
    """The text of a report template beside the playbook, so that a run's header holds all of its program."""
    file = inside(folder / name, folder)
    if file is None or not file.is_file():
        raise PlaybookInvalid(f"{where}: no file {name} in the skill", hint="report: default, or a file.j2")
    return file.read_text(encoding="utf-8-sig")


def read(data: Mapping[str, Any], *, where: str = "playbook", expressions: bool = True) -> Program:
    """Check plain data or a parsed file. Raises ``PlaybookInvalid``.

    ``expressions`` False for data that was checked before: its templates are not compiled once more.
    """
    top = _At(where, data, "the playbook")
    top.only(_TOP)
    if data.get("playbook") != FORMAT:
        top.fail(f"playbook: {data.get('playbook')!r} is not a format this version reads ({FORMAT})", key="playbook")
    params = _params(top)
    facts = _facts(top)
    needs = _needs(top)
    steps = _steps(top, taken={*RESERVED, *(fact.name for fact in facts)})
    report = top.text("report") or "default"
    program = Program(params=params, needs=needs, facts=facts, steps=steps, report=report, data=_plain(data))
    for fault in lint.faults(program) if expressions else ():
        at = _place(top, fault)
        at.fail(fault.message, key=fault.key, hint=fault.hint)
    return program


def override(program: Program, params: Mapping[str, Scalar]) -> Program:
    """A job's own numbers. Raises ``PlaybookInvalid`` for a name or a kind of value the playbook has not."""
    for name, value in params.items():
        if name not in program.params:
            near = difflib.get_close_matches(name, program.params, n=1)
            hint = f"did you mean {near[0]}?" if near else f"params: {', '.join(program.params) or 'none'}"
            raise PlaybookInvalid(f"playbook: no param {name!r}", hint=hint)
        default = program.params[name]
        if _is_number(default) != _is_number(value):
            raise PlaybookInvalid(f"playbook: param {name} is {default!r}, so {value!r} does not fit")
    return replace(program, params={**program.params, **params})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _params(top: _At) -> dict[str, Scalar]:
    if top.node.get("params") is None:
        return {}
    at = top.mapping("params")
    for name, value in at.node.items():
        if not _ID.fullmatch(str(name)):
            at.fail(f'"{name}" is not a name for a param', key=name)
        if value is not None and not isinstance(value, str | int | float | bool):
            at.fail(f'param "{name}" is not a number, a text or true/false', key=name)
    return {str(name): _plain(value) for name, value in at.node.items()}


def _needs(at: _At) -> Needs:
    if at.node.get("needs") is None:
        return Needs()
    needs = at.mapping("needs")
    needs.only(("engine", "version", "role", "commands"))
    version = needs.text("version")
    if version is not None and not re.fullmatch(r"(>=)?\s*\d+(\.\d+)*", version):
        needs.fail(f'version {version!r} is not ">=NUMBER"', key="version")
    engine = needs.text("engine")
    if engine not in (None, "postgresql", "sqlite"):
        needs.fail(f'engine "{engine}" is unknown (known: postgresql, sqlite)', key="engine")
    minimum = version.lstrip(">= ") if version else None
    role = needs.text("role")
    if role is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", role):
        needs.fail(f"role {role!r} is not one word", key="role")
    return Needs(engine=engine, version=minimum, role=role, commands=needs.words("commands"))


def _facts(top: _At) -> tuple[Fact, ...]:
    if top.node.get("facts") is None:
        return ()
    at = top.mapping("facts")
    facts = []
    for name in at.node:
        if not _ID.fullmatch(str(name)) or name in RESERVED:
            at.fail(f'"{name}" is not a name for a fact', key=name)
        fact = at.mapping(name)
        fact.only(("sql", "shell"))
        source = _one_source(fact, (Source.SQL, Source.SHELL))
        facts.append(Fact(name=str(name), source=source, body=fact.text(source) or ""))
    return tuple(facts)


def _steps(top: _At, *, taken: set[str]) -> tuple[Step, ...]:
    entries = top.node.get("steps")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        top.fail("no steps", key="steps")
    steps: list[Step] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            top.fail("a step is not a mapping", key="steps")
        at = _At(top.where, entry, "a step")
        step = _step(at)
        for name in {step.id, step.save}:
            if name in taken:
                at.fail(f'the name "{name}" is taken', key="id" if name == step.id else "save")
        taken |= {step.id, step.save}
        steps.append(step)
    return tuple(steps)


def _step(at: _At) -> Step:
    at.only(_STEP)
    step_id = at.text("id")
    if step_id is None or not _ID.fullmatch(step_id):
        at.fail(f"id {step_id!r} is not a name (letters, digits, _)", key="id")
    title, evidence = at.both("title"), at.both("evidence")
    if title is None or evidence is None:
        at.fail(f'step {step_id}: "{"title" if title is None else "evidence"}" is missing')
    levels = {level: said for level in Severity if (said := at.expression(level)) is not None}
    if not levels:
        at.fail(f"step {step_id} judges nothing: critical, warning or info is missing")
    source = _one_source(at, tuple(Source))
    expect = at.text("expect") or Expect.ROWS
    if expect not in tuple(Expect):
        at.fail(f'expect "{expect}" is not one of {", ".join(Expect)}', key="expect")
    return Step(
        id=step_id, title=title, source=source, body=at.text(source) or "", arguments=_arguments(at, source),
        parse=_parse(at, source), when=at.expression("when"), because=at.both("because"), expect=Expect(expect),
        levels=levels, evidence=evidence, advice=at.both("advice"), finding=at.both("finding") or title,
        fine=at.both("fine"), save=at.text("save") or step_id, key=at.words("key"), unit=at.both("unit"),
        needs=_needs(at), error_is_row=at.words("error_is_row"),
    )  # fmt: skip


def _one_source(at: _At, known: Sequence[Source]) -> Source:
    said = [source for source in known if source in at.node]
    if len(said) != 1:
        at.fail(f"exactly one of {', '.join(known)} is wanted, here are {len(said)}", key=said[1] if said else None)
    return said[0]


def _arguments(at: _At, source: Source) -> dict[str, Any]:
    if "with" not in at.node:
        return {}
    if source is not Source.TOOL:
        at.fail('"with" belongs to "tool"', key="with")
    arguments: dict[str, Any] = _plain(at.mapping("with").node)
    return arguments


def _parse(at: _At, source: Source) -> Parse | None:
    value = at.node.get("parse")
    if source is Source.SQL:
        if value is not None:
            at.fail('"parse" is not for sql: its rows have columns already', key="parse")
        return None
    if value is None or value in ("lines", "json"):
        return Parse(kind=str(value or "lines"))
    if not isinstance(value, Mapping):
        at.fail('"parse" is lines, json or {columns: [...], skip: N}', key="parse")
    inner = at.mapping("parse")
    inner.only(("columns", "skip"))
    columns = inner.words("columns")
    if not columns or not all(_COLUMN.fullmatch(name) for name in columns):
        inner.fail('"columns" needs names', key="columns")
    if any(name.startswith("*") for name in columns[:-1]):
        inner.fail("only the last column may take the rest of the line", key="columns")
    skip = inner.node.get("skip", 0)
    if not isinstance(skip, int) or skip < 0:
        inner.fail('"skip" is not a number of lines', key="skip")
    return Parse(kind="columns", columns=columns, skip=int(skip))


def _place(top: _At, fault: lint.Fault) -> _At:
    if fault.step is not None:
        return _At(top.where, top.node["steps"][fault.step], "a step")
    if fault.fact is not None:
        return _At(top.where, top.node["facts"][fault.fact], "a fact")
    return top


def _plain(value: Any) -> Any:
    """JSON values without the parser's own types."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    return float(value) if isinstance(value, float) else int(value)
