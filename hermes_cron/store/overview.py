"""What does the store say about the state of a home: what came next, what needs a person?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, func, or_, select

from hermes_cron.domain.check import CheckKind, Verdict, load_results
from hermes_cron.domain.delivery import DeliveryKind, DeliveryState, people_say
from hermes_cron.domain.run import OccurrenceState, RunState
from hermes_cron.store.tables import ApprovalRow, DeliveryRow, IncidentRow, JobRow, OccurrenceSpanRow, RunRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_runs = RunRow.__table__  # type: ignore[attr-defined]
_spans = OccurrenceSpanRow.__table__  # type: ignore[attr-defined]
_approvals = ApprovalRow.__table__  # type: ignore[attr-defined]
_deliveries = DeliveryRow.__table__  # type: ignore[attr-defined]
_incidents = IncidentRow.__table__  # type: ignore[attr-defined]

BAD = (
    RunState.FAILED,
    RunState.TIMEOUT,
    RunState.INTERRUPTED,
    RunState.BUDGET_EXHAUSTED,
    RunState.DENIED,
    RunState.UNKNOWN,
)
"""Ends that somebody should look at. ``cancelled`` was somebody's wish."""

WRONG = (Verdict.CHECK_FAILED, Verdict.NOT_CHECKABLE)
"""What checks say of a run that nobody may believe."""

NOT_THERE = (DeliveryState.FAILED, DeliveryState.UNKNOWN)
"""Messages of which nobody can say that they arrived."""

_TOLD = ("$.deliver.to", "$.on_check_failure.notify")
"""Where a job's spec names its targets."""

_NOT_A_JOB_S = (DeliveryKind.PING, DeliveryKind.TEST)
_NO_ANSWER = (*_NOT_A_JOB_S, DeliveryKind.LEARNED, DeliveryKind.SECURITY)
"""Messages whose arrival says nothing of one before them: they go out beside a report, not in its place."""

Kind = Literal[
    "approval", "run", "checks", "incident", "delivery", "held", "broken", "missed", "security", "lost", "history",
    "memory",
]  # fmt: skip
"""The last four are of the home, not of a job: ``status`` adds them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that needs a person; ``text`` is from files, errors and answers.

    ``state``: of a run, of a delivery, or what checks said. ``ref``: the number that people say (a91, i17, d52).
    ``at``: when it began; for an approval, when silence becomes a no.
    """

    kind: Kind
    job: str
    text: str
    state: str | None = None
    run_id: str | None = None
    ref: str | None = None
    target: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """The next instant of a job, in its zone's name."""

    job: str
    at: datetime
    timezone: str


def needs(conn: Connection) -> list[Need]:
    """What asks for a person, in the order in which it should be looked at.

    A job that is held is one line, whatever its last run was; a failure that somebody acknowledged is none.
    ``store.reader`` counts the same for `list`.
    """
    failing = _bad_runs(conn)
    return [
        *_approvals_open(conn),
        *failing,
        *_incidents_open(conn, beside={need.job for need in failing}),
        *_not_sent(conn),
        *_held(conn),
        *_broken(conn),
        *_missed_for_good(conn),
    ]


def coming(conn: Connection, limit: int) -> list[Coming]:
    """The next jobs to start, soonest first."""
    query = (
        select(_jobs.c.name, _jobs.c.next_due, func.json_extract(_jobs.c.spec, "$.timezone").label("zone"))
        .where(
            _jobs.c.next_due.is_not(None),
            _jobs.c.held_reason.is_(None),
            func.json_extract(_jobs.c.spec, "$.paused").is_(None),
        )
        .order_by(_jobs.c.next_due)
        .limit(limit)
    )
    return [Coming(job=row.name, at=row.next_due, timezone=row.zone or "UTC") for row in conn.execute(query)]


NO_VERDICT = "without_checks"


