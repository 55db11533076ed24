"""Which due instants become runs, and what becomes of the others?

Pure: a revision's timing, what is settled already and the time give a plan; ``store.claims`` carries it out. The
rules are design decision 2 and docs/formats/occurrences.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from zoneinfo import ZoneInfo

from hermes_cron.domain.job import CatchUp, Job
from hermes_cron.domain.run import OccurrenceState
from hermes_cron.domain.schedule.trigger import Interval, Once, Trigger, instants, next_after, period, previous_before

WINDOW = timedelta(hours=24)
CATCH_UP_CAP = 100
SHORTEST_GRACE, LONGEST_GRACE = timedelta(minutes=2), timedelta(hours=2)
WALK = 20_000  # instants that one pass counts one by one; the next pass goes on from there
_TICK = timedelta(microseconds=1)


class Reason(StrEnum):
    """Why an instant has no run, or why a run ended without an outcome of its own. Closed: it becomes a label."""

    PAUSED = "paused"
    HELD = "held"
    OVERLAP = "overlap"
    QUEUE_FULL = "queue_full"
    MERGED = "merged"
    TOO_OLD = "too_old"  # further back than the catch-up window
    CATCH_UP_NONE = "catch_up_none"
    CATCH_UP_CAP = "catch_up_cap"
    REMOVED = "removed"
    OWNER_DIED = "owner_died"
    SHUTDOWN = "shutdown"
    OVERLONG = "overlong"  # its thread outlived the deadline and the grace after it


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When one revision of a job is due. Instants lie in [``start``, ``until``].

    ``blocked`` says why nothing starts (``paused``, ``held``), None when the job is free. ``grace`` None is half the
    period within 2 min .. 2 h.
    """

    trigger: Trigger | None
    zone: ZoneInfo
    catch_up: CatchUp = CatchUp.LATEST
    grace: timedelta | None = None
    jitter: timedelta = timedelta(0)
    start: datetime | None = None
    until: datetime | None = None
    max_runs: int | None = None
    blocked: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DueRun:
    """An instant that gets a run. ``start_after`` is the instant plus its jitter."""

    at: datetime
    late: bool
    start_after: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """``count`` consecutive instants from ``first`` to ``last`` that share a fate; merged ones went ``into`` a run."""

    first: datetime
    last: datetime
    count: int
    state: OccurrenceState
    reason: Reason
    into: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePlan:
    """``runs`` and ``spans`` ascend and together hold each instant in (old, new ``settled_until``] exactly once.

    ``next_due`` at or before the present means that more is to be planned: the walk was bounded.
    """

    runs: tuple[DueRun, ...] = ()
    spans: tuple[Span, ...] = ()
    settled_until: datetime
    next_due: datetime | None


def timing_of(job: Job, *, held: bool = False) -> Timing:
    """The timing that a job file declares."""
    blocked = Reason.PAUSED if job.paused is not None else Reason.HELD if held else None
    return Timing(
        trigger=job.trigger,
        zone=ZoneInfo(job.timezone),
        catch_up=job.catch_up,
        grace=job.grace,
        jitter=job.jitter,
        start=job.start,
        until=job.until,
        max_runs=job.max_runs,
        blocked=blocked,
    )


def plan_due(
    timing: Timing, *, uid: str, settled_until: datetime, now: datetime, fired: int = 0, window: timedelta = WINDOW
) -> DuePlan:
    """Settle every instant in (``settled_until``, ``now``].

    ``fired`` counts the job's earlier runs against ``max_runs``. A clock that went back settles nothing twice: what
    was settled stays so, and the next instant is looked for after it.
    """
    left = None if timing.max_runs is None else timing.max_runs - fired
    if left is not None and left <= 0:
        return DuePlan(settled_until=settled_until, next_due=None)
    if timing.blocked is not None:
        return _blocked(timing, timing.blocked, settled_until, now)
    grace = grace_of(timing, settled_until)
    edge = now - max(window, grace) - _TICK  # an instant exactly ``window`` ago is still inside
    old = _missed_before(timing, settled_until, min(edge, now))
    spans: list[Span] = [old.span] if old.span else []
    if old.more:
        return _finished(timing, (), spans, old.settled, None)
    inside = _Stretch(timing, max(settled_until, min(edge, now)), now)
    runs, rest = _choose(inside, now - grace, left)
    late_from = now - grace
    chosen = tuple(
        DueRun(at=at, late=at < late_from, start_after=at + jitter_of(uid, at, timing.jitter)) for at in runs
    )
    after_runs = None if left is None else left - len(runs)
    return _finished(timing, chosen, spans + rest, max(now, settled_until), after_runs)


