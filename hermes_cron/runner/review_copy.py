"""What does whoever looks back at a run get to read of it? All of it where it fits, else all of it shortened evenly.

Texts lose their middle first, then more of it, results before words; only what does not fit then is left out, between
the beginning and the end. The copy says itself how it was cut, so that nobody takes what is missing for not done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.compaction import Row
from hermes_cron.domain.template import fence
from hermes_cron.domain.tokens import estimate_tokens, first_of
from hermes_cron.domain.tool_call import reads_as_failure
from hermes_cron.domain.transcript import calls_of

_LEVELS: tuple[tuple[int, int] | None, ...] = (
    None, (8_000, 4_000), (3_000, 1_500), (1_500, 600), (700, 250), (300, 100), (150, 60),
)  # fmt: skip
"""Characters of words, of results; None: as they are."""
_ARGUMENTS = 600
_PROMPT_SHARE = 4  # the run's system prompt may have a quarter of the room


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """``text`` is fenced; ``cut`` says in a sentence what is missing, None where nothing is."""

    text: str
    cut: str | None = None


def transcript(rows: Sequence[Row], room: int) -> Copy:
    """What was said, in order, within about ``room`` tokens. A compaction only says again what its rows said."""
    own = [row for row in rows if row.covers is None]
    lines: list[str] = []
    for level in _LEVELS:
        lines = list(_lines(own, level))
        if _fit(lines, room):
            return Copy(text=_fenced(lines), cut=None if level is None else _shortened(level))
    kept, left = _ends(lines, room)
    return Copy(text=_fenced(kept), cut=f"{_shortened(_LEVELS[-1])} {left:,} lines between are left out.")


def prompt(system: str, room: int) -> Copy:
    """The run's system prompt: what it knew, and what memory, skills and context files told it."""
    room //= _PROMPT_SHARE
    size = estimate_tokens(system)
    if size <= room:
        return Copy(text=fence(system, source="system prompt"))
    most = max(200, len(system) * room // size)
    cut = f"The system prompt is cut in its middle, to {most:,} of {len(system):,} characters."
    return Copy(text=fence(_cut(system, most), source="system prompt"), cut=cut)


def _lines(rows: Sequence[Row], level: tuple[int, int] | None) -> Iterator[str]:
    for row in rows:
        message, content = row.message, str(row.message.get("content") or "")
        if message["role"] == "tool":
            failed = row.ok is False or reads_as_failure(content)
            said = content if level is None else _cut(content, level[1])
            yield f"[{row.seq}] result of {row.tool or 'a tool'}, {'FAILED' if failed else 'ok'}: {said}"
            continue
        if content.strip():
            yield f"[{row.seq}] {message['role']}: {content if level is None else _cut(content, level[0])}"
        for call in calls_of(message):
            arguments = call.arguments if level is None else one_line(call.arguments, min(_ARGUMENTS, level[0]))
            yield f"[{row.seq}] calls {call.name} {arguments}"


def _fit(lines: Sequence[str], room: int) -> bool:
    return sum(map(estimate_tokens, lines)) <= room


def _ends(lines: Sequence[str], room: int) -> tuple[list[str], int]:
    """A third of the room for the beginning, where the task stands, the rest for the end; how many are between."""
    head = first_of(lines, room // 3)
    tail = first_of(reversed(lines[len(head) :]), room - room // 3)
    left = len(lines) - len(head) - len(tail)
    return [*head, f"[... {left:,} lines are left out ...]", *tail[::-1]], left


def _cut(text: str, most: int) -> str:
    """Head and tail: an error is often said last."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail]} [... {len(text) - most:,} characters cut ...] {text[len(text) - tail :]}"


def _shortened(level: tuple[int, int] | None) -> str:
    words, results = level or (0, 0)
    return f"Texts of more than {words:,} characters, and results of more than {results:,}, are cut in their middle."


def _fenced(lines: Sequence[str]) -> str:
    return fence("\n".join(lines), source="transcript")
