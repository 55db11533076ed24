"""Where can another implementation stand? Every port has two implementations or a shipped double."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hermes_cron.domain.database import QueryResult
    from hermes_cron.domain.transcript import (
        Asked,
        Header,
        Message,
        ModelReply,
        ModelRequest,
        PendingResult,
        PlannedResult,
        ToolResult,
        Usage,
    )


class Clock(Protocol):
    """``now`` is aware UTC. ``poll_s`` is None for a clock that moves by itself, else how often to look again."""

    poll_s: float | None

    def now(self) -> datetime: ...


class Model(Protocol):
    """One model call. Raises a ``ModelError`` subclass by kind; never returns an empty reply."""

    def complete(self, request: ModelRequest) -> ModelReply: ...


class Journal(Protocol):
    """The transcript of one session of one run. Every write is durable when the call returns.

    Every write is conditional on the run's fence; a writer that lost its run gets ``Fenced``.
    """

    session_id: str

    def header(self) -> Header:
        """Row 0 as stored."""

    def messages(self) -> list[Message]:
        """Rows 1.. in order, as they are sent (without the system message)."""

    def append(self, message: Message) -> int:
        """A user or system-made message; returns its seq."""

    def assistant(self, reply: ModelReply, planned: Sequence[PlannedResult], *, phase: str = "main") -> tuple[int, ...]:
        """The reply, its usage, the result seqs in call order and the intents of effects, in one transaction."""

    def result(self, *results: ToolResult) -> None:
        """Results, in one transaction. An effect's receipt is the row itself."""

    def spawned(self, seq: int, *, pgid: int, started: str, boot_id: str) -> None:
        """The process group that works for an effect, so that a take-over can end it."""

    def pending(self) -> list[PendingResult]:
        """Calls of the last assistant message whose results never came, in call order; empty in a fresh session."""

    def redo(self, seq: int) -> None:
        """The effect at ``seq`` is begun once more (approved, or proven not to have happened): evidence starts anew."""

    def spent(self, usage: Usage, *, model: str, cost_usd: float | None, phase: str = "main") -> None:
        """Tokens of a model call that gave no usable reply: they were paid all the same."""

    def asked(self) -> Asked:
        """What people asked of this run since it was last looked at. Cheap enough for every step."""

    def steered(self) -> list[Message]:
        """Appends the waiting steer texts as user messages, in one transaction that also takes them; the messages."""


class Purse(Protocol):
    """What a run may still spend. Thread-safe across processes: the store decides, in one transaction for all caps."""

    def reserve(self, *, model: str, tokens_input: int, tokens_output: int) -> str | None:
        """Reserve a call's worst case; the reservation's id, None where no cap applies.

        Raises ``BudgetExceeded`` and reserves nothing when any cap would be passed.
        """

    def settle(self, reservation: str | None, *, usage: Usage | None, cost_usd: float | None, model: str) -> None:
        """What the call really used. ``usage`` None: nobody knows, so the worst case stays spent."""


class Fenced(Exception):
    """This process no longer owns the run: another one took it over."""


class Database(Protocol):
    """One read-only connection. Not shared between threads, except ``cancel``."""

    def query(self, sql: str, *, timeout_s: float | None = None, row_cap: int | None = None) -> QueryResult: ...

    def schema(self, pattern: str | None = None) -> str: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class Databases(Protocol):
    """The databases a run may read, by name."""

    def names(self) -> tuple[str, ...]: ...

    def engine(self, name: str) -> str: ...

    def open(self, name: str) -> Database: ...


Emit = Callable[[str, Mapping[str, object]], None]
"""Progress for people: an event's name and its facts. Never raises."""

__all__ = ["Clock", "Database", "Databases", "Emit", "Fenced", "Journal", "Model", "Usage"]
