"""How is a job written down, and how does one key change while every other byte stays?

An edit replaces the characters of the values it touches and nothing else: comments, order, quoting, line ends and the
body are the person's. The result is read again before anybody sees it; a text that cannot be edited this way (keys in
braces, anchors) is refused rather than rewritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

from hermes_cron.errors import Conflict, Usage
from hermes_cron.jobs.frontmatter import (
    FENCE,
    Entry,
    FaultsFound,
    Parts,
    Several,
    Table,
    Value,
    read_table,
    refuse,
    split,
)
from hermes_cron.jobs.keys import KEYS

Plain = str | int | float | bool | None | Sequence["Plain"] | Mapping[str, "Plain"]
"""What a value may be written from; None removes the key."""

_BARE = re.compile(r"[^\W\d_](?:[\w ./+-]*[\w./+-])?")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON allows and YAML 1.2 (5.1, 5.4) does not, or takes for a line end."""
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def render(values: Mapping[str, Plain], body: str) -> bytes:
    """A new file: keys in the format's order, those that are None left out, then the body."""
    ordered = sorted((key for key in values if values[key] is not None), key=_rank)
    lines = [f"{key}: {_written(values[key])}" for key in ordered]
    tail = f"{body.strip()}\n" if body.strip() else ""
    return _encoded("\n".join([FENCE, *lines, FENCE, tail]))


def edit(data: bytes, changes: Mapping[str, Plain], *, path: str, body: str | None = None) -> bytes:
    """The file with these keys changed, added, or removed (None), and with another body unless ``body`` is None.

    Raises JobFileError for a file that does not read, Conflict for one that cannot be edited key by key.
    """
    try:
        parts = split(data)
        table = read_table(parts)
    except FaultsFound as stopped:
        raise refuse(path, stopped.faults) from None
    text = parts.yaml
    for entry in sorted(table.entries, key=lambda it: it.start, reverse=True):
        if entry.key in changes:
            text = _replaced(text, entry, changes[entry.key], parts.newline)
    present = {entry.key for entry in table.entries}
    for key in sorted((key for key in changes if key not in present and changes[key] is not None), key=_rank):
        text = _ended(text, parts.newline) + f"{key}: {_written(changes[key])}{parts.newline}"
    _encoded(text + (body or ""))
    changed = Parts(
        head=parts.head,
        yaml=text,
        close=parts.close if body is None else _ended(parts.close, parts.newline),
        body=parts.body if body is None else body.strip().replace("\n", parts.newline) + parts.newline,
        body_line=parts.body_line,
    ).whole()
    _require_only(table, changed, changes, path)
    return changed


def _encoded(text: str) -> bytes:
    """Raises Usage for bytes of a command line that were not UTF-8: they reach us as lone surrogates."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Usage("the text is not UTF-8", hint="set the terminal's encoding to UTF-8") from None


def span_text(span: timedelta) -> str:
    """``90s 5m 2h 7d``: the largest unit that says it whole."""
    seconds = int(span.total_seconds())
    unit, length = next((pair for pair in (("d", 86400), ("h", 3600), ("m", 60)) if seconds % pair[1] == 0), ("s", 1))
    return f"{seconds // length}{unit}"


def _rank(key: str) -> int:
    return list(KEYS).index(key)


def _written(value: Plain) -> str:
    """One line of YAML 1.2."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(key)}: {_written(member)}" for key, member in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_written(item) for item in value) + "]"
    return "null" if value is None else str(value)


def _text(text: str) -> str:
    """Bare where no reader, of YAML 1.1 either, could take it for anything else; a JSON string is YAML too."""
    if _BARE.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _replaced(text: str, entry: Entry, value: Plain, newline: str) -> str:
    if entry.colon == 0 or entry.value_start < entry.colon - 1 or entry.end < entry.colon - 1:
        raise Conflict(f'the key "{entry.key}" at line {entry.line} cannot be changed safely', hint="Edit it by hand")
    if value is None:
        return text[: _line_start(text, entry.start)] + text[_line_end(text, max(entry.end, entry.colon)) :]
    written = f" {_written(value)}"
    if "\n" not in text[entry.colon : entry.value_start]:
        return text[: entry.colon] + written + text[max(entry.end, entry.colon) :]
    # The old value begins below its key; what stands behind the colon is a comment.
    kept = text[entry.colon : text.index("\n", entry.colon) + 1].rstrip("\r\n")
    rest = text[_line_end(text, entry.end) :]
    return text[: entry.colon] + written + kept.rstrip() + newline + rest


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _require_only(before: Table, changed: bytes, changes: Mapping[str, Plain], path: str) -> None:
    """The proof that an edit did what it says: the other keys read as before, the touched ones as asked."""
    try:
        after = read_table(split(changed))
    except FaultsFound as stopped:
        why = stopped.faults[0].message
        raise Conflict(f"{path} cannot be edited key by key ({why})", hint="Edit it by hand") from None
    kept_before, kept_after = (
        {it.key: _meaning(it.value) for it in table.entries if it.key not in changes} for table in (before, after)
    )
    present = {entry.key for entry in after.entries}
    wanted = {key for key in changes if changes[key] is not None}
    if kept_before != kept_after or present & set(changes) != wanted:
        raise Conflict(f"{path} cannot be edited key by key", hint="Edit it by hand")


def _meaning(value: Value) -> object:
    """A value without its place."""
    if isinstance(value, Table):
        return {entry.key: _meaning(entry.value) for entry in value.entries}
    if isinstance(value, Several):
        return [_meaning(item) for item in value.items]
    return (value.text, value.value)
