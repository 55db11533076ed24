"""How many tokens is the next request? What the provider counted of the last one, and an estimate of what is new.

Each message is looked at once: a step of a long session costs what a step of a short one does.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_cron.domain.tokens import estimate_tokens, json_text, message_tokens
from hermes_cron.domain.transcript import Header, Message, Usage

_LEAST_SCALE = 0.05  # a provider that reports next to nothing must not make everything weigh nothing


class Weight:
    """Of one session's requests. ``scale`` is what an estimated token counts for at this provider."""

    def __init__(self, header: Header) -> None:
        self._fixed = estimate_tokens(header.system) + (estimate_tokens(json_text(header.tools)) if header.tools else 0)
        self._estimated = self._fixed  # of all messages up to ``_at``
        self._counted: float = self._fixed  # the same as far as a provider said
        self._at = 0
        self.scale = 1.0

    def tokens(self, messages: Sequence[Message]) -> int:
        """Of a request with these messages, which begin with those of the last one."""
        self._estimate(messages)
        return round(self._counted)

    def _estimate(self, messages: Sequence[Message]) -> None:
        new = sum(message_tokens(messages[at]) for at in range(self._at, len(messages)))
        self._estimated += new
        self._counted += new * self.scale
        self._at = len(messages)

    def reported(self, usage: Usage | None, messages: Sequence[Message]) -> None:
        """What the provider counted of a request and its reply, which is the last of ``messages``."""
        self._estimate(messages)
        if usage is not None and not usage.estimated:
            self.is_now(usage.input + usage.output)

    def is_now(self, tokens: int) -> None:
        """What was weighed last has so many."""
        self._counted = tokens
        self.scale = max(_LEAST_SCALE, tokens / max(1, self._estimated))

    def anew(self, messages: Sequence[Message]) -> int:
        """Of messages that do not begin with those of the last request."""
        self._estimated, self._at = self._fixed, 0
        self._counted = self._fixed * self.scale
        return self.tokens(messages)