def first_due(timing: Timing, after: datetime) -> datetime | None:
    """The first due instant strictly after ``after``."""
    if timing.trigger is None:
        return None
    if timing.start is not None:
        after = max(after, timing.start - _TICK)
    found = next_after(timing.trigger, after, timing.zone)
    return None if found is None or (timing.until is not None and found > timing.until) else found


def due_between(timing: Timing, after: datetime, until: datetime) -> Sequence[datetime]:
    """Every instant t with after < t <= until, ascending. For bounded stretches."""
    after, until = _within_life(timing, after, until)
    if timing.trigger is None or after >= until:
        return ()
    return tuple(instants(timing.trigger, timing.zone, after, until))


def count_due(timing: Timing, after: datetime, until: datetime) -> int:
    """How many instants lie in (after, until]; an interval's by arithmetic."""
    after, until = _within_life(timing, after, until)
    if timing.trigger is None or after >= until:
        return 0
    if isinstance(timing.trigger, Interval):
        return _steps(timing.trigger, until) - _steps(timing.trigger, after)
    return sum(1 for _ in instants(timing.trigger, timing.zone, after, until))


def last_due(timing: Timing, at_or_before: datetime) -> datetime | None:
    """The last due instant up to and including ``at_or_before``."""
    if timing.trigger is None:
        return None
    upper = at_or_before if timing.until is None else min(at_or_before, timing.until)
    found = previous_before(timing.trigger, upper + _TICK, timing.zone)
    return None if found is None or (timing.start is not None and found < timing.start) else found


def newest_due(timing: Timing, after: datetime, until: datetime, count: int) -> list[datetime]:
    """The last ``count`` instants in (after, until], ascending."""
    return _Stretch(timing, after, until).newest(count)


def grace_of(timing: Timing, at: datetime) -> timedelta:
    """How late a start still counts as on time; exactly this late still does."""
    if timing.grace is not None:
        return timing.grace
    if timing.trigger is None or isinstance(timing.trigger, Once):
        return SHORTEST_GRACE
    every = period(timing.trigger, timing.zone, at)
    return SHORTEST_GRACE if every is None else min(max(every / 2, SHORTEST_GRACE), LONGEST_GRACE)


def jitter_of(uid: str, at: datetime, limit: timedelta) -> timedelta:
    """0 <= delay < ``limit``, the same for the same (uid, instant) in every process; whole milliseconds."""
    limit_ms = limit // timedelta(milliseconds=1)
    if limit_ms <= 0:
        return timedelta(0)
    digest = hashlib.blake2b(f"{uid}@{at.astimezone(UTC).isoformat()}".encode(), digest_size=8).digest()
    return timedelta(milliseconds=int.from_bytes(digest, "big") % limit_ms)


# --- the parts of a plan ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walked:
    span: Span | None
    settled: datetime
    more: bool


def _blocked(timing: Timing, reason: Reason, settled_until: datetime, now: datetime) -> DuePlan:
    walked = _walk(timing, settled_until, now, OccurrenceState.SKIPPED, reason)
    spans = [walked.span] if walked.span else []
    return _finished(timing, (), spans, max(walked.settled, settled_until), None)


def _missed_before(timing: Timing, after: datetime, edge: datetime) -> _Walked:
    """Instants up to ``edge`` are too old to be caught up."""
    return _walk(timing, after, edge, OccurrenceState.MISSED, Reason.TOO_OLD)


