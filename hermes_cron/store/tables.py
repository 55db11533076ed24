"""Which rows does the store keep? The lasting schema (design decisions 1, 2, 4, 13).

Instants are aware UTC. Booleans that mean "not yet" are instants that are null. JSON columns hold text, so that a
row reads the same through any driver. A later issue fills columns that are null today; it never changes a meaning.

No ``from __future__ import annotations`` here: SQLModel reads the annotations.
"""

from datetime import datetime

from sqlalchemy import DDL, CheckConstraint, Column, Index, LargeBinary, Text, UniqueConstraint, event, text
from sqlmodel import Field, SQLModel

from hermes_cron.domain.delivery import DeliveryState
from hermes_cron.domain.run import ACTIVE, OccurrenceState, RunState

_RUN_STATES = ", ".join(f"'{state}'" for state in RunState)
_ACTIVE = ", ".join(sorted(f"'{state}'" for state in ACTIVE))
_DELIVERY_STATES = ", ".join(f"'{state}'" for state in DeliveryState)
_OCCURRENCE_STATES = ", ".join(f"'{state}'" for state in OccurrenceState)


class JobRow(SQLModel, table=True):
    """A job file as last understood. Rebuilt from the files; ``uid`` survives edits and renames."""

    __tablename__ = "jobs"
    __table_args__ = (
        Index("jobs_name_key", "name_key", unique=True, sqlite_where=text("removed_at IS NULL")),
        Index("jobs_next_due", "next_due", sqlite_where=text("next_due IS NOT NULL")),
    )

    uid: str = Field(primary_key=True)
    name: str
    name_key: str
    file_name: str = Field(index=True)
    file_stat: str  # "mtime_ns ctime_ns size inode": unchanged means not read again
    file_hash: str = Field(index=True)
    spec: str | None = Field(default=None, sa_type=Text)  # the parsed job as JSON; null while never understood
    broken: str | None = Field(default=None, sa_type=Text)  # "jobs/x.md:4 unknown key ...": the last good spec lives on
    summary: str = Field(default="{}", sa_type=Text)  # what `list` prints of the job, made when the file was read
    revision: int = 0
    anchor: datetime  # what intervals count from; kept while the schedule's text and zone stay
    first_seen: datetime
    settled_until: datetime  # every instant up to here has its row
    next_due: datetime | None = None
    fired: int = 0  # occurrences that became runs, for max_runs
    held_reason: str | None = None
    held_at: datetime | None = None
    removed_at: datetime | None = None
    removed_by: str | None = None
    failures: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})  # in a row, until a success


class JobRevisionRow(SQLModel, table=True):
    """What the job's timing was, from when: the proof of what was due on Monday."""

    __tablename__ = "job_revisions"

    job_uid: str = Field(primary_key=True, foreign_key="jobs.uid")
    revision: int = Field(primary_key=True)
    effective_from: datetime
    effective_until: datetime | None = None
    name: str
    schedule: str = Field(sa_type=Text)  # the phrases as JSON
    trigger: str | None = Field(default=None, sa_type=Text)  # the trigger as JSON, anchors included
    timezone: str
    tzdata: str
    policy: str = Field(sa_type=Text)  # catch_up, grace, overlap, jitter, start, until, max_runs as JSON
    paused: str | None = None
    actor: str


class OccurrenceRow(SQLModel, table=True):
    """One job at one instant. Exactly one row an instant: the constraint, not a check."""

    __tablename__ = "occurrences"
    __table_args__ = (
        UniqueConstraint("job_uid", "scheduled_at", name="occurrences_once"),
        CheckConstraint(f"state IN ({_OCCURRENCE_STATES})", name="occurrences_state"),
        Index("occurrences_scheduled_at", "scheduled_at"),
    )

    id: int | None = Field(default=None, primary_key=True)
    job_uid: str = Field(foreign_key="jobs.uid")
    scheduled_at: datetime
    state: str
    reason: str | None = None
    run_id: str | None = Field(default=None, index=True)
    late: bool = False
    noted_at: datetime


