"""Did it arrive? The words of the column SENT, from what the outbox knows.

Nothing is shown as sent for want of knowledge: one message of which nobody knows is enough to say ``unknown``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_cron.cli import output

if TYPE_CHECKING:
    from hermes_cron.store.outbox import DeliveryView

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "of": "{sent} of {all}",
        "try": "{target}, {nth} try",
        "failed": "{target} failed",
        "unknown": "{target} unknown",
        "queued": "{target} queued",
        "held": "{target} held",
    },
    "zh": {
        "of": "{sent}/{all}",
        "try": "{target}，第 {n} 次",
        "failed": "{target} 失败",
        "unknown": "{target} 不明",
        "queued": "{target} 待发",
        "held": "{target} 暂缓",
    },
}
_WORST_FIRST = ("failed", "unknown", "queued", "held")


def brief(states: Mapping[str, int], lang: str) -> str:
    """``1 of 1``, ``failed``, ``unknown``, ``silent``; empty for a run without messages. The words are the store's."""
    told = {state: count for state, count in states.items() if state != "silent" and count}
    if not told:
        return "silent" if states.get("silent") else ""
    worst = next((state for state in ("failed", "unknown") if state in told), None)
    if worst is not None:
        return worst
    if "sent" not in told:
        return next(state for state in _WORST_FIRST if state in told)
    return _TEXTS[lang]["of"].format(sent=told["sent"], all=sum(told.values()))


def whom(deliveries: Iterable[DeliveryView], lang: str) -> str:
    """``ops-chat``, ``ops-chat, 3rd try``, ``ops-chat, phone failed``; ``silent``, or empty, as ``brief``.

    A target that got several messages of the run stands once, with the worst that became of them.
    """
    by_target: dict[str, list[DeliveryView]] = {}
    silent = False
    for each in deliveries:
        if each.state == "silent":
            silent = True
        else:
            by_target.setdefault(each.target, []).append(each)
    if not by_target:
        return "silent" if silent else ""
    separator = "，" if lang == "zh" else ", "
    return separator.join(_one(target, messages, lang) for target, messages in by_target.items())


def _one(target: str, messages: Iterable[DeliveryView], lang: str) -> str:
    texts, messages = _TEXTS[lang], list(messages)
    for state in _WORST_FIRST:
        if any(each.state == state for each in messages):
            return texts[state].format(target=target)
    tries = max(each.attempts for each in messages)
    return texts["try"].format(target=target, nth=_nth(tries), n=tries) if tries > 1 else target


def _nth(number: int) -> str:
    if number % 100 in {11, 12, 13}:
        return f"{number}th"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def colour(result: str, checked: str | None, states: Iterable[str]) -> str | None:
    """``green`` only where all three are known to be good, ``red`` where one is known to be bad, else none."""
    told = set(states)
    if result not in _WELL or checked in _DOUBTED or told & {"failed", "unknown"}:
        return None if result in _NEITHER else "red"
    good = result == "ok" and checked == "verified" and bool(told) and arrived(told)
    return "green" if good else None


def painted(table: str, colours: Sequence[str | None]) -> list[str]:
    """The lines of a table with its header, each row in its colour; no colours, no change."""
    header, *rows = table.split("\n")
    if not colours:
        return [header, *rows]
    return [header, *(output.paint(row, shade) if shade else row for row, shade in zip(rows, colours, strict=True))]


_WELL = frozenset({"ok", "skipped"})
_NEITHER = frozenset({"queued", "running", "waiting_approval", "waiting_retry", "cancelled"})
_DOUBTED = frozenset({"check_failed", "not_checkable"})


def arrived(states: Iterable[str]) -> bool:
    """Whether nothing was lost: every message that was to be sent is sent."""
    return all(state in {"sent", "silent"} for state in states)


def as_json(delivery: DeliveryView) -> dict[str, Any]:
    """A delivery for scripts."""
    return {
        "id": delivery.id,
        "kind": delivery.kind,
        "target": delivery.target,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "reason": delivery.reason,
        "sent_at": delivery.sent_at,
        "next_try_at": delivery.next_try_at,
        "receipt": delivery.receipt,
        "error": delivery.error,
    }