def _walk(timing: Timing, after: datetime, until: datetime, state: OccurrenceState, reason: Reason) -> _Walked:
    """One span over (after, until]. Wall-clock instants are counted one by one, so at most ``WALK`` of them a pass."""
    low, high = _within_life(timing, after, until)
    more = False
    if timing.trigger is not None and not isinstance(timing.trigger, Interval) and low < high:
        beyond = next(islice(instants(timing.trigger, timing.zone, low, high), WALK, None), None)
        if beyond is not None:
            more, until = True, beyond - _TICK
    return _Walked(span=_Stretch(timing, after, until).span(state, reason), settled=until, more=more)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The instants in (after, until], counted and never listed: an every-second job has 86,400 of them a day."""

    timing: Timing
    after: datetime
    until: datetime

    def last(self) -> datetime | None:
        found = last_due(self.timing, self.until)
        return found if found is not None and found > self.after else None

    def newest(self, count: int) -> list[datetime]:
        """At most ``count``, ascending."""
        found: list[datetime] = []
        at = self.last()
        while at is not None and len(found) < count:
            found.append(at)
            at = _Stretch(self.timing, self.after, at - _TICK).last()
        return found[::-1]

    def before(self, at: datetime) -> _Stretch:
        """The part before ``at``."""
        return _Stretch(self.timing, self.after, max(self.after, min(self.until, at - _TICK)))

    def since(self, at: datetime) -> _Stretch:
        """The part from ``at`` on."""
        return _Stretch(self.timing, max(self.after, at - _TICK), self.until)

    def first_few(self, count: int) -> _Stretch:
        """The part that holds its first ``count`` instants."""
        low, high = _within_life(self.timing, self.after, self.until)
        if self.timing.trigger is None or low >= high:
            return self
        beyond = next(islice(instants(self.timing.trigger, self.timing.zone, low, high), count, None), None)
        return self if beyond is None else self.before(beyond)

    def span(self, state: OccurrenceState, reason: Reason, into: datetime | None = None) -> Span | None:
        """None when no instant lies inside."""
        first, last = first_due(self.timing, self.after), self.last()
        if first is None or last is None:
            return None
        count = count_due(self.timing, self.after, self.until)
        return Span(first=first, last=last, count=count, state=state, reason=reason, into=into)


def _choose(inside: _Stretch, on_time_from: datetime, left: int | None) -> tuple[list[datetime], list[Span]]:
    """Which of the instants inside the window run, and the spans of the others."""
    match inside.timing.catch_up:
        case CatchUp.LATEST:
            return _latest(inside)
        case CatchUp.ALL:
            # After the last of max_runs nothing is due, so the life span cuts the young end, the cap the old one.
            living = inside if left is None else inside.first_few(left)
            runs = living.newest(CATCH_UP_CAP)
            older = living.before(runs[0]) if runs else living
            return runs, _some(older.span(OccurrenceState.MISSED, Reason.CATCH_UP_CAP))
        case CatchUp.NONE:
            missed = inside.before(on_time_from).span(OccurrenceState.MISSED, Reason.CATCH_UP_NONE)
            runs, merged = _latest(inside.since(on_time_from))
            return runs, _some(missed) + merged


def _latest(inside: _Stretch) -> tuple[list[datetime], list[Span]]:
    """The last one runs, all others go into it."""
    last = inside.last()
    if last is None:
        return [], []
    return [last], _some(inside.before(last).span(OccurrenceState.MERGED, Reason.MERGED, into=last))


def _some(span: Span | None) -> list[Span]:
    return [] if span is None else [span]


def _finished(
    timing: Timing, runs: tuple[DueRun, ...], spans: list[Span], settled: datetime, left: int | None
) -> DuePlan:
    ended = left is not None and left <= 0
    return DuePlan(
        runs=runs,
        spans=tuple(spans),
        settled_until=settled,
        next_due=None if ended else first_due(timing, settled),
    )


def _within_life(timing: Timing, after: datetime, until: datetime) -> tuple[datetime, datetime]:
    low = after if timing.start is None else max(after, timing.start - _TICK)
    high = until if timing.until is None else min(until, timing.until)
    return low, high


def _steps(trigger: Interval, until: datetime) -> int:
    """How many instants an interval has up to and including ``until``."""
    return max(0, (until - trigger.anchor) // trigger.every + 1)
