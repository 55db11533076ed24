"""Where may a transcript be cut? Never between a call and its results, never through what stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_cron.domain.compaction import Ends, Placed


def middle(placed: Sequence[Placed], ends: Ends) -> range:
    """The places between head and tail. Both grow to the next cut that is allowed; the head holds the task.

    Empty when there is nothing between them.
    """
    task = next((at for at, each in enumerate(placed) if each.message["role"] == "user"), -1)
    start = min(len(placed), max(ends.head, task + 1))
    while start < len(placed) and _is_result(placed[start]):
        start += 1
    stop = max(0, len(placed) - max(1, ends.tail))
    while stop > 0 and _is_result(placed[stop]):
        stop -= 1
    return range(start, max(start, stop))


def _is_result(each: Placed) -> bool:
    return bool(each.message["role"] == "tool")
