"""What is known when a run stops before its end? Told from the transcript, without another model call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_cron.domain.transcript import Message

_TEXTS = {
    "en": {
        "unfinished": "**Not finished**: {headline}.",
        "done": "Done so far: {iterations}, {results} ({errors} failed).",
        "model_call": "1 model call", "model_calls": "{n:,} model calls",
        "tool_call": "1 tool call", "tool_calls": "{n:,} tool calls",
        "words": "**Last words of the model**", "results": "**Last results**",
        "cut": " [... {n:,} characters cut]",
    },
    "zh": {
        "unfinished": "**未完成**：{headline}。",
        "done": "到此为止：{iterations}，{results}（失败 {errors} 次）。",
        "model_call": "模型调用 1 次", "model_calls": "模型调用 {n:,} 次",
        "tool_call": "工具调用 1 次", "tool_calls": "工具调用 {n:,} 次",
        "words": "**模型最后的话**", "results": "**最后的结果**",
        "cut": " [... 略去 {n:,} 个字符]",
    },
}  # fmt: skip
_LAST_RESULTS = 5
_LINE = 200
_WORDS = 4_000


def partial_summary(
    messages: Sequence[Message], *, headline: str, iterations: int, tool_calls: int, tool_errors: int
) -> str:
    """Markdown: what stopped the run, how far it came, the model's last words, the last results as single lines.

    In the language of the task. ``messages`` are what is sent now: a compaction may stand for some of the calls.
    """
    texts = _TEXTS[_language(messages)]
    calls = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    results = [message for message in messages if message.get("role") == "tool"]
    parts = [
        texts["unfinished"].format(headline=headline.rstrip(".")),
        texts["done"].format(
            iterations=_count(texts, "model_call", iterations),
            results=_count(texts, "tool_call", tool_calls),
            errors=tool_errors,
        ),
    ]
    if said := _last_words(messages, texts):
        parts.append(f"{texts['words']}\n\n{said}")
    if results:
        lines = [
            f"- {calls.get(message.get('tool_call_id'), 'tool')}: "
            + _bounded(" ".join(str(message.get("content") or "").split()), _LINE, texts)
            for message in results[-_LAST_RESULTS:]
        ]
        parts.append(f"{texts['results']}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _language(messages: Sequence[Message]) -> str:
    from hermes_cron.domain.schedule.phrase import language

    task = next((message.get("content") for message in messages if message.get("role") == "user"), None)
    return language(task if isinstance(task, str) else "")


def _last_words(messages: Sequence[Message], texts: Mapping[str, str]) -> str:
    for message in reversed(messages):
        text = message.get("content")
        if message.get("role") == "assistant" and isinstance(text, str) and text.strip():
            return _bounded(text.strip(), _WORDS, texts)
    return ""


def _bounded(text: str, most: int, texts: Mapping[str, str]) -> str:
    return text if len(text) <= most else text[:most] + texts["cut"].format(n=len(text) - most)


def _count(texts: Mapping[str, str], word: str, number: int) -> str:
    return texts[word if number == 1 else f"{word}s"].format(n=number)
