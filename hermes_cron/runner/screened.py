"""What did the scanner keep out of a run's prompt?"""

from __future__ import annotations

from collections.abc import Iterator

from hermes_cron.agent.context_files import ContextFile
from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.run import TakenRun
from hermes_cron.domain.scan import Finding, Purpose
from hermes_cron.runner.route import Route


def screened(taken: TakenRun, route: Route, notes: ContextFile | None) -> tuple[SecurityFinding, ...]:
    """Skills that the route leaves out, and the working folder's notes."""
    return tuple(
        SecurityFinding(
            guard=guard, kind=finding.kind, verdict=finding.verdict, place=place, job=taken.job.name, run_id=taken.id
        )
        for guard, finding, place in _found(route, notes)
    )


def _found(route: Route, notes: ContextFile | None) -> Iterator[tuple[Purpose, Finding, str]]:
    for skill, found in route.blocked:
        yield Purpose.SKILL, found.finding, f"skills/{skill.qualified}/{found.place}"
    if notes is not None and notes.blocked is not None:
        yield Purpose.CONTEXT, notes.blocked, f"{notes.name}:{notes.blocked.line}"
