"""What did earlier runs and people leave for a run that begins now? The blocks of its system prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.learning import MemoryMode
from hermes_cron.domain.scan import Finding, Purpose
from hermes_cron.runner.guidance import LIST, MEMORY, VIEW
from hermes_cron.runner.prompt import Remembered

if TYPE_CHECKING:
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.experience.memory_block import Block
    from hermes_cron.experience.recall_block import RecallBlock
    from hermes_cron.experience.skill_index import SkillIndex
    from hermes_cron.runner.route import Route
    from hermes_cron.wiring import App


def remembered(app: App, taken: TakenRun, route: Route, tools: Collection[str]) -> Remembered:
    """As it lies there at this moment. The index is for who can read what it names."""
    memory = app.memory.block(_mode(taken, tools))
    index = _index(app, taken, route) if {VIEW, LIST} & set(tools) else None
    recall = app.recall.block(taken)
    return Remembered(
        memory=memory.text,
        recall=recall.text,
        index="" if index is None else index.text,
        blocked=(*_findings(taken, memory, index), *_not_recalled(taken, recall)),
    )


def _mode(taken: TakenRun, tools: Collection[str]) -> MemoryMode:
    """A run that has not the tool can only read."""
    mode = taken.job.memory
    return MemoryMode.READ_ONLY if mode is MemoryMode.READ_WRITE and MEMORY not in tools else mode


def _index(app: App, taken: TakenRun, route: Route) -> SkillIndex:
    """``named`` are the skills whose texts are in the prompt already."""
    named = [*taken.job.skills, *(skill.qualified for skill in route.skills)]
    return app.skill_reading.index(taken.job.prompt or "", named)


def _findings(taken: TakenRun, memory: Block, index: SkillIndex | None) -> Iterator[SecurityFinding]:
    for left_out in memory.left_out:
        yield _finding(taken, Purpose.MEMORY, left_out.finding, left_out.place)
    for skill, found in () if index is None else index.blocked:
        yield _finding(taken, Purpose.SKILL, found.finding, f"skills/{skill.qualified}/{found.place}")


def _not_recalled(taken: TakenRun, recall: RecallBlock) -> Iterator[SecurityFinding]:
    for place, found in recall.left_out:
        yield _finding(taken, Purpose.MEMORY, found, place)


def _finding(taken: TakenRun, guard: Purpose, found: Finding, place: str) -> SecurityFinding:
    return SecurityFinding(
        guard=guard, kind=found.kind, verdict=found.verdict, place=place, job=taken.job.name, run_id=taken.id
    )
