"""What did a tool answer: rows, or why there are none?"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hermes_cron.models.playbook.program import Parse, Source

Row = dict[str, Any]
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_STATUS = re.compile(r"^exit[ _]code:?\s*(-?\d+)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``error`` None: ``rows`` hold. ``cut``: the tool gave only the first rows."""

    rows: tuple[Row, ...] = ()
    cut: bool = False
    error: str | None = None


def read(text: str, source: Source, parse: Parse | None = None) -> Answer:
    """The text of a ``role: tool`` message."""
    if source is Source.SQL:
        return _table(text)
    output, error = _output(text)
    if error is not None:
        return Answer(error=error)
    try:
        return Answer(rows=tuple(rows_of(output, parse or Parse())))
    except ValueError as problem:
        return Answer(error=str(problem))


def _table(text: str) -> Answer:
    said = _json(text)
    if not isinstance(said, dict) or "columns" not in said or "rows" not in said:
        return Answer(error=reason(text))
    columns = [str(name) for name in said["columns"]]
    rows = tuple(dict(zip(columns, row, strict=True)) for row in said["rows"])
    return Answer(rows=rows, cut=bool(said.get("truncated")))


def _output(text: str) -> tuple[str, str | None]:
    """Output and error of a shell or HTTP answer."""
    said = _json(text)
    if isinstance(said, dict) and "output" in said:
        output, code = str(said["output"]), said.get("exit_code", 0)
        return output, None if code == 0 else reason(output, code=code)
    return text, None


def reason(text: str, *, code: object = None) -> str:
    """One line of a failed call: its last words, without "error:"."""
    said = _json(text)
    if isinstance(said, dict):
        error = said.get("error", said)
        text = str(error.get("message", text)) if isinstance(error, dict) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = re.sub(r"^(error|Error):\s*", "", lines[0]) if lines else ""
    if code is None:
        return line or "no answer"
    return f"exit {code}" + (f", {lines[-1]}" if lines else "")


def rows_of(output: str, parse: Parse) -> Sequence[Row]:
    """Raises ``ValueError`` with one line for people."""
    if parse.kind == "json":
        return _json_rows(output)
    lines = [line for line in output.splitlines() if line.strip()][parse.skip :]
    if parse.kind == "lines":
        return [{"line": line} for line in lines]
    return [_cells(line, parse.columns) for line in lines]


def _json_rows(output: str) -> list[Row]:
    try:
        said = json.loads(output)
    except ValueError:
        raise ValueError("the output is not JSON") from None
    items = said if isinstance(said, list) else [said]
    return [item if isinstance(item, dict) else {"value": item} for item in items]


def _cells(line: str, columns: Sequence[str]) -> Row:
    takes_rest = columns[-1].startswith("*")
    cells = line.split(maxsplit=len(columns) - 1) if takes_rest else line.split()
    if takes_rest and len(cells) == len(columns) - 1:
        cells.append("")
    if len(cells) != len(columns):
        raise ValueError(f"a line has {len(cells)} columns, expected {len(columns)}: {line.strip()[:60]}")
    return {name.lstrip("*"): cell_value(cell) for name, cell in zip(columns, cells, strict=True)}


def cell_value(cell: str) -> str | int | float:
    """``93%`` is 93, ``7`` is 7, ``0.52`` is 0.52; everything else is the text."""
    bare = cell.removesuffix("%")
    if not _NUMBER.fullmatch(bare):
        return cell.strip()
    return float(bare) if "." in bare else int(bare)


def _json(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None