def verdicts(conn: Connection, since: datetime) -> dict[str, int]:
    """What outcome checks said of runs that ended since then; ``NO_VERDICT``: that ended ok and were not judged."""
    query = (
        select(func.coalesce(_runs.c.verdict, NO_VERDICT).label("verdict"), func.count().label("n"))
        .where(_runs.c.ended_at > since, or_(_runs.c.verdict.is_not(None), _runs.c.state == RunState.OK.value))
        .group_by(func.coalesce(_runs.c.verdict, NO_VERDICT))
    )
    return {row.verdict: row.n for row in conn.execute(query)}


def _broken(conn: Connection) -> list[Need]:
    query = (
        select(_jobs.c.name, _jobs.c.broken)
        .where(_jobs.c.broken.is_not(None), _jobs.c.removed_at.is_(None))
        .order_by(_jobs.c.name)
    )
    return [Need(kind="broken", job=row.name, text=row.broken) for row in conn.execute(query)]


def _held(conn: Connection) -> list[Need]:
    query = (
        select(_jobs.c.name, _jobs.c.held_reason, _jobs.c.held_at)
        .where(_jobs.c.held_reason.is_not(None), _jobs.c.removed_at.is_(None))
        .order_by(_jobs.c.name)
    )
    return [Need(kind="held", job=row.name, text=row.held_reason, at=row.held_at) for row in conn.execute(query)]


def _bad_runs(conn: Connection) -> list[Need]:
    """The last run that ended, of each job; a run by hand that went well answers an earlier failure."""
    mine = _runs.alias("mine")
    newest = (
        select(mine.c.id)
        .where(mine.c.job_uid == _jobs.c.uid, mine.c.ended_at.is_not(None), mine.c.state != RunState.CANCELLED)
        .order_by(mine.c.queued_at.desc(), mine.c.id.desc())
        .limit(1)
        .correlate(_jobs)
        .scalar_subquery()
    )
    acked = select(_incidents.c.number).where(
        _incidents.c.job_uid == _jobs.c.uid, _incidents.c.ended_at.is_(None), _incidents.c.acked_at.is_not(None)
    )
    query = (
        select(
            _jobs.c.name, _runs.c.id, _runs.c.state, _runs.c.reason, _runs.c.error, _runs.c.ended_at, _runs.c.verdict,
            _runs.c.check_results,
        )
        .select_from(_jobs.join(_runs, _runs.c.id == newest))
        .where(
            _jobs.c.removed_at.is_(None),
            _jobs.c.held_reason.is_(None),
            or_(_runs.c.state.in_(BAD), _runs.c.verdict.in_(WRONG)),
            ~acked.exists(),
        )
        .order_by(_jobs.c.name)
    )  # fmt: skip
    found = []
    for row in conn.execute(query):
        failed = row.state in BAD
        found.append(
            Need(
                kind="run" if failed else "checks",
                job=row.name,
                text=(row.error or row.reason or "") if failed else _evidence(row.check_results),
                state=row.state if failed else row.verdict,
                run_id=row.id,
                at=row.ended_at,
            )
        )
    return found


def _evidence(check_results: str | None) -> str:
    """What the first check that is not well says; of the report, it names itself."""
    wrong = [result for result in load_results(check_results) if result.verdict in WRONG]
    wrong.sort(key=lambda result: WRONG.index(result.verdict))
    if not wrong:
        return ""
    return wrong[0].detail if wrong[0].kind is CheckKind.REPORT else f"{wrong[0].says}: {wrong[0].detail}"


def _incidents_open(conn: Connection, *, beside: set[str]) -> list[Need]:
    """Failures that no good run has ended, of jobs whose last run does not show it: one line a job, the newest."""
    query = (
        select(_jobs.c.name, _incidents)
        .select_from(_jobs.join(_incidents, _incidents.c.job_uid == _jobs.c.uid))
        .where(_incidents.c.ended_at.is_(None), _jobs.c.removed_at.is_(None), _jobs.c.held_reason.is_(None))
        .order_by(_jobs.c.name, _incidents.c.number)
    )
    newest: dict[str, Need] = {}
    acked = set()
    for row in conn.execute(query):
        if row.acked_at is not None:
            acked.add(row.name)
        newest[row.name] = Need(
            kind="incident", job=row.name, text=row.error or row.kind, run_id=row.last_run, ref=f"i{row.number}",
            at=row.opened_at,
        )  # fmt: skip
    return [need for job, need in newest.items() if job not in acked and job not in beside]


