"""Does the next request fit the model's window, and what is done when it does not?

The engine is asked from a first mark on. Below the second one no request goes out that can be brought below it, engine
or not: the net cuts without a model. What the server says of its window is believed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hermes_cron.agent.compaction import net
from hermes_cron.agent.weight import Weight
from hermes_cron.domain.compaction import Compacted, Ends, Load, Row, Work, sent, with_rows, wrong
from hermes_cron.domain.session import SEARCH_TOOL
from hermes_cron.domain.transcript import Header, Message, Usage
from hermes_cron.errors import ModelContextLength
from hermes_cron.ports import ContextEngine, Emit, Fenced, Journal

_log = logging.getLogger(__name__)
_EARLY = 8
"""A window that is only guessed is asked for when an eighth of the first mark is reached: short runs never do."""
_LATER = 20
"""After a try that gained nothing the next one waits until a twentieth of the window came on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How many tokens a model reads at once (``of``), what a server said about it (``learn``), and the shares of it,
    in percent, from which there is something to do. ``ask`` the server where that is only guessed: it may take seconds.
    """

    of: Callable[[str], int]
    learn: Callable[[str, int], None]
    ask: Callable[[str], None] = lambda _model: None
    soft_percent: int = 50
    hard_percent: int = 85

    def load(self, model: str, tokens: int) -> Load:
        whole = self.of(model)
        soft = whole * min(self.soft_percent, self.hard_percent) // 100
        return Load(tokens=tokens, window=whole, soft=soft, hard=whole * self.hard_percent // 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What keeps a session within its window."""

    engine: ContextEngine
    window: Window
    ends: Ends = field(default_factory=Ends)


def room_for_a_reply(error: ModelContextLength, max_tokens: int) -> str:
    """What to do where it may be the room of a reply that does not fit; empty where it is not that."""
    if error.window is None or max_tokens * 4 <= error.window:
        return ""
    return (
        f" ({max_tokens:,} tokens are kept for the reply and may count, too: "
        f"hermes-cron config set model.max_tokens={error.window // 4})"
    )


class Fitting:
    """Of one loop. ``stopped`` says that the run stops, so that nothing is kept that was made for going on."""

    def __init__(self, fit: Fit, *, journal: Journal, header: Header, emit: Emit, stopped: Callable[[], bool]) -> None:
        self._fit = fit
        self._journal = journal
        self._emit = emit
        self._stopped = stopped
        self._weight = Weight(header)
        self._searchable = any(tool["function"]["name"] == SEARCH_TOOL for tool in header.tools)
        self._not_before = 0
        self._asked: str | None = None

    def reported(self, usage: Usage | None, messages: Sequence[Message]) -> None:
        """What the provider counted of the last request and its reply, the last of ``messages``."""
        self._weight.reported(usage, messages)

    def before_call(self, messages: Sequence[Message], model: str) -> list[Message] | None:
        """The messages to send instead; None: these. Called between two steps, at the start of a session too."""
        load = self._fit.window.load(model, self._weight.tokens(messages))
        if load.tokens * _EARLY > load.soft and model != self._asked:
            self._asked = model
            self._fit.window.ask(model)
            load = self._fit.window.load(model, load.tokens)
        due = (load.over_hard or load.tokens >= self._not_before) and self._fit.engine.due(load)
        return self._compacted(load, ask=due) if due or load.over_hard else None

    def refused(self, error: ModelContextLength, messages: Sequence[Message], model: str) -> list[Message] | None:
        """The server said that the request does not fit. The messages to try once more with; None: nothing helps."""
        tokens = self._weight.tokens(messages)
        said = error.window or min(self._fit.window.of(model), tokens) * 9 // 10
        self._fit.window.learn(model, said)
        self._weight.is_now(max(tokens, said) if error.requested is None else error.requested)
        return self._compacted(self._fit.window.load(model, self._weight.tokens(messages)), forced=True)

    def _compacted(self, load: Load, *, ask: bool = True, forced: bool = False) -> list[Message] | None:
        rows = self._journal.transcript()
        made = self._by_engine(self._work(rows, load, forced=forced)) if ask else ()
        if self._stopped():
            return [each.message for each in sent(rows)]  # the loop sees it, too, and sends none of them
        rows = self._kept(rows, made)
        after = self._weight.anew([each.message for each in sent(rows)])
        if made:
            self._tell(load, after, made)
        load = replace(load, tokens=after)
        cut = net(self._work(rows, load, forced=forced), self._fit.ends) if load.over_hard else ()
        rows = self._kept(rows, cut)
        messages = [each.message for each in sent(rows)]
        if cut:
            after = self._weight.anew(messages)
            self._tell(load, after, cut)
        self._not_before = 0 if made and after <= load.soft else after + load.window // _LATER
        return messages if made or cut else None

    def _work(self, rows: Sequence[Row], load: Load, *, forced: bool) -> Work:
        return Work(
            session_id=self._journal.session_id,
            rows=rows,
            load=load,
            scale=self._weight.scale,
            forced=forced,
            searchable=self._searchable,
        )

    def _by_engine(self, work: Work) -> Sequence[Compacted]:
        """What the engine made. Its crash ends no run, and what would break the conversation is not kept: an engine may
        be anybody's, and the net stands behind it.
        """
        try:
            made = self._fit.engine.compact(work)
        except Fenced:
            raise
        except Exception:  # noqa: BLE001  # see above
            _log.exception("session %s: the context engine crashed", work.session_id)
            return ()
        if made and (why := wrong(work.rows, made)) is not None:
            _log.error("session %s: the context engine's work is not used: %s", work.session_id, why)
            return ()
        return made

    def _kept(self, rows: Sequence[Row], made: Sequence[Compacted]) -> list[Row]:
        if not made:
            return list(rows)
        self._journal.compact(made)
        return with_rows(rows, made)

    def _tell(self, before: Load, after: int, made: Sequence[Compacted]) -> None:
        facts = {
            "how": [each.how.value for each in made],
            "first": min(each.first for each in made),
            "last": max(each.last for each in made),
            "ok": all(each.ok for each in made),
            "before": before.tokens,
            "after": after,
            "window": before.window,
        }
        self._emit("compacted", facts)
