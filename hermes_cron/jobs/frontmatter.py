"""What does the text of a job file hold: which keys and values at which lines, and which body?

YAML 1.2, read as a tree of nodes and never turned into objects by the library: so ``no`` and ``off`` stay words,
``02:30`` stays a time, every value knows its line, and nothing (tags, merge keys, anchors of anchors) can build more
than is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from hermes_cron.domain.job import Scalar as PlainScalar
from hermes_cron.errors import JobFileError, TextBlocked

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

FENCE = "---"
_BOM = "\ufeff"
_PREFIX = "tag:yaml.org,2002:"
_CORE = frozenset(_PREFIX + kind for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map"))


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fault:
    """What is wrong at which line of the file (from 1)."""

    line: int
    message: str
    hint: str | None = field(default=None, compare=False)
    """The next command, where the file itself does not say enough."""
    blocked: str | None = field(default=None, compare=False)
    """The scanner's class of a text that is blocked."""


class JobTextBlocked(JobFileError, TextBlocked):
    """A job file in which nothing is wrong but what the scanner blocks."""

    code = TextBlocked.code
    exit_code = TextBlocked.exit_code


class FaultsFound(Exception):
    """Reading stopped; the faults so far. Never leaves the package."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(faults)
        self.faults = faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """One scalar. ``text`` is as written, quotes resolved; ``value`` is what YAML 1.2 makes of it."""

    line: int
    text: str
    value: PlainScalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """A list."""

    line: int
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A mapping, in the order of the file; no key stands twice."""

    line: int
    entries: tuple[Entry, ...]


Value: TypeAlias = Single | Several | Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``key: value``. ``start``, ``colon`` and ``end`` are offsets into ``Parts.yaml``: key, behind its colon, and
    the end of what the value occupies (comments behind it excluded)."""

    key: str
    line: int
    value: Value
    start: int
    colon: int
    value_start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A file cut at its fences. Joined again by ``whole`` it is the file, byte for byte."""

    head: str
    yaml: str
    close: str
    body: str
    body_line: int

    def whole(self) -> bytes:
        """The file."""
        return (self.head + self.yaml + self.close + self.body).encode("utf-8")

    @property
    def prompt(self) -> str:
        """The body as the model gets it: line ends are LF, blank lines around it are gone."""
        return self.body.replace("\r\n", "\n").strip()

    @property
    def newline(self) -> str:
        """The file's own line end."""
        return "\r\n" if self.head.endswith("\r\n") else "\n"


def split(data: bytes) -> Parts:
    """Cut at the first line that is ``---`` and the next one; a BOM and CRLF are tolerated. Raises FaultsFound."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FaultsFound(Fault(line=line, message="not UTF-8 text")) from None
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    opening = next((number for number, line in enumerate(lines) if line.removeprefix(_BOM).strip()), None)
    if opening is None:
        raise FaultsFound(Fault(line=1, message="the file is empty"))
    if not _is_fence(lines[opening].removeprefix(_BOM)):
        raise FaultsFound(Fault(line=opening + 1, message='a job file begins with a line "---" and its keys'))
    closing = next((number for number in range(opening + 1, len(lines)) if _is_fence(lines[number])), None)
    if closing is None:
        raise FaultsFound(Fault(line=opening + 1, message='no second line "---" ends the keys'))
    return Parts(
        head="".join(lines[: opening + 1]),
        yaml="".join(lines[opening + 1 : closing]),
        close=lines[closing],
        body="".join(lines[closing + 1 :]),
        body_line=closing + 2,
    )


def read_table(parts: Parts) -> Table:
    """The keys. Raises FaultsFound for what is not YAML, not a mapping, or stands twice."""
    offset = parts.head.count("\n")
    root = _compose(parts.yaml, offset)
    if root is None:
        return Table(line=offset, entries=())
    read = _Reader(parts.yaml, offset)
    table = read.value(root)
    if read.faults:
        raise FaultsFound(*read.faults)
    if not isinstance(table, Table):
        raise FaultsFound(Fault(line=table.line, message='expected "key: value" lines'))
    return table


def _is_fence(line: str) -> bool:
    return line.rstrip() == FENCE


def _compose(text: str, offset: int) -> Node | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    try:
        root: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(mark.line if mark else 0, max(text.count("\n") - 1, 0))
        raise FaultsFound(Fault(line=line + 1 + offset, message=_explain(error.problem, text, line))) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise FaultsFound(Fault(line=line + 1 + offset, message="a control character in the text")) from None
    except YAMLError as error:
        raise FaultsFound(Fault(line=1 + offset, message=f"not YAML: {error}")) from None
    return root


def _explain(problem: str | None, text: str, line: int) -> str:
    """The library's words, or the cure where the cause is known: text that needs quotes."""
    written = text.split("\n")[line]
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return "indent with spaces, not with a tab"
    key, _, rest = written.strip().partition(":")
    rest = rest.strip()
    if rest and (rest[0] in "*@`%&!|>" or "mapping values" in (problem or "")):
        quoted = rest.split(" #")[0].strip().replace("\\", "\\\\").replace('"', '\\"')
        return f'this text needs quotes: {key}: "{quoted}"'
    return f"not YAML: {problem or 'cannot be read'}"


