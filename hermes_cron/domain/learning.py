"""What may a run learn, who learns it, and what became of it?

Facts go to memory, methods to skills. Every change has an author and a row of its own, so that it can be told, shown,
traced to its run and taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.recall import Recollection
    from hermes_cron.domain.tool_call import Probe, ToolOutput


class Learn(StrEnum):
    """What a job's runs may do with skills: write and tell, ask first, patch what exists, nothing."""

    AUTO = "auto"
    PROPOSE = "propose"
    ABSORB = "absorb"
    OFF = "off"


class MemoryMode(StrEnum):
    """What a job's runs may do with memory: read and write, read, nothing."""

    READ_WRITE = "read-write"
    READ_ONLY = "read-only"
    OFF = "off"


class Kind(StrEnum):
    """Where something learned went."""

    MEMORY = "memory"
    SKILL = "skill"


class LearnedState(StrEnum):
    """``proposed`` waits for a person; ``undone`` and ``rejected`` were applied and taken back."""

    APPLIED = "applied"
    PROPOSED = "proposed"
    DENIED = "denied"
    EXPIRED = "expired"
    UNDONE = "undone"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who learns. ``actor`` is ``run``, ``review``, ``flush``, ``consolidation`` or ``cli``; ``by`` the login name
    behind a command.

    ``methods`` False: the run did not end well, so it may teach pitfalls and no way of working that succeeds.
    ``proposal``: a person said yes to this row of ``learned``, and it is carried out.
    """

    actor: str
    run_id: str | None = None
    job_uid: str | None = None
    job_name: str | None = None
    session_id: str | None = None
    review: int | None = None
    by: str | None = None
    learn: Learn = Learn.AUTO
    memory: MemoryMode = MemoryMode.READ_WRITE
    methods: bool = True
    proposal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """One change of memory or of a skill, or the proposal of one.

    ``key`` is the call's idempotency key (``session/seq``), None for a person's command. ``name`` is ``MEMORY.md``,
    ``USER.md`` or the skill's qualified name, ``change`` a word (``added``, ``replaced``, ``removed``, ``created``,
    ``patched``, ``rewritten``, ``archived``). ``lines`` are what changed, each with ``+`` or ``-`` before it.
    ``before`` and ``after`` are snapshots.
    """

    number: int
    key: str | None
    at: datetime
    actor: str
    kind: Kind
    name: str
    change: str
    state: LearnedState
    lines: tuple[str, ...] = ()
    reason: str = ""
    run_id: str | None = None
    job_uid: str | None = None
    job_name: str | None = None
    session_id: str | None = None
    review: int | None = None
    before: str | None = None
    after: str | None = None
    approval: int | None = None
    told_at: datetime | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDoor:
    """Memory as one author may use it. ``write``: the operations of one call and its key; all of them or none.

    ``probe`` tells whether the call with this key has happened.
    """

    write: Callable[[Sequence[Mapping[str, Any]], str], ToolOutput]
    probe: Callable[[str], Probe]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDoor:
    """Skills as one author may use them. ``listing``: a query or None. ``view``: a skill, a file of it or None, and the
    call's key: a call that is asked again after a crash is one view.

    ``write`` and ``probe`` as those of memory; ``write`` is None where the author may only read.
    """

    listing: Callable[[str | None], ToolOutput]
    view: Callable[[str, str | None, str], ToolOutput]
    write: Callable[[Sequence[Mapping[str, Any]], str], ToolOutput] | None
    probe: Callable[[str], Probe]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What a run may learn with; None where it may not.

    ``recall`` asks the second memory: a question, how many answers at most, within how many seconds, and what ends it
    sooner. Raises ``RecallFailed``.
    """

    memory: MemoryDoor | None = None
    skills: SkillDoor | None = None
    recall: Callable[[str, int, float, Flag], Recollection] | None = None


NO_DOORS = Doors()
