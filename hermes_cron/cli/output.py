"""How does text reach the screen: aligned, cut only on a terminal, without a stranger's control codes?"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

MAX_COLUMNS = 100
"""The widest line on a terminal, however wide the window."""

_LEAST = 8
"""What is left of a column that gives way."""

_ESCAPES = str.maketrans(
    {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
    | {code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
    | {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}
)
"""C0, C1 and bidirectional controls: a job's text could otherwise move the cursor or reorder a line. And what Python
makes of bytes in a file's name that are not UTF-8, which could not be written at all."""

_COLOURS = {"green": "32", "red": "31", "yellow": "33", "bold": "1", "dim": "2"}


def plain(text: str) -> str:
    """Foreign text that is safe to show: control characters become visible, newline and tab stay."""
    return text.replace("\r\n", "\n").translate(_ESCAPES)


def one_line(text: str) -> str:
    """``plain`` text with runs of white space made one space."""
    return " ".join(plain(text).split())


def width(text: str) -> int:
    """Columns on a terminal: wide characters (UAX 11) take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def pad(text: str, columns: int) -> str:
    """``text`` and spaces up to ``columns``; longer text as it is."""
    return text + " " * (columns - width(text))


def cut(text: str, columns: int) -> str:
    """At most ``columns`` wide, the last one an ellipsis where something was lost."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for character in text:
        used += _columns(character)
        if used > columns - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def table(
    rows: Iterable[Sequence[str]],
    headers: Sequence[str] = (),
    *,
    right: frozenset[int] = frozenset(),
    max_columns: int | None = None,
    give: Collection[int] = (),
    spare: Sequence[int] = (),
) -> str:
    """Aligned columns two spaces apart, without trailing spaces; empty text for no rows and no headers.

    ``right`` are the indexes of columns of numbers. Cells are made one safe line; an empty cell is shown as ``-``.
    ``max_columns`` (``cli().columns``: None on a pipe) is the width of a line. What does not fit in is taken from the
    columns of ``give``, the widest first; where that does not suffice, those of ``spare`` are left out, the first one
    first. Only what is too wide even then is cut at the line's end, which may be what the table is looked at for.
    """
    body = [[one_line(cell) or "-" for cell in row] for row in rows]
    lines = [list(headers), *body] if headers else body
    if not lines:
        return ""
    widths = [max(width(line[i]) for line in lines if i < len(line)) for i in range(max(map(len, lines)))]
    kept = list(range(len(widths)))
    if max_columns:
        widths, kept = _fitted(widths, max_columns, frozenset(give), spare)
    shown = []
    for line in lines:
        cells = [_cell(line[i], widths[i], right=i in right) for i in kept if i < len(line)]
        text = "  ".join(cells).rstrip()
        shown.append(cut(text, max_columns) if max_columns else text)
    return "\n".join(shown)


def _cell(text: str, columns: int, *, right: bool) -> str:
    if width(text) > columns:
        text = cut(text.rstrip(), columns)
    return " " * (columns - width(text)) + text if right else pad(text, columns)


def _fitted(
    widths: Sequence[int], room: int, give: frozenset[int], spare: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The columns' widths, and which of them are shown."""
    least = [min(columns, _LEAST) if i in give else columns for i, columns in enumerate(widths)]
    kept = list(range(len(widths)))
    for left_out in spare:
        if _across(least, kept) <= room:
            break
        kept.remove(left_out)
    found = [min(columns, room) if i in give else columns for i, columns in enumerate(widths)]
    while (too_wide := _across(found, kept) - room) > 0:
        widest = max((i for i in kept if found[i] > least[i]), key=lambda i: found[i], default=None)
        if widest is None:
            break
        others = (found[i] for i in kept if i in give and found[i] < found[widest])
        found[widest] = max(least[widest], max(others, default=0) - 1, found[widest] - too_wide)
    return found, kept


def _across(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[i] for i in kept) + 2 * (len(kept) - 1)


def facts(pairs: Iterable[tuple[str, str]], *, indent: int = 2, gap: int = 2) -> str:
    """``label  value`` lines, values aligned; further lines of a value stand under its first."""
    known = list(pairs)
    columns = max((width(label) for label, _ in known), default=0)
    lead = " " * indent
    lines = []
    for label, value in known:
        first, *rest = plain(value).split("\n")
        lines.append(f"{lead}{pad(label, columns + gap)}{first}".rstrip())
        lines.extend(f"{lead}{' ' * (columns + gap)}{line}".rstrip() for line in rest)
    return "\n".join(lines)


def paint(text: str, colour: str) -> str:
    """ANSI colour; call it only where ``cli().colour`` is true, and after padding."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def to_json(value: object, encoding: str | None = "utf-8", *, indent: int | None = None) -> str:
    """JSON with readable characters; escaped ones only where ``encoding`` has no place for them.

    Replacing a character would be a loss that no reader of JSON expects; an escape is not.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_jsonable)
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return json.dumps(value, ensure_ascii=True, indent=indent, default=_jsonable)
    return text


def _jsonable(value: object) -> object:
    isoformat = getattr(value, "isoformat", None)
    if isoformat is not None:
        return isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | tuple):
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    return str(value)
