"""What can be told of the jobs without the store's engine: for commands that must answer at once.

The standard library's sqlite3, read only: a command that lists 100 jobs must not pay for an object mapper. Nothing
here creates, upgrades or locks anything; where the store is absent or of another schema the caller takes the long way.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_cron.errors import NameAmbiguous, NotFound
from hermes_cron.store.disk_faults import of_the_disk


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The newest run of a job. ``at`` is the due instant, for a manual start the moment it was asked for."""

    run_id: str
    state: str
    reason: str | None
    verdict: str | None
    at: datetime
    sent: Mapping[str, int]
    """How many of its messages are in which state; empty when it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A job's row as `list` needs it; ``summary`` is ``jobs.summary``'s."""

    uid: str
    name: str
    file_name: str
    file_stat: str
    broken: str | None
    summary: Mapping[str, Any]
    next_due: datetime | None
    held_reason: str | None
    held_at: datetime | None
    removed_at: datetime | None
    last: LastRun | None
    needs: int = 0
    """How many lines of `status` ask for a person because of this job (store.overview.needs says which)."""


_LISTED = """
WITH failing AS (
  SELECT job_uid, max(acked_at) AS acked FROM incidents WHERE ended_at IS NULL GROUP BY job_uid
), asked AS (
  SELECT job_uid, count(*) AS n FROM approvals WHERE decision IS NULL GROUP BY job_uid
), lost AS (
  SELECT d.job_uid, count(*) AS n FROM deliveries d JOIN jobs o ON o.uid = d.job_uid
  WHERE d.state IN ('failed', 'unknown') AND d.kind NOT IN ('ping', 'test') AND NOT EXISTS (
    SELECT 1 FROM deliveries x WHERE x.job_uid = d.job_uid AND x.target = d.target AND x.number > d.number
    AND x.kind NOT IN ('ping', 'test', 'learned', 'security') AND x.state IN ('sent', 'failed', 'unknown'))
  AND (EXISTS (SELECT 1 FROM json_each(o.spec, '$.deliver.to') WHERE value = d.target)
    OR EXISTS (SELECT 1 FROM json_each(o.spec, '$.on_check_failure.notify') WHERE value = d.target)
    OR NOT EXISTS (SELECT 1 FROM deliveries x WHERE x.job_uid = d.job_uid AND x.number > d.number
      AND x.kind NOT IN ('ping', 'test', 'learned', 'security') AND x.state = 'sent'))
  GROUP BY d.job_uid
)
SELECT j.uid, j.name, j.file_name, j.file_stat, j.broken, j.summary, j.next_due, j.held_reason, j.held_at,
       j.removed_at, r.id, r.state, r.reason, r.verdict, coalesce(r.scheduled_at, r.queued_at),
       coalesce((SELECT json_group_object(state, n) FROM (
         SELECT state, count(*) AS n FROM deliveries WHERE run_id = r.id AND kind <> 'ping' GROUP BY state)), '{}'),
       CASE WHEN j.removed_at IS NULL THEN (j.broken IS NOT NULL) + (j.held_reason IS NOT NULL)
         + coalesce(asked.n, 0) + coalesce(lost.n, 0)
         + (j.held_reason IS NULL AND failing.acked IS NULL AND (failing.job_uid IS NOT NULL OR coalesce(
             (SELECT state NOT IN ('ok', 'skipped') OR coalesce(verdict, '') IN ('check_failed', 'not_checkable')
              FROM runs WHERE job_uid = j.uid AND ended_at IS NOT NULL AND state <> 'cancelled'
              ORDER BY queued_at DESC, id DESC LIMIT 1), 0)))
         + (j.next_due IS NULL AND EXISTS (
              SELECT 1 FROM occurrence_spans s WHERE s.job_uid = j.uid AND s.state = 'missed'
              AND s.revision = j.revision
              AND NOT EXISTS (SELECT 1 FROM runs x WHERE x.job_uid = j.uid AND x.queued_at > s.last_at)))
       ELSE 0 END
FROM jobs j LEFT JOIN runs r ON r.id = (
  SELECT id FROM runs WHERE job_uid = j.uid ORDER BY queued_at DESC, id DESC LIMIT 1)
LEFT JOIN failing ON failing.job_uid = j.uid
LEFT JOIN asked ON asked.job_uid = j.uid
LEFT JOIN lost ON lost.job_uid = j.uid
"""
_ASKED_ELSEWHERE = """
SELECT count(*) FROM approvals a WHERE decision IS NULL
AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.uid = a.job_uid AND j.removed_at IS NULL)
"""


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection | None]:
    """A read-only connection, None where there is no store yet. Raises ``DiskFull`` where it cannot even be read."""
    if not path.exists():
        yield None
        return
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
    try:
        yield connection
    except sqlite3.DatabaseError as error:
        raise of_the_disk(error, "read") or error from error
    finally:
        connection.close()