class _Reader:
    """Turns library nodes into ours and gathers the faults on the way."""

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self.faults: list[Fault] = []

    def value(self, node: Node, depth: int = 0) -> Value:
        line = node.start_mark.line + 1 + self._offset
        kind = type(node).__name__
        if str(node.tag) not in _CORE:
            shown = str(node.tag).replace(_PREFIX, "!!")
            self.faults.append(Fault(line=line, message=f'tags such as "{shown}" have no meaning here'))
        if kind == "ScalarNode":
            quoted = getattr(node, "style", None)
            value = node.value if quoted else _plain(str(node.tag).removeprefix(_PREFIX), node.value)
            return Single(line=line, text=node.value, value=value)
        if depth > 8:
            raise FaultsFound(Fault(line=line, message="nested too deep"))
        if kind == "SequenceNode":
            return Several(line=line, items=tuple(self.value(item, depth + 1) for item in node.value))
        return Table(line=line, entries=tuple(self._entries(node.value, depth)))

    def _entries(self, pairs: Iterable[tuple[Node, Node]], depth: int) -> Iterable[Entry]:
        seen: dict[str, int] = {}
        for key, value in pairs:
            line = key.start_mark.line + 1 + self._offset
            if type(key).__name__ != "ScalarNode":
                raise FaultsFound(Fault(line=line, message='text with braces needs quotes: "{{ ... }}"'))
            if key.value in seen:
                self.faults.append(
                    Fault(line=line, message=f'the key "{key.value}" stands twice (first at line {seen[key.value]})')
                )
                continue
            seen[key.value] = line
            read = self.value(value, depth + 1)
            colon = self._text.find(":", key.end_mark.index) + 1
            # The mark of a value that is not there stands at the next key.
            absent = value.value == "" and not getattr(value, "style", None)
            yield Entry(
                key=key.value,
                line=line,
                value=read,
                start=key.start_mark.index,
                colon=colon,
                value_start=colon if absent else value.start_mark.index,
                end=colon if absent else _end(value, self._text),
            )


def _plain(kind: str, text: str) -> PlainScalar:
    """YAML 1.2 core schema; everything it does not name is text, dates included."""
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    try:
        if kind == "int":
            return int(text, 0 if text.lower().lstrip("+-").startswith(("0x", "0o")) else 10)
        if kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return text
    return text


def _end(node: Node, text: str) -> int:
    """Where the written value ends: a block's own end mark lies behind the comments that follow it."""
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if type(node).__name__ == "ScalarNode":
        return start + len(text[start:end].rstrip()) if getattr(node, "style", None) in {"|", ">"} else end
    if getattr(node, "flow_style", False) or not node.value:
        return end
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last, text)


def refuse(shown_path: str, faults: Iterable[Fault]) -> JobFileError:
    """The error for these faults: the first in the message, all in ``details["faults"]``, by line."""
    ordered = sorted(set(faults))
    blocked = [{"class": it.blocked, "line": it.line} for it in ordered if it.blocked]
    error = JobTextBlocked if len(blocked) == len(ordered) else JobFileError
    return error(
        f"{shown_path}:{ordered[0].line} {ordered[0].message}",
        hint=ordered[0].hint if len(ordered) == 1 else f"{len(ordered) - 1} more: hermes-cron check {shown_path}",
        details={
            "line": ordered[0].line,
            "faults": [{"file": shown_path, "line": it.line, "message": it.message} for it in ordered],
            **({"blocked": blocked} if blocked else {}),
        },
    )
