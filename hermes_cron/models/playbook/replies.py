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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``error`` None: ``rows`` hold. ``cut``: the tool gave only the first rows."""

    rows: tuple[Row, ...] = ()
    cut: bool = False
    error: str | None = None


def read(text: str, source: Source, parse: Parse | None = None) -> Answer:
    """The text of a ``role: tool`` message: what hermes_cron.tools answers, errors as ``{"error": {...}}``."""
    said = _json(text)
    if isinstance(said, dict) and "error" in said and not ({"output", "rows"} & said.keys()):
        return Answer(error=reason(said))
    if source is Source.SQL or (isinstance(said, dict) and {"columns", "rows"} <= said.keys()):
        return _table(said, text)
    if not isinstance(said, dict) or "output" not in said:
        return _parsed(text, parse or Parse())
    if said.get("exit_code", 0) != 0:
        return Answer(error=_ended(said))
    answer = _parsed(str(said["output"]), parse or Parse())
    return Answer(rows=answer.rows, cut="note" in said, error=answer.error)


def _table(said: Any, text: str) -> Answer:
    if not isinstance(said, dict) or not {"columns", "rows"} <= said.keys():
        return Answer(error=_first_line(text) or "no answer")
    columns = [str(name) for name in said["columns"]]
    rows = tuple(dict(zip(columns, row, strict=True)) for row in said["rows"])
    return Answer(rows=rows, cut=bool(said.get("truncated")))


def _parsed(output: str, parse: Parse) -> Answer:
    try:
        return Answer(rows=tuple(rows_of(output, parse)))
    except ValueError as problem:
        return Answer(error=str(problem))


def reason(said: dict[str, Any]) -> str:
    """One line of ``{"error": ...}``."""
    error = said["error"]
    text = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    return _first_line(text) or "no answer"


def _ended(said: dict[str, Any]) -> str:
    """``exit 1: the last line it wrote``; its own note says more when we ended it."""
    lines = [
        line.strip() for key in ("output", "stderr") for line in str(said.get(key, "")).splitlines() if line.strip()
    ]
    note = said.get("note")
    why = str(note) if note and "limit" in str(note) else (lines[-1] if lines else "")
    return f"exit {said['exit_code']}" + (f": {why}" if why else "")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


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
