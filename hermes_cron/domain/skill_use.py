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


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """``uses``: runs that had its text and acted after it. ``well`` and ``badly``: those whose end says something.

    ``patches`` and ``rewrites`` are changes by agents that stand or stood; ``created`` is no patch.
    """

    views: int = 0
    uses: int = 0
    well: int = 0
    badly: int = 0
    patches: int = 0
    rewrites: int = 0
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
    def failing(self) -> bool:
        """Most of enough runs with it went badly."""
        return self.judged >= ENOUGH and self.well * 2 < self.judged

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
