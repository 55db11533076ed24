"""Which rules yield instants, and which instants?

Everything inside is UTC; the zone is an argument and matters to wall-clock rules (``Cron``, ``Rule``) only. The rules
are written down in docs/formats/schedules.md.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from heapq import merge
from itertools import islice, pairwise
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

from hermes_cron.domain.schedule import cron, wallclock
from hermes_cron.domain.schedule.days import (
    CronDays,
    Days,
    EveryDays,
    EveryMonths,
    EveryWeeks,
    MonthDays,
    MonthWorkdays,
    months_of,
)
from hermes_cron.errors import ScheduleInvalid, ScheduleNeverFires

Kind: TypeAlias = Literal["cron", "interval", "once", "rule"]
SHORTEST = timedelta(seconds=1)
LONGEST = timedelta(days=3660)


@dataclass(frozen=True, slots=True)
class Cron:
    """Five cron fields, normalised (``cron.normalise``). Raises ScheduleInvalid or ScheduleNeverFires."""

    expression: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", cron.normalise(self.expression))


@dataclass(frozen=True, slots=True)
class Interval:
    """``anchor + k * every`` for k = 0, 1, 2 ...: absolute time, so no clock change and no late tick moves it."""

    every: timedelta
    anchor: datetime

    def __post_init__(self) -> None:
        if self.every < SHORTEST or self.every > LONGEST:
            raise ScheduleInvalid(
                f"an interval of {self.every.total_seconds():g} s is out of range",
                hint='from "every 1 second" to "every 3660 days"',
            )
        if self.every.microseconds:
            raise ScheduleInvalid("an interval is a whole number of seconds", hint='such as "every 90 seconds"')
        object.__setattr__(self, "anchor", _utc(self.anchor))


@dataclass(frozen=True, slots=True)
class Once:
    """One instant."""

    at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", _utc(self.at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Named times of the day, minutes after local midnight, ascending: a *fixed* pattern."""

    minutes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """``first``, ``first + step`` ... up to and including ``last`` (minutes after midnight): a *real* pattern."""

    step: int
    first: int
    last: int

    def __post_init__(self) -> None:
        if not (0 <= self.first <= self.last < 1440 and self.step >= 1):
            raise ScheduleInvalid("a window begins before it ends, within one day", hint='"between 9am and 5pm"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Days times clock, for what one cron line cannot say."""

    days: Days
    clock: Times | Window


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The union of several triggers; an instant that two of them share is one instant."""

    triggers: tuple[Cron | Interval | Once | Rule, ...]

    def __post_init__(self) -> None:
        if not self.triggers:
            raise ScheduleInvalid("an empty list of schedules", hint='such as "every day 9am"')


Trigger: TypeAlias = Cron | Interval | Once | Rule | AnyOf


def any_of(triggers: tuple[Trigger, ...]) -> Trigger:
    """Flat and without repetitions; a single trigger stays itself."""
    flat: dict[Cron | Interval | Once | Rule, None] = {}
    for trigger in triggers:
        for part in trigger.triggers if isinstance(trigger, AnyOf) else (trigger,):
            flat[part] = None
    parts = tuple(flat)
    return parts[0] if len(parts) == 1 else AnyOf(parts)


def kind(trigger: Trigger) -> Kind:
    """The public word of a trigger; a list is a rule."""
    match trigger:
        case Cron():
            return "cron"
        case Interval():
            return "interval"
        case Once():
            return "once"
        case Rule() | AnyOf():
            return "rule"


def next_after(trigger: Trigger, after: datetime, zone: ZoneInfo) -> datetime | None:
    """The first instant strictly after ``after``, UTC; None when nothing is left."""
    match trigger:
        case Cron() | Rule():
            return wallclock.next_instant(_pattern(trigger), after, zone)
        case Interval(every, anchor):
            steps = max(0, (after - anchor) // every + 1)
            try:
                return anchor + steps * every
            except OverflowError:  # the calendar ends with the year 9999
                return None
        case Once(at):
            return at if at > after else None
        case AnyOf(triggers):
            found = [instant for part in triggers if (instant := next_after(part, after, zone)) is not None]
            return min(found, default=None)


def previous_before(trigger: Trigger, before: datetime, zone: ZoneInfo) -> datetime | None:
    """The last instant strictly before ``before``, UTC; None when there is none."""
    match trigger:
        case Cron() | Rule():
            return wallclock.previous_instant(_pattern(trigger), before, zone)
        case Interval(every, anchor):
            steps = -((anchor - before) // every) - 1
            return anchor + steps * every if steps >= 0 else None
        case Once(at):
            return at if at < before else None
        case AnyOf(triggers):
            found = [instant for part in triggers if (instant := previous_before(part, before, zone)) is not None]
            return max(found, default=None)


def instants(trigger: Trigger, zone: ZoneInfo, after: datetime, until: datetime) -> Iterator[datetime]:
    """Every instant t with after < t <= until, ascending, each once."""
    if isinstance(trigger, AnyOf):
        last = None
        for instant in merge(*(instants(part, zone, after, until) for part in trigger.triggers)):
            if instant != last:
                yield instant
            last = instant
        return
    found = next_after(trigger, after, zone)
    while found is not None and found <= until:
        yield found
        found = next_after(trigger, found, zone)


def period(trigger: Trigger, zone: ZoneInfo, now: datetime) -> timedelta | None:
    """The smallest gap among the next ten instants; None when fewer than two are left."""
    if isinstance(trigger, Interval):
        return trigger.every
    ahead = list(islice(instants(trigger, zone, now, _far(now)), 10))
    return min((later - earlier for earlier, later in pairwise(ahead)), default=None)


def require_an_instant(trigger: Trigger, now: datetime, zone: ZoneInfo) -> None:
    """Raises ScheduleNeverFires when a wall-clock trigger names no instant within 50 years of ``now``."""
    if not isinstance(trigger, Once) and next_after(trigger, now, zone) is None:
        raise ScheduleNeverFires("this schedule never fires", hint="hermes-cron explain shows what a schedule does")


def clock_minutes(clock: Times | Window) -> tuple[int, ...]:
    """Minutes after midnight, ascending."""
    return clock.minutes if isinstance(clock, Times) else tuple(range(clock.first, clock.last + 1, clock.step))


def is_fixed(trigger: Cron | Rule) -> bool:
    """Whether times of the day are named: once on a day that repeats them, moved on a day that skips them."""
    return _pattern(trigger).fixed


def names_day(trigger: Cron | Rule, day: date) -> bool:
    return _pattern(trigger).matches(day)


def local_minutes(trigger: Cron | Rule) -> frozenset[int]:
    """Minutes after local midnight."""
    return frozenset(_pattern(trigger).minutes)


@lru_cache(maxsize=2048)
def _pattern(trigger: Cron | Rule) -> wallclock.Pattern:
    if isinstance(trigger, Cron):
        line = cron.read(trigger.expression)
        return wallclock.Pattern(
            matches=line.matches,
            months=line.months,
            minutes=array("H", (hour * 60 + minute for hour in line.hours for minute in line.minutes)),
            fixed=line.fixed,
        )
    return wallclock.Pattern(
        matches=trigger.days.line().matches if isinstance(trigger.days, CronDays) else trigger.days.matches,
        months=months_of(trigger.days),
        minutes=array("H", clock_minutes(trigger.clock)),
        fixed=isinstance(trigger.clock, Times),
    )


def _utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant.isoformat()} has no time zone")
    return instant.astimezone(UTC)


def _far(now: datetime) -> datetime:
    return datetime(min(now.year + 60, 9999), 1, 1, tzinfo=UTC)


# --- stored form ------------------------------------------------------------------------------------------------------


def dump(trigger: Trigger) -> dict[str, object]:
    """The stored form, version 1: plain JSON values, equal triggers give equal forms. ``load`` reads it back."""
    return {"v": 1, **_dump(trigger)}


def load(form: dict[str, object]) -> Trigger:
    """Read ``dump``'s form. Raises ValueError for another version or another shape."""
    if form.get("v") != 1:
        raise ValueError(f"unknown trigger form: {form!r}")
    try:
        return _load(form)
    except (KeyError, TypeError) as error:
        raise ValueError(f"unknown trigger form: {form!r}") from error


def _dump(trigger: Trigger) -> dict[str, object]:
    match trigger:
        case Cron(expression):
            return {"cron": expression}
        case Interval(every, anchor):
            return {"every_s": int(every.total_seconds()), "anchor": anchor.isoformat()}
        case Once(at):
            return {"at": at.isoformat()}
        case Rule():
            return {"days": _dump_days(trigger.days), "clock": _dump_clock(trigger.clock)}
        case AnyOf(triggers):
            return {"any": [_dump(part) for part in triggers]}


def _dump_clock(clock: Times | Window) -> object:
    if isinstance(clock, Times):
        return list(clock.minutes)
    return {"step": clock.step, "first": clock.first, "last": clock.last}


def _dump_days(days: Days) -> dict[str, object]:
    match days:
        case CronDays():
            return {"cron": f"{days.days} {days.months} {days.weekdays}"}
        case EveryDays():
            return {"every_days": days.every, "first": days.first.isoformat()}
        case EveryWeeks():
            return {"every_weeks": days.every, "on": list(days.weekdays), "first": days.first.isoformat()}
        case MonthDays():
            return {"month_days": list(days.days), "months": list(days.months)}
        case MonthWorkdays():
            return {"month_workdays": list(days.nth), "months": list(days.months)}
        case EveryMonths():
            return {
                "every_months": days.every,
                "first": days.first.isoformat(),
                "within": _dump_days(days.within),
            }


def _load(form: dict[str, object]) -> Trigger:
    match form:
        case {"cron": str(expression)}:
            return Cron(expression)
        case {"every_s": int(seconds), "anchor": str(anchor)}:
            return Interval(timedelta(seconds=seconds), datetime.fromisoformat(anchor))
        case {"at": str(at)}:
            return Once(datetime.fromisoformat(at))
        case {"days": dict(days), "clock": clock}:
            return Rule(days=_load_days(days), clock=_load_clock(clock))
        case {"any": list(parts)}:
            return any_of(tuple(_load(part) for part in parts))
        case _:
            raise ValueError(f"unknown trigger form: {form!r}")


def _load_clock(form: object) -> Times | Window:
    match form:
        case list(minutes):
            return Times(minutes=tuple(minutes))
        case {"step": int(step), "first": int(first), "last": int(last)}:
            return Window(step=step, first=first, last=last)
        case _:
            raise ValueError(f"unknown clock form: {form!r}")


def _load_days(form: dict[str, object]) -> Days:
    match form:
        case {"cron": str(fields)}:
            days, months, weekdays = fields.split()
            return CronDays(days=days, months=months, weekdays=weekdays)
        case {"every_days": int(every), "first": str(first)}:
            return EveryDays(every=every, first=date.fromisoformat(first))
        case {"every_weeks": int(every), "on": list(on), "first": str(first)}:
            return EveryWeeks(every=every, weekdays=tuple(on), first=date.fromisoformat(first))
        case {"every_months": int(every), "first": str(first), "within": dict(within)}:
            inner = _load_days(within)
            if isinstance(inner, CronDays | MonthDays | MonthWorkdays):
                return EveryMonths(every=every, within=inner, first=date.fromisoformat(first))
        case {"month_days": list(days), "months": list(months)}:
            return MonthDays(days=tuple(days), months=tuple(months))
        case {"month_workdays": list(nth), "months": list(months)}:
            return MonthWorkdays(nth=tuple(nth), months=tuple(months))
        case _:
            pass
    raise ValueError(f"unknown days form: {form!r}")
