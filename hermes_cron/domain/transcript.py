"""What do a model and the loop say to each other, and how is it kept?

A message is the provider's own JSON object (``{"role": ..., "content": ...}``), stored whole and sent as stored.
Row 0 of a session is its ``Header``; rows 1.. are messages in the order in which they are sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Row 0: everything of a request that is not a message. Rendered once; a resume sends it as stored.

    ``tools`` are OpenAI tool schemas. ``parameters`` go into the request body beside the messages (max_tokens, ...).
    ``playbook`` is the embedded model's program and inputs when no language model drives the run (decision 9).
    """

    system: str
    tools: tuple[Mapping[str, Any], ...] = ()
    model: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    playbook: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of an assistant message; ``arguments`` is the text as the model wrote it (blank means ``{}``)."""

    id: str
    name: str
    arguments: str


def calls_of(message: Message) -> tuple[ToolCall, ...]:
    """The calls of a stored assistant message."""
    return tuple(
        ToolCall(id=call["id"], name=call["function"]["name"], arguments=str(call["function"].get("arguments") or ""))
        for call in message.get("tool_calls") or ()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one model call. ``estimated`` when the provider reported none."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """``messages`` begin with the system message made from ``header.system``.

    ``timeout_s`` bounds the whole call, or, of a streamed reply, the wait for its first word. ``run_left_s`` bounds
    a stream as a whole: what is left until the run's deadline; None when there is none.
    """

    header: Header
    messages: Sequence[Message]
    timeout_s: float
    run_left_s: float | None = None
    model: str | None = None  # a fallback instead of the header's


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """``message`` is what is stored and sent back; ``tool_calls`` and ``text`` are read from it.

    ``model`` is the one that answered, as the provider names it. ``state_json`` is the playbook's result as data.
    """

    message: Message
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    usage: Usage | None = None
    model: str = ""
    elapsed_ms: int = 0
    cost_usd: float | None = None  # None: unknown
    state_json: str | None = None

    @property
    def cut(self) -> bool:
        """It ended at the output limit."""
        return self.finish == "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedResult:
    """A tool call whose result row is reserved. ``effect`` other than ``read`` commits an intent with the message."""

    call: ToolCall
    effect: str
    arguments_hash: str
    batch: int = 0  # which group of calls it runs with, from 0
    gated: bool = False  # it acts through a process that starts only once its group is journalled


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingResult:
    """A call without a result, as a session that is gone on with finds it.

    ``begun``: it may have acted outside. False is certain: its batch was not reached, or its process never had a
    group. ``batch`` is the group of calls it ran with, None for a read. ``key`` is its idempotency key. ``decision`` is
    what a person said: ``approved`` (it did not happen, do it), ``denied`` or ``expired`` (it did, or must not), with
    ``reason``; None: nobody was asked or has answered. ``asked``: the question is open. ``evidence`` are lines of what
    is known about it.
    """

    seq: int
    call: ToolCall
    effect: str
    begun: bool
    key: str
    batch: int | None = None
    evidence: tuple[str, ...] = ()
    asked: bool = False
    decision: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call without a result and what the journal knows of it. ``batch`` and ``intent_at`` are None for a read.

    ``unbegun``: who ran the batches before it said, when it stopped, that this one was not begun.
    """

    seq: int
    call: ToolCall
    effect: str = "read"
    batch: int | None = None
    gated: bool = False
    intent_at: datetime | None = None
    pgid: int | None = None
    unbegun: bool = False


def begun(call: OpenCall, others: Sequence[OpenCall]) -> bool:
    """Whether an open call may have acted outside; ``others`` are the open calls of the same reply.

    A batch starts when the one before it has all its results, and reads and effects never share one: an open call
    before this one, of another batch or without an intent, proves that this one was not reached.
    """
    if call.batch is None or call.unbegun:
        return False
    if any(other.seq < call.seq and other.batch != call.batch for other in others):
        return False
    return not call.gated or call.pgid is not None


def evidence(call: OpenCall) -> tuple[str, ...]:
    """What is known of a call that may have acted, in lines for a person."""
    if call.batch is None:
        return ()
    when = "" if call.intent_at is None else f" at {call.intent_at:%Y-%m-%d %H:%M:%S} UTC"
    process = "it had no process of its own that is known"
    if call.pgid is not None:
        process = f"process group {call.pgid} worked for it; what was left of that was ended before the run went on"
    return (f"begun{when}, no result was kept", process)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What people ask of a running run."""

    cancel: bool = False
    steer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What one call gave. ``message`` is the ``role: tool`` object that the model sees, whole."""

    seq: int
    message: Message
    ok: bool
    elapsed_ms: int
    started_ms: int  # since the run's start, for the trace
    effect: str = "read"  # as planned: anything else gets its receipt with this row
    exit_code: int | None = None
