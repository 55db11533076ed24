"""What is left of a result when its middle goes, and what of it fits a line? Always: which call, and how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.compaction import Compacted, How, Placed, Row
from hermes_cron.domain.session import SEARCH_TOOL
from hermes_cron.domain.tool_call import reads_as_failure
from hermes_cron.domain.transcript import Message, ToolCall, calls_of

_LEAST, _MOST = 400, 8_000  # characters of a result that are left alone
_SUBJECT = ("action", "name", "path", "file", "command", "query", "sql", "url", "pattern")
_SUBJECT_CHARS = 60
_WHY_CHARS = 80
_READ = f": {SEARCH_TOOL} reads around that anchor"
_CODE = re.compile(r'"code":\s*"([^"]{1,80})"')
_SAYS_FAILED = re.compile(r"\s*\[?(error|failed|failure|fatal|exception|traceback)\b", re.IGNORECASE)
_BAD_STATES = frozenset({"error", "failed", "failure"})


def left_alone(window: int) -> int:
    """Characters up to which a result stays whole: a hundredth of the window, where four of them are a token."""
    return max(_LEAST, min(_MOST, window // 25))


def trimmed(placed: Placed, place: str, most: int, *, searchable: bool = False) -> Compacted | None:
    """The row with a long result's middle left out; None for what is short enough, is trimmed or is no result.

    ``place`` is the session in which the whole is kept; ``searchable``: whoever reads this can read that.
    """
    content = placed.message.get("content")
    if placed.message["role"] != "tool" or placed.row.how is not None or not isinstance(content, str):
        return None
    if len(content) <= most * 3 // 2:
        return None
    head, tail = content[: most * 2 // 3], content[len(content) - most // 3 :]
    failed = failure(content, placed.row.ok)
    how = "" if failed is None else f" It FAILED: {failed}."
    cut = len(content) - len(head) - len(tail)
    mark = (
        f"[... {cut:,} of {len(content):,} characters are left out here.{how} "
        f"The whole is kept as {place}:{placed.first}{_READ if searchable else ''} ...]"
    )
    message = {**placed.message, "content": f"{head}\n{mark}\n{tail}"}
    return Compacted(first=placed.first, last=placed.last, message=message, how=How.TRIM)


def stubs(rows: Sequence[Row]) -> dict[int, str]:
    """A line for each result among the rows, by seq: ``[skill_manage patch] FAILED PatchNoMatch``."""
    asked: dict[str, ToolCall] = {}
    lines: dict[int, str] = {}
    for row in rows:
        if row.covers is not None:
            continue
        asked |= {call.id: call for call in calls_of(row.message)}
        if row.message["role"] == "tool":
            lines[row.seq] = stub(asked.get(row.message["tool_call_id"]), row)
    return lines


def stub(call: ToolCall | None, row: Row) -> str:
    """One line: the call's tool and what it was about, and how it ended."""
    name = row.tool or ("tool" if call is None else call.name)
    subject = "" if call is None else _subject(call.arguments)
    text = _text(row.message)
    what = one_line(f"{name} {subject}".strip(), 40 + _SUBJECT_CHARS)
    failed = failure(text, row.ok)
    if failed is not None:
        return f"[{what}] FAILED {failed}"
    return f"[{what}] ok, {len(text):,} characters: {one_line(text[:400], _WHY_CHARS)}"


def failure(text: str, ok: bool | None) -> str | None:
    """Why a result is a failure, in a few words; None when it is not. What a tool says of itself counts."""
    found = _by_its_words(text)
    if found is None and (ok is False or reads_as_failure(text)):
        code = _CODE.search(text[:400])
        found = code[1] if code else text[:400]
    return None if found is None else one_line(found, _WHY_CHARS) or "without a word"


def _by_its_words(text: str) -> str | None:
    if _SAYS_FAILED.match(text):
        return text[:400]
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _of_object(value) if isinstance(value, dict) else None


def _of_object(value: Mapping[str, Any]) -> str | None:
    error, code = value.get("error"), value.get("exit_code")
    bad = value.get("success") is False or value.get("ok") is False
    bad = bad or str(value.get("status", "")).lower() in _BAD_STATES
    if isinstance(error, Mapping):
        return str(error.get("code") or error.get("message") or "error")
    if error:
        return str(error)
    if isinstance(code, int) and code != 0:
        return f"exit code {code}"
    return str(value.get("message") or value.get("reason") or "") if bad else None


def _subject(arguments: str) -> str:
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return one_line(arguments, _SUBJECT_CHARS)
    if not isinstance(value, dict):
        return ""
    told = [str(value[key]) for key in _SUBJECT if isinstance(value.get(key), str | int)]
    told = told or [str(each) for each in value.values() if isinstance(each, str | int)][:1]
    return one_line(" ".join(told[:2]), _SUBJECT_CHARS)


def _text(message: Message) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