class OccurrenceSpanRow(SQLModel, table=True):
    """Consecutive instants that share a fate: ``count`` instants of revision ``revision`` from first to last."""

    __tablename__ = "occurrence_spans"
    __table_args__ = (
        UniqueConstraint("job_uid", "first_at", name="occurrence_spans_once"),
        CheckConstraint(f"state IN ({_OCCURRENCE_STATES})", name="occurrence_spans_state"),
        Index("occurrence_spans_last_at", "job_uid", "last_at"),
    )

    id: int | None = Field(default=None, primary_key=True)
    job_uid: str = Field(foreign_key="jobs.uid")
    revision: int
    first_at: datetime
    last_at: datetime
    count: int
    state: str
    reason: str | None = None
    run_id: str | None = None  # merged: the run that stands for them
    noted_at: datetime


class RunRow(SQLModel, table=True):
    """The execution of an occurrence, or a manual start."""

    __tablename__ = "runs"
    __table_args__ = (
        CheckConstraint(f"state IN ({_RUN_STATES})", name="runs_state"),
        # Overlap: ``slot`` is the job's uid while the run occupies it, the run's own id when it occupies nothing
        # (``overlap: allow``, no job), null while it waits for its job and after its end.
        Index("runs_slot", "slot", unique=True, sqlite_where=text("slot IS NOT NULL")),
        Index("runs_active", "state", "queued_at", sqlite_where=text(f"state IN ({_ACTIVE})")),
        Index("runs_waiting", "job_uid", sqlite_where=text("state = 'queued' AND slot IS NULL")),
        Index("runs_job", "job_uid", "queued_at"),
        Index("runs_ended_at", "ended_at"),
    )

    id: str = Field(primary_key=True)
    job_uid: str | None = Field(default=None, foreign_key="jobs.uid")
    job_name: str  # as it was called then; "prompt" for a run without a job
    cause: str
    scheduled_at: datetime | None = None
    late: bool = False
    spec: str = Field(sa_type=Text)  # the job as it was, JSON: what ran is what was declared then
    arguments: str = Field(default="{}", sa_type=Text)  # --set values and the like, JSON
    priority: int = 0
    slot: str | None = None
    state: str
    reason: str | None = None
    error: str | None = Field(default=None, sa_type=Text)
    queued_at: datetime
    start_after: datetime | None = None  # jitter, and later: waits for model and network
    started_at: datetime | None = None
    ended_at: datetime | None = None
    deadline_at: datetime | None = None
    owner: str | None = Field(default=None, index=True)
    fence: int = 0
    attempt: int = 1
    takeovers: int = 0
    cancel_requested_at: datetime | None = None
    cancel_by: str | None = None
    steer: str | None = Field(default=None, sa_type=Text)
    verdict: str | None = None
    model: str | None = None
    iterations: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    tokens_input: int = 0
    tokens_output: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = None
    output_path: str | None = None  # relative to the home
    result: str | None = Field(default=None, sa_type=Text)  # what the next run compares with, JSON
    silent: bool = False
    actor: str = "schedule"
    taken_at: datetime | None = None  # when its present owner took it
    active_ms: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})  # executed before that
    waits: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})  # for the model, at one step
    takeover_step: int | None = None  # rows of the transcript when it was last taken over; ``takeovers`` counts at it
    check_inputs: str | None = Field(default=None, sa_type=Text)  # what checks compare with, pinned at the start, JSON
    check_group: str | None = None  # the process group of its last check: number, start, boot id, JSON
    check_results: str | None = Field(default=None, sa_type=Text)  # what each check said, JSON
    skills: str | None = Field(default=None, sa_type=Text)  # names of the skills it was given, JSON


class AttemptRow(SQLModel, table=True):
    """One try inside a run."""

    __tablename__ = "attempts"

    run_id: str = Field(primary_key=True, foreign_key="runs.id")
    number: int = Field(primary_key=True)
    owner: str
    fence: int
    started_at: datetime
    ended_at: datetime | None = None
    state: str | None = None
    reason: str | None = None


class SessionRow(SQLModel, table=True):
    """The searchable record of a run; kinds main, flush, summary, review, child."""

    __tablename__ = "sessions"
    __table_args__ = (Index("sessions_unindexed", "started_at", "id", sqlite_where=text("indexed_at IS NULL")),)

    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.id", index=True)
    kind: str
    parent_id: str | None = None
    parent_seq: int | None = None
    started_at: datetime
    ended_at: datetime | None = None
    indexed_at: datetime | None = None  # when all that it says was in the index of words, and nothing more could come