def listed(path: Path, *, removed: bool = False) -> list[Listed] | None:
    """All jobs by name, removed ones too if asked; None when the store cannot answer (absent, another schema)."""
    where = "" if removed else " WHERE j.removed_at IS NULL"
    with opened(path) as connection:
        if connection is None:
            return None
        try:
            rows = connection.execute(f"{_LISTED}{where} ORDER BY j.name").fetchall()
        except sqlite3.DatabaseError as error:
            if _needs_the_engine(error):
                return None
            raise
    return [_listed(row) for row in rows]


def asked_elsewhere(path: Path) -> int:
    """How many questions of runs that belong to no listed job wait for an answer: prompts, removed jobs."""
    with opened(path) as connection:
        return 0 if connection is None else int(connection.execute(_ASKED_ELSEWHERE).fetchone()[0])


def _needs_the_engine(error: sqlite3.DatabaseError) -> bool:
    """A missing table or column (another schema), or what a killed writer left: to recover it is to write.

    A file that is no database, or damaged, is the engine's to report: it knows what to do then.
    """
    if not isinstance(error, sqlite3.OperationalError):
        return True
    kind = getattr(error, "sqlite_errorname", "") or ""
    return "no such" in str(error) or kind.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN"))


def resolve(jobs: list[Listed], word: str) -> Listed:
    """The job that ``word`` means: its name, else a unique beginning of a name or of a uid.

    Raises NotFound with near names, or NameAmbiguous with the candidates.
    """
    from hermes_cron.domain.job import name_key

    key = name_key(word)
    exact = [job for job in jobs if name_key(job.name) == key]
    if exact:
        return exact[0]
    begins = [job for job in jobs if key and name_key(job.name).startswith(key)]
    begins = begins or [job for job in jobs if len(word) >= 4 and job.uid.startswith(word.lower())]
    if len(begins) == 1:
        return begins[0]
    if begins:
        names = [job.name for job in begins]
        raise NameAmbiguous(f'"{word}" could be {len(names)} jobs', details={"candidates": names[:10]})
    raise NotFound(f'no job "{word}"', hint="hermes-cron list", details=_near(word, jobs))


def instant(text: str | None) -> datetime | None:
    """What the store keeps as text: UTC without saying so."""
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


def _near(word: str, jobs: list[Listed]) -> dict[str, object]:
    from difflib import get_close_matches

    from hermes_cron.domain.job import name_key

    by_key = {name_key(job.name): job.name for job in jobs}
    near = [by_key[key] for key in get_close_matches(name_key(word), by_key, n=3, cutoff=0.6)]
    return {"near": near} if near else {}


def _listed(row: tuple[Any, ...]) -> Listed:
    last_at = instant(row[14])
    return Listed(
        uid=row[0],
        name=row[1],
        file_name=row[2],
        file_stat=row[3],
        broken=row[4],
        summary=json.loads(row[5]),
        next_due=instant(row[6]),
        held_reason=row[7],
        held_at=instant(row[8]),
        removed_at=instant(row[9]),
        last=None
        if last_at is None
        else LastRun(
            run_id=row[10], state=row[11], reason=row[12], verdict=row[13], at=last_at, sent=json.loads(row[15])
        ),
        needs=row[16],
    )
