"""Does a job's prompt attack the agent that will be given it?

A script is its author's own and is read by no model, so it is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.job import Job
from hermes_cron.domain.scan import Finding, Purpose, Verdict, scan
from hermes_cron.jobs.frontmatter import Fault

_HINT = "quote what is only spoken of; look: hermes-cron scan FILE --as prompt"


@lru_cache(maxsize=1)
def _found(prompt: str) -> tuple[Finding, ...]:
    """Asked twice in a row of a good file: what blocks it, then what it is warned of."""
    return scan(prompt, Purpose.PROMPT).findings


def blocked(text: str, *, first_line: int) -> Iterator[Fault]:
    """A fault for each place in the prompt that is blocked; the prompt begins at ``first_line`` of the file."""
    for found in _found(text):
        if found.verdict is Verdict.BLOCK:
            message = f"the prompt is blocked, {found.kind.words}: {found.excerpt}"
            yield Fault(line=first_line + found.line - 1, message=message, hint=_HINT, blocked=found.kind)


def inserted(values: Mapping[str, object], line: int) -> Iterator[Fault]:
    """The same for ``vars``, which the prompt may hold."""
    for name, value in values.items():
        found = scan(value, Purpose.PROMPT).blocked if isinstance(value, str) else None
        if found is not None:
            message = f"vars.{name} is blocked, {found.kind.words}: {found.excerpt}"
            yield Fault(line=line, message=message, hint=_HINT, blocked=found.kind)


def warned(job: Job, file_name: str) -> tuple[SecurityFinding, ...]:
    """What a good file's prompt is warned of. Its lines count from the prompt's first."""
    if job.prompt is None:
        return ()
    return tuple(
        SecurityFinding(
            guard=Purpose.PROMPT, kind=found.kind, verdict=found.verdict, place=f"jobs/{file_name}", job=job.name
        )
        for found in _found(job.prompt)
        if found.verdict is Verdict.WARN
    )
