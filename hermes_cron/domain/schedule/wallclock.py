"""At which instants does a wall-clock pattern fire in a time zone?

One engine for cron lines and rules, with the clock-change rules of Debian cron, as cronsim has them:

* a *fixed* pattern (a time of day is named) fires once for each local time: a time that occurs twice means its first
  pass, a time that does not exist moves to the end of the gap; equal instants are one;
* a *real* pattern (``*/15``, a window with a step) fires at every real minute whose local reading matches: both
  passes of a repeated hour, nothing inside a gap.

cronsim's own walk is not used: in real mode it steps whole hours, so it loses 04:00-04:29 on the day of Lord Howe's
half-hour change, and names a missing midnight; in fixed mode its "next" can lie before "now" in a repeated hour.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

ONE_DAY = timedelta(days=1)
ONE_MINUTE = timedelta(minutes=1)
HORIZON_YEARS = 50  # cronsim's: the longest real wait is 40 years (29 February on a given weekday around 2100)
_FIRST_YEAR, LAST_YEAR = 2, 9989


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Local days times minutes of the day (ascending, 0..1439)."""

    matches: Callable[[date], bool]
    months: frozenset[int]
    minutes: array[int]
    fixed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The offset of a zone changes at the UTC instant ``at``."""

    at: datetime
    before: timedelta
    after: timedelta


@lru_cache(maxsize=1024)
def changes(zone: ZoneInfo, year: int) -> tuple[Change, ...]:
    """The zone's offset changes within the UTC year, ascending. Looked for once a day: a pair within 24 h is missed."""
    found = []
    low = datetime(year, 1, 1, tzinfo=UTC)
    end = datetime(year + 1, 1, 1, tzinfo=UTC)
    before = _offset(low, zone)
    while low < end:
        high = min(low + ONE_DAY, end)
        after = _offset(high, zone)
        if after != before:
            found.append(Change(at=_change_between(low, high, zone), before=before, after=after))
        low, before = high, after
    return tuple(found)


def next_instant(pattern: Pattern, after: datetime, zone: ZoneInfo) -> datetime | None:
    """The first instant strictly after ``after``, in UTC; None when there is none within 50 years."""
    return (_next_fixed if pattern.fixed else _next_real)(pattern, after, zone)


def previous_instant(pattern: Pattern, before: datetime, zone: ZoneInfo) -> datetime | None:
    """The last instant strictly before ``before``, in UTC; None when there is none within 50 years."""
    return (_previous_fixed if pattern.fixed else _previous_real)(pattern, before, zone)


def fixed_instant(naive: datetime, zone: ZoneInfo) -> datetime:
    """The UTC instant of a local time: its first pass, or the end of the gap it falls into."""
    there = naive.replace(tzinfo=zone, fold=0)
    instant = there.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == naive:
        return instant
    return gap_end(instant, zone)


def exists(naive: datetime, zone: ZoneInfo) -> bool:
    return naive.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == naive


def is_repeated(naive: datetime, zone: ZoneInfo) -> bool:
    first = naive.replace(tzinfo=zone, fold=0).utcoffset()
    second = naive.replace(tzinfo=zone, fold=1).utcoffset()
    return exists(naive, zone) and first != second


def gap_end(instant: datetime, zone: ZoneInfo) -> datetime:
    """The last change at or before ``instant``: where the clock is set forward over a missing local time."""
    for year in (instant.year, instant.year - 1):
        for change in reversed(changes(zone, year)):
            if change.at <= instant:
                return change.at
    raise AssertionError(f"no change of {zone.key} before {instant}")  # pragma: no cover


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta:
    offset = instant.astimezone(zone).utcoffset()
    assert offset is not None  # noqa: S101 - a ZoneInfo always has one
    return offset


