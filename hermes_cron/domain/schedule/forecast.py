"""What will a schedule do, and what about it might surprise?

Words in both languages, the next instants, the clock changes of the coming year that touch it, warnings. Pure:
``render`` returns the lines that the terminal shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from hermes_cron.domain.schedule import caution, phrase
from hermes_cron.domain.schedule.refusal import Language
from hermes_cron.domain.schedule.trigger import (
    AnyOf,
    Cron,
    Interval,
    Once,
    Rule,
    Trigger,
    instants,
    is_fixed,
    kind,
    local_minutes,
    names_day,
    next_after,
)
from hermes_cron.domain.schedule.wallclock import Change, changes
from hermes_cron.domain.schedule.words import words
from hermes_cron.errors import ScheduleInPast

_SHOWN = 3
_AHEAD = timedelta(days=366)
_WEEKDAYS = {
    "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "zh": ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange:
    """A clock change that touches the schedule. ``instants`` are what fires in it, in UTC, ascending."""

    kind: str
    """``gap`` (the clock is set forward) or ``fold`` (it is set back)."""
    day: date
    times: tuple[int, ...]
    """The local times of the schedule that do not exist, or occur twice; minutes after midnight."""
    instants: tuple[datetime, ...]
    fixed: bool
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    trigger: Trigger
    zone: ZoneInfo
    words_en: str
    words_zh: str
    next: tuple[datetime, ...]
    """UTC, ascending."""
    changes: tuple[ClockChange, ...]
    zone_changes: bool
    """Whether the zone's clock changes at all within the coming year."""
    warnings: tuple[str, ...]
    prompt: str | None = None

    def as_json(self) -> dict[str, object]:
        """The public form: instants in the zone's offset, ``cron`` null but for a cron line."""
        schedule: dict[str, object] = {
            "kind": kind(self.trigger),
            "cron": self.trigger.expression if isinstance(self.trigger, Cron) else None,
            "words_en": self.words_en,
            "words_zh": self.words_zh,
        }
        if isinstance(self.trigger, Interval):
            schedule["seconds"] = int(self.trigger.every.total_seconds())
        if isinstance(self.trigger, Once):
            schedule["at"] = self._local(self.trigger.at)
        return {
            "schedule": schedule,
            "timezone": self.zone.key,
            "prompt": self.prompt,
            "next": [self._local(instant) for instant in self.next],
            "warnings": list(self.warnings),
        }

    def _local(self, instant: datetime) -> str:
        return instant.astimezone(self.zone).isoformat()


def explain(
    schedule: str | Trigger,
    *,
    now: datetime,
    zone: ZoneInfo,
    prompt: str | None = None,
    count: int = _SHOWN,
) -> Explanation:
    """Explain a phrase or a trigger. Raises what ``phrase.parse`` raises; ScheduleInPast when no instant is left."""
    trigger = phrase.parse(schedule, now=now, zone=zone) if isinstance(schedule, str) else schedule
    if next_after(trigger, now, zone) is None:
        raise ScheduleInPast(
            f'"{words(trigger, lang="en", zone=zone)}" has no instant left', hint="give a time to come"
        )
    text = schedule if isinstance(schedule, str) else ""
    return Explanation(
        trigger=trigger,
        zone=zone,
        words_en=words(trigger, lang="en", zone=zone),
        words_zh=words(trigger, lang="zh", zone=zone),
        next=tuple(islice(instants(trigger, zone, now, datetime(9999, 1, 1, tzinfo=UTC)), count)),
        changes=tuple(clock_changes(trigger, now, zone)),
        zone_changes=any(True for _ in _changes_ahead(now, zone)),
        warnings=tuple(caution.warnings(trigger, text)),
        prompt=prompt,
    )


def clock_changes(trigger: Trigger, now: datetime, zone: ZoneInfo) -> Iterator[ClockChange]:
    """Those within a year after ``now`` at which a local time of the trigger is missing or repeated, ascending."""
    parts = trigger.triggers if isinstance(trigger, AnyOf) else (trigger,)
    wall = [part for part in parts if isinstance(part, Cron | Rule)]
    for change in _changes_ahead(now, zone):
        for part in wall:
            found = _touched(part, change, zone)
            if found is not None:
                yield found


def _changes_ahead(now: datetime, zone: ZoneInfo) -> Iterator[Change]:
    for year in (now.year, now.year + 1):
        for change in changes(zone, year):
            if now < change.at <= now + _AHEAD:
                yield change