class IndexedSessionRow(SQLModel, table=True):
    """How far a session's messages are in ``message_index``, where message ``seq`` is row ``number * 2**20 + seq``."""

    __tablename__ = "indexed_sessions"
    __table_args__ = (UniqueConstraint("session_id", name="indexed_sessions_once"),)

    number: int | None = Field(default=None, primary_key=True)  # in the order in which sessions began
    session_id: str = Field(foreign_key="sessions.id")
    next_seq: int


class MessageRow(SQLModel, table=True):
    """The journal. Row 0 is the header; a result's row is reserved (body null) when its call is committed."""

    __tablename__ = "messages"

    session_id: str = Field(primary_key=True, foreign_key="sessions.id")
    seq: int = Field(primary_key=True)
    role: str  # header, user, assistant, tool, compaction, copy (of another session: sent, not searched)
    body: bytes | None = Field(default=None, sa_column=Column("body", LargeBinary, nullable=True))
    call_id: str | None = None
    tool: str | None = None
    arguments_hash: str | None = None
    ok: bool | None = None
    exit_code: int | None = None
    started_ms: int | None = None  # since the run's start
    elapsed_ms: int | None = None
    covers_from: int | None = None  # compaction: the rows this one stands for
    covers_to: int | None = None
    at: datetime | None = None


class EffectRow(SQLModel, table=True):
    """The intent of a call that changes something outside; its receipt is ``receipt_at``."""

    __tablename__ = "effects"

    session_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.id", index=True)
    tool: str
    effect: str
    key: str  # idempotency key: session/seq
    arguments_hash: str
    intent_at: datetime
    pgid: int | None = None
    pg_started: str | None = None
    boot_id: str | None = None
    receipt_at: datetime | None = None
    verdict: str | None = None
    batch: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})  # calls of one batch ran together
    gated: bool = Field(default=False, sa_column_kwargs={"server_default": text("0")})  # without a group: never began


class UsageRow(SQLModel, table=True):
    """One model call's tokens, at the seq of the message that came of it; below 0: none came."""

    __tablename__ = "usage"

    session_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.id", index=True)
    job_uid: str | None = Field(default=None, index=True)
    phase: str
    model: str
    input: int
    output: int
    cached: int
    cache_write: int
    estimated: bool
    cost_usd: float | None = None
    elapsed_ms: int
    at: datetime = Field(index=True)


class ApprovalRow(SQLModel, table=True):
    """A question that a person answers. For an effect without a receipt: approved means "it did not happen, do it"."""

    __tablename__ = "approvals"
    __table_args__ = (
        UniqueConstraint("session_id", "seq", "asked_at", name="approvals_once"),
        Index("approvals_open", "expires_at", sqlite_where=text("decision IS NULL")),
    )

    number: int | None = Field(default=None, primary_key=True)  # people say a91
    run_id: str = Field(foreign_key="runs.id", index=True)
    job_uid: str | None = None
    job_name: str
    session_id: str
    seq: int
    tool: str
    arguments: str = Field(sa_type=Text)
    evidence: str = Field(sa_type=Text)  # lines, JSON
    asked_at: datetime
    expires_at: datetime  # silence means no
    decision: str | None = None  # approved, denied, expired, withdrawn
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = Field(default=None, sa_type=Text)
    used_at: datetime | None = None  # approved: when the run began to do it
    learned: int | None = None  # what is proposed to be learned; the run waits for nothing then


class SpendRow(SQLModel, table=True):
    """What was spent or is reserved in one scope and period: what caps are compared with.

    Scopes: ``run`` (key its id), ``job_day`` (key the uid), ``home_day``, ``home_month`` (key empty). Periods are days
    and months of the home's zone. A reservation is raised here before the call and corrected by its settlement, so
    that of an owner that died stays spent.
    """

    __tablename__ = "spend"

    scope: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    period: str = Field(primary_key=True)
    tokens: int = 0
    cost_usd: float = 0
    unpriced: int = 0  # calls whose cost is unknown


