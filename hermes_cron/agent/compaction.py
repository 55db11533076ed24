"""How is a long transcript made to fit? The engine that ships: memory first, then cheap cuts, then a summary.

In this order, each step only where the one before was not enough: the memory is flushed, long results in the middle
lose theirs, the middle becomes a summary. Head and tail stay as they are. Where no summary can be had, a digest of the
record stands in, and the next compaction tries again from the rows themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from hermes_cron.agent.compaction_cut import middle
from hermes_cron.agent.compaction_text import (
    Middle,
    bound,
    digested,
    flush_order,
    is_summary,
    record,
    summarised,
    summary_order,
)
from hermes_cron.agent.compaction_trim import left_alone, trimmed
from hermes_cron.domain.compaction import (
    Bench,
    Compacted,
    Ends,
    How,
    Load,
    Placed,
    Said,
    Work,
    sent,
    with_rows,
)
from hermes_cron.domain.tokens import message_tokens

_log = logging.getLogger(__name__)
_WORTH = 20
"""A middle of less than a twentieth of the window is not worth a model call and a new prefix."""
_NO_MODEL = "no model is asked for one"


class SummaryEngine:
    """Implements ``ports.ContextEngine``."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def due(self, load: Load) -> bool:
        return load.over_soft

    def compact(self, work: Work) -> Sequence[Compacted]:
        placed = sent(work.rows)
        inside = placed[_slice(middle(placed, self._bench.ends))]
        fresh = sum(tokens_of(each, work.scale) for each in inside if not (each.stands and each.row.ok))
        if not fresh or (fresh * _WORTH < work.load.window and not work.forced):
            return ()
        found = part(work, inside)
        if self._flushed(found).stopped:
            return ()
        trims = _trims(work, inside)
        if trims and _light(work, trims):
            return trims
        return self._stand_in(found, sum(tokens_of(each, work.scale) for each in inside), work.load)

    def _flushed(self, found: Middle) -> Said:
        """What is worth keeping for later runs goes to memory before it goes out of sight. That this failed is no
        reason to let the run fail."""
        if self._bench.flush is None:
            return Said()
        told = self._bench.flush(found.last, flush_order(), record(found, self._bench.room))
        if told.text is None and not told.stopped:
            _log.warning("session %s: memory was not flushed: %s", found.session_id, told.why)
        return told

    def _stand_in(self, found: Middle, covered: int, load: Load) -> Sequence[Compacted]:
        tokens = bound(covered, load.window)
        told = Said(why=_NO_MODEL)
        if self._bench.summarise is not None:
            told = self._bench.summarise(found.last, summary_order(found, tokens), record(found, self._bench.room))
        if told.stopped:
            return ()
        if told.text is not None and is_summary(told.text):
            message = summarised(found, told.text, tokens)
            return [Compacted(first=found.first, last=found.last, message=message, how=How.SUMMARY)]
        why = told.why or "the answer was no summary"
        if self._bench.summarise is not None:
            _log.warning("session %s: no summary (%s); a digest stands in its place", found.session_id, why)
        return [digest(found, why, tokens, ok=self._bench.summarise is None)]


def digest(found: Middle, why: str, tokens: int, *, ok: bool) -> Compacted:
    """The row of a middle that no model summarised; ``ok`` False where one should have."""
    message = digested(found, why, tokens)
    return Compacted(first=found.first, last=found.last, message=message, how=How.DIGEST, ok=ok)


def net(work: Work, ends: Ends) -> Sequence[Compacted]:
    """The hard net, without a model: what brings a request below the mark that none may pass, or as near as can be.

    Long results lose their middle wherever they stand, the oldest first and no more than must; then the middle is told
    as a digest, with a tail that gets shorter; last, what came just now is trimmed. The task stays word for word.
    """
    placed = sent(work.rows)
    trims = _trims(work, placed)
    newest = max((each.first for each in placed if each.message["role"] != "tool"), default=0)
    old = [cut for cut in trims if cut.first < newest]
    if (enough := _fewest(work, placed, old)) is not None:
        return enough
    best: Sequence[Compacted] = old
    for held in (old, trims):
        tail = ends.tail
        while tail and _over(work, best):
            made = _digest_of(work, placed, Ends(head=ends.head, tail=tail), held)
            if weight_of(work, made) < weight_of(work, best):
                best = made
            tail //= 2
    return best


def _trims(work: Work, placed: Sequence[Placed]) -> list[Compacted]:
    most = left_alone(work.load.window)
    cuts = (trimmed(each, work.session_id, most, searchable=work.searchable) for each in placed)
    return [cut for cut in cuts if cut is not None]


def _fewest(work: Work, placed: Sequence[Placed], trims: Sequence[Compacted]) -> Sequence[Compacted] | None:
    """The first of the trims that are enough; None when all of them are not."""
    sizes = {each.first: tokens_of(each, work.scale) for each in placed}
    left = work.load.tokens - work.load.hard
    for count, cut in enumerate(trims, 1):
        left -= sizes[cut.first] - round(message_tokens(cut.message) * work.scale)
        if left <= 0:
            return trims[:count]
    return None


def _digest_of(work: Work, placed: Sequence[Placed], ends: Ends, trims: Sequence[Compacted]) -> Sequence[Compacted]:
    inside = placed[_slice(middle(placed, ends))]
    if not inside or (len(inside) == 1 and inside[0].stands):
        return trims
    found = part(work, inside)
    tokens = bound(sum(tokens_of(each, work.scale) for each in inside), work.load.window)
    made = digest(found, _NET, tokens, ok=True)
    return [*(cut for cut in trims if not made.first <= cut.first <= made.last), made]


_NET = "the request was about to pass the window"


def part(work: Work, inside: Sequence[Placed]) -> Middle:
    """The middle with all rows that it stands for."""
    from hermes_cron.domain.schedule.phrase import language

    first, last = inside[0].first, inside[-1].last
    task = next((row.message.get("content") for row in work.rows if row.message["role"] == "user"), "")
    return Middle(
        session_id=work.session_id,
        sent=inside,
        rows=[row for row in work.rows if row.covers is None and first <= row.seq <= last],
        language=language(task if isinstance(task, str) else ""),
        searchable=work.searchable,
    )


def tokens_of(placed: Placed, scale: float) -> int:
    """What it counts for at the provider."""
    return round(message_tokens(placed.message) * scale)


def weight_of(work: Work, made: Sequence[Compacted]) -> int:
    """Tokens of the next request once these rows are kept."""
    before = sum(tokens_of(each, work.scale) for each in sent(work.rows))
    after = sum(tokens_of(each, work.scale) for each in sent(with_rows(work.rows, made)))
    return work.load.tokens - before + after


def _light(work: Work, made: Sequence[Compacted]) -> bool:
    """Well below the mark: else the next step would bring it up again."""
    return weight_of(work, made) * 10 <= work.load.soft * 8


def _over(work: Work, made: Sequence[Compacted]) -> bool:
    return weight_of(work, made) > work.load.hard


def _slice(places: range) -> slice:
    return slice(places.start, places.stop)
