"""After how much is a run looked back at? Two counters of a job, kept from run to run.

User turns count for memory: a run's task is one, and so is each text that a person gives it while it works or says of
it afterwards. Loop iterations, one a model call, count for skills. What an agent kept by itself needs no nudge: a
counter begins anew behind its last good call of the tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.domain.review import Brief


class Tally(StrEnum):
    """What is counted, under the name of what a review of it looks for."""

    MEMORY = "memory"
    SKILL = "skill"


TOOLS: Mapping[str, Tally] = {"memory": Tally.MEMORY, "skill_manage": Tally.SKILL}
"""Which tool's use makes which counter begin anew. A skill that is only read teaches nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudge:
    """How far each counter goes; 0: it is not counted, and nothing comes of it."""

    memory_turns: int = 10
    skill_iterations: int = 10

    def of(self, tally: Tally) -> int:
        return self.memory_turns if tally is Tally.MEMORY else self.skill_iterations


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A row of a transcript. ``said``: a user message that is a person's word, not one of hermes-cron's own."""

    role: str
    tool: str | None = None
    ok: bool | None = None
    said: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Went:
    """What a run adds to each counter; one in ``anew`` began anew in it, so that nothing from before counts."""

    counts: Mapping[Tally, int] = field(default_factory=dict)
    anew: frozenset[Tally] = frozenset()

    def after(self, tally: Tally, before: int) -> int:
        return self.counts.get(tally, 0) + (0 if tally in self.anew else before)


def went(steps: Iterable[Step]) -> Went | None:
    """None: no model ever answered in this run, so there is nothing to look back at."""
    counts = dict.fromkeys(Tally, 0)
    anew: set[Tally] = set()
    answered = False
    for step in steps:
        if step.role == "user" and step.said:
            counts[Tally.MEMORY] += 1
        elif step.role == "assistant":
            answered = True
            counts[Tally.SKILL] += 1
        elif step.role == "tool" and step.ok and (kept := TOOLS.get(step.tool or "")):
            counts[kept] = 0
            anew.add(kept)
    return Went(counts=counts, anew=frozenset(anew)) if answered else None


def counted(learn: Learn, memory: MemoryMode, nudge: Nudge) -> tuple[Tally, ...]:
    """The counters that mean something for a job. ``learn: off`` means that nobody looks back at its runs."""
    if learn is Learn.OFF:
        return ()
    may = {Tally.MEMORY: memory is MemoryMode.READ_WRITE, Tally.SKILL: True}
    return tuple(tally for tally in Tally if may[tally] and nudge.of(tally) > 0)


def brief(due: Iterable[Tally]) -> Brief | None:
    """What one review is to look for."""
    found = set(due)
    if not found:
        return None
    return Brief.BOTH if len(found) > 1 else Brief(found.pop().value)