class ReservationRow(SQLModel, table=True):
    """The worst case of a model call that has no reply yet; gone with its settlement."""

    __tablename__ = "reservations"

    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.id", index=True)
    job_uid: str | None = None
    fence: int
    model: str
    tokens: int
    cost_usd: float | None = None
    day: str
    month: str
    at: datetime
    review: int | None = None  # the review that made it, whose fence it is then


class IncidentRow(SQLModel, table=True):
    """The same kind of failure of one job, from the first failed run to the first good one."""

    __tablename__ = "incidents"
    __table_args__ = (Index("incidents_open", "job_uid", "kind", unique=True, sqlite_where=text("ended_at IS NULL")),)

    number: int | None = Field(default=None, primary_key=True)  # people say i17
    job_uid: str = Field(foreign_key="jobs.uid")
    job_name: str
    kind: str  # the runs' reason, ``check_failed`` or ``not_sent``
    error: str | None = Field(default=None, sa_type=Text)
    opened_at: datetime
    first_run: str
    last_run: str
    last_at: datetime
    failures: int = 1
    ended_at: datetime | None = None
    ended_run: str | None = None
    acked_at: datetime | None = None
    acked_by: str | None = None


class DeliveryRow(SQLModel, table=True):
    """One message to one target, written in the transaction of what it tells of."""

    __tablename__ = "deliveries"
    __table_args__ = (
        CheckConstraint(f"state IN ({_DELIVERY_STATES})", name="deliveries_state"),
        Index("deliveries_due", "next_try_at", sqlite_where=text("state = 'queued'")),
        Index("deliveries_target", "job_uid", "target", "number"),
        Index("deliveries_state", "state", "created_at", "kind"),
    )

    number: int | None = Field(default=None, primary_key=True)  # people say d52
    kind: str
    run_id: str | None = Field(default=None, index=True)
    job_uid: str | None = None
    job_name: str
    incident: int | None = None
    target: str
    state: str
    reason: str | None = None  # why it is silent or held
    title: str = Field(sa_type=Text)
    body: str = Field(sa_type=Text)
    text_hash: str | None = None  # of the report alone, for ``when: change``
    created_at: datetime
    next_try_at: datetime | None = None
    attempts: int = 0
    sending_by: str | None = None  # the owner that sends it now; dead with this set: nobody knows whether it arrived
    sending_since: datetime | None = None
    sent_at: datetime | None = None
    receipt: str | None = Field(default=None, sa_type=Text)  # what the target answered
    error: str | None = Field(default=None, sa_type=Text)


class SecurityEventRow(SQLModel, table=True):
    """What the scanner warned of or blocked: where, of which class. Never the text."""

    __tablename__ = "security_events"
    __table_args__ = (Index("security_events_noted_at", "noted_at"),)

    id: int | None = Field(default=None, primary_key=True)
    noted_at: datetime
    guard: str  # memory, skill, context, prompt
    kind: str
    verdict: str
    place: str  # "jobs/x.md:4"
    job_name: str | None = None
    run_id: str | None = Field(default=None, index=True)


class LearnedRow(SQLModel, table=True):
    """One change of memory or of a skill, or the proposal of one (``domain.learning.Learned``)."""

    __tablename__ = "learned"
    __table_args__ = (
        UniqueConstraint("key", name="learned_once"),
        Index("learned_at", "at"),
        Index("learned_untold", "job_uid", "number", sqlite_where=text("told_at IS NULL")),
    )

    number: int | None = Field(default=None, primary_key=True)
    key: str | None = None  # of the call that did it: session/seq
    at: datetime
    actor: str
    run_id: str | None = Field(default=None, index=True)
    job_uid: str | None = None
    job_name: str | None = None
    session_id: str | None = None
    review: int | None = None
    kind: str
    name: str
    change: str
    lines: str = Field(sa_type=Text)  # JSON
    reason: str = Field(sa_type=Text)
    state: str
    before: str | None = None  # snapshots
    after: str | None = None
    approval: int | None = None
    details: str = Field(sa_type=Text)  # what a proposal would do, JSON
    told_at: datetime | None = None


