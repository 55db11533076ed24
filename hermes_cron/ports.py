"""Where can another implementation stand? Every port has two implementations or a shipped double."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_cron.domain.check import Check, CheckResult, Trial
    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.compaction import Compacted, Load, Row, Work
    from hermes_cron.domain.database import QueryResult
    from hermes_cron.domain.delivery import Answer
    from hermes_cron.domain.delivery import Message as Delivery
    from hermes_cron.domain.recall import Passage, Recollection
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
        """Rows 1.. in order, as they are sent (without the system message), a compaction in the place of what it
        stands for. A last word that was cut is not."""

    def transcript(self) -> list[Row]:
        """Rows 1.. in order, all of them, compactions too; ``domain.compaction.sent`` tells what is sent of them."""

    def compact(self, made: Sequence[Compacted]) -> None:
        """Keep these compactions, in one transaction."""

    def side(self, kind: str, at: int, header: Header, messages: Sequence[Message]) -> Journal:
        """The session of this kind that works for a compaction of this one's rows up to ``at``: gone on with where it
        was begun, else new. It is told what people ask of the run, but for what is said to the run itself."""

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

    def unbegun(self, *seqs: int) -> None:
        """The open effects at ``seqs`` were certainly not begun: the run is released before them."""

    def redo(self, seq: int) -> None:
        """The effect at ``seq`` is begun once more (approved, or proven not to have happened): evidence starts anew."""

    def spent(self, usage: Usage, *, model: str, cost_usd: float | None, phase: str = "main") -> None:
        """Tokens of a model call that gave no usable reply: they were paid all the same."""

    def asked(self) -> Asked:
        """What people asked of this run since it was last looked at. Cheap enough for every step."""

    def steered(self) -> list[Message]:
        """Appends the waiting steer texts as user messages, in one transaction that also takes them; the messages."""


class ContextEngine(Protocol):
    """What makes a long transcript fit the model's window. One for one session, used by its thread."""

    def due(self, load: Load) -> bool:
        """Whether there is something to do before the next call. Asked before every one, so it looks at nothing."""

    def compact(self, work: Work) -> Sequence[Compacted]:
        """The rows to keep; none where nothing can be gained. Only between two steps: no call is in flight."""


class Purse(Protocol):
    """What a run may still spend. Thread-safe across processes: the store decides, in one transaction for all caps."""

    def reserve(self, *, model: str, tokens_input: int, tokens_output: int) -> str | None:
        """Reserve a call's worst case; the reservation's id, None where no cap applies.

        Raises ``BudgetExceeded`` and reserves nothing when any cap would be passed.
        """

    def settle(self, reservation: str | None, *, usage: Usage | None, cost_usd: float | None, model: str) -> None:
        """What the call really used. ``usage`` None: nobody knows, so the worst case stays spent."""


class Checks(Protocol):
    """Outcome checks. Both calls never raise for what a check meets: that is its verdict."""

    def pin(self, checks: Sequence[Check], folder: Path, env: Mapping[str, str]) -> str:
        """What the checks compare with, as it is now: JSON for ``Trial.pinned``."""

    def judge(self, trial: Trial, cancel: Flag) -> tuple[CheckResult, ...]:
        """What each check says, in order. Looks at the world and changes nothing; ends soon once ``cancel`` is set.

        Raises what ``Trial.on_spawn`` raises: ``Fenced``, when the run is another's.
        """


class ExternalMemory(Protocol):
    """A memory beside the built-in one: finds by meaning what words do not find. One at most is active."""

    name: str

    def recall(
        self, query: str, among: Sequence[Passage], *, limit: int, within_s: float, cancel: Flag | None = None
    ) -> Recollection:
        """The nearest of ``among``, which is all that may be recalled, newest first. Raises ``RecallFailed``."""


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


class Target(Protocol):
    """Where messages go. ``platform`` is its kind, for metrics; ``provable``: ``send`` can tell whether a message is
    there already and then says so instead of sending it twice."""

    platform: ClassVar[str]
    provable: ClassVar[bool]

    def send(self, message: Delivery) -> Answer:
        """One try, bounded in time. What the target or the way there did is the answer, never an exception."""


class Targets(Protocol):
    """The targets of config.toml as it is now, and the addresses of pings."""

    def names(self) -> tuple[str, ...]: ...

    def open(self, name: str) -> Target:
        """Raises ``NotFound``; ``ConfigError`` or ``VaultError`` where it cannot be used as configured."""

    def switch(self, address: str) -> Target:
        """The outside switch at an address, a URL or ``secret:NAME``. Raises as ``open``."""


Emit = Callable[[str, Mapping[str, object]], None]
"""Progress for people: an event's name and its facts. Never raises."""

__all__ = [
    "Checks",
    "Clock",
    "ContextEngine",
    "Database",
    "Databases",
    "Emit",
    "Fenced",
    "Journal",
    "Model",
    "Target",
    "Targets",
    "Usage",
]