def _approvals_open(conn: Connection) -> list[Need]:
    """Questions that no one has answered, the most urgent first; of runs without a job too."""
    query = (
        select(_approvals).where(_approvals.c.decision.is_(None)).order_by(_approvals.c.expires_at, _approvals.c.number)
    )
    return [
        Need(
            kind="approval", job=row.job_name, text=f"{row.tool} {row.arguments}", run_id=row.run_id,
            ref=f"a{row.number}", at=row.expires_at,
        )
        for row in conn.execute(query)
    ]  # fmt: skip


def _not_sent(conn: Connection) -> list[Need]:
    """Of each job and target the newest message of which nobody knows that it arrived, unless a later one did.

    Where the job does not tell that target any more, a later one that arrived at another target is the answer: nothing
    will be sent to the old one again.
    """
    later = _deliveries.alias("later")
    named = [
        select(each.c.value).where(each.c.value == _deliveries.c.target).correlate(_deliveries, _jobs).exists()
        for each in (func.json_each(_jobs.c.spec, path).table_valued("value") for path in _TOLD)
    ]
    after = select(later.c.number).where(
        later.c.job_uid == _deliveries.c.job_uid,
        later.c.number > _deliveries.c.number,
        later.c.kind.not_in(_NO_ANSWER),
    )
    answered = after.where(later.c.target == _deliveries.c.target, later.c.state.in_([DeliveryState.SENT, *NOT_THERE]))
    elsewhere = after.where(later.c.state == DeliveryState.SENT)
    query = (
        select(
            _jobs.c.name, _deliveries.c.number, _deliveries.c.target, _deliveries.c.state, _deliveries.c.error,
            _deliveries.c.reason, _deliveries.c.run_id, _deliveries.c.created_at,
        )
        .select_from(_deliveries.join(_jobs, _jobs.c.uid == _deliveries.c.job_uid))
        .where(
            _deliveries.c.state.in_(NOT_THERE),
            _deliveries.c.kind.not_in(_NOT_A_JOB_S),
            _jobs.c.removed_at.is_(None),
            ~answered.exists(),  # first: with its index it leaves one message of a job and target
            or_(*named, ~elsewhere.exists()),
        )
        .order_by(_jobs.c.name, _deliveries.c.number)
    )  # fmt: skip
    return [
        Need(
            kind="delivery", job=row.name, text=row.error or row.reason or "", state=row.state, run_id=row.run_id,
            ref=people_say(row.number), target=row.target, at=row.created_at,
        )
        for row in conn.execute(query)
    ]  # fmt: skip


def _missed_for_good(conn: Connection) -> list[Need]:
    """A job whose last instant was missed and that has no other: nobody would hear of it again."""
    later = select(_runs.c.id).where(_runs.c.job_uid == _spans.c.job_uid, _runs.c.queued_at > _spans.c.last_at)
    query = (
        select(_jobs.c.name, _spans.c.last_at, _spans.c.reason)
        .select_from(_jobs.join(_spans, _spans.c.job_uid == _jobs.c.uid))
        .where(
            _jobs.c.removed_at.is_(None),
            _jobs.c.next_due.is_(None),
            _spans.c.state == OccurrenceState.MISSED,
            _spans.c.revision == _jobs.c.revision,
            ~later.exists(),
        )
        .order_by(_jobs.c.name)
    )
    return [Need(kind="missed", job=row.name, text=row.reason or "", at=row.last_at) for row in conn.execute(query)]