class SkillUseRow(SQLModel, table=True):
    """A skill was viewed in a run, or used by it: then with what became of the run. Goes with the run."""

    __tablename__ = "skill_uses"
    __table_args__ = (
        UniqueConstraint("run_id", "skill", "kind", "key", name="skill_uses_once"),
        Index("skill_uses_judged", "skill", "number", "well", sqlite_where=text("kind = 'use' AND well IS NOT NULL")),
    )

    number: int | None = Field(default=None, primary_key=True)
    skill: str
    kind: str  # view, use
    run_id: str
    job_uid: str | None = None
    key: str = ""  # of a view: its call, session/seq
    at: datetime
    outcome: str | None = None  # of a use: how the run ended
    verdict: str | None = None
    well: bool | None = None  # whether that speaks for the skill; None: neither for it nor against it


class SkillTotalRow(SQLModel, table=True):
    """What became of a skill in the runs of one job ("" for runs of none). Stays when runs are removed."""

    __tablename__ = "skill_totals"

    skill: str = Field(primary_key=True)
    job_uid: str = Field(primary_key=True)
    views: int = 0
    uses: int = 0
    well: int = 0
    badly: int = 0
    viewed_at: datetime | None = None
    used_at: datetime | None = None


class NudgeRow(SQLModel, table=True):
    """How much a job's runs went through since something was last learned: user turns, loop iterations."""

    __tablename__ = "nudges"

    job_uid: str = Field(primary_key=True)  # empty for runs without a job
    kind: str = Field(primary_key=True)
    count: int


class ReviewRow(SQLModel, table=True):
    """A look back at a run, by an agent of its own, for what is worth keeping."""

    __tablename__ = "reviews"
    __table_args__ = (Index("reviews_open", "state", "queued_at", sqlite_where=text("ended_at IS NULL")),)

    number: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(foreign_key="runs.id", index=True)
    job_uid: str | None = None
    job_name: str
    brief: str  # memory, skill, both, correction
    feedback: int | None = None
    state: str
    reason: str | None = None
    error: str | None = Field(default=None, sa_type=Text)
    queued_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    owner: str | None = None
    fence: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    takeovers: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    session_id: str | None = None
    iterations: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    tokens_input: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    tokens_output: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    cost_usd: float | None = None


class FeedbackRow(SQLModel, table=True):
    """What a person said about a run."""

    __tablename__ = "feedback"

    number: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(foreign_key="runs.id", index=True)
    job_uid: str | None = None
    text: str = Field(sa_type=Text)
    by_whom: str
    at: datetime


class CounterRow(SQLModel, table=True):
    """A metric's running total, raised in the transaction of the outcome: retention never makes it fall."""

    __tablename__ = "counters"

    name: str = Field(primary_key=True)
    labels: str = Field(primary_key=True)  # canonical JSON
    value: float


class MetaRow(SQLModel, table=True):
    """Facts about the store itself: which version made it, when it was last checked."""

    __tablename__ = "meta"

    key: str = Field(primary_key=True)
    value: str = Field(sa_type=Text)


class RecallVectorRow(SQLModel, table=True):
    """A text as the second memory sees it: found again by a digest, so that each is read once. Holds no text."""

    __tablename__ = "recall_vectors"

    engine: str = Field(primary_key=True)
    digest: str = Field(primary_key=True)
    vector: bytes = Field(sa_column=Column("vector", LargeBinary, nullable=False))


MESSAGE_INDEX = "CREATE VIRTUAL TABLE message_index USING fts5(words, content='', tokenize='ascii')"
"""The words of messages (``domain.words``) and where they stand, without the texts: those are in ``messages``."""

event.listen(SQLModel.metadata, "after_create", DDL(MESSAGE_INDEX).execute_if(dialect="sqlite"))  # type: ignore[no-untyped-call]  # SQLAlchemy's

IS_ACTIVE = text(f"runs.state IN ({_ACTIVE})")
IS_WAITING = text(f"runs.state = '{RunState.QUEUED}' AND runs.slot IS NULL")
"""In a query for runs that did not end, word for word the conditions of ``runs_active`` and ``runs_waiting``: SQLite
uses those indexes for nothing less, and the ended runs, which are almost all, are then never looked at."""
