"""What happened that is worth a line? One dataclass an event, past tense, with ids; docs/events.md lists them.

Fields are facts for machines and never hold text of a job, a model or a page, except ``error``: one line for people,
redacted by the sink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hermes_cron.domain.occurrence import Reason
from hermes_cron.domain.review import Brief, ReviewState
from hermes_cron.domain.run import RunState
from hermes_cron.domain.scan.finding import Kind, Purpose, Verdict


class Level(StrEnum):
    """How loud an event is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeStarted:
    """A scheduler took up its work."""

    owner: str
    pid: int
    concurrency: int
    jobs: int
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeReady:
    """Its first look at files, owners and due instants is done."""

    owner: str
    after_s: float
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeStopping:
    """It starts nothing more. ``running`` runs have ``drain_s`` seconds to end."""

    why: str
    running: int
    drain_s: float
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeStopped:
    """It is gone; ``interrupted`` runs did not end in time."""

    interrupted: int
    exit_code: int
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsChanged:
    """Job files changed, by name."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFileBroken:
    """A file does not parse; the last good version stays in force."""

    job: str
    error: str
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantsMissed:
    """Due instants passed that nothing will run for."""

    job: str
    first: datetime
    last: datetime
    count: int
    reason: Reason
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run began; ``late_s`` after its instant."""

    run_id: str
    job: str
    cause: str
    scheduled_at: datetime | None
    late_s: float
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """A run ended: the one summary event of a run."""

    run_id: str
    job: str
    state: RunState
    reason: str | None
    duration_s: float
    iterations: int = 0
    error: str | None = None
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInterrupted:
    """A run will not end by itself: its owner died, or a shutdown did not wait."""

    run_id: str
    job: str
    reason: Reason
    owner: str
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTakenOver:
    """A run's owner died; the run goes on at its step. ``times`` it was taken over at this step."""

    run_id: str
    job: str
    owner: str
    times: int
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWaits:
    """A run failed and is tried again at ``until``: the same attempt, or the next one."""

    run_id: str
    job: str
    reason: str | None
    until: datetime
    attempt: int
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParked:
    """A run waits for a person. ``approvals`` are the numbers of its questions."""

    run_id: str
    job: str
    approvals: tuple[str, ...]
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReleased:
    """A shutdown gave up a run between two steps; any scheduler goes on with it."""

    run_id: str
    job: str
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalExpired:
    """Nobody answered in time, which means no; the run goes on and is told so."""

    approval: str
    run_id: str
    job: str
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLost:
    """A run's thread outlived its deadline and the grace after it; its slot is free again."""

    run_id: str
    job: str
    lost_threads: int
    level: Level = Level.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJumped:
    """The host's clock was set: by ``by_s`` seconds against the steady one."""

    by_s: float
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFailed:
    """Changes of files are no longer reported by the kernel; the folder is looked at every ``poll_s`` seconds."""

    error: str
    poll_s: float
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsServed:
    """A Prometheus may fetch the metrics at ``address``, path ``/metrics``."""

    address: str
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsNotServed:
    """The metrics cannot be fetched at ``address``: it is taken, or not one of this host. All else goes on."""

    address: str
    error: str
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFailed:
    """One round of the scheduler failed; it tries again."""

    error: str
    in_a_row: int
    level: Level = Level.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class HandEditsKept:
    """What people edited in the home is in the history."""

    snapshot: str
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryNotKept:
    """No snapshot could be made of what people edited; tried again with the next edit."""

    error: str
    level: Level = Level.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """Retention removed what is older than ``keep`` says."""

    runs: int
    reports: int
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySent:
    """A target has a message: its receipt is written."""

    delivery: str
    job: str
    target: str
    attempts: int
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFailed:
    """A message was refused for good, or its last try failed."""

    delivery: str
    job: str
    target: str
    attempts: int
    error: str
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryUnknown:
    """Nobody knows whether a message arrived; it is not sent again by itself."""

    delivery: str
    job: str
    target: str
    error: str
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityFinding:
    """The scanner warned of a text, or blocked it: ``place`` (file and line) holds one of that class.

    ``guard`` is where the text was to go: memory, skill, context or prompt.
    """

    guard: Purpose
    kind: Kind
    verdict: Verdict
    place: str
    job: str | None = None
    run_id: str | None = None
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStarted:
    """A run that ended is looked back at, or that goes on. ``brief``: what is looked for."""

    review: int
    run_id: str
    job: str
    brief: Brief
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewTakenOver:
    """The owner of a look back died; it goes on at its step. ``times`` that happened to it."""

    review: int
    run_id: str
    job: str
    times: int
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewToolRefused:
    """A look back asked for a tool that it may not have; ``tool`` is ``unknown`` where there is none of that name."""

    review: int
    run_id: str
    job: str
    tool: str
    level: Level = Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewEnded:
    """A look back ended: well, with a fault, or at a limit. ``changes``: how much it wrote or proposed."""

    review: int
    run_id: str
    job: str
    state: ReviewState
    reason: str | None
    changes: int
    iterations: int = 0
    error: str | None = None
    level: Level = Level.INFO


Event = (
    ServeStarted | ServeReady | ServeStopping | ServeStopped | JobsChanged | JobFileBroken | InstantsMissed | RunStarted
    | RunFinished | RunInterrupted | RunTakenOver | RunWaits | RunParked | RunReleased | ApprovalExpired | RunLost
    | ClockJumped | WatchFailed | MetricsServed | MetricsNotServed | PassFailed | HandEditsKept | HistoryNotKept
    | Cleaned | DeliverySent | DeliveryFailed | DeliveryUnknown | SecurityFinding
    | ReviewStarted | ReviewTakenOver | ReviewToolRefused | ReviewEnded
)  # fmt: skip

Emit = Callable[[Event], None]
"""Where events go. Never raises."""