def _change_between(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """To the second, by halving."""
    before = _offset(low, zone)
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if _offset(middle, zone) == before:
            low = middle
        else:
            high = middle
    return high


def _segment_end(instant: datetime, zone: ZoneInfo) -> datetime:
    """An instant > ``instant`` up to which the offset stays: the next change, or the turn of the year."""
    for change in changes(zone, instant.year):
        if change.at > instant:
            return change.at
    return datetime(instant.year + 1, 1, 1, tzinfo=UTC)


def _segment_start(instant: datetime, zone: ZoneInfo) -> datetime:
    """The earliest instant <= ``instant`` from which the offset has stayed within the year."""
    for change in reversed(changes(zone, instant.year)):
        if change.at <= instant:
            return change.at
    return datetime(instant.year, 1, 1, tzinfo=UTC)


def _next_day(pattern: Pattern, day: date, last: date) -> date | None:
    """The first matching day in ``day``..``last``."""
    while day <= last:
        if day.month not in pattern.months:
            day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        elif pattern.matches(day):
            return day
        else:
            day += ONE_DAY
    return None


def _previous_day(pattern: Pattern, day: date, first: date) -> date | None:
    """The last matching day in ``first``..``day``."""
    while day >= first:
        if day.month not in pattern.months:
            day = day.replace(day=1) - ONE_DAY
        elif pattern.matches(day):
            return day
        else:
            day -= ONE_DAY
    return None


def _at(day: date, minute: int) -> datetime:
    return datetime.combine(day, time(minute // 60, minute % 60))


def _minute_of(naive: datetime) -> int:
    return naive.hour * 60 + naive.minute


def _local(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _next_fixed(pattern: Pattern, after: datetime, zone: ZoneInfo) -> datetime | None:
    naive = _local(after, zone)
    last = date(min(naive.year + HORIZON_YEARS, LAST_YEAR), 12, 31)
    day = _next_day(pattern, naive.date(), last)
    index = bisect_right(pattern.minutes, _minute_of(naive)) if day == naive.date() else 0
    while day is not None:
        for minute in pattern.minutes[index:]:
            instant = fixed_instant(_at(day, minute), zone)
            if instant > after:
                return instant
        day, index = _next_day(pattern, day + ONE_DAY, last), 0
    return None


def _previous_fixed(pattern: Pattern, before: datetime, zone: ZoneInfo) -> datetime | None:
    there = before.astimezone(zone)
    naive = there.replace(tzinfo=None, fold=0)
    if there.fold:  # in a second pass, later local times have already had their first
        naive += ONE_DAY
    first = date(max(naive.year - HORIZON_YEARS, _FIRST_YEAR), 1, 1)
    day = _previous_day(pattern, naive.date(), first)
    index = bisect_right(pattern.minutes, _minute_of(naive)) if day == naive.date() else len(pattern.minutes)
    while day is not None:
        for minute in reversed(pattern.minutes[:index]):
            instant = fixed_instant(_at(day, minute), zone)
            if instant < before:
                return instant
        day, index = _previous_day(pattern, day - ONE_DAY, first), len(pattern.minutes)
    return None


def _next_real(pattern: Pattern, after: datetime, zone: ZoneInfo) -> datetime | None:
    last_year = min(after.year + HORIZON_YEARS, LAST_YEAR)
    start = after
    earliest = _local(after, zone).replace(second=0, microsecond=0) + ONE_MINUTE
    while start.year <= last_year:
        offset = _offset(start, zone)
        end = _segment_end(start, zone)
        found = _first_reading(pattern, earliest, (end + offset).replace(tzinfo=None))
        if found is not None:
            return (found - offset).replace(tzinfo=UTC)
        start = end
        earliest = _whole_minute(_local(start, zone))
    return None


def _previous_real(pattern: Pattern, before: datetime, zone: ZoneInfo) -> datetime | None:
    first_year = max(before.year - HORIZON_YEARS, _FIRST_YEAR)
    end = before
    while end.year >= first_year:
        inside = end - timedelta(microseconds=1)
        offset = _offset(inside, zone)
        start = _segment_start(inside, zone)
        earliest = _whole_minute((start + offset).replace(tzinfo=None))
        found = _last_reading(pattern, earliest, (end + offset).replace(tzinfo=None))
        if found is not None:
            return (found - offset).replace(tzinfo=UTC)
        end = start
    return None


def _whole_minute(naive: datetime) -> datetime:
    floor = naive.replace(second=0, microsecond=0)
    return floor if floor == naive else floor + ONE_MINUTE


def _first_reading(pattern: Pattern, earliest: datetime, end: datetime) -> datetime | None:
    """The first matching local time in [earliest, end) of a stretch without clock changes."""
    day = _next_day(pattern, earliest.date(), end.date())
    if day is None:
        return None
    index = bisect_left(pattern.minutes, _minute_of(earliest)) if day == earliest.date() else 0
    if index == len(pattern.minutes):
        day = _next_day(pattern, day + ONE_DAY, end.date())
        if day is None:
            return None
        index = 0
    found = _at(day, pattern.minutes[index])
    return found if found < end else None


def _last_reading(pattern: Pattern, earliest: datetime, end: datetime) -> datetime | None:
    """The last matching local time in [earliest, end) of a stretch without clock changes."""
    day = _previous_day(pattern, end.date(), earliest.date())
    while day is not None:
        limit = end if day == end.date() else datetime.combine(day + ONE_DAY, time())
        for minute in reversed(pattern.minutes):
            found = _at(day, minute)
            if found < limit:
                return found if found >= earliest else None
        day = _previous_day(pattern, day - ONE_DAY, earliest.date())
    return None
