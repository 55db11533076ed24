"""What is known when a run stops before its end? Told from the transcript, without another model call."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_cron.domain.transcript import Message

_LAST_RESULTS = 5
_LINE = 200
_WORDS = 4_000


def partial_summary(messages: Sequence[Message], *, headline: str, iterations: int, tool_errors: int) -> str:
    """Markdown: what stopped the run, how far it came, the model's last words, the last results as single lines."""
    calls = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    results = [message for message in messages if message.get("role") == "tool"]
    parts = [
        f"**Not finished**: {headline.rstrip('.')}.",
        f"Done so far: {_count(iterations, 'model call')}, {_count(len(results), 'tool call')} ({tool_errors} failed).",
    ]
    if said := _last_words(messages):
        parts.append(f"**Last words of the model**\n\n{said}")
    if results:
        lines = [
            f"- {calls.get(message.get('tool_call_id'), 'tool')}: {_first_line(str(message.get('content') or ''))}"
            for message in results[-_LAST_RESULTS:]
        ]
        parts.append("**Last results**\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _last_words(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        text = message.get("content")
        if message.get("role") == "assistant" and isinstance(text, str) and text.strip():
            text = text.strip()
            return text if len(text) <= _WORDS else f"{text[:_WORDS]} [... {len(text) - _WORDS:,} characters cut]"
    return ""


def _first_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[:_LINE]} [... {len(line) - _LINE:,} characters cut]"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
