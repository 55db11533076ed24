"""Are the names right that a job's checks and deliveries speak of, and may its checks ask what they ask?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from hermes_cron.domain.check import CheckKind
from hermes_cron.domain.job import name_key
from hermes_cron.jobs.checks import Placed
from hermes_cron.jobs.forms import Words
from hermes_cron.jobs.frontmatter import Fault
from hermes_cron.jobs.nearest import did_you_mean, nearest
from hermes_cron.jobs.plain_sight import spelled_out

Guard = Callable[[str, str], str | None]
"""Why a query may not be sent to a database, None where it may."""

_SPOKEN = ("command", "query", "url")


def unknown_targets(key: str, words: Words, known: Collection[str]) -> Iterator[Fault]:
    """A fault for each name that no target has."""
    for name, line in words:
        if name not in known:
            yield _unknown(f'{key}: no target "{name}"', name, line, known, "hermes-cron targets add")


def unknown_databases(key: str, words: Words, known: Collection[str]) -> Iterator[Fault]:
    """A fault for each name that no database has."""
    for name, line in words:
        if name not in known:
            yield _unknown(f'{key}: no database "{name}"', name, line, known, "hermes-cron db add")


def unknown_jobs(key: str, words: Iterable[tuple[str, int]], known: Collection[str]) -> Iterator[Fault]:
    """A fault for each name that no job has."""
    by_key = {name_key(name): name for name in known}
    for name, line in words:
        if name_key(name) not in by_key:
            listed = ", ".join(nearest(name, known, limit=10, at_least=0)) or "none yet"
            near = did_you_mean(name, known)
            yield Fault(line=line, message=f'{key}: no job "{name}"{near}', hint=f"known: {listed}; hermes-cron list")


def _unknown(message: str, name: str, line: int, known: Collection[str], add: str) -> Fault:
    listed = ", ".join(nearest(name, known, limit=10, at_least=0)) or "none yet"
    return Fault(line=line, message=message + did_you_mean(name, known), hint=f"known: {listed}; add it: {add} {name}")


def secrets_in_sight(checks: Iterable[Placed]) -> Iterator[Fault]:
    """A fault for each check that spells a secret out."""
    for placed in checks:
        for key in _SPOKEN:
            if secret := spelled_out(str(placed.check.params.get(key, ""))):
                message = f"the check holds {secret[0]}; secrets do not belong in job files"
                yield Fault(line=placed.lines[key], message=message)


def wrong_queries(checks: Iterable[Placed], databases: Collection[str], guard: Guard | None) -> Iterator[Fault]:
    """A fault for each ``sql`` check whose database is not there, or that would do more than read."""
    for placed in checks:
        if placed.check.kind is not CheckKind.SQL:
            continue
        database = str(placed.check.params["database"])
        missing = list(unknown_databases("checks.sql", ((database, placed.lines["database"]),), databases))
        yield from missing
        if not missing and guard is not None:
            refused = guard(database, str(placed.check.params["query"]))
            if refused is not None:
                yield Fault(line=placed.lines["query"], message=f"checks.sql.query: {refused}")
