"""What does the head of a SKILL.md say, read as leniently as agentskills.io asks of clients?

Every scalar stays the text that was written: ``version: 1.10`` is "1.10" and ``name: no`` is "no". Only what YAML
itself refuses is an error, and the error has the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_cron.errors import SkillEncodingError, SkillFrontmatterError
from hermes_cron.experience.front_quick import quick

Value = str | None | list[Any] | dict[str, Any]

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_PLAIN_LINE = re.compile(r"^(?P<key>\s*[\w.\-]+):[ \t]+(?P<value>\S.*?)\s*$")
_OPENS_OTHER = tuple("\"'[{|>&*!%@`#?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """``fields`` by key in file order, ``lines`` the line of each top-level key (1 = the file's first line)."""

    fields: Mapping[str, Value]
    lines: Mapping[str, int]
    body: str
    body_line: int
    warnings: tuple[str, ...] = ()
    quoted: Mapping[str, bool] = field(default_factory=dict)  # "metadata.version": written so that YAML reads text


def decode(data: bytes, where: str) -> str:
    """UTF-8 with or without a byte-order mark, any line ends. Raises ``SkillEncodingError``."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SkillEncodingError(
            f"{where}: not UTF-8 (byte {error.start})", hint="save as UTF-8", details={"path": where}
        ) from error
    if "\x00" in text:  # UTF-16 without a mark decodes, letter by letter with a NUL beside each
        raise SkillEncodingError(f"{where}: not UTF-8 text (holds NUL)", hint="save as UTF-8", details={"path": where})
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read(text: str, where: str) -> Front:
    """As ``parse``, without ``quoted``: what a reader of skills needs, fast for the heads that most skills have."""
    head, body, body_line = _split(text, where)
    found = quick(head)
    if found is None:
        return parse(text, where)
    fields, lines = found
    return Front(fields=fields, lines=lines, body=body, body_line=body_line)


def parse(text: str, where: str) -> Front:
    """Split and read. Raises ``SkillFrontmatterError`` with ``where:line``."""
    head, body, body_line = _split(text, where)
    from ruamel.yaml.error import YAMLError

    try:
        node = _compose(head)
        warnings: tuple[str, ...] = ()
    except YAMLError as error:
        repaired, lines = _quote_colons(head)
        if not lines:
            raise _yaml_error(error, where) from error
        try:
            node = _compose(repaired)
        except YAMLError:
            raise _yaml_error(error, where) from error
        warnings = tuple(f"{where}:{line}: read as if quoted, because of the colon; quote the text" for line in lines)
    return _front(node, where, body=body, body_line=body_line, warnings=warnings)


def _split(text: str, where: str) -> tuple[str, str, int]:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        raise SkillFrontmatterError(f"{where}:1: no front matter", hint="begin with ---, name: and description:")
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    raise SkillFrontmatterError(
        f"{where}:{len(lines)}: the front matter does not end", hint="close it with a line that is just ---"
    )


def _compose(head: str) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="rt").compose(head + "\n")


def _quote_colons(head: str) -> tuple[str, list[int]]:
    """Quote one-line plain values that hold ``: ``; returns the changed lines of the file."""
    out, changed = [], []
    for number, line in enumerate(head.split("\n"), start=2):
        match = _PLAIN_LINE.match(line)
        value = match["value"] if match else ""
        if match and (": " in value or value.endswith(":")) and not value.startswith(_OPENS_OTHER):
            out.append(f"{match['key']}: '{value.replace(chr(39), chr(39) * 2)}'")
            changed.append(number)
        else:
            out.append(line)
    return "\n".join(out), changed


def _yaml_error(error: Exception, where: str) -> SkillFrontmatterError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = (mark.line if mark is not None else 0) + 2  # the fence is line 1
    problem = getattr(error, "problem", None) or str(error).split("\n", maxsplit=1)[0]
    return SkillFrontmatterError(f"{where}:{line}: {problem}", hint='YAML: quote the text with "..."')


def _front(node: Any, where: str, *, body: str, body_line: int, warnings: tuple[str, ...]) -> Front:
    from ruamel.yaml.nodes import MappingNode

    if node is None or not isinstance(node, MappingNode):
        line = 1 if node is None else node.start_mark.line + 2
        raise SkillFrontmatterError(f"{where}:{line}: the front matter is not a list of `key: value` lines")
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    quoted: dict[str, bool] = {}
    for key_node, value_node in node.value:
        key, line = str(key_node.value), key_node.start_mark.line + 2
        if key in fields:
            raise SkillFrontmatterError(f"{where}:{line}: {key} stands twice, first in line {lines[key]}")
        lines[key] = line
        fields[key] = _value(value_node, where, key, quoted)
        if isinstance(value_node, MappingNode):
            lines.update({f"{key}.{k.value}": k.start_mark.line + 2 for k, _ in value_node.value})
    return Front(fields=fields, lines=lines, body=body, body_line=body_line, warnings=warnings, quoted=quoted)


_MAX_DEPTH = 12  # an alias may point at its own parent


def _value(node: Any, where: str, path: str, quoted: dict[str, bool]) -> Value:
    from ruamel.yaml.nodes import MappingNode, SequenceNode

    if path.count(".") > _MAX_DEPTH:
        raise SkillFrontmatterError(f"{where}:{node.start_mark.line + 2}: nested too deep")
    tag = str(node.tag or "")
    if tag and not tag.startswith("tag:yaml.org,2002:"):
        raise SkillFrontmatterError(f"{where}:{node.start_mark.line + 2}: unknown tag {tag}", hint="quote the text")
    if isinstance(node, MappingNode):
        return {str(k.value): _value(v, where, f"{path}.{k.value}", quoted) for k, v in node.value}
    if isinstance(node, SequenceNode):
        return [_value(item, where, f"{path}.{i}", quoted) for i, item in enumerate(node.value)]
    quoted[path] = tag.endswith(":str")
    if node.style == ">":  # ruamel keeps where a line was folded as a BEL
        return str(node.value).replace("\a", "")
    return None if node.style is None and node.value in _NULL else str(node.value)