def _touched(trigger: Cron | Rule, change: Change, zone: ZoneInfo) -> ClockChange | None:
    """The local times between the two readings of the change that the trigger names."""
    forward = change.after > change.before
    low = (change.at + min(change.before, change.after)).replace(tzinfo=None)
    high = (change.at + max(change.before, change.after)).replace(tzinfo=None)
    times = [naive for naive in _local_times(low, high) if names_day(trigger, naive.date())]
    wanted = local_minutes(trigger)
    times = [naive for naive in times if naive.hour * 60 + naive.minute in wanted]
    if not times:
        return None
    width = abs(change.after - change.before)
    fired = tuple(instants(trigger, zone, change.at - width - timedelta(minutes=1), change.at + width))
    return ClockChange(
        kind="gap" if forward else "fold",
        day=times[0].date(),
        times=tuple(naive.hour * 60 + naive.minute for naive in times),
        instants=tuple(instant for instant in fired if instant >= change.at) if forward else fired,
        fixed=is_fixed(trigger),
        at=change.at,
    )


def _local_times(low: datetime, high: datetime) -> Iterator[datetime]:
    while low < high:
        yield low
        low += timedelta(minutes=1)


# --- the terminal -----------------------------------------------------------------------------------------------------


def render(explanation: Explanation, lang: Language) -> str:
    """The screen of ``hermes-cron explain``: facts first, one a line, no trailing newline."""
    zone = explanation.zone
    said = explanation.words_zh if lang == "zh" else explanation.words_en
    lines = [f"{said}（{zone.key}）" if lang == "zh" else f"{said}, {zone.key}"]
    label = {"en": ("next", "gap", "fold", "note"), "zh": ("接下来", "跳时", "重时", "注意")}[lang]
    lines.append(_row(label[0], _next(explanation, lang)))
    if explanation.zone_changes and not isinstance(explanation.trigger, Once | Interval):
        for name, title in (("gap", label[1]), ("fold", label[2])):
            found = [change for change in explanation.changes if change.kind == name]
            lines += [_row(title, _said(change, zone, lang)) for change in found]
            if not found:
                lines.append(_row(title, "此时段不受影响" if lang == "zh" else "none at this time of day"))
    lines += [_row(label[3], caution.in_language(warning, lang)) for warning in explanation.warnings]
    return "\n".join(lines)


def _row(title: str, text: str) -> str:
    wide = sum(2 if ord(sign) > 0x2E7F else 1 for sign in title)
    return f"  {title}{' ' * (8 - wide)}{text}"


def _next(explanation: Explanation, lang: Language) -> str:
    if not explanation.next:
        return "-"
    first, *more = (instant.astimezone(explanation.zone) for instant in explanation.next)
    day = _day(first.date(), lang)
    utc = "" if first.tzname() == "UTC" else f" ({first.astimezone(UTC):%H:%M} UTC)"
    shown = [f"{day} {first:%H:%M}{_seconds(first)} {first.tzname()}{utc}"]
    same = all(each.time() == first.time() and each.utcoffset() == first.utcoffset() for each in more)
    for each in more:
        near = f"{_WEEKDAYS[lang][each.weekday()]} {each:%m-%d}"
        named = near if each.year == first.year else _day(each.date(), lang)
        shown.append(named if same and each.date() != first.date() else f"{named} {each:%H:%M}{_seconds(each)}")
    return ("，" if lang == "zh" else ", ").join(shown)


def _seconds(local: datetime) -> str:
    return f":{local:%S}" if local.second else ""


def _day(day: date, lang: Language) -> str:
    weekday = _WEEKDAYS[lang][day.weekday()]
    return f"{day.isoformat()} {weekday}" if lang == "zh" else f"{weekday} {day.isoformat()}"


def _said(change: ClockChange, zone: ZoneInfo, lang: Language) -> str:
    day, times = _day(change.day, lang), _span(change.times)
    first = change.instants[0].astimezone(zone) if change.instants else None
    when = f"{first:%H:%M} {first.tzname()}" if first else ""
    if change.kind == "gap":
        if change.fixed:
            return f"{day} 没有 {times}：改在 {when} 运行" if lang == "zh" else f"{day} has no {times}: runs at {when}"
        return f"{day} 没有 {times}：不运行" if lang == "zh" else f"{day} has no {times}: does not run then"
    if change.fixed:
        once = f"runs once, the first time ({when})"
        zh = f"{day} {times} 出现两次：只在第一次运行（{when}）"
        return zh if lang == "zh" else f"{day} has {times} twice: {once}"
    if lang == "zh":
        return f"{day} {times} 出现两次：两次都运行"
    return f"{day} has {times} twice: runs both times"


def _span(times: tuple[int, ...]) -> str:
    first = time(times[0] // 60, times[0] % 60)
    last = time(times[-1] // 60, times[-1] % 60)
    return f"{first:%H:%M}" if first == last else f"{first:%H:%M}-{last:%H:%M}"
