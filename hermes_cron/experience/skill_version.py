"""Which version does a SKILL.md say it is, and how does it say another one with every other byte as it was?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_cron.errors import HermesCronError, SkillFrontmatterError
from hermes_cron.experience import frontmatter

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

FIRST = "1.0"
_LAST_NUMBER = re.compile(r"(\d{1,9})(?!.*\d)", re.DOTALL)
_USUAL = re.compile(r"[\w.+-]{1,40}")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def version_of(data: bytes) -> str | None:
    """``metadata.version``, else a top-level ``version``; None when it says none or cannot be understood."""
    try:
        front = frontmatter.parse(frontmatter.decode(data, "SKILL.md"), "SKILL.md")
    except HermesCronError:
        return None
    metadata, top = front.fields.get("metadata"), front.fields.get("version")
    found = metadata.get("version") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else top if isinstance(top, str) else None


def next_version(version: str | None) -> str:
    """The last number is one more: ``1.9`` is followed by ``1.10``."""
    if version is None or not _USUAL.fullmatch(version):
        return FIRST
    raised = _LAST_NUMBER.sub(lambda found: str(int(found[1]) + 1), version, count=1)
    return raised if raised != version else f"{version}.1"


def with_version(data: bytes, version: str) -> bytes:
    """The file with this ``metadata.version``, written as a text. Raises ``SkillFrontmatterError``."""
    text = data.decode("utf-8")
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = _LINE.findall(text[len(mark) :])
    metadata, closing = _metadata(frontmatter.decode(data, "SKILL.md"))
    _set(lines, metadata, closing, f'"{version}"')
    return (mark + "".join(lines)).encode("utf-8")


def _metadata(text: str) -> tuple[tuple[Node, int] | None, int]:
    """The node of ``metadata`` with the line of its key, and the line that closes the front matter, from 0."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    front = frontmatter.parse(text, "SKILL.md")
    head = text.split("\n")[1 : front.body_line - 2]
    try:
        node = YAML(typ="rt").compose("\n".join(head) + "\n")
    except YAMLError as error:
        raise SkillFrontmatterError(
            "SKILL.md: the front matter is YAML only when texts with a colon are quoted", hint='YAML: "..."'
        ) from error
    for key, value in node.value:
        if key.value == "metadata":
            return (value, key.start_mark.line + 1), front.body_line - 2
    return None, front.body_line - 2


def _set(lines: list[str], metadata: tuple[Node, int] | None, closing: int, said: str) -> None:
    from ruamel.yaml.nodes import MappingNode

    ending = _ending(lines[0])
    if metadata is None:
        lines.insert(closing, f"metadata:{ending}  version: {said}{ending}")
        return
    node, key_line = metadata
    if not isinstance(node, MappingNode):
        if node.value:
            raise SkillFrontmatterError(f'SKILL.md:{key_line + 1}: "metadata" is not a list of `key: value` lines')
        lines.insert(key_line + 1, f"  version: {said}{ending}")
        return
    for key, value in node.value:
        if key.value == "version":
            _exchange(lines, key, value, said)
            return
    if node.flow_style:
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        comma = ", " if node.value else ""
        lines[line] = f"{lines[line][:column]}version: {said}{comma}{lines[line][column:]}"
        return
    indent = " " * node.value[0][0].start_mark.column
    lines.insert(key_line + 1, f"{indent}version: {said}{ending}")


def _exchange(lines: list[str], key: Node, value: Node, said: str) -> None:
    from ruamel.yaml.nodes import ScalarNode

    if (
        isinstance(value, ScalarNode) and value.value == "" and value.style is None
    ):  # ``version:`` and nothing behind it
        line, column = key.end_mark.line + 1, lines[key.end_mark.line + 1].index(":", key.end_mark.column) + 1
        lines[line] = f"{lines[line][:column]} {said}{lines[line][column:]}"
        return
    begin, end = value.start_mark, value.end_mark
    if begin.line != end.line:
        raise SkillFrontmatterError(f'SKILL.md:{begin.line + 2}: metadata "version" is a text of one line')
    line = begin.line + 1
    lines[line] = lines[line][: begin.column] + said + lines[line][end.column :]


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :] or "\n"
