"""What is known of a skill from the runs that had it, and what does a run's end say about it?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_cron.domain.check import Verdict
from hermes_cron.domain.run import RunState

if TYPE_CHECKING:
    from hermes_cron.domain.ending import Ending

_GIVEN = re.compile(r'^<skill source="([^"\n]+)">$', re.MULTILINE)

VIEW_TOOL = "skill_view"
NOT_ACTING = (VIEW_TOOL, "skills_list", "skill_manage", "memory")
"""Tools whose calls are no step of the work: a run that only looked at a skill, or wrote it, did not use it."""

_SAID = {None: True, Verdict.VERIFIED: True, Verdict.CHECK_FAILED: False, Verdict.NOT_CHECKABLE: None}
_AGAINST = (RunState.FAILED, RunState.TIMEOUT, RunState.BUDGET_EXHAUSTED)
_NOT_THE_SKILL_S = frozenset({"crashed", "disk_full", "output_not_written"})

ENOUGH = 5
"""Runs that must have shown how they end before a skill is called failing or proven."""

LATELY = 10
"""The newest judged uses that are compared with those before them."""

_FALL = 0.3  # of its own past: what went well in 95 of 100 runs, and lately in 6 of 10, has become worse


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """When a skill fails: fewer than ``below`` of its uses went well, of at least ``runs``."""

    below: float = 0.5
    runs: int = ENOUGH


SUCCESS = Success()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """``uses``: runs that had its text and acted after it. ``well`` and ``badly``: those whose end says something.

    ``patches`` and ``rewrites`` are changes by agents that stand or stood; ``created`` is no patch. ``lately_well``
    and ``lately_badly`` are of the newest ``LATELY`` of the judged uses, as far as their runs are still there.
    ``success`` is what the home calls failing.
    """

    views: int = 0
    uses: int = 0
    well: int = 0
    badly: int = 0
    patches: int = 0
    rewrites: int = 0
    lately_well: int = 0
    lately_badly: int = 0
    success: Success = SUCCESS
    viewed_at: datetime | None = None
    used_at: datetime | None = None
    patched_at: datetime | None = None

    @property
    def judged(self) -> int:
        """The sample that ``rate`` is of."""
        return self.well + self.badly

    @property
    def rate(self) -> float | None:
        """Share of the judged uses that went well; None without any."""
        return self.well / self.judged if self.judged else None

    @property
    def lately(self) -> int:
        """The sample of what it did lately."""
        return self.lately_well + self.lately_badly

    @property
    def failing(self) -> bool:
        """Too few of enough runs with it went well, or lately far fewer than before. What it does now counts."""
        if self.lately < self.success.runs:
            return self.judged >= self.success.runs and self.well < self.success.below * self.judged
        return self.lately_well < self.success.below * self.lately or self.fell

    @property
    def fell(self) -> bool:
        """Its success fell well below its own past."""
        before = self.judged - self.lately
        if min(before, self.lately) < self.success.runs:
            return False
        past = (self.well - self.lately_well) / before
        return self.lately_well / self.lately <= past - _FALL

    @property
    def against(self) -> tuple[int, int]:
        """How many runs went badly, and of how many: of late, where those say enough."""
        return (self.badly, self.judged) if self.lately < self.success.runs else (self.lately_badly, self.lately)

    @property
    def proven(self) -> bool:
        """Nearly all of enough runs with it went well."""
        return self.judged >= ENOUGH and self.well * 10 >= self.judged * 8

    def __add__(self, other: SkillRecord) -> SkillRecord:
        """One skill under two names."""
        return SkillRecord(
            views=self.views + other.views,
            uses=self.uses + other.uses,
            well=self.well + other.well,
            badly=self.badly + other.badly,
            patches=self.patches + other.patches,
            rewrites=self.rewrites + other.rewrites,
            lately_well=self.lately_well + other.lately_well,
            lately_badly=self.lately_badly + other.lately_badly,
            success=other.success if self.success == SUCCESS else self.success,
            viewed_at=later(self.viewed_at, other.viewed_at),
            used_at=later(self.used_at, other.used_at),
            patched_at=later(self.patched_at, other.patched_at),
        )


UNKNOWN = SkillRecord()


def given_in(system: str) -> tuple[str, ...]:
    """The skills whose texts a system prompt holds, in order: nothing inside a fence can imitate one."""
    return tuple(dict.fromkeys(_GIVEN.findall(system)))


def later(one: datetime | None, other: datetime | None) -> datetime | None:
    """The later of two instants, of which either may be missing."""
    return max((at for at in (one, other) if at is not None), default=None)


def went_well(ending: Ending) -> bool | None:
    """Whether a run that used a skill speaks for it. None: the end says nothing about it.

    A model that did not answer, a person's wish, a full disk or a cap of all runs is nothing that a skill could have
    done better.
    """
    outcome = ending.outcome
    if outcome.state is RunState.OK:
        return _SAID[outcome.verdict]
    other = outcome.model_fault or outcome.passing or ending.spent_for_many or outcome.reason in _NOT_THE_SKILL_S
    return False if outcome.state in _AGAINST and not other else None
